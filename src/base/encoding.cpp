#include "base/encoding.h"

#include <array>

namespace callgate::base {
namespace {

constexpr std::string_view kStandard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> reverse(std::string_view alphabet) {
    std::array<std::uint8_t, 256> out{};
    out.fill(kNoDigit);
    for (std::size_t i = 0; i < alphabet.size(); ++i) {
        out[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
    }
    return out;
}

constexpr auto kStandardReverse = reverse(kStandard);
constexpr auto kUrlReverse = reverse(kUrl);

constexpr std::string_view digits(HexCase letters) {
    return letters == HexCase::lower ? "0123456789abcdef" : "0123456789ABCDEF";
}

std::uint32_t byte_at(std::string_view bytes, std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
}

}  // namespace

std::string base64_encode(std::string_view bytes, Base64Alphabet alphabet, Base64Padding padding) {
    const auto letters = alphabet == Base64Alphabet::standard ? kStandard : kUrl;
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::uint32_t group =
            byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
        const std::size_t used = bytes.size() - i < 3 ? bytes.size() - i + 1 : 4;
        for (std::size_t k = 0; k < used; ++k) {
            out.push_back(letters[group >> (18 - 6 * k) & 63]);
        }
        if (padding == Base64Padding::with) {
            out.append(4 - used, '=');
        }
    }
    return out;
}

std::optional<std::string> base64_decode(std::string_view text, Base64Alphabet alphabet,
                                         Base64Padding padding) {
    if (padding == Base64Padding::with) {
        if (text.size() % 4 != 0) {
            return std::nullopt;
        }
        for (int i = 0; i < 2 && text.ends_with('='); ++i) {
            text.remove_suffix(1);
        }
    }
    if (text.size() % 4 == 1) {
        return std::nullopt;
    }
    const auto& values = alphabet == Base64Alphabet::standard ? kStandardReverse : kUrlReverse;
    std::string out;
    out.reserve(text.size() / 4 * 3 + 2);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const std::uint8_t value = values[static_cast<unsigned char>(c)];
        if (value == kNoDigit) {
            return std::nullopt;
        }
        bits = (bits << 6 | value) & 0xffff;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out.push_back(static_cast<char>(bits >> count & 0xff));
        }
    }
    if ((bits & ((1u << count) - 1)) != 0) {
        return std::nullopt;
    }
    return out;
}

std::string hex_encode(std::string_view bytes, HexCase letters) {
    const auto table = digits(letters);
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out.push_back(table[byte >> 4]);
        out.push_back(table[byte & 15]);
    }
    return out;
}

int hex_value(char digit) noexcept {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return -1;
}

std::optional<std::string> hex_decode(std::string_view text) {
    if (text.size() % 2 != 0) {
        return std::nullopt;
    }
    std::string out;
    out.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = hex_value(text[i]);
        const int low = hex_value(text[i + 1]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        out.push_back(static_cast<char>(high << 4 | low));
    }
    return out;
}

bool is_unreserved(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

std::string percent_encode(std::string_view bytes, PercentSpace space, HexCase letters) {
    const auto table = digits(letters);
    std::string out;
    out.reserve(bytes.size());
    for (const char c : bytes) {
        if (is_unreserved(c)) {
            out.push_back(c);
        } else if (c == ' ' && space == PercentSpace::plus) {
            out.push_back('+');
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out.push_back('%');
            out.push_back(table[byte >> 4]);
            out.push_back(table[byte & 15]);
        }
    }
    return out;
}

std::optional<std::string> percent_decode(std::string_view text, PercentSpace space) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
            const int low = high < 0 ? -1 : hex_value(text[i + 2]);
            if (low < 0) {
                return std::nullopt;
            }
            out.push_back(static_cast<char>(high << 4 | low));
            i += 2;
        } else {
            out.push_back(text[i] == '+' && space == PercentSpace::plus ? ' ' : text[i]);
        }
    }
    return out;
}

}  // namespace callgate::base
