#include "schema/unicode_names.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <unictype.h>

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

// The code points of a property by its parts, with libunistring's general categories.
std::vector<bool> members_of(const UnicodeProperty& property, char32_t end) {
    std::vector<bool> members(end);
    for (std::string_view left = property.categories; !left.empty();) {
        const std::string one(left.substr(0, left.find(' ')));
        const uc_general_category_t category = uc_general_category_byname(one.c_str());
        for (char32_t c = 0; c < end; ++c) members[c] = members[c] || uc_is_general_category(c, category);
        left.remove_prefix(std::min(left.size(), one.size() + 1));
    }
    for (const CodeRange& range : property.ranges) {
        for (char32_t c = range.first; c <= range.last && c < end; ++c) members[c] = true;
    }
    return members;
}

TEST(UnicodeNames, TheTablesAgreeWithLibunistringWhereItKnowsTheProperty) {
    constexpr char32_t kEnd = 0xE2000;  // after that there is only private use
    for (const char* name : {"ASCII_Hex_Digit", "Alphabetic", "Bidi_Control", "Cased", "Dash", "Hex_Digit",
                             "ID_Continue", "ID_Start", "Ideographic", "Join_Control", "Lowercase",
                             "Pattern_White_Space", "Quotation_Mark", "Unified_Ideograph", "Uppercase",
                             "Variation_Selector", "White_Space", "Default_Ignorable_Code_Point"}) {
        const uc_property_t theirs = uc_property_byname(name);
        const auto ours = find_property(name);
        ASSERT_TRUE(ours && uc_property_is_valid(theirs)) << name;
        ASSERT_TRUE(ours->script.empty() && !ours->complement) << name;
        const std::vector<bool> members = members_of(*ours, kEnd);
        for (char32_t c = 0; c < kEnd; ++c) {
            if (members[c] != uc_is_property(c, theirs)) {
                ADD_FAILURE() << name << " U+" << std::hex << static_cast<std::uint32_t>(c);
                break;
            }
        }
    }
}

}  // namespace
}  // namespace callgate::schema
