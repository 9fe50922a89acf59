// The judge: opens what a workload left behind, without faults, and holds it against what was answered and
// what happened.
#pragma once

#include <string>
#include <vector>

#include "workload.h"

namespace callgate::failpoints {

/// What is wrong; nothing if the promises were kept.
std::vector<std::string> judge(const Place& place);

}  // namespace callgate::failpoints
