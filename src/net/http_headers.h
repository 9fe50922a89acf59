// Headers as a list in their order, names in any case.
//
// Threads: plain values.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace callgate::net {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

}  // namespace callgate::net
