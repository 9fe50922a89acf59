// Characters that cannot be seen for what they are. Text of others that is shown to a person, or that becomes
// a name, is asked for them: they could move the cursor, end a line, turn the writing direction, or make two
// texts look the same.
//
// Threads: all functions may be called from any thread.
#pragma once

namespace callgate::base {

/// One of is_unseen() outside ASCII.
bool is_unseen_beyond_ascii(char32_t point) noexcept;

/// Control characters, separators of lines, what turns the direction, all that Unicode lets a program ignore
/// (variation selectors, tags, fillers, joiners), the blank of Braille, and noncharacters. Not spaces.
inline bool is_unseen(char32_t point) noexcept {
    return point < 0x20 || (point >= 0x7F && is_unseen_beyond_ascii(point));
}

/// Of any width: Unicode's category Zs.
bool is_space(char32_t point) noexcept;

}  // namespace callgate::base
