#include "tool/tool_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace callgate {
namespace {

constexpr std::size_t kMax = 128;

TEST(ToolName, OrdinaryNamesAreFine) {
    for (const char* name :
         {"add", "a", "server/tool", "mcp__server__tool", "a.b-c", "größe", "計算", "x:y@z"})
        EXPECT_EQ(tool_name_fault(name, kMax), std::nullopt) << name;
}

TEST(ToolName, LengthIsCountedInBytes) {
    EXPECT_EQ(tool_name_fault("", kMax), "is empty");
    EXPECT_EQ(tool_name_fault(std::string(kMax, 'x'), kMax), std::nullopt);
    EXPECT_EQ(tool_name_fault(std::string(kMax + 1, 'x'), kMax), "has 129 bytes, and 128 are allowed");
}

TEST(ToolName, SpacesOfAnyKindAreRefused) {
    EXPECT_EQ(tool_name_fault("a b", kMax), "has a space at byte 1");
    EXPECT_EQ(tool_name_fault("a\u00A0b", kMax), "has a space at byte 1");
    EXPECT_EQ(tool_name_fault("ab\u3000", kMax), "has a space at byte 2");
}

TEST(ToolName, WhatCannotBeSeenIsRefused) {
    EXPECT_EQ(tool_name_fault("a\nb", kMax), "has a control or invisible character (U+000A) at byte 1");
    EXPECT_TRUE(tool_name_fault(std::string_view("a\0b", 3), kMax));
    for (const char* name : {"a\x7F", "a\u0085", "a\u200B", "a\u202Etxt", "a\u2066", "a\uFEFF", "a\u00AD",
                             "a\U000E0041", "a\u2800", "a\u17B4"})
        EXPECT_TRUE(tool_name_fault(name, kMax)) << name;
}

TEST(ToolName, BytesThatAreNotUtf8AreRefused) {
    EXPECT_EQ(tool_name_fault("ab\xFF", kMax), "is not UTF-8 at byte 2");
    EXPECT_EQ(tool_name_fault("\xC3", kMax), "is not UTF-8 at byte 0");
}

TEST(ToolName, PartsBetweenSlashesAreNotEmpty) {
    EXPECT_EQ(tool_name_fault("/tool", kMax), "begins with '/'");
    EXPECT_EQ(tool_name_fault("server/", kMax), "ends with '/'");
    EXPECT_EQ(tool_name_fault("server//tool", kMax), "has an empty part at byte 7");
}

TEST(ToolName, AServersPartCanBeFoundAgainBeforeTheUnderscores) {
    for (const char* name : {"a__b/c", "a_/c", "_/c"}) EXPECT_TRUE(tool_name_fault(name, kMax)) << name;
    EXPECT_THAT(*tool_name_fault("a__b/c", kMax),
                testing::HasSubstr("has \"__\" in its server's part \"a__b\""));
    for (const char* name : {"a__b", "a_", "a_b/c__d_", "_a/b", "mcp/x"})
        EXPECT_EQ(tool_name_fault(name, kMax), std::nullopt) << name;
}

TEST(ToolName, ServerAndToolAreReadFromEachForm) {
    const auto is = [](const NameParts& parts, std::string_view server, std::string_view tool) {
        EXPECT_EQ(parts.server, server);
        EXPECT_EQ(parts.tool, tool);
    };
    is(split_name("files/read"), "files", "read");
    is(split_name("a/b/c"), "a", "b/c");
    is(split_name("read"), "", "read");
    is(parse_qualified_name("files__read"), "files", "read");
    is(parse_qualified_name("a__b__c"), "a", "b__c");
    is(parse_mcp_name("mcp__files__read"), "files", "read");
    for (const char* name : {"read", "files__read", "mcp__read", "mcp____read", "mcp__files__", ""})
        is(parse_mcp_name(name), "", name);
    for (const char* name : {"read", "__read", "files__", ""}) is(parse_qualified_name(name), "", name);
}

TEST(ToolName, WildcardsOfRulesAreRefused) {
    EXPECT_EQ(tool_name_fault("send*", kMax), "has '*' at byte 4, which rules use as a wildcard");
    EXPECT_TRUE(tool_name_fault("?", kMax));
}

TEST(ToolName, IsShownInMessagesWithoutTricks) {
    EXPECT_EQ(shown_name("a\x1B[2Jb"), "a\\x1b[2Jb");
    EXPECT_EQ(shown_name("say \"hi\""), "say\\x20\\x22hi\\x22");
    EXPECT_EQ(shown_name(std::string(100, 'x')), std::string(64, 'x') + "...");
}

RC_GTEST_PROP(ToolName, AcceptedNamesAreShortUtf8WithoutControlCharactersOrSpaces, (std::string name)) {
    if (tool_name_fault(name, kMax)) return;
    RC_ASSERT(!name.empty() && name.size() <= kMax);
    RC_ASSERT(base::is_valid_utf8(name));
    for (const char c : name) RC_ASSERT(static_cast<unsigned char>(c) > 0x20 && c != 0x7F);
}

}  // namespace
}  // namespace callgate
