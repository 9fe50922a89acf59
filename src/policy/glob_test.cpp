#include "policy/glob.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace callgate::policy {
namespace {

bool match(const char* pattern, std::string_view text) {
    return Glob(pattern).matches(text);
}

TEST(Glob, WithoutWildcardsIsTheNameItself) {
    EXPECT_TRUE(match("mail.send", "mail.send"));
    EXPECT_FALSE(match("mail.send", "mail.sends"));
    EXPECT_FALSE(match("mail.send", "Mail.send"));
    EXPECT_FALSE(match("mail.send", "mailXsend"));
    EXPECT_FALSE(match("mail.send", ""));
}

TEST(Glob, StarIsAnyTextAlsoNone) {
    EXPECT_TRUE(match("*", ""));
    EXPECT_TRUE(match("*", "github/create_issue"));
    EXPECT_TRUE(match("github/*", "github/"));
    EXPECT_TRUE(match("github/*", "github/create_issue"));
    EXPECT_FALSE(match("github/*", "gitlab/create_issue"));
    EXPECT_TRUE(match("*_issue", "github/create_issue"));
    EXPECT_FALSE(match("*_issue", "github/create_issues"));
    EXPECT_TRUE(match("g*/c*e", "github/create_issue"));
    EXPECT_TRUE(match("**", "x"));
}

TEST(Glob, QuestionMarkIsOneCharacter) {
    EXPECT_TRUE(match("v?", "v1"));
    EXPECT_FALSE(match("v?", "v"));
    EXPECT_FALSE(match("v?", "v12"));
    EXPECT_TRUE(match("caf?", "café"));
    EXPECT_FALSE(match("caf??", "café"));
    EXPECT_TRUE(match("*?", "漢"));
    EXPECT_FALSE(match("*??", "漢"));
}

TEST(Glob, TakesBoundedStepsOnHostilePatterns) {
    std::string pattern;
    for (int i = 0; i < 100; ++i) pattern += "a*";
    EXPECT_FALSE(match((pattern + 'b').c_str(), std::string(20'000, 'a')));
}

TEST(Glob, KnowsWhatItCovers) {
    const auto covers = [](const char* outer, const char* inner) { return Glob(outer).covers(Glob(inner)); };
    EXPECT_TRUE(covers("*", "a?c"));
    EXPECT_TRUE(covers("mail.*", "mail.send"));
    EXPECT_TRUE(covers("mail.*", "mail.s*"));
    EXPECT_TRUE(covers("mail.?end", "mail.send"));
    EXPECT_TRUE(covers("a?b*", "a?b*"));
    EXPECT_FALSE(covers("mail.s*", "mail.*"));
    EXPECT_FALSE(covers("mail.send", "mail.*"));
    EXPECT_FALSE(covers("mail.*", "ma*"));
    EXPECT_FALSE(covers("?", "*"));
}

bool by_definition(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] == '*') {
        return by_definition(pattern.substr(1), text) ||
               (!text.empty() && by_definition(pattern, text.substr(1)));
    }
    return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
           by_definition(pattern.substr(1), text.substr(1));
}

rc::Gen<std::string> any_of_letters(const std::string& letters) {
    return rc::gen::resize(10, rc::gen::container<std::string>(rc::gen::elementOf(letters)));
}

RC_GTEST_PROP(Glob, AgreesWithItsDefinition, ()) {
    const auto pattern = *any_of_letters("ab*?");
    const auto text = *any_of_letters("ab");
    RC_ASSERT(Glob(pattern).matches(text) == by_definition(pattern, text));
}

RC_GTEST_PROP(Glob, WhatItCoversItMatches, ()) {
    const Glob outer(*any_of_letters("ab*?"));
    const Glob inner(*any_of_letters("ab*?"));
    const auto text = *any_of_letters("ab");
    RC_PRE(inner.matches(text));
    RC_ASSERT(!outer.covers(inner) || outer.matches(text));
}

}  // namespace
}  // namespace callgate::policy
