// Words of a command line that a person is to copy: in quotes, so that a shell takes them as they are.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace callgate::base {

/// 'text', with each quote in it as '\''. What cannot be printed is left as it is.
inline std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

}  // namespace callgate::base
