#include "tool_call.h"

#include <gtest/gtest.h>

namespace callgate::cli {
namespace {

ToolCall read(const char* text) {
    return tool_call_from_json(json::parse(text).value()).value();
}

TEST(ToolCall, IsReadInEveryForm) {
    for (
        const char* text :
        {R"({"name": "add", "arguments": {"a": 1}})",
         R"({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}})",
         R"({"id": "x", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}})",
         R"({"type": "tool_use", "id": "x", "name": "add", "input": {"a": 1}})",
         R"({"toolUse": {"toolUseId": "x", "name": "add", "input": {"a": 1}}})",
         R"({"name": "add", "args": {"a": 1}})", R"({"functionCall": {"name": "add", "args": {"a": 1}}})"}) {
        const ToolCall call = read(text);
        EXPECT_EQ(call.name, "add") << text;
        EXPECT_EQ(call.arguments, (Value{{"a", 1}})) << text;
        EXPECT_EQ(call.key, "");
    }
    EXPECT_EQ(read(R"({"name": "add"})").arguments, Value(Object()));
}

TEST(ToolCall, AnMcpRequestBringsItsKey) {
    EXPECT_EQ(read(R"({"method": "tools/call",
                       "params": {"name": "add", "_meta": {"callgate/idempotencyKey": "k"}}})")
                  .key,
              "k");
    EXPECT_EQ(read(R"({"name": "add", "_meta": {"callgate/idempotencyKey": "k"}})").key, "k");
}

TEST(ToolCall, LosesNoArguments) {
    for (const char* text : {R"({"name": "add", "argumnets": {"a": 1}})",
                             R"({"name": "add", "arguments": {}, "input": {"a": 1}})"})
        EXPECT_EQ(tool_call_from_json(json::parse(text).value()).error().code, ErrorCode::invalid_arguments);
}

TEST(ToolCall, WhatIsNoneIsRefused) {
    for (const char* text : {R"([])", R"("add")", R"({})", R"({"name": 5})", R"({"method": "tools/call"})",
                             R"({"method": "tools/list"})", R"({"method": "tools/call", "params": {}})"})
        EXPECT_FALSE(tool_call_from_json(json::parse(text).value())) << text;
}

}  // namespace
}  // namespace callgate::cli
