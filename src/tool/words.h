// The words of the enumerations that operators write and read: the only list of each beside the enumeration.
//
// A word stands at the value of its enumerator. What reads a policy, writes a row, lists a tool or tries
// every class in a test takes them from here, so a new enumerator needs one line here and one in its enum.
//
// Threads: constants.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <callgate/context.h>
#include <callgate/tool.h>

namespace callgate {

inline constexpr std::array<std::string_view, 5> kEffectWords{"read", "keyed", "verify", "tx", "unsafe"};
static_assert(kEffectWords.size() == static_cast<std::size_t>(EffectClass::unsafe) + 1);

inline constexpr std::array<std::string_view, 4> kRiskWords{"low", "medium", "high", "critical"};
static_assert(kRiskWords.size() == static_cast<std::size_t>(Risk::critical) + 1);

inline constexpr std::array<std::string_view, 5> kAutonomyWords{"A0", "A1", "A2", "A3", "A4"};
static_assert(kAutonomyWords.size() == static_cast<std::size_t>(Autonomy::a4) + 1);

/// Every effect class, in the order of the enumerators.
inline constexpr auto kEffectClasses = [] {
    std::array<EffectClass, kEffectWords.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<EffectClass>(i);
    return all;
}();

}  // namespace callgate
