#include "schema/regex.h"

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace callgate::schema {
namespace {

Regex make(std::string_view pattern, const RegexOptions& options = {}) {
    auto regex = Regex::compile(pattern, options);
    if (!regex) {
        ADD_FAILURE() << regex.error().message;
        return *Regex::compile("[]");
    }
    return std::move(*regex);
}

RegexOptions with_pcre2() {
    RegexOptions options;
    options.allow_pcre2 = true;
    return options;
}

/// The same answer from our automaton and from RE2.
bool matches(std::string_view pattern, std::string_view text) {
    RegexOptions no_dfa;
    no_dfa.max_dfa_states = 0;
    const bool first = make(pattern).search(text) == RegexMatch::yes;
    const bool second = make(pattern, no_dfa).search(text) == RegexMatch::yes;
    EXPECT_EQ(first, second) << pattern << " on " << text;
    return first;
}

Error error_of(std::string_view pattern, const RegexOptions& options = {}) {
    auto regex = Regex::compile(pattern, options);
    if (regex) {
        ADD_FAILURE() << pattern << " was accepted";
        return {};
    }
    return regex.error();
}

std::string reason_of(std::string_view pattern, const RegexOptions& options = {}) {
    const Error error = error_of(pattern, options);
    EXPECT_EQ(error.code, ErrorCode::config_error);
    return std::string(error.details.at("reason").as_string());
}

std::string repeated(std::string_view text, std::size_t times) {
    std::string out;
    for (; times > 0; --times) out += text;
    return out;
}

TEST(Regex, FindsAMatchAnywhereInTheText) {
    EXPECT_TRUE(matches("b+", "abbc"));
    EXPECT_TRUE(matches("needle", "hay needle hay"));
    EXPECT_FALSE(matches("needle", "hay needl"));
    EXPECT_TRUE(matches("", ""));
    EXPECT_TRUE(matches("", "anything"));
}

TEST(Regex, AnchorsMeanTheEndsOfTheTextAndNoLineEnds) {
    EXPECT_TRUE(matches("^abc$", "abc"));
    EXPECT_FALSE(matches("^abc$", "abc\n"));
    EXPECT_FALSE(matches("^b", "a\nb"));
    EXPECT_FALSE(matches("a$", "a\nb"));
    EXPECT_TRUE(matches("$^", ""));
    EXPECT_FALSE(matches("$^", "a"));
    EXPECT_TRUE(matches("x*$", "ab"));
    EXPECT_TRUE(matches("(^a|b)c", "xbc"));
    EXPECT_FALSE(matches("(^a|b)c", "xac"));
    EXPECT_FALSE(matches("a^b", "ab"));
}

TEST(Regex, DotLeavesOutTheFourLineTerminators) {
    EXPECT_TRUE(matches("^.$", "\u0085"));
    EXPECT_TRUE(matches("^.$", "🐲"));
    for (const char* terminator : {"\n", "\r", "\u2028", "\u2029"}) {
        EXPECT_FALSE(matches("^.$", terminator));
    }
}

TEST(Regex, DigitsAndWordCharactersAreAscii) {
    EXPECT_TRUE(matches("^\\d\\w$", "7_"));
    EXPECT_FALSE(matches("\\d", "\u0663"));
    EXPECT_FALSE(matches("\\w", "é"));
    EXPECT_TRUE(matches("^\\D\\W$", "\u0663é"));
}

TEST(Regex, WhiteSpaceIsTheSetOfEcma262) {
    for (const char* space :
         {"\t", "\v", "\f", " ", "\u00A0", "\uFEFF", "\n", "\r", "\u2028", "\u2003", "\u3000"}) {
        EXPECT_TRUE(matches("^\\s$", space));
        EXPECT_FALSE(matches("\\S", space));
    }
    EXPECT_FALSE(matches("\\s", "\u180E"));
    EXPECT_FALSE(matches("\\s", "\u200B"));
}

TEST(Regex, EscapesNameCharacters) {
    EXPECT_TRUE(matches("^\\cJ\\cj\\t\\v\\f\\r\\0$", std::string_view("\n\n\t\v\f\r\0", 7)));
    EXPECT_TRUE(matches("^\\x41\\u00e9\\u{1F432}$", "Aé🐲"));
    EXPECT_TRUE(matches("^\\ud83d\\udc32$", "🐲"));
    EXPECT_TRUE(matches("^[\\ud83d\\udc32-\\ud83d\\udc34]$", "🐳"));
    EXPECT_TRUE(matches("^\\^\\$\\\\\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/$", "^$\\.*+?()[]{}|/"));
    EXPECT_TRUE(matches("^[\\b\\-]$", "\b"));
}

TEST(Regex, ALoneSurrogateMatchesNothing) {
    EXPECT_FALSE(matches("\\ud83d", "🐲"));
    EXPECT_TRUE(matches("^[^\\ud83d]$", "🐲"));
    EXPECT_TRUE(matches("^[\\ud800-\\uffff]$", "\uFF01"));
}

TEST(Regex, ClassesTakeRangesNegationAndEmptiness) {
    EXPECT_TRUE(matches("^[a-cx-]+$", "ab-x"));
    EXPECT_TRUE(matches("^[^a-c\\s]$", "é"));
    EXPECT_FALSE(matches("[^a-c\\s]", "a b"));
    EXPECT_FALSE(matches("[]", "a"));
    EXPECT_TRUE(matches("^[^]$", "\n"));
    EXPECT_TRUE(matches("^[🐲é]$", "é"));
    EXPECT_FALSE(matches("^[🐲é]$", "\xC3\xA8"));
}

TEST(Regex, UnicodePropertiesGoByTheirEcmaNames) {
    for (const char* letter : {"\\p{L}", "\\p{Letter}", "\\p{gc=L}", "\\p{General_Category=Letter}"}) {
        EXPECT_TRUE(matches(std::string("^") + letter + "+$", "Zoëπ漢"));
        EXPECT_FALSE(matches(std::string("^") + letter + "+$", "a1"));
    }
    EXPECT_TRUE(matches("^\\p{digit}+$", "4\u0664"));
    EXPECT_TRUE(matches("^\\p{Script=Greek}\\p{sc=Cyrl}$", "λж"));
    EXPECT_FALSE(matches("\\p{Script=Greek}", "abcж"));
    EXPECT_TRUE(matches("^\\P{Lu}[^\\p{Lu}]$", "aλ"));
    EXPECT_FALSE(matches("[^\\p{Lu}]", "AÉ"));
    EXPECT_TRUE(matches("^\\p{LC}+$", "aBǅ"));
    EXPECT_TRUE(matches("^\\p{Alphabetic}\\p{Uppercase}\\p{Lowercase}$", "\u0345Ⓐⓐ"));
    EXPECT_TRUE(matches("^\\p{Emoji_Presentation}$", "🐲"));
    EXPECT_TRUE(matches("^\\p{ID_Start}\\p{ID_Continue}*$", "é\u00B7x"));
    EXPECT_FALSE(matches("\\p{ID_Start}", "\u2E2F"));
    EXPECT_TRUE(matches("^\\p{ASCII}\\p{Any}\\P{ASCII}$", "a\né"));
}

TEST(Regex, UnassignedCodePointsBelongToOther) {
    EXPECT_TRUE(matches("^\\p{Cn}\\p{C}\\P{Assigned}$", "\uFFFF\uFFFE\U0010FFFF"));
    EXPECT_FALSE(matches("\\p{Cn}", "aé🐲"));
    EXPECT_TRUE(matches("^\\p{Assigned}+$", "aé🐲\n"));
    EXPECT_TRUE(matches("^[a\\P{C}]+$", "abcé"));
    EXPECT_TRUE(matches("^[^\\p{C}]$", "é"));
    EXPECT_FALSE(matches("[^\\p{C}]", "\n"));
}

TEST(Regex, RepetitionCountsBothWays) {
    EXPECT_TRUE(matches("^(?:ab){2,3}$", "ababab"));
    EXPECT_FALSE(matches("^(?:ab){2,3}$", "ab"));
    EXPECT_FALSE(matches("^(?:ab){2,3}$", "abababab"));
    EXPECT_TRUE(matches("^a{2,}?b??$", "aaab"));
    EXPECT_TRUE(matches("^a{0}$", ""));
    EXPECT_TRUE(matches("(a*)*b", "aab"));
    EXPECT_TRUE(matches("^(?:a|ab)(?:c|bcd)(?:d*)$", "abcd"));
}

TEST(Regex, CountsMayBeLargeWhenTheTextsLengthDecides) {
    const Regex name = make("^[a-z][a-z0-9-]{0,5000}$");
    EXPECT_EQ(name.engine(), "dfa");
    EXPECT_EQ(name.search("a" + std::string(5000, '-')), RegexMatch::yes);
    EXPECT_EQ(name.search("a" + std::string(5001, '-')), RegexMatch::no);
    EXPECT_EQ(name.search(""), RegexMatch::no);

    const Regex text = make("^.{2,100000}$");
    EXPECT_EQ(text.engine(), "dfa");
    EXPECT_EQ(text.search("é"), RegexMatch::no);
    EXPECT_EQ(text.search("éé"), RegexMatch::yes);
    EXPECT_EQ(text.search(repeated("🐲", 100'000)), RegexMatch::yes);
    EXPECT_EQ(text.search(repeated("🐲", 100'001)), RegexMatch::no);

    EXPECT_TRUE(matches("^(sk|pk)-([A-Za-z0-9]{20,40})$", "sk-" + std::string(40, 'x')));
    EXPECT_FALSE(matches("^(sk|pk)-([A-Za-z0-9]{20,40})$", "sk-" + std::string(41, 'x')));
    EXPECT_TRUE(matches("^\\p{L}{64}$", repeated("é", 64)));
    EXPECT_FALSE(matches("^\\p{L}{64}$", repeated("é", 63)));
    EXPECT_TRUE(matches("^[ab]{6}-[ab]{4,6}$", "ababab-abab"));
    EXPECT_FALSE(matches("^[ab]{6}-[ab]{4,6}$", "ababa-babab"));
    EXPECT_FALSE(matches("^[ab]{4,8}-[ab]{4,8}$", "aaa-aaaaa"));
}

TEST(Regex, WordBoundariesAreAsciiAndStandBetweenCharacters) {
    EXPECT_TRUE(matches("\\bfoo\\b", "a foo b"));
    EXPECT_FALSE(matches("\\bfoo\\b", "afoo"));
    EXPECT_TRUE(matches("\\bfoo\\b", "éfooé"));
    EXPECT_TRUE(matches("o\\Bo", "foo"));
    EXPECT_FALSE(matches("\\B", "aéb"));
    EXPECT_TRUE(matches("\\B", "aééb"));
}

TEST(Regex, SmallPatternsRunOnTheOwnAutomatonAndLargeOnesOnRe2) {
    EXPECT_EQ(make("^[a-z0-9-]{1,64}$").engine(), "dfa");
    EXPECT_EQ(make("^\\p{L}+$").engine(), "dfa");
    EXPECT_EQ(make("(a|b)*a(a|b){20}").engine(), "re2");
    EXPECT_EQ(make("\\bfoo").engine(), "re2");
    RegexOptions no_dfa;
    no_dfa.max_dfa_states = 0;
    EXPECT_EQ(make("abc", no_dfa).engine(), "re2");
}

TEST(Regex, ForgivesEscapedPunctuationAndHyphensBesideClassEscapes) {
    EXPECT_TRUE(matches("^\\-\\@\\\"\\'\\:\\ \\#\\_$", "-@\"': #_"));
    EXPECT_TRUE(matches("^[\\w-.]+$", "a-b.c"));
    EXPECT_TRUE(matches("^[.-\\w]+$", "a-b.c"));
}

TEST(Regex, LookAroundAndBackReferencesAreRefusedUnlessPcre2IsAllowed) {
    for (const char* pattern : {"(?=a)", "(?!a)b", "(?<=a)b", "(?<!a)b", "(a)\\1", "(?<x>a)\\k<x>",
                                "\\p{Script_Extensions=Greek}", "\\p{Math}"}) {
        EXPECT_EQ(reason_of(pattern), "unsupported_pattern") << pattern;
        EXPECT_EQ(make(pattern, with_pcre2()).engine(), "pcre2") << pattern;
    }
    EXPECT_EQ(make("^a+$", with_pcre2()).engine(), "dfa");
    const Error error = error_of("ab(?=c)");
    EXPECT_EQ(error.details.at("offset").to_number<int>(), 2);
    EXPECT_NE(error.message.find("look-ahead"), std::string::npos);
    EXPECT_NE(error.message.find("PCRE2"), std::string::npos);
}

TEST(Regex, Pcre2RunsLookAroundAndBackReferencesAsEcmaMeansThem) {
    const auto found = [](std::string_view pattern, std::string_view text) {
        return make(pattern, with_pcre2()).search(text) == RegexMatch::yes;
    };
    EXPECT_TRUE(found("^(?=.*\\d)(?=.*[A-Z]).{6,}$", "secreT1"));
    EXPECT_FALSE(found("^(?=.*\\d)(?=.*[A-Z]).{6,}$", "secret1"));
    EXPECT_FALSE(found("^(?!admin$).*$", "admin"));
    EXPECT_TRUE(found("(?<=\\s)b", "a\u2003b"));
    EXPECT_TRUE(found("^(?<q>['\"]).*\\k<q>$", "'x'"));
    EXPECT_FALSE(found("^(['\"]).*\\1$", "'x\""));
    EXPECT_TRUE(found("^\\1(a)$", "a"));
    EXPECT_TRUE(found("^(?:(?<c>a)|(?<c>b))\\k<c>$", "bb"));
    EXPECT_FALSE(found("^(?:(?<c>a)|(?<c>b))\\k<c>$", "ba"));
    EXPECT_FALSE(found("(?=abc)abc$", "abc\n"));
    EXPECT_TRUE(found("^[^a\\P{Alphabetic}](?=b)", "cb"));
    EXPECT_FALSE(found("^[^a\\P{Alphabetic}](?=b)", "1b"));
    EXPECT_TRUE(found("^\\p{scx=Hira}$", "\u30FC"));
}

TEST(Regex, Pcre2GivesUpAtItsLimitsAndSaysSo) {
    const Regex nested = make("^(a+)+\\1\\1$", with_pcre2());
    EXPECT_EQ(nested.search(std::string(60, 'a') + "!"), RegexMatch::over_limit);
    const Regex scans = make("(?=[^x]*x)", with_pcre2());
    EXPECT_EQ(scans.search(std::string(200'000, 'a')), RegexMatch::over_limit);
    const Regex compares = make("^(a*)\\1$", with_pcre2());
    EXPECT_EQ(compares.search("aaaa"), RegexMatch::yes);
    EXPECT_EQ(compares.search(std::string(300'001, 'a')), RegexMatch::over_limit);
}

TEST(Regex, BadPatternsSayWhatIsWrongWhereAndWhatToDo) {
    const Error error = error_of("ab\\q");
    EXPECT_EQ(error.code, ErrorCode::config_error);
    EXPECT_EQ(error.details.at("reason").as_string(), "bad_pattern");
    EXPECT_EQ(error.details.at("pattern").as_string(), "ab\\q");
    EXPECT_EQ(error.details.at("offset").to_number<int>(), 2);
    EXPECT_EQ(
        error.message,
        "Invalid pattern \"ab\\q\": \"\\q\" is not an escape of ECMA-262, at byte 2; write the character "
        "itself, or \\x and two hexadecimal digits.");
    EXPECT_NE(error_of("(?P<name>x)").message.find("(?<name>"), std::string::npos);
    EXPECT_NE(error_of("(?i)abc").message.find("inline flags"), std::string::npos);
    EXPECT_NE(error_of("a\\Z").message.find("\"$\""), std::string::npos);
}

TEST(Regex, ShowsLongOrBrokenPatternsCutAndAsUtf8) {
    const Error cut = error_of("(" + repeated("é", 150));
    EXPECT_EQ(cut.details.at("pattern").as_string(), "(" + repeated("é", 99));
    const Error broken = error_of("a\xFF");
    EXPECT_EQ(broken.details.at("pattern").as_string(), "a?");
    EXPECT_EQ(broken.details.at("offset").to_number<int>(), 1);
}

TEST(Regex, PatternsHaveASizeLimit) {
    RegexOptions options;
    options.max_pattern_bytes = 10;
    EXPECT_EQ(make("0123456789", options).engine(), "dfa");
    EXPECT_EQ(reason_of("0123456789a", options), "unsupported_pattern");
}

TEST(Regex, EvilPatternsAnswerOrAreRefusedInBoundedWork) {
    const std::string text(20'000, 'a');
    EXPECT_EQ(make("(a+)+$").search(text + "!"), RegexMatch::no);
    EXPECT_EQ(make("(a|a)*b").search(text), RegexMatch::no);
    EXPECT_EQ(make("(?:a?){60}a{60}").search(std::string(60, 'a')), RegexMatch::yes);
    EXPECT_EQ(make(repeated("(.*)", 200) + "x").search(text), RegexMatch::no);
    EXPECT_EQ(make("[" + repeated("\\W\\S\\D", 600) + "]+$").search(text), RegexMatch::yes);
    EXPECT_EQ(make(repeated("(", 250) + "a" + repeated(")*", 250) + "b").search(text), RegexMatch::no);
    for (const RegexOptions& options : {RegexOptions(), with_pcre2()}) {
        EXPECT_EQ(reason_of("(((a{1,1000}){1,1000}){1,1000})", options), "unsupported_pattern");
        EXPECT_EQ(reason_of("((((){1000}){1000}){1000}){1000}", options), "unsupported_pattern");
        EXPECT_EQ(reason_of(repeated("(", 251) + repeated(")", 251), options), "unsupported_pattern");
        EXPECT_EQ(reason_of(repeated("(", 4096), options), "unsupported_pattern");
        EXPECT_EQ(reason_of("a{1000000000}b", options), "unsupported_pattern");
        EXPECT_EQ(reason_of(repeated("\\p{Emoji}", 300), options), "unsupported_pattern");
    }
    EXPECT_EQ(reason_of(repeated("\\p{L}", 400)), "unsupported_pattern");
}

TEST(Regex, AHugeProgramOnAHugeTextIsNotStarted) {
    const Regex regex = make("(?:a{1000}|b)c.{1000}d");
    EXPECT_EQ(regex.search("xx"), RegexMatch::no);
    EXPECT_EQ(regex.search(std::string(1'000'000, 'a')), RegexMatch::over_limit);
}

TEST(Regex, CanBeSearchedFromManyThreadsAtOnce) {
    const Regex regex = make("^\\p{L}+$");
    std::atomic<int> found = 0;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < 100; ++k) found += regex.search("Zoë") == RegexMatch::yes ? 1 : 0;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(found, 400);
}

TEST(Regex, CanBeMovedAndReused) {
    Regex first = make("^a$");
    Regex second = make("^b$");
    second = std::move(first);
    EXPECT_EQ(second.search("a"), RegexMatch::yes);
    const Regex third(std::move(second));
    EXPECT_EQ(third.search("a"), RegexMatch::yes);
}

}  // namespace
}  // namespace callgate::schema
