// The engines are three independent readings of a pattern: on random patterns and texts they have to agree.
#include "schema/regex.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::schema {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Turns random bytes into a pattern: shrinking the bytes shrinks the pattern.
class PatternMaker {
public:
    explicit PatternMaker(const Bytes& bytes) : bytes_(bytes) {}

    std::string make(int depth = 4) {
        const unsigned kind = next() % (depth > 0 ? 10 : 4);
        switch (kind) {
            case 4: return make(depth - 1) + make(depth - 1);
            case 5: return make(depth - 1) + make(depth - 1) + make(depth - 1);
            case 6: return "(?:" + make(depth - 1) + "|" + make(depth - 1) + ")";
            case 7:
            case 8: return "(" + make(depth - 1) + ")" + pick(kQuantifiers);
            case 9: return "^" + make(depth - 1) + "$";
            default: return pick(kAtoms);
        }
    }

private:
    static constexpr std::array kAtoms{
        "a",       "b",         "c",       " ",           "\\n",    "é",       "🐲",        ".",
        "\\d",     "\\S",       "\\s",     "\\w",         "\\W",    "^",       "$",         "[ab]",
        "[^a]",    "[]",        "[^]",     "[^é🐲]",      "[b-é]",  "\\ud83d", "",          "\\b",
        "\\B",     "\\p{L}",    "\\P{Lu}", "[^\\p{Ll}b]", "\\p{C}", "[é-🐲]",  "[\\s\\S]*", "\\p{Alphabetic}",
        "\\P{LC}", "[a\\P{Lu}]"};
    static constexpr std::array kQuantifiers{"*",  "+",  "?",     "{2}", "{0,3}", "{1,}",
                                             "*?", "??", "{2,9}", "{5}", "{0}"};

    unsigned next() { return at_ < bytes_.size() ? bytes_[at_++] : 0; }
    template <std::size_t N>
    std::string pick(const std::array<const char*, N>& from) {
        return from[next() % N];
    }

    const Bytes& bytes_;
    std::size_t at_ = 0;
};

std::string make_text(const Bytes& bytes) {
    static constexpr std::array kPieces{"a",      "b", "c", " ", "\n",     "é", "🐲",
                                        "\u2028", "0", "A", "É", "\uFFFF", "ab"};
    std::string text;
    for (const std::uint8_t byte : bytes) text += kPieces[byte % kPieces.size()];
    return text;
}

void check_agreement(const std::string& pattern, const std::vector<std::string>& texts) {
    RegexOptions no_dfa;
    no_dfa.max_dfa_states = 0;
    RegexOptions few_states;
    few_states.max_dfa_states = 8;
    RegexOptions backtracking;
    backtracking.allow_pcre2 = true;
    const auto dfa = Regex::compile(pattern);
    const auto small = Regex::compile(pattern, few_states);
    const auto re2 = Regex::compile(pattern, no_dfa);
    const auto pcre2 = Regex::compile("(?=)(?:" + pattern + ")", backtracking);
    RC_ASSERT(Regex::is_valid(pattern));
    RC_ASSERT(dfa.has_value() || !re2.has_value());
    if (!re2) {
        return;
    }
    RC_ASSERT(re2->engine() == "re2");
    for (const std::string& text : texts) {
        const RegexMatch verdict = re2->search(text);
        RC_LOG() << pattern << " on " << text << ", as " << dfa->engine();
        RC_ASSERT(dfa->search(text) == verdict);
        RC_ASSERT(small->search(text) == verdict);
        if (pcre2) {
            RC_ASSERT(pcre2->engine() == "pcre2");
            const RegexMatch other = pcre2->search(text);
            RC_ASSERT(other == RegexMatch::over_limit || other == verdict);
        }
    }
}

RC_GTEST_PROP(RegexEngines, AgreeOnRandomPatternsAndTexts,
              (const std::vector<Bytes>& shapes, const std::vector<Bytes>& raw_texts)) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < std::min<std::size_t>(raw_texts.size(), 8); ++i) {
        texts.push_back(make_text(raw_texts[i]));
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(shapes.size(), 16); ++i) {
        check_agreement(PatternMaker(shapes[i]).make(), texts);
    }
}

RC_GTEST_PROP(RegexEngines, TakeAnyBytesForAPattern, (const std::string& pattern, const std::string& text)) {
    RegexOptions options;
    options.allow_pcre2 = true;
    const auto regex = Regex::compile(pattern, options);
    if (regex) {
        regex->search(text);
    } else {
        RC_ASSERT(!regex.error().message.empty());
        RC_ASSERT(regex.error().details.at("offset").to_number<std::size_t>() <= pattern.size());
    }
}

RC_GTEST_PROP(RegexEngines, TakeAnySyntaxForAPattern, (const Bytes& choice)) {
    static constexpr std::string_view kSyntax = "()[]{}|*+?^$\\.-,:=!<>kpPubBdws019aA";
    std::string pattern;
    for (const std::uint8_t byte : choice) pattern += kSyntax[byte % kSyntax.size()];
    RegexOptions options;
    options.allow_pcre2 = true;
    const auto regex = Regex::compile(pattern, options);
    if (regex) {
        regex->search("a1 (x) A");
    }
    if (Regex::is_valid(pattern) && !regex) {
        RC_ASSERT(regex.error().details.at("reason").as_string() == "unsupported_pattern");
    }
}

RC_GTEST_PROP(RegexEngines, TreatALiteralAsASubstring,
              (const Bytes& raw, std::uint8_t from, std::uint8_t count)) {
    const std::string text = make_text(raw);
    const std::string part = text.substr(std::min<std::size_t>(from, text.size()), count % 5u);
    const auto regex = Regex::compile(part);
    RC_PRE(regex.has_value());
    RC_ASSERT(regex->search(text) == RegexMatch::yes);
    const auto whole = Regex::compile("^" + part + "$");
    RC_ASSERT((whole->search(text) == RegexMatch::yes) == (part == text));
}

}  // namespace
}  // namespace callgate::schema
