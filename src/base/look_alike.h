// Texts that look the same. Two texts with one look cannot be told apart by a person who reads them: written
// with the letters of another alphabet ("read" with a Cyrillic "е"), in another width, or composed
// differently ("é" as one character or as two).
//
// It knows the characters that pass for those of ASCII, and Unicode's own equivalences (NFKD); look-alikes
// within other scripts it does not know. Upper and lower case look different. The look itself is for
// comparing only.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace callgate::base {

/// The text must be UTF-8.
std::string look_of(std::string_view text);

bool is_ascii(std::string_view text) noexcept;

/// They differ and look the same. ASCII texts never do: "1" and "l" are two keys on a keyboard, and every
/// font for code shows them so.
bool are_look_alikes(std::string_view a, std::string_view b);

}  // namespace callgate::base
