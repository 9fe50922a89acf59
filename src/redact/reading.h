// Ways of reading text in which a secret's characters may be written differently.
//
// A reading turns the bytes at one place into the bytes they stand for. It depends on nothing before that
// place, so that a search can start anywhere, and asks for more where the text so far does not decide.
//
// Threads: stateless.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/encoding.h"

namespace callgate::redact {

struct Unit {
    std::size_t raw = 0;  ///< bytes read; 0 = more text is needed
    std::size_t count = 0;
    std::array<unsigned char, 4> bytes{};

    static Unit literal(char c) { return Unit{1, 1, {static_cast<unsigned char>(c)}}; }
    static Unit more() { return Unit{}; }
};

/// As it is. (Elsewhere only kEscapes do not stand for themselves.)
struct PlainReading {
    static constexpr bool kLiteral = true;
    static Unit read(std::string_view text, bool) { return Unit::literal(text[0]); }
};

/// Line breaks stand for nothing: how encoders wrap long values.
struct UnwrappedReading {
    static constexpr bool kLiteral = false;
    static constexpr std::string_view kEscapes = "\n\r";
    static Unit read(std::string_view text, bool) {
        return text[0] == '\n' || text[0] == '\r' ? Unit{1, 0, {}} : Unit::literal(text[0]);
    }
};

/// %41 is A; with `PlusIsSpace`, + is a space.
template <bool PlusIsSpace>
struct PercentReading {
    static constexpr bool kLiteral = false;
    static constexpr std::string_view kEscapes = PlusIsSpace ? "%+" : "%";
    static Unit read(std::string_view text, bool complete) {
        if (PlusIsSpace && text[0] == '+') {
            return Unit::literal(' ');
        }
        if (text[0] != '%') {
            return Unit::literal(text[0]);
        }
        int value = 0;
        for (std::size_t i = 1; i < 3; ++i) {
            if (i >= text.size()) {
                return complete ? Unit::literal('%') : Unit::more();
            }
            const int digit = base::hex_value(text[i]);
            if (digit < 0) {
                return Unit::literal('%');
            }
            value = value << 4 | digit;
        }
        return Unit{3, 1, {static_cast<unsigned char>(value)}};
    }
};

/// \n, \", \/, \u0041 and the rest of JSON's escapes, surrogate pairs included.
struct JsonReading {
    static constexpr bool kLiteral = false;
    static constexpr std::string_view kEscapes = "\\";
    static Unit read(std::string_view text, bool complete);
};

}  // namespace callgate::redact
