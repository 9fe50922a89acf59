// The names that a mistyped one may have meant.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace callgate {

/// How alike two names are, from 0 to 1: twice the length of what they share in order, over the length of
/// both. A name inside the other counts at least 0.7. Case does not matter.
double similarity(std::string_view a, std::string_view b);

/// Up to three of `known` with a similarity of 0.6 or more, the likest first, equals in name order. Cost is
/// bounded: a given name over 256 bytes finds nothing, and only the 64 most promising names are compared in
/// full.
std::vector<std::string> suggest_names(std::string_view given, std::span<const std::string_view> known);

}  // namespace callgate
