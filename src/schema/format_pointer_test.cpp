#include "schema/format_pointer.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schema/format_test_cases.h"

namespace callgate::schema {
namespace {

TEST(UuidFormat, is_the_text_form_of_rfc_4122) {
    constexpr std::string_view kValid = "018f2b6c-7d3e-7A55-9C0f-6b1d2e3f4a5b";
    expect_all(
        true, is_uuid,
        {{kValid, "3 version 7, case is free"}, {"ffffffff-ffff-ffff-ffff-ffffffffffff", "any version"}});
    expect_all(false, is_uuid,
               {{"", "3"},
                {"{018f2b6c-7d3e-7a55-9c0f-6b1d2e3f4a5b}", "no braces"},
                {"018f2b6c7d3e7a559c0f6b1d2e3f4a5b", "hyphens"},
                {"018f2b6c-7d3e-7a55-9c0f-6b1d2e3f4a5g", "hexadecimal"},
                {"018f2b6c-7d3e-7a559-c0f-6b1d2e3f4a5b", "groups"}});
    const std::string valid(kValid);
    for (std::size_t i = 0; i < valid.size(); ++i) {
        const bool hyphen = valid[i] == '-';
        EXPECT_FALSE(is_uuid(std::string(valid).erase(i, 1)));
        EXPECT_FALSE(is_uuid(std::string(valid).insert(i, 1, '0')));
        EXPECT_FALSE(is_uuid(std::string(valid).replace(i, 1, 1, hyphen ? '0' : '-')));
    }
}

TEST(UriTemplateFormat, is_rfc_6570_section_2) {
    expect_all(true, is_uri_template,
               {{"", "2"},
                {"http://h/{a}{?b,c*}{#d:30}", "2.2"},
                {"{+a}{.b}{/c}{;d}{&e}", "2.2 operators"},
                {"{=a}{|b}", "2.2 op-reserve is in the grammar"},
                {"{a_1.b%20c}", "2.3 varname"},
                {"{a:9999}", "2.4.1 max-length"},
                {"é日\U0001F600\uE000%41'", "2.1 literals"}});
    expect_all(false, is_uri_template,
               {{"{", "2.2"},       {"}", "2.1"},           {"{a", "2.2"},      {"{}", "2.3"},
                {"{+}", "2.3"},     {"{a,}", "2.3"},        {"{,a,,b}", "2.3"}, {"{.a.}", "2.3"},
                {"{a..b}", "2.3"},  {"{a b}", "2.3"},       {"{é}", "2.3"},     {"{a%2}", "2.3"},
                {"{a:0}", "2.4.1"}, {"{a:10000}", "2.4.1"}, {"{a:}", "2.4.1"},  {"{a*b}", "2.4.2"},
                {"{a:1*}", "2.4"},  {"{{a}}", "2.2"},       {"a b", "2.1"},     {"a<b", "2.1"},
                {"%", "2.1"},       {"%4x", "2.1"},         {"\x7f", "2.1"},    {"\u0085", "2.1"},
                {"a\\b", "2.1"},    {"a|b", "2.1"}});
}

TEST(JsonPointerFormat, is_rfc_6901_section_3) {
    expect_all(
        true, is_json_pointer,
        {{"", "3"}, {"/", "3"}, {"//", "3"}, {"/a~0~1b/ü/%/\"", "3"}, {std::string_view("/\0\n", 3), "3"}});
    expect_all(
        false, is_json_pointer,
        {{"a", "3"}, {"#/a", "6"}, {"/~", "3"}, {"/~2", "3"}, {"/~0~", "3"}, {"/~/a", "3"}, {" /a", "3"}});
}

RC_GTEST_PROP(JsonPointerFormat, accepts_every_escaped_token, (const std::string& token)) {
    std::string text = "/";
    for (const char c : token) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    RC_ASSERT(is_json_pointer(text));
    RC_ASSERT(!is_json_pointer(text + "~"));
    RC_ASSERT(is_relative_json_pointer("10" + text));
}

TEST(RelativeJsonPointerFormat, is_draft_bhutton_section_3) {
    expect_all(true, is_relative_json_pointer,
               {{"0", ""},
                {"10", ""},
                {"0#", ""},
                {"2/a~1", ""},
                {"0-1", "index manipulation"},
                {"1+10/a", "index manipulation"},
                {"0-1#", "index manipulation"},
                {"99999999999999999999999/", ""}});
    expect_all(false, is_relative_json_pointer,
               {{"", ""},
                {"/a", ""},
                {"00", ""},
                {"01/a", ""},
                {"-1", ""},
                {"+1", ""},
                {"1a", ""},
                {"0#/a", ""},
                {"0##", ""},
                {"0/~", ""},
                {"0+", ""},
                {"0+/a", ""},
                {"0+01", ""},
                {"0-1-1", ""},
                {"٠", "ASCII digits"}});
}

}  // namespace
}  // namespace callgate::schema
