#include "base/utf8.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace callgate::base {
std::size_t utf8_sequence_length(std::string_view text) noexcept {
    if (text.empty()) return 0;
    return utf8_sequence_length_by(
        [&](std::size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : '\0'); });
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

// Every byte except the continuation bytes (10xxxxxx) starts a code point; eight at a time.
std::size_t count_valid_code_points(std::string_view text) noexcept {
    std::size_t continuations = 0;
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, 8);
        continuations += static_cast<std::size_t>(std::popcount((word & ~(word << 1)) & 0x8080808080808080));
    }
    for (; at < text.size(); ++at) continuations += is_utf8_continuation(text[at]) ? 1u : 0u;
    return text.size() - continuations;
}

std::string_view truncate_to_bytes(std::string_view text, std::size_t max_bytes) noexcept {
    if (text.size() <= max_bytes) {
        return text;
    }
    // A cut inside a code point lies at most three bytes behind its first byte.
    for (std::size_t back = 0; back < 4 && back <= max_bytes; ++back) {
        const std::size_t start = max_bytes - back;
        if (!is_utf8_continuation(text[start])) {
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
