#include "schema/format.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schema/format_test_cases.h"

namespace callgate::schema {
namespace {

constexpr std::array<Format, 19> kAllFormats = {
    Format::date_time,    Format::date,          Format::time,
    Format::duration,     Format::email,         Format::idn_email,
    Format::hostname,     Format::idn_hostname,  Format::ipv4,
    Format::ipv6,         Format::uri,           Format::uri_reference,
    Format::iri,          Format::iri_reference, Format::uuid,
    Format::uri_template, Format::json_pointer,  Format::relative_json_pointer,
    Format::regex};

TEST(FormatName, is_known_for_all_formats_of_json_schema_and_no_other) {
    const std::vector<std::string_view> names = {
        "date-time", "date",          "time", "duration",     "email",        "idn-email",
        "hostname",  "idn-hostname",  "ipv4", "ipv6",         "uri",          "uri-reference",
        "iri",       "iri-reference", "uuid", "uri-template", "json-pointer", "relative-json-pointer",
        "regex"};
    ASSERT_EQ(names.size(), kAllFormats.size());
    for (std::size_t i = 0; i < names.size(); ++i)
        EXPECT_EQ(format_by_name(names[i]), kAllFormats[i]) << names[i];
    for (const std::string_view name : {"", "Date", "date_time", "color", "int32", "date-time "}) {
        EXPECT_EQ(format_by_name(name), std::nullopt) << name;
    }
}

TEST(FormatName, leads_to_its_own_check) {
    struct Example {
        std::string_view name;
        std::string_view valid;
        std::string_view invalid;
    };
    const std::vector<Example> examples = {
        {"date-time", "2024-05-06T07:08:09Z", "2024-05-06"},
        {"date", "2024-05-06", "2024-05-06T07:08:09Z"},
        {"time", "07:08:09Z", "07:08:09"},
        {"duration", "P1D", "1D"},
        {"email", "a@b.example", "ü@b.example"},
        {"idn-email", "ü@b.example", "b.example"},
        {"hostname", "b.example", "bü.example"},
        {"idn-hostname", "bü.example", "b!.example"},
        {"ipv4", "192.0.2.1", "::1"},
        {"ipv6", "::1", "192.0.2.1"},
        {"uri", "urn:a", "a"},
        {"uri-reference", "a", "ü"},
        {"iri", "urn:ü", "ü"},
        {"iri-reference", "ü", "ü ö"},
        {"uuid", "018f2b6c-7d3e-7a55-9c0f-6b1d2e3f4a5b", "018f2b6c"},
        {"uri-template", "{a}", "{a"},
        {"json-pointer", "/a", "0/a"},
        {"relative-json-pointer", "0/a", "/a"},
        {"regex", "a+", "+"},
    };
    ASSERT_EQ(examples.size(), kAllFormats.size());
    for (const Example& example : examples) {
        const auto format = format_by_name(example.name);
        ASSERT_TRUE(format) << example.name;
        EXPECT_TRUE(matches_format(*format, example.valid)) << example.name;
        EXPECT_FALSE(matches_format(*format, example.invalid)) << example.name;
    }
}

TEST(RegexFormat, asks_the_regex_engine) {
    const auto is_regex = [](std::string_view text) { return matches_format(Format::regex, text); };
    expect_all(true, is_regex, {{"", ""}, {"^[a-z]+$", ""}, {"(?=a)b", "look-ahead is ECMA-262"}});
    expect_all(false, is_regex, {{"(", ""}, {"[a", ""}, {"*", ""}});
}

RC_GTEST_PROP(AllFormats, answer_for_any_bytes, (const std::string& bytes)) {
    for (const Format format : kAllFormats) static_cast<void>(matches_format(format, bytes));
}

TEST(AllFormats, answer_for_a_megabyte) {
    constexpr std::size_t kBytes = 1'000'000;
    constexpr std::pair<std::string_view, std::string_view> kShapes[] = {
        {"", "1"},        {"", "a."},        {"", "xn--a."},
        {"", "ü."},       {"", "\u3002"},    {"2024-01-01T00:00:00.", "9"},
        {"P", "1Y"},      {"P", "1"},        {"a@", "a"},
        {"a@", "ü"},      {"\"", "a"},       {"\"", "\\\""},
        {"::", "1:"},     {"1.", "1."},      {"/", "~0"},
        {"", "{a}"},      {"", "{"},         {"{a", ",b"},
        {"http://", "@"}, {"http://[", ":"}, {"x:", "%41"},
        {"x:", "../"},    {"x:", "ü"},
    };
    for (const auto& [prefix, unit] : kShapes) {
        std::string text(prefix);
        while (text.size() < kBytes) text += unit;
        for (const Format format : kAllFormats) {
            // Patterns have a limit of their own.
            if (format != Format::regex) static_cast<void>(matches_format(format, text));
        }
        for (const Format format : {Format::email, Format::hostname, Format::idn_hostname, Format::ipv6}) {
            EXPECT_FALSE(matches_format(format, text)) << prefix << unit;
        }
    }
    EXPECT_TRUE(matches_format(Format::date_time, "2024-01-01T00:00:00." + std::string(kBytes, '9') + "Z"));
    EXPECT_TRUE(matches_format(Format::duration, "P" + std::string(kBytes, '9') + "D"));
}

}  // namespace
}  // namespace callgate::schema
