#include "base/unseen.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace callgate::base {
namespace {

struct UnseenRange {
    char32_t first;
    char32_t last;
};

// In order, so that one look at the middle halves what is left.
constexpr std::array kUnseen = {
    UnseenRange{0x7F, 0x9F},       UnseenRange{0xAD, 0xAD},      UnseenRange{0x034F, 0x034F},
    UnseenRange{0x061C, 0x061C},   UnseenRange{0x115F, 0x1160},  UnseenRange{0x17B4, 0x17B5},
    UnseenRange{0x180B, 0x180F},   UnseenRange{0x200B, 0x200F},  UnseenRange{0x2028, 0x202E},
    UnseenRange{0x2060, 0x206F},   UnseenRange{0x2800, 0x2800},  UnseenRange{0x3164, 0x3164},
    UnseenRange{0xFDD0, 0xFDEF},   UnseenRange{0xFE00, 0xFE0F},  UnseenRange{0xFEFF, 0xFEFF},
    UnseenRange{0xFFA0, 0xFFA0},   UnseenRange{0xFFF0, 0xFFFB},  UnseenRange{0x1BCA0, 0x1BCA3},
    UnseenRange{0x1D173, 0x1D17A}, UnseenRange{0xE0000, 0xE0FFF}};

constexpr bool ends_before(const UnseenRange& range, char32_t point) {
    return range.last < point;
}

static_assert([] {
    for (std::size_t i = 1; i < kUnseen.size(); ++i) {
        if (kUnseen[i].first <= kUnseen[i - 1].last) return false;
    }
    return true;
}());

}  // namespace

bool is_unseen_beyond_ascii(char32_t point) noexcept {
    if ((point & 0xFFFE) == 0xFFFE) return true;  // the last two of each plane are no characters
    const auto range = std::lower_bound(kUnseen.begin(), kUnseen.end(), point, ends_before);
    return range != kUnseen.end() && range->first <= point;
}

bool is_space(char32_t point) noexcept {
    return point == 0x20 || point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) ||
           point == 0x202F || point == 0x205F || point == 0x3000;
}

}  // namespace callgate::base
