// What a child's environment holds.
//
// A child gets no copy of ours: keys lie in environments. It gets what a program needs to find its files and
// to speak the user's language, and what it was given by name. Only `mcp wrap` hands on all it has, since
// agents' configurations put the keys of the wrapped server there; what is Callgate's own stays behind.
//
// Threads: pure functions, except own_environment(), which must not run while somebody changes it.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace callgate::os {

/// Names and values; each name once.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// What every child is handed on, where it is set. Each `LC_…` as well.
inline constexpr std::array<std::string_view, 10> kHandedOn = {
    "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"};

/// This process's own.
Environment own_environment();

/// Of `ours` what is in kHandedOn or named in `also`, except shell functions (values that begin with "()"),
/// which a shell below would define; then all of `given`, which wins.
Environment child_environment(const Environment& ours, std::span<const std::string> also = {},
                              const Environment& given = {});

/// All of `ours` except `CALLGATE_…`; then all of `given`, which wins.
Environment whole_environment(const Environment& ours, const Environment& given = {});

}  // namespace callgate::os
