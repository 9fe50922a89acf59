#include "tool/fitted_name.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace callgate {
namespace {

NameRules made_rules(std::string characters, std::size_t max_bytes, std::string first = {}) {
    NameRules rules;
    rules.characters = std::move(characters);
    rules.first = std::move(first);
    rules.max_bytes = max_bytes;
    return rules;
}

std::string why_unfit(const Result<std::string>& result) {
    return result ? "" : std::string(result.error().details.at("reason").as_string());
}

TEST(FittedName, EveryVendorTakesAPlainWord) {
    for (int form = 0; form <= static_cast<int>(DefinitionForm::bare); ++form)
        EXPECT_TRUE(fits("read_file", name_rules(static_cast<DefinitionForm>(form)))) << form;
}

TEST(FittedName, WhatAVendorRefusesDoesNotFit) {
    const NameRules openai = name_rules(DefinitionForm::openai);
    for (const char* name : {"", "a.b", "a/b", "gr\u00F6\u00DFe", "a b"})
        EXPECT_FALSE(fits(name, openai)) << name;
    EXPECT_FALSE(fits(std::string(65, 'x'), openai));
    EXPECT_TRUE(fits("a.b", name_rules(DefinitionForm::mcp)));
    EXPECT_FALSE(fits("1st", name_rules(DefinitionForm::gemini)));
    EXPECT_TRUE(fits("1st", openai));
}

TEST(FittedName, SaysWhatItCanOfTheNameAndThenWhoseItIs) {
    const NameTag tag = tag_of("files/gr\u00F6\u00DFe.read");
    const auto fitted = fit("gr\u00F6\u00DFe.read", tag, name_rules(DefinitionForm::openai));
    ASSERT_TRUE(fitted);
    // The same in every process and version: models' histories hold it.
    EXPECT_EQ(*fitted, "gr__e_read_0spesyj4egza5d7nt");
    EXPECT_EQ(tag_in(*fitted, name_rules(DefinitionForm::openai)), tag);
}

TEST(FittedName, IsCutToItsLength) {
    const NameTag tag = tag_of("files/long");
    const auto fitted = fit(std::string(150, 'x'), tag, name_rules(DefinitionForm::bedrock));
    ASSERT_TRUE(fitted);
    EXPECT_EQ(fitted->size(), 64u);
    EXPECT_TRUE(fitted->starts_with(std::string(46, 'x') + "_0"));
}

TEST(FittedName, BeginsAsItMust) {
    const auto fitted = fit("1st.place", tag_of("a/1st.place"), name_rules(DefinitionForm::gemini));
    ASSERT_TRUE(fitted);
    EXPECT_TRUE(fitted->starts_with("_st.place_0")) << *fitted;
    const auto letters = fit("1st", tag_of("a/1st"), made_rules("0123456789abc", 64, "abc"));
    ASSERT_TRUE(letters);
    EXPECT_EQ(letters->front(), 'a');
}

TEST(FittedName, RulesWithoutRoomForASuffixAreRefused) {
    const NameTag tag = tag_of("a/b");
    EXPECT_EQ(why_unfit(fit("b\u00E9", tag, made_rules("ab", 80))), "name_rules_too_narrow");
    EXPECT_EQ(why_unfit(fit("b\u00E9", tag, made_rules("ab", 81))), "");
    EXPECT_EQ(why_unfit(fit("b\u00E9", tag, made_rules("a", 1'000))), "name_rules_too_narrow");
    EXPECT_EQ(why_unfit(fit("b\u00E9", tag, made_rules("ab", 1'000, "xyz"))), "name_rules_too_narrow");
    EXPECT_EQ(why_unfit(fit("b\u00E9", tag, made_rules("\x01\x02\xFF", 1'000))), "name_rules_too_narrow");
    EXPECT_EQ(why_unfit(fit("b\u00E9", tag, made_rules("", 17))), "");
    EXPECT_EQ(why_unfit(fit("b\u00E9", tag, made_rules("", 16))), "name_rules_too_narrow");
}

TEST(FittedName, AUsualSuffixIsReadWithoutTheRules) {
    const NameTag tag = tag_of("a/b");
    for (const DefinitionForm form :
         {DefinitionForm::mcp, DefinitionForm::openai, DefinitionForm::anthropic, DefinitionForm::gemini,
          DefinitionForm::bedrock, DefinitionForm::bare}) {
        const auto fitted = fit("b\u00E9", tag, name_rules(form));
        ASSERT_TRUE(fitted);
        const auto suffix = usual_suffix(*fitted);
        ASSERT_TRUE(suffix) << *fitted;
        EXPECT_EQ(suffix->tag, tag);
        EXPECT_TRUE(may_be_stem(suffix->stem, {"b\u00E9"}));
    }
    for (const char* name : {"read", "_0aaaaaaaaaaaaaaaa", "x_0aaaaaaaaaaaaaaa", "x_0aaaaaaaaaaaaaaa1",
                             "x_1aaaaaaaaaaaaaaaa", "x_0AAAAAAAAAAAAAAAA"})
        EXPECT_FALSE(usual_suffix(name)) << name;
}

TEST(FittedName, AStemIsThatOfItsNameAlone) {
    EXPECT_TRUE(may_be_stem("re", {"read"}));
    EXPECT_TRUE(may_be_stem("read", {"re", "", "ad"}));
    EXPECT_TRUE(may_be_stem("caf_", {"caf\u00E9"}));
    EXPECT_FALSE(may_be_stem("", {"read"}));
    EXPECT_FALSE(may_be_stem("reads", {"read"}));
    EXPECT_FALSE(may_be_stem("rEad", {"read"}));
}

RC_GTEST_PROP(FittedName, WhateverTheRulesItFitsThemAndSaysItsTag, ()) {
    const std::string printable =
        "!#$%&()+,-./0123456789:;<=>@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz{|}~";
    auto characters = *rc::gen::container<std::string>(rc::gen::elementOf(printable));
    const auto max_bytes = *rc::gen::inRange<std::size_t>(0, 130);
    auto first = *rc::gen::oneOf(rc::gen::just(std::string()), rc::gen::just(characters.substr(0, 3)));
    const NameRules rules = made_rules(std::move(characters), max_bytes, std::move(first));
    std::string name;
    for (const char32_t point :
         *rc::gen::nonEmpty(rc::gen::container<std::u32string>(rc::gen::element<char32_t>(
             U'a', U'Z', U'0', U'_', U'.', U'-', U'\u00E9', U'\u8A08', U'\U0001F600'))))
        base::append_utf8(name, point);
    const NameTag tag = tag_of(name);
    const auto fitted = fit(name, tag, rules);
    RC_PRE(fitted.has_value());
    RC_ASSERT(fits(*fitted, rules));
    RC_ASSERT(base::is_valid_utf8(*fitted));
    RC_ASSERT(tag_in(*fitted, rules) == tag);
}

}  // namespace
}  // namespace callgate
