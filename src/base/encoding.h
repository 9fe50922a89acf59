// Bytes as text: base64, hexadecimal, percent-encoding.
//
// Decoders are strict: a character outside the alphabet, a wrong length, wrong padding or unused bits that
// are not zero yield nothing, so that one text stands for one byte string only.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace callgate::base {

enum class Base64Alphabet : std::uint8_t {
    standard,  ///< + and /
    url        ///< - and _
};

enum class Base64Padding : std::uint8_t { with, without };

std::string base64_encode(std::string_view bytes, Base64Alphabet alphabet = Base64Alphabet::standard,
                          Base64Padding padding = Base64Padding::with);
std::optional<std::string> base64_decode(std::string_view text,
                                         Base64Alphabet alphabet = Base64Alphabet::standard,
                                         Base64Padding padding = Base64Padding::with);

enum class HexCase : std::uint8_t { lower, upper };

std::string hex_encode(std::string_view bytes, HexCase letters = HexCase::lower);
/// Either case, mixed too.
std::optional<std::string> hex_decode(std::string_view text);
/// The digit's value, or -1.
int hex_value(char digit) noexcept;

/// An ASCII letter in lower case; every other byte as it is.
constexpr char ascii_lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

enum class PercentSpace : std::uint8_t {
    percent20,  ///< a space is %20 (URIs)
    plus        ///< a space is + (forms)
};

/// Everything but RFC 3986's unreserved characters is encoded.
std::string percent_encode(std::string_view bytes, PercentSpace space = PercentSpace::percent20,
                           HexCase letters = HexCase::upper);
std::optional<std::string> percent_decode(std::string_view text,
                                          PercentSpace space = PercentSpace::percent20);

/// A-Z a-z 0-9 - . _ ~
bool is_unreserved(char c) noexcept;

}  // namespace callgate::base
