// The known name that a mistyped one most likely means.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace callgate::schema {

/// nullopt when nothing is near enough to be worth suggesting. Cost is bounded: long names and long lists are
/// not searched.
std::optional<std::string_view> nearest_name(std::string_view given, std::span<const std::string_view> known);

}  // namespace callgate::schema
