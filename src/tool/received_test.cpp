// Content as providers send it: items that keep what we do not know of them, and results that leave as they
// came.
#include "tool/received.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/outcome.h>
#include <callgate/views.h>

#include "tool/blocks.h"
#include "tool/tool_testing.h"

namespace callgate {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kItems[] = {
    R"({"type":"text","text":"a","annotations":{"audience":["user"],"priority":1.0},"_meta":{"x":18446744073709551615}})",
    R"({"type":"image","data":"aGVsbG8=","mimeType":"image/png","_meta":{}})",
    R"({"type":"audio","data":"aGVsbG8=","mimeType":"audio/wav"})",
    R"({"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"in","_meta":{"v":1}},"annotations":{}})",
    R"({"type":"resource","resource":{"uri":"file:///a","blob":"aGVsbG8="},"_meta":{"resource":1}})",
    R"({"type":"resource_link","uri":"file:///a","name":"a","title":"A","description":"d","size":7,"icons":[{"src":"x"}]})",
};

TEST(BlocksOfMcp, KeepWhatTheirItemsHaveBeside) {
    for (const std::string_view item : kItems) {
        const Block block = Block::of_mcp(json_of(item));
        EXPECT_NE(block.kind, BlockKind::custom) << item;
        EXPECT_EQ(to_mcp(block), json_of(item)) << item;
    }
    const Block link = Block::of_mcp(json_of(kItems[5]));
    EXPECT_EQ(json::write(Value(link.extra)),
              R"({"title":"A","description":"d","size":7,"icons":[{"src":"x"}]})")
        << "in their own order";
}

TEST(BlocksOfMcp, WhatNoOtherKindSaysInTheSameWayIsCustom) {
    for (const char* const item :
         {R"({"type":"new","x":1})", R"({"type":"text"})", R"({"type":"text","text":5})", R"({"text":"a"})",
          R"({"type":"image","data":"aGVsbG8","mimeType":"image/png"})",
          R"({"type":"image","data":"aGVsbG8="})",
          R"({"type":"resource","resource":{"uri":"u","text":"a","blob":"aGVsbG8="}})",
          R"({"type":"resource","resource":{"uri":"u","text":"a","mimeType":""}})",
          R"({"type":"resource","resource":[]})", R"({"type":"resource_link","uri":"u"})", "[]", "5"}) {
        const Block block = Block::of_mcp(json_of(item));
        EXPECT_EQ(block.kind, BlockKind::custom) << item;
        EXPECT_EQ(block.json, json_of(item)) << item;
    }
}

TEST(BlocksOfMcp, WhatStandsBesideIsNeverInsteadOfTheirOwn) {
    Block block = Block::of_text("mine");
    block.extra = {{"text", "other"}, {"type", "image"}, {"_meta", 1}};
    EXPECT_EQ(json::write(to_mcp(block)), R"({"type":"text","text":"mine","_meta":1})");
    Block inside = Block::of_resource("u", "mine");
    inside.extra = {{"resource", {{"uri", "other"}, {"_meta", 1}}}};
    EXPECT_EQ(json::write(to_mcp(inside)),
              R"({"type":"resource","resource":{"uri":"u","text":"mine","_meta":1}})");
}

TEST(ReadMcpResult, IsTheContentOrAFailureWithIt) {
    const auto read = read_mcp_result(
        R"({"content":[{"type":"text","text":"42"}],"structuredContent":{"n":42},"_meta":{"v":1}})");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->blocks.at(0).text, "42");
    EXPECT_EQ(read->structured, json_of(R"({"n":42})"));
    EXPECT_EQ(Value(read->extra), json_of(R"({"_meta":{"v":1}})"));
    const auto failed = read_mcp_result(R"({"content":[{"type":"text","text":"no"}],"isError":true})");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().applied, Applied::answered);
    EXPECT_EQ(failed.error().error.message, "no");
    EXPECT_EQ(failed.error().content->blocks.at(0).text, "no");
}

TEST(ReadMcpResult, RefusesWhatIsNone) {
    for (const char* const text : {"", "{", "5", "{}", R"({"content":{}})", R"({"content":["a"]})",
                                   R"({"content":[],"isError":1})", R"({"content":[],"content":[]})"}) {
        const auto read = read_mcp_result(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().error.code, ErrorCode::output_invalid) << text;
        EXPECT_EQ(read.error().error.details.at("reason").as_string(), "not_a_result") << text;
        EXPECT_FALSE(read.error().content);
    }
}

TEST(RawSays, WhatTheResultSaysOrNothing) {
    ToolResult value(json_of(R"({"a":[1,2.5]})"));
    EXPECT_EQ(raw_says(value, false), RawIs::other);
    value.raw = R"({ "a" : [1, 2.5] })";
    EXPECT_EQ(raw_says(value, false), RawIs::value);
    value.raw = R"({"a":[1,2.25]})";
    EXPECT_EQ(raw_says(value, false), RawIs::other);
    ToolResult result = *read_mcp_result(R"({"content":[{"type":"text","text":"42"}],"_meta":{"v":1}})");
    EXPECT_EQ(raw_says(result, false), RawIs::mcp_result);
    EXPECT_EQ(raw_says(result, true), RawIs::other) << "it says nothing of a failure";
    for (const auto& change : std::vector<std::function<void(ToolResult&)>>{
             [](ToolResult& r) { r.blocks[0].text = "43"; }, [](ToolResult& r) { r.blocks.pop_back(); },
             [](ToolResult& r) { r.blocks[0].extra = {{"_meta", 1}}; },
             [](ToolResult& r) { r.structured = 1; }, [](ToolResult& r) { r.extra.clear(); },
             [](ToolResult& r) { r.value = 1; }}) {
        ToolResult changed = result;
        change(changed);
        EXPECT_EQ(raw_says(changed, false), RawIs::other);
    }
}

TEST(RawSays, WhatIsLeftOutForTheRecordIsReadAgain) {
    for (ToolResult whole :
         {*read_mcp_result(R"({"content":[{"type":"text","text":"42"}],"structuredContent":[1]})"),
          [] {
              ToolResult result(json_of(R"({"a":1.0})"));
              result.raw = R"({"a":1.0})";
              return result;
          }(),
          ToolResult(Value("native"))}) {
        whole.raw_is = raw_says(whole, false);
        const ToolResult kept = without_parsed(whole);
        EXPECT_EQ(has_content(kept), whole.raw.empty());
        const auto again = with_parsed(kept);
        ASSERT_TRUE(again);
        EXPECT_EQ(again->raw, whole.raw);
        EXPECT_EQ(raw_says(*again, false), whole.raw_is);
        EXPECT_EQ(again->value, whole.value);
    }
    ToolResult damaged;
    damaged.raw_is = RawIs::mcp_result;
    damaged.raw = "{";
    EXPECT_FALSE(with_parsed(damaged));
}

Outcome succeeded_with(ToolResult result) {
    OutcomeData data;
    data.succeeded = true;
    data.state = State::succeeded;
    result.raw_is = raw_says(result, false);
    data.result = std::move(result);
    return Outcome(std::move(data));
}

TEST(McpView, OfWhatWasReceivedIsItsBytes) {
    const std::string text =
        R"({ "structuredContent":{"n":1.50},"content":[{"text":"\u0041","type":"text"}],"x":[] })";
    EXPECT_EQ(views::mcp(succeeded_with(*read_mcp_result(text))), text);
    ToolResult value(json_of(R"({"n":1.50})"));
    value.raw = R"({"n": 1.50})";
    EXPECT_EQ(views::mcp(succeeded_with(value)),
              R"({"content":[{"type":"text","text":"{\"n\": 1.50}"}],"structuredContent":{"n": 1.50}})");
}

TEST(McpView, IsOneLineHoweverItWasReceived) {
    const std::string text = "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\r\n\"_meta\":{\"v\":1}}";
    EXPECT_EQ(views::mcp(succeeded_with(*read_mcp_result(text))),
              R"({"content":[{"type":"text","text":"a"}],"_meta":{"v":1}})");
}

TEST(McpView, HasWhatItemsAndResultsHaveBeside) {
    ToolResult result(std::vector<Block>{Block::of_mcp(json_of(kItems[0]))});
    result.extra = {{"_meta", {{"v", 1}}}, {"isError", true}, {"content", 1}};
    EXPECT_EQ(json_of(views::mcp(succeeded_with(result))),
              json_of(R"({"content":[)" + std::string(kItems[0]) + R"(],"_meta":{"v":1}})"));
    result.extra = {{"_meta", "\xFF"}};
    EXPECT_THAT(views::mcp(succeeded_with(result)), HasSubstr("not UTF-8"));
}

}  // namespace
}  // namespace callgate
