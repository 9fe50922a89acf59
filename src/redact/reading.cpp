#include "redact/reading.h"

#include "base/utf8.h"

namespace callgate::redact {
namespace {

enum class Parse : std::uint8_t { done, more, wrong };

// \uXXXX at `at`.
Parse code_unit(std::string_view text, std::size_t at, std::uint32_t& value) {
    constexpr std::string_view kStart = "\\u";
    value = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        if (at + i >= text.size()) {
            return Parse::more;
        }
        const char c = text[at + i];
        if (i < kStart.size()) {
            if (c != kStart[i]) {
                return Parse::wrong;
            }
            continue;
        }
        const int digit = base::hex_value(c);
        if (digit < 0) {
            return Parse::wrong;
        }
        value = value << 4 | static_cast<std::uint32_t>(digit);
    }
    return Parse::done;
}

Unit utf8(std::size_t raw, std::uint32_t point) {
    std::array<char, 4> bytes;
    Unit unit{raw, static_cast<std::size_t>(base::encode_utf8(bytes.data(), point) - bytes.data()), {}};
    for (std::size_t i = 0; i < unit.count; ++i) unit.bytes[i] = static_cast<unsigned char>(bytes[i]);
    return unit;
}

}  // namespace

Unit JsonReading::read(std::string_view text, bool complete) {
    if (text[0] != '\\') {
        return Unit::literal(text[0]);
    }
    const auto undecided = [complete] { return complete ? Unit::literal('\\') : Unit::more(); };
    if (text.size() < 2) {
        return undecided();
    }
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
    if (const auto found = kNames.find(text[1]); found != std::string_view::npos) {
        return Unit{2, 1, {static_cast<unsigned char>(kBytes[found])}};
    }
    std::uint32_t point = 0;
    switch (code_unit(text, 0, point)) {
        case Parse::more: return undecided();
        case Parse::wrong: return Unit::literal('\\');
        case Parse::done: break;
    }
    if (point >= 0xdc00 && point < 0xe000) {
        return Unit::literal('\\');
    }
    if (point < 0xd800 || point >= 0xe000) {
        return utf8(6, point);
    }
    std::uint32_t low = 0;
    switch (code_unit(text, 6, low)) {
        case Parse::more: return undecided();
        case Parse::wrong: return Unit::literal('\\');
        case Parse::done: break;
    }
    if (low < 0xdc00 || low >= 0xe000) {
        return Unit::literal('\\');
    }
    return utf8(12, 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00));
}

}  // namespace callgate::redact
