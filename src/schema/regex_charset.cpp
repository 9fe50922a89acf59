#include "schema/regex_charset.h"

#include <algorithm>

#include "base/utf8.h"

namespace callgate::schema {
namespace {

constexpr CodeRange kDigits[] = {{'0', '9'}};
constexpr CodeRange kWords[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
// WhiteSpace and LineTerminator of ECMA-262: Space_Separator and a handful by name.
constexpr CodeRange kSpaces[] = {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
                                 {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                                 {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
constexpr CodeRange kLineEnds[] = {{0x0A, 0x0A}, {0x0D, 0x0D}, {0x2028, 0x2029}};

}  // namespace

void normalize(CodeRanges& ranges) {
    if (ranges.size() < 2) {
        return;
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const CodeRange& a, const CodeRange& b) { return a.first < b.first; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < ranges.size(); ++i) {
        if (ranges[i].first <= ranges[kept].last + 1) {
            ranges[kept].last = std::max(ranges[kept].last, ranges[i].last);
        } else {
            ranges[++kept] = ranges[i];
        }
    }
    ranges.resize(kept + 1);
}

CodeRanges inverted(std::span<const CodeRange> ranges) {
    CodeRanges out;
    out.reserve(ranges.size() + 1);
    char32_t next = 0;
    for (const CodeRange& range : ranges) {
        if (range.first > next) {
            out.push_back({next, range.first - 1});
        }
        next = range.last + 1;
    }
    if (next <= kMaxCodePoint) {
        out.push_back({next, kMaxCodePoint});
    }
    return out;
}

std::span<const CodeRange> digit_ranges() noexcept {
    return kDigits;
}

std::span<const CodeRange> word_ranges() noexcept {
    return kWords;
}

std::span<const CodeRange> space_ranges() noexcept {
    return kSpaces;
}

std::span<const CodeRange> line_end_ranges() noexcept {
    return kLineEnds;
}

char32_t take_code_point(std::string_view text, std::size_t& at) noexcept {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    const char32_t point = base::decode_utf8(text.substr(at, length));
    at += length;
    return point;
}

}  // namespace callgate::schema
