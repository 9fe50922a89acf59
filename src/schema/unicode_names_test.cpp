#include "schema/unicode_names.h"

#include <string>

#include <gtest/gtest.h>

#include "schema/regex.h"

namespace callgate::schema {
namespace {

TEST(UnicodeNames, CategoriesHaveLongShortAndOldNames) {
    for (const char* name : {"Decimal_Number", "Nd", "digit"}) {
        const auto property = find_property(name);
        ASSERT_TRUE(property) << name;
        EXPECT_EQ(property->name, "Decimal_Number");
    }
    EXPECT_FALSE(find_property("nd"));
    EXPECT_FALSE(find_property("decimal_number"));
    EXPECT_FALSE(find_property(""));
    EXPECT_FALSE(find_property("gc", ""));
}

TEST(UnicodeNames, ScriptsNeedTheirPropertyName) {
    EXPECT_TRUE(find_property("Script", "Greek"));
    EXPECT_TRUE(find_property("sc", "Grek"));
    EXPECT_TRUE(find_property("sc", "Qaai"));
    EXPECT_FALSE(find_property("Greek"));
    EXPECT_FALSE(find_property("Script", "greek"));
    EXPECT_FALSE(find_property("script", "Greek"));
    EXPECT_FALSE(find_property("Alphabetic", "Y"));
}

TEST(UnicodeNames, EveryScriptOfTheTableIsKnownToRe2) {
    RegexOptions no_dfa;
    no_dfa.max_dfa_states = 0;
    EXPECT_GT(script_names().size(), 160u);
    for (const ScriptName& script : script_names()) {
        for (const std::string_view name : {script.name, script.alias}) {
            const auto regex = Regex::compile("\\p{Script=" + std::string(name) + "}", no_dfa);
            EXPECT_TRUE(regex) << name;
        }
    }
}

TEST(UnicodeNames, AsciiCharactersHaveThePropertiesThatRe2SeesInThem) {
    RegexOptions no_dfa;
    no_dfa.max_dfa_states = 0;
    for (const char* name :
         {"L",        "LC",          "Lu",        "Ll",       "Lt",       "Lm",         "Lo",    "M",
          "N",        "Nd",          "Nl",        "No",       "P",        "Pc",         "Pd",    "Ps",
          "Pe",       "Pi",          "Pf",        "Po",       "S",        "Sm",         "Sc",    "Sk",
          "So",       "Z",           "Zs",        "Zl",       "Zp",       "C",          "Cc",    "Cf",
          "Cn",       "Co",          "Cs",        "Any",      "Assigned", "Alphabetic", "Cased", "Dash",
          "ID_Start", "ID_Continue", "Lowercase", "Uppercase"}) {
        const auto property = find_property(name);
        ASSERT_TRUE(property) << name;
        const auto regex = Regex::compile(std::string("\\p{") + name + "}", no_dfa);
        ASSERT_TRUE(regex) << name;
        for (unsigned char c = 0; c < 0x80; ++c) {
            const char text = static_cast<char>(c);
            EXPECT_EQ(has_property(*property, c), regex->search({&text, 1}) == RegexMatch::yes)
                << name << ' ' << +c;
        }
    }
    for (const char* name : {"Latin", "Common", "Inherited", "Greek"}) {
        const auto property = find_property("sc", name);
        const auto regex = Regex::compile(std::string("\\p{sc=") + name + "}", no_dfa);
        ASSERT_TRUE(property && regex) << name;
        for (unsigned char c = 0; c < 0x80; ++c) {
            const char text = static_cast<char>(c);
            EXPECT_EQ(has_property(*property, c), regex->search({&text, 1}) == RegexMatch::yes)
                << name << ' ' << +c;
        }
    }
}

}  // namespace
}  // namespace callgate::schema
