#include "tool/fitted_name.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/try.h"
#include "base/utf8.h"

namespace callgate {

namespace {

// GCC and clang have it; ISO C++ has not.
__extension__ using Wide = unsigned __int128;

constexpr std::string_view kUsualDigits = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::string_view kUsualMark = "_0";
constexpr std::size_t kUsualCount = 16;  // of 5 bits each
constexpr std::size_t kTagBits = 80;

Wide number_of(const NameTag& tag) {
    return (Wide{tag.high} << 16) | tag.low;
}

std::optional<NameTag> tag_of_number(Wide number) {
    if ((number >> kTagBits) != 0) return std::nullopt;
    return NameTag{static_cast<std::uint64_t>(number >> 16), static_cast<std::uint16_t>(number & 0xFFFF)};
}

bool has(std::string_view set, char c) {
    return set.find(c) != std::string_view::npos;
}

bool may_begin(std::string_view sequence, const NameRules& rules) {
    const std::string& set = rules.first.empty() ? rules.characters : rules.first;
    return set.empty() || (sequence.size() == 1 && has(set, sequence.front()));
}

bool may_stand(std::string_view sequence, const NameRules& rules) {
    return rules.characters.empty() || (sequence.size() == 1 && has(rules.characters, sequence.front()));
}

// How suffixes are written under some rules.
struct SuffixForm {
    std::string_view mark;
    std::string digits;
    std::size_t count = 0;
    char other = '_';        // stands for what may not
    char other_first = '_';  // at the beginning

    std::size_t size() const { return mark.size() + count; }
};

// Whatever else the rules name would be no name.
std::string in_order(std::string_view characters) {
    std::string out(characters);
    std::erase_if(out, [](char c) { return c <= 0x20 || c >= 0x7F; });
    std::ranges::sort(out);
    const auto again = std::ranges::unique(out);
    out.erase(again.begin(), again.end());
    return out;
}

char preferred(std::string_view ordered) {
    return has(ordered, '_') ? '_' : ordered.front();
}

bool takes_usual(const NameRules& rules) {
    const bool written =
        rules.characters.empty() ||
        (has(rules.characters, '_') && has(rules.characters, '0') &&
         std::ranges::all_of(kUsualDigits, [&](char c) { return has(rules.characters, c); }));
    return written && (rules.first.empty() || has(rules.first, '_')) &&
           (rules.max_bytes == 0 || rules.max_bytes > kUsualMark.size() + kUsualCount);
}

// Without a number of digits where the rules have no room.
SuffixForm suffix_form(const NameRules& rules) {
    SuffixForm form;
    if (takes_usual(rules)) {
        form.mark = kUsualMark;
        form.digits = kUsualDigits;
        form.count = kUsualCount;
        return form;
    }
    // Rules for all characters get here where they are too short for the usual, or say what comes first.
    form.digits = in_order(rules.characters.empty() ? kUsualDigits : std::string_view(rules.characters));
    std::string firsts;
    for (const char c : in_order(rules.first.empty() ? form.digits : rules.first)) {
        if (may_stand({&c, 1}, rules)) firsts += c;
    }
    if (form.digits.size() < 2 || firsts.empty()) return form;
    form.other = preferred(form.digits);
    form.other_first = preferred(firsts);
    std::size_t count = 0;
    for (Wide reach = 1; (reach >> kTagBits) == 0; reach *= form.digits.size()) ++count;
    if (rules.max_bytes == 0 || rules.max_bytes > count) form.count = count;
    return form;
}

std::string written(const NameTag& tag, const SuffixForm& form) {
    std::string out(form.count, form.digits.front());
    Wide rest = number_of(tag);
    for (std::size_t at = form.count; at-- > 0;) {
        out[at] = form.digits[static_cast<std::size_t>(rest % form.digits.size())];
        rest /= form.digits.size();
    }
    return out.insert(0, form.mark);
}

std::optional<NameTag> tag_at_end(std::string_view name, const SuffixForm& form) {
    if (form.count == 0 || name.size() <= form.size()) return std::nullopt;
    const std::string_view suffix = name.substr(name.size() - form.size());
    if (!suffix.starts_with(form.mark)) return std::nullopt;
    Wide number = 0;
    for (const char c : suffix.substr(form.mark.size())) {
        const std::size_t digit = form.digits.find(c);
        if (digit == std::string::npos) return std::nullopt;
        number = number * form.digits.size() + digit;
        if ((number >> kTagBits) != 0) return std::nullopt;
    }
    return tag_of_number(number);
}

std::string_view first_sequence(std::string_view text) {
    return text.substr(0, std::max<std::size_t>(base::utf8_sequence_length(text), 1));
}

std::string stem_of(std::string_view name, const NameRules& rules, const SuffixForm& form) {
    const std::size_t room = rules.max_bytes == 0 ? name.size() : rules.max_bytes - form.size();
    std::string stem;
    while (!name.empty()) {
        std::string_view sequence = first_sequence(name);
        name.remove_prefix(sequence.size());
        if (!may_stand(sequence, rules)) sequence = {&form.other, 1};
        if (stem.empty() && !may_begin(sequence, rules)) sequence = {&form.other_first, 1};
        if (stem.size() + sequence.size() > room) break;
        stem += sequence;
    }
    if (stem.empty()) stem = form.other_first;
    return stem;
}

}  // namespace

NameTag tag_of(std::string_view canonical) {
    base::Sha256 hash;
    const base::Sha256Digest digest =
        hash.update("callgate-name-v1").update({"\0", 1}).update(canonical).finish();
    Wide number = 0;
    for (std::size_t i = 0; i < kTagBits / 8; ++i) number = (number << 8) | digest[i];
    return {static_cast<std::uint64_t>(number >> 16), static_cast<std::uint16_t>(number & 0xFFFF)};
}

bool fits(std::string_view name, const NameRules& rules) {
    if (name.empty() || (rules.max_bytes != 0 && name.size() > rules.max_bytes)) return false;
    if (!may_begin(first_sequence(name), rules)) return false;
    return rules.characters.empty() ||
           std::ranges::all_of(name, [&](char c) { return has(rules.characters, c); });
}

Result<std::string> fit(std::string_view name, const NameTag& tag, const NameRules& rules) {
    const SuffixForm form = suffix_form(rules);
    if (form.count == 0)
        return fail(
            ErrorCode::config_error,
            fmt::format("Names of {} bytes from {} characters are too few to say which tool is meant.",
                        rules.max_bytes,
                        rules.characters.empty() ? kUsualDigits.size() : in_order(rules.characters).size()),
            {{"reason", "name_rules_too_narrow"}});
    return stem_of(name, rules, form) + written(tag, form);
}

std::optional<NameTag> tag_in(std::string_view name, const NameRules& rules) {
    return tag_at_end(name, suffix_form(rules));
}

std::optional<UsualSuffix> usual_suffix(std::string_view name) {
    constexpr std::size_t kSize = kUsualMark.size() + kUsualCount;
    // Most names have no mark there, and need nothing built to see it.
    if (name.size() <= kSize || !name.substr(name.size() - kSize).starts_with(kUsualMark))
        return std::nullopt;
    Wide number = 0;
    for (const char c : name.substr(name.size() - kUsualCount)) {
        const std::size_t digit = kUsualDigits.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        number = number * kUsualDigits.size() + digit;
    }
    return UsualSuffix{name.substr(0, name.size() - kSize), *tag_of_number(number)};
}

bool may_be_stem(std::string_view stem, std::initializer_list<std::string_view> name) {
    if (stem.empty()) return false;
    for (std::string_view piece : name) {
        while (!stem.empty() && !piece.empty()) {
            const std::string_view sequence = first_sequence(piece);
            piece.remove_prefix(sequence.size());
            if (stem.starts_with(sequence)) {
                stem.remove_prefix(sequence.size());
            } else if (stem.front() == '_') {
                stem.remove_prefix(1);
            } else {
                return false;
            }
        }
    }
    return stem.empty();
}

}  // namespace callgate
