#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace callgate::base {
namespace {

bool continues(unsigned char byte) {
    return (byte & 0xc0) == 0x80;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) noexcept {
    if (text.empty()) {
        return 0;
    }
    const auto at = [&](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    };
    const unsigned first = at(0);
    if (first < 0x80) {
        return 1;
    }
    const unsigned second = at(1);
    if (first >= 0xc2 && first <= 0xdf) {
        return (second & 0xc0) == 0x80 ? 2 : 0;
    }
    if (first >= 0xe0 && first <= 0xef) {
        const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
        const unsigned high = first == 0xed ? 0x9f : 0xbf;
        return second >= low && second <= high && (at(2) & 0xc0) == 0x80 ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const unsigned low = first == 0xf0 ? 0x90 : 0x80;
        const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
        return second >= low && second <= high && (at(2) & 0xc0) == 0x80 && (at(3) & 0xc0) == 0x80 ? 4 : 0;
    }
    return 0;
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept {
    std::size_t i = 0;
    while (i < text.size()) {
        if (text.size() - i >= 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data() + i, 8);
            if ((word & 0x8080808080808080) == 0) {
                i += 8;
                continue;
            }
        }
        const auto length = utf8_sequence_length(text.substr(i));
        if (length == 0) {
            return i;
        }
        i += length;
    }
    return std::nullopt;
}

std::size_t count_code_points(std::string_view text) noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < text.size(); ++count) {
        const auto length = utf8_sequence_length(text.substr(i));
        i += length == 0 ? 1 : length;
    }
    return count;
}

std::string_view truncate_to_bytes(std::string_view text, std::size_t max_bytes) noexcept {
    if (text.size() <= max_bytes) {
        return text;
    }
    // A cut inside a code point lies at most three bytes behind its first byte.
    for (std::size_t back = 0; back < 4 && back <= max_bytes; ++back) {
        const std::size_t start = max_bytes - back;
        if (!continues(static_cast<unsigned char>(text[start]))) {
            return text.substr(0, utf8_sequence_length(text.substr(start)) > back ? start : max_bytes);
        }
    }
    return text.substr(0, max_bytes);
}

std::string_view truncate_to_code_points(std::string_view text, std::size_t max_code_points) noexcept {
    std::size_t i = 0;
    for (std::size_t count = 0; i < text.size() && count < max_code_points; ++count) {
        const auto length = utf8_sequence_length(text.substr(i));
        i += length == 0 ? 1 : length;
    }
    return text.substr(0, i);
}

}  // namespace callgate::base
