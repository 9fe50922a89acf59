#include "pipeline/tool_call.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/runtime.h>
#include <callgate/typed.h>

namespace callgate::pipeline {
namespace {

using ::testing::HasSubstr;

std::string reason_against(const char* text) {
    const Value document = json::parse(text).value();
    const auto parts = parts_of_tool_call(document);
    return parts ? "" : json::write(*parts.error().details.if_contains("reason"));
}

TEST(ToolCallParts, AreFoundInEveryForm) {
    for (
        const char* text :
        {R"({"name": "add", "arguments": {"a": 1}})", R"({"name": "add", "args": {"a": 1}})",
         R"({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
             "params": {"_meta": {"progressToken": 1}, "name": "add", "arguments": {"a": 1}}})",
         R"({"id": "x", "index": 0, "type": "function", "function": {"name": "add", "arguments": {"a": 1}}})",
         R"({"function": {"index": 0, "name": "add", "arguments": {"a": 1}}})",
         R"({"role": "assistant", "content": null, "function_call": {"name": "add", "arguments": {"a": 1}}})",
         R"({"type": "tool_use", "id": "x", "name": "add", "input": {"a": 1}, "caller": {"type": "direct"}})",
         R"({"type": "function_call", "id": "fc_1", "call_id": "c", "status": "completed",
             "namespace": "crm", "name": "add", "arguments": {"a": 1}, "caller": {"type": "direct"}})",
         R"({"toolUse": {"toolUseId": "x", "name": "add", "input": {"a": 1}}})",
         R"({"name": "add", "arguments": {"a": 1}, "input": null})",
         R"({"functionCall": {"id": "f", "name": "add", "args": {"a": 1}}, "thoughtSignature": "CpQB"})"}) {
        const Value document = json::parse(text).value();
        const auto parts = parts_of_tool_call(document);
        ASSERT_TRUE(parts) << text << parts.error().message;
        EXPECT_EQ(parts->name, "add") << text;
        ASSERT_NE(parts->arguments, nullptr) << text;
        EXPECT_EQ(*parts->arguments, (Value{{"a", 1}})) << text;
    }
}

TEST(ToolCallParts, WhatVendorsSendBesideIsNoArgument) {
    for (
        const char* text :
        {R"({"name": "add"})", R"({"name": "add", "arguments": null})",
         R"({"name": "add", "parameters": {}})", R"({"name": "add", "_meta": {"progressToken": 1}})",
         R"({"name": "add", "task": {"ttl": 60000}})",
         R"({"name": "add", "cache_control": {"type": "ephemeral"}, "caller": {"type": "direct"}})",
         R"({"id": "x", "extra_content": {"google": {"thought_signature": "x"}}, "function": {"name": "add"}})",
         R"({"name": "add", "requestState": "{\"at\": 1}", "inputResponses": {"k": {"action": "accept"}}})",
         R"({"type": "function", "name": "add", "index": 3, "note": "why", "tags": ["a"]})"}) {
        const Value document = json::parse(text).value();
        const auto parts = parts_of_tool_call(document);
        ASSERT_TRUE(parts) << text << parts.error().message;
        EXPECT_EQ(parts->arguments, nullptr) << text;
    }
}

TEST(ToolCallParts, ArgumentsUnderAnotherNameAreRefused) {
    for (const char* text :
         {R"({"name": "add", "argumnets": {"a": 1}})", R"({"name": "add", "parameters": {"a": 1}})",
          R"({"name": "add", "params": {"a": 1}})", R"({"name": "add", "argumnets": " {\"a\": 1}\n"})",
          R"({"name": "add", "arguments": null, "Arguments": {"a": 1}})",
          R"({"function": {"name": "add", "parameters": {"a": 1}}})",
          R"({"function": {"name": "add"}, "arguments": {"a": 1}})",
          R"({"functionCall": {"name": "add"}, "parameters": {"a": 1}})",
          R"({"method": "tools/call", "params": {"name": "add"}, "arguments": {"a": 1}})"})
        EXPECT_EQ(reason_against(text), R"("misnamed_arguments")") << text;
}

TEST(ToolCallParts, ArgumentsUnderTwoNamesAreRefused) {
    for (const char* text : {R"({"name": "add", "arguments": {}, "input": {"a": 1}})",
                             R"({"name": "add", "args": {"a": 1}, "arguments": {"a": 1}})",
                             R"({"function": {"name": "add", "arguments": {}}, "input": {"a": 1}})"})
        EXPECT_EQ(reason_against(text), R"("arguments_twice")") << text;
}

TEST(ToolCallParts, WhatIsNoCallIsRefused) {
    for (const char* text : {R"([])", R"("add")", R"({})", R"({"name": 5})", R"({"function": null})",
                             R"({"method": "tools/call"})", R"({"method": "tools/call", "params": {}})"})
        EXPECT_EQ(reason_against(text), R"("no_tool_call")") << text;
    EXPECT_EQ(reason_against(R"({"method": "tools/list"})"), R"("not_tools_call")");
}

TEST(ToolCall, LosesNoArgumentsOnTheWayToItsTool) {
    Runtime runtime;
    int runs = 0;
    ASSERT_TRUE(runtime.tools().add(tool("count", "", [&] { return ++runs; })));
    const Outcome refused = runtime.call_json(R"({"name": "count", "argumnets": {"a": 1}})");
    EXPECT_EQ(refused.state(), State::invalid);
    EXPECT_EQ(refused.tool(), "count");
    ASSERT_NE(refused.error(), nullptr);
    EXPECT_EQ(refused.error()->code, ErrorCode::invalid_arguments);
    EXPECT_THAT(refused.error()->message, HasSubstr("\"argumnets\""));
    EXPECT_THAT(refused.error()->message, HasSubstr("\"arguments\""));
    EXPECT_EQ(runtime.call_json(R"({"name": "count", "arguments": {}, "input": {"a": 1}})").state(),
              State::invalid);
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(runtime.call_json(R"({"functionCall": {"name": "count"}})").ok());
}

}  // namespace
}  // namespace callgate::pipeline
