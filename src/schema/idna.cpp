#include "schema/idna.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <idn2.h>
#include <unictype.h>

#include "schema/format_text.h"

namespace callgate::schema {
namespace {

// An A-label spends at least one octet per code point, so longer text cannot be a name.
constexpr std::size_t kMaxUtf8PerCodePoint = 4;

struct Idn2Free {
    void operator()(void* memory) const noexcept { idn2_free(memory); }
};
using Idn2Text = std::unique_ptr<std::uint8_t, Idn2Free>;
using Idn2CodePoints = std::unique_ptr<std::uint32_t, Idn2Free>;

const std::uint8_t* as_idn2(const std::string& text) {
    return reinterpret_cast<const std::uint8_t*>(text.c_str());
}

// What the checks of a whole name need to know about a label that was found valid.
struct Label {
    std::u32string code_points;  // the U-label, or the ASCII label as it stands
    std::size_t ascii_octets;
};

// `registered` is what libidn2 made of a label that it found valid; it is freed here.
std::optional<Label> finish_label(std::uint8_t* registered) {
    const Idn2Text owner(registered);
    const auto* ascii = reinterpret_cast<const char*>(registered);
    std::uint32_t* unicode = nullptr;
    const int decoded = idn2_to_unicode_8z4z(ascii, &unicode, 0);
    const Idn2CodePoints unicode_owner(unicode);
    if (decoded != IDN2_OK) return std::nullopt;
    Label out{{}, std::string_view(ascii).size()};
    for (const std::uint32_t* p = unicode; *p != 0; ++p) out.code_points += static_cast<char32_t>(*p);
    return out;
}

std::optional<Label> check_a_label(std::string_view label) {
    // DNS compares without case, libidn2 knows only the lower-case form.
    std::string lower(label);
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    }
    std::uint8_t* registered = nullptr;
    if (idn2_register_u8(nullptr, as_idn2(lower), &registered, 0) != IDN2_OK) return std::nullopt;
    return finish_label(registered);
}

std::optional<Label> check_u_label(std::string_view label, IdnInput input) {
    // libidn2 reads up to the first NUL.
    if (label.find('\0') != std::string_view::npos) return std::nullopt;
    const std::string text(label);
    std::uint8_t* registered = nullptr;
    const int flags = input == IdnInput::mail ? IDN2_NFC_INPUT : 0;
    if (idn2_register_u8(as_idn2(text), nullptr, &registered, flags) != IDN2_OK) return std::nullopt;
    return finish_label(registered);
}

std::optional<Label> check_label(std::string_view label, IdnInput input) {
    if (!std::all_of(label.begin(), label.end(), is_ascii)) return check_u_label(label, input);
    if (!is_ldh_label(label)) return std::nullopt;
    if (has_ace_prefix(label)) return check_a_label(label);
    return Label{std::u32string(label.begin(), label.end()), label.size()};
}

constexpr std::uint32_t bit(int bidi_class) {
    return 1u << bidi_class;
}

constexpr std::uint32_t kRightToLeft = bit(UC_BIDI_R) | bit(UC_BIDI_AL);
constexpr std::uint32_t kNeutral = bit(UC_BIDI_EN) | bit(UC_BIDI_ES) | bit(UC_BIDI_CS) | bit(UC_BIDI_ET) |
                                   bit(UC_BIDI_ON) | bit(UC_BIDI_BN) | bit(UC_BIDI_NSM);

std::uint32_t bidi_bits(const std::u32string& label) {
    std::uint32_t bits = 0;
    for (const char32_t c : label) bits |= bit(uc_bidi_class(c));
    return bits;
}

// RFC 5893 section 1.4.
bool is_right_to_left(const std::u32string& label) {
    return (bidi_bits(label) & (kRightToLeft | bit(UC_BIDI_AN))) != 0;
}

// RFC 5893 section 2, the six conditions.
bool keeps_bidi_rule(const std::u32string& label) {
    const std::uint32_t first = bit(uc_bidi_class(label.front()));
    const std::uint32_t all = bidi_bits(label);
    std::size_t end = label.size();
    while (end > 0 && uc_bidi_class(label[end - 1]) == UC_BIDI_NSM) --end;
    const std::uint32_t last = end == 0 ? 0 : bit(uc_bidi_class(label[end - 1]));

    if ((first & kRightToLeft) != 0) {
        const std::uint32_t both_digits = bit(UC_BIDI_EN) | bit(UC_BIDI_AN);
        return (all & ~(kRightToLeft | bit(UC_BIDI_AN) | kNeutral)) == 0 &&
               (last & (kRightToLeft | both_digits)) != 0 && (all & both_digits) != both_digits;
    }
    return first == bit(UC_BIDI_L) && (all & ~(bit(UC_BIDI_L) | kNeutral)) == 0 &&
           (last & (bit(UC_BIDI_L) | bit(UC_BIDI_EN))) != 0;
}

constexpr std::size_t full_stop_size(std::string_view text, std::size_t position, IdnInput input) {
    if (text[position] == '.') return 1;
    if (input == IdnInput::mail) return 0;
    const std::string_view three = text.substr(position, 3);
    return three == "\u3002" || three == "\uFF0E" || three == "\uFF61" ? 3 : 0;
}

}  // namespace

bool is_ldh_label(std::string_view label) noexcept {
    if (label.empty() || label.size() > kMaxLabelOctets || label.front() == '-' || label.back() == '-')
        return false;
    return std::all_of(label.begin(), label.end(), [](char c) { return is_ascii_alnum(c) || c == '-'; });
}

bool has_ace_prefix(std::string_view label) noexcept {
    return label.size() >= 4 && (label[0] | 0x20) == 'x' && (label[1] | 0x20) == 'n' && label[2] == '-' &&
           label[3] == '-';
}

bool is_a_label(std::string_view label) {
    const std::optional<Label> checked = check_a_label(label);
    return checked && (!is_right_to_left(checked->code_points) || keeps_bidi_rule(checked->code_points));
}

bool is_idn_name(std::string_view text, IdnInput input) {
    if (text.size() > kMaxNameOctets * kMaxUtf8PerCodePoint) return false;
    std::vector<Label> labels;
    std::size_t octets = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const std::size_t stop = i == text.size() ? 1 : full_stop_size(text, i, input);
        if (stop == 0) continue;
        std::optional<Label> label = check_label(text.substr(start, i - start), input);
        if (!label) return false;
        octets += label->ascii_octets + (labels.empty() ? 0 : 1);
        if (octets > kMaxNameOctets) return false;
        labels.push_back(*std::move(label));
        start = i + stop;
        i = start - 1;
    }
    const auto rtl = [](const Label& label) { return is_right_to_left(label.code_points); };
    const auto keeps_rule = [](const Label& label) { return keeps_bidi_rule(label.code_points); };
    return std::none_of(labels.begin(), labels.end(), rtl) ||
           std::all_of(labels.begin(), labels.end(), keeps_rule);
}

}  // namespace callgate::schema
