#include "base/look_alike.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include <uninorm.h>

#include "base/utf8.h"

namespace callgate::base {
namespace {

struct Passing {
    char ascii;
    std::u32string_view as;  // what passes for it
};

// Letters and marks of other alphabets in the shapes of ASCII's. Widths, mathematical letters, ligatures and
// Roman numerals are not here: Unicode itself says what they stand for.
constexpr std::array kPassing = {
    Passing{'a', U"\u0251\u03B1\u0430\u1D00\u237A"},
    Passing{'b', U"\u0184\u042C\u13CF\u1472\u15AF"},
    Passing{'c', U"\u03F2\u0441\u1D04\u2CA5\uABAF"},
    Passing{'d', U"\u0501\u13E7\u146F\uA4D2"},
    Passing{'e', U"\u0435\u04BD\u212E\uAB32"},
    Passing{'f', U"\u0192\u0584\u1E9D\uA799\uAB35"},
    Passing{'g', U"\u018D\u0261\u0581\u1D83"},
    Passing{'h', U"\u04BB\u0570\u13C2"},
    Passing{'i', U"\u0131\u0269\u026A\u02DB\u03B9\u0456\u04CF\u13A5\u1FBE\u2373\uA647\uAB75"},
    Passing{'j', U"\u03F3\u0458"},
    Passing{'k', U"\u03BA\u043A\u1D0B\u2C95"},
    Passing{'l',
            U"\u01C0\u0196\u0399\u0406\u04C0\u05C0\u05D5\u05DF\u0627\u07CA\u16C1\u2223\u2C92\u2D4F\uA4F2"},
    Passing{'n', U"\u0578\u057C"},
    Passing{'o',
            U"\u03BF\u03C3\u043E\u0585\u05E1\u0647\u0665\u0966\u0A66\u0AE6\u0BE6\u0C66\u0CE6\u0D66\u0E50"
            U"\u0ED0\u1040\u10FF\u1D0F\u1D11\u2C9F\uAB3D"},
    Passing{'p', U"\u03C1\u0440\u2374\u2CA3"},
    Passing{'q', U"\u051B\u0563\u0566"},
    Passing{'r', U"\u0433\u1D26\u2C85\uAB47\uAB48\uAB81"},
    Passing{'s', U"\u01BD\u0455\uA731\uABAA"},
    Passing{'t', U"\u03C4\u0442\u1D1B"},
    Passing{'u', U"\u028B\u03C5\u057D\u1D1C\uA79F\uAB4E\uAB52"},
    Passing{'v', U"\u03BD\u0475\u05D8\u1D20\u22C1\u2228\uABA9"},
    Passing{'w', U"\u026F\u0461\u051D\u0561\u1D21\uABA0\uAB83"},
    Passing{'x', U"\u0445\u00D7\u157D\u1541\u166E\u292B\u292C\u2A2F"},
    Passing{'y', U"\u0263\u028F\u03B3\u0443\u04AF\u10E7\u1D8C\u1EFF\u213D\uAB5A"},
    Passing{'z', U"\u1D22\uAB93"},
    Passing{'A', U"\u0391\u0410\u13AA\u15C5\u1D27\uA4EE"},
    Passing{'B', U"\u0392\u0412\u13F4\u15F7\uA4D0\uA7B4"},
    Passing{'C', U"\u03F9\u0421\u13DF\u2CA4\uA4DA"},
    Passing{'D', U"\u13A0\u15DE\u15EA\uA4D3"},
    Passing{'E', U"\u0395\u0415\u13AC\u22FF\u2D39\uA4F0"},
    Passing{'F', U"\u03DC\u15B4\uA4DD\uA798"},
    Passing{'G', U"\u050C\u13C0\u13F3\uA4D6"},
    Passing{'H', U"\u0397\u041D\u13BB\u157C\u2C8E\uA4E7"},
    Passing{'J', U"\u037F\u0408\u13AB\u148D\uA4D9\uA7B2"},
    Passing{'K', U"\u039A\u041A\u13E6\u16D5\u2C94\uA4D7"},
    Passing{'L', U"\u13DE\u14AA\u2CD0\uA4E1"},
    Passing{'M', U"\u039C\u03FA\u041C\u13B7\u15F0\u16D6\u2C98\uA4DF"},
    Passing{'N', U"\u039D\u2C9A\uA4E0"},
    Passing{'O', U"\u039F\u041E\u0555\u2C9E\u2D54\uA4F3"},
    Passing{'P', U"\u03A1\u0420\u13E2\u146D\u2CA2\uA4D1"},
    Passing{'Q', U"\u051A\u2D55"},
    Passing{'R', U"\u01A6\u13A1\u13D2\u1587\uA4E3"},
    Passing{'S', U"\u0405\u054F\u13D5\u13DA\uA4E2"},
    Passing{'T', U"\u03A4\u0422\u13A2\u22A4\u2CA6\uA4D4"},
    Passing{'U', U"\u054D\u1200\u144C\u222A\uA4F4"},
    Passing{'V', U"\u0474\u13D9\u142F\u2D38\uA4E6"},
    Passing{'W', U"\u051C\u13B3\u13D4\uA4EA"},
    Passing{'X', U"\u03A7\u0425\u16B7\u2573\u2CAC\u2D5D\uA4EB\uA7B3"},
    Passing{'Y', U"\u03A5\u0423\u04AE\u13A9\u13BD\u2CA8\uA4EC"},
    Passing{'Z', U"\u0396\u13C3\uA4DC"},
    Passing{'2', U"\u01A7\u03E8\uA644"},
    Passing{'3', U"\u01B7\u021C\u0417\u04E0\u2CCC\uA76A\uA7AB"},
    Passing{'4', U"\u13CE"},
    Passing{'5', U"\u01BC"},
    Passing{'6', U"\u0431\u13EE\u2CD2"},
    Passing{'8', U"\u0222\u0223\u0A6A\u0B03"},
    Passing{'9', U"\u0A67\u0B68\u2CCA\uA76E"},
    Passing{'-', U"\u02D7\u06D4\u2010\u2012\u2013\u2014\u2015\u2043\u2212\u2796\u30FC\u4E00"},
    Passing{'_', U"\u02CD\u07FA"},
    Passing{'.', U"\u0660\u06F0\u0701\u0702\uA4F8\uA60E"},
    Passing{':', U"\u02D0\u02F8\u0589\u05C3\u0703\u0704\u16EC\u1803\u1809\u205A\u2236\uA4FD\uA789"},
    Passing{'/', U"\u1735\u2044\u2215\u2571\u27CB\u29F8\u2CC6\u3033\u30CE\u4E3F"},
};

struct Pair {
    char32_t from;
    char to;
};

constexpr std::size_t kPairs = [] {
    std::size_t count = 0;
    for (const Passing& one : kPassing) count += one.as.size();
    return count;
}();

// In order of what is looked for.
constexpr std::array<Pair, kPairs> kPairsInOrder = [] {
    std::array<Pair, kPairs> pairs{};
    std::size_t at = 0;
    for (const Passing& one : kPassing) {
        for (const char32_t from : one.as) pairs[at++] = {from, one.ascii};
    }
    std::ranges::sort(pairs, {}, &Pair::from);
    return pairs;
}();

static_assert(std::ranges::adjacent_find(kPairsInOrder, {}, &Pair::from) == kPairsInOrder.end(),
              "a character passes for one other");

// What nobody keeps apart where one of them is not from ASCII's keys.
char coarse(char c) {
    switch (c) {
        case 'I':
        case '1':
        case '|': return 'l';
        case '0': return 'O';
        default: return c;
    }
}

std::string passed(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = std::max<std::size_t>(utf8_sequence_length(text.substr(at)), 1);
        const std::string_view sequence = text.substr(at, length);
        at += length;
        if (length == 1) {
            out += coarse(sequence.front());
            continue;
        }
        const char32_t point = decode_utf8(sequence);
        const auto* const found = std::ranges::lower_bound(kPairsInOrder, point, {}, &Pair::from);
        if (found != kPairsInOrder.end() && found->from == point) {
            out += coarse(found->to);
        } else {
            out += sequence;
        }
    }
    return out;
}

struct Free {
    void operator()(std::uint8_t* memory) const noexcept { std::free(memory); }
};

std::string decomposed(std::string_view text) {
    std::size_t length = 0;
    const std::unique_ptr<std::uint8_t, Free> made(u8_normalize(
        UNINORM_NFKD, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), nullptr, &length));
    if (!made) return std::string(text);
    return {reinterpret_cast<const char*>(made.get()), length};
}

}  // namespace

bool is_ascii(std::string_view text) noexcept {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string look_of(std::string_view text) {
    if (is_ascii(text)) return passed(text);
    // Before, for what Unicode takes apart into another letter; and after, for what comes out of that.
    return passed(decomposed(passed(text)));
}

bool are_look_alikes(std::string_view a, std::string_view b) {
    if (a == b || (is_ascii(a) && is_ascii(b))) return false;
    return look_of(a) == look_of(b);
}

}  // namespace callgate::base
