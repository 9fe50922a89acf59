// What a client sees over standard input and output, in both eras.
#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/mcp_testing.h"

namespace callgate::mcp {
namespace {

class OverLines : public testing::Test {
protected:
    OverLines() {
        runtime.tools().add_or_throw(tool(
                                         "add", "Add two numbers",
                                         [](std::int64_t a, std::int64_t b) { return a + b; },
                                         param("a", "first"), param("b", "second"))
                                         .read_only()
                                         .risk(Risk::low));
        runtime.tools().add_or_throw(
            schema_tool(ToolDefinition("who", "Asks for a name", Object{{"type", "object"}}),
                        [](const Object&, CallContext& context) -> ToolReturn {
                            const auto answer = context.ask(
                                InputRequest::form(
                                    "Who?",
                                    Object{{"type", "object"},
                                           {"properties", Object{{"name", Object{{"type", "string"}}}}},
                                           {"required", Array{"name"}}})
                                    .named("user_name"));
                            if (!answer) return tl::unexpected(ToolFailure(answer.error()));
                            if (!answer->accepted()) return ToolResult(Value("nobody"));
                            return ToolResult(answer->content.at("name"));
                        })
                .read_only()
                .risk(Risk::low));
    }

    Runtime runtime;
    Server server{runtime};
    LineClient client{server};
};

TEST_F(OverLines, ALegacyClientListsAndCalls) {
    const Value hello = client.initialize();
    EXPECT_EQ(hello.at("result").at("protocolVersion"), "2025-11-25");
    EXPECT_EQ(client.request(1, "ping").at("result"), Value(Object{}));
    const Value tools = client.request(2, "tools/list").at("result").at("tools");
    ASSERT_EQ(tools.as_array().size(), 2u);
    EXPECT_EQ(tools.at(0).at("name"), "add");
    const Value sum =
        client.request(3, "tools/call", Object{{"name", "add"}, {"arguments", Object{{"a", 5}, {"b", 3}}}});
    EXPECT_EQ(sum.at("result").at("content").at(0).at("text"), "8");
    EXPECT_EQ(client.close(), 0);
}

TEST_F(OverLines, TheFirstRevisionHasSizeAndAnnotationsOfResourcesButNoTitle) {
    Resource text("file:///a", "a", [](CallContext&) -> ResourceRead { return {}; });
    text.title = "A text";
    text.extra = {{"size", 3}, {"annotations", Object{{"priority", 1}}}, {"icons", Array{}}};
    ASSERT_TRUE(server.add(text));
    (void)client.initialize("2024-11-05");
    const Value listed = client.request(1, "resources/list").at("result").at("resources");
    EXPECT_EQ(json::write(listed),
              R"([{"uri":"file:///a","name":"a","size":3,"annotations":{"priority":1}}])");
}

TEST_F(OverLines, AStatelessClientCallsWithoutASession) {
    const Value answer =
        client.request(7, "tools/call", modern({{"name", "add"}, {"arguments", Object{{"a", 1}, {"b", 2}}}}));
    const Value& result = answer.at("result");
    EXPECT_EQ(result.at("resultType"), "complete");
    EXPECT_EQ(result.at("content").at(0).at("text"), "3");
    EXPECT_EQ(result.at("_meta").at("io.modelcontextprotocol/serverInfo").at("name"), "callgate");
}

TEST_F(OverLines, ALegacyClientIsAskedByARequest) {
    (void)client.initialize("2025-11-25", {{"elicitation", Object{}}});
    const Value question = client.request(1, "tools/call", Object{{"name", "who"}});
    EXPECT_EQ(question.at("method"), "elicitation/create");
    EXPECT_EQ(question.at("params").at("message"), "Who?");
    const Value answer =
        client.ask(Object{{"jsonrpc", "2.0"},
                          {"id", question.at("id")},
                          {"result", Object{{"action", "accept"}, {"content", Object{{"name", "Ada"}}}}}});
    EXPECT_EQ(answer.at("id"), 1);
    EXPECT_EQ(answer.at("result").at("content").at(0).at("text"), "Ada");
}

TEST_F(OverLines, AStatelessClientIsAskedByTheAnswerAndAsksAgain) {
    const Object can{{"elicitation", Object{}}};
    const Value asked =
        client.request(1, "tools/call", modern({{"name", "who"}, {"arguments", Object{}}}, can)).at("result");
    ASSERT_EQ(asked.at("resultType"), "input_required");
    EXPECT_EQ(asked.at("inputRequests").at("user_name").at("method"), "elicitation/create");
    const Object answers{{"user_name", Object{{"action", "accept"}, {"content", Object{{"name", "Ada"}}}}}};
    const Object again{{"name", "who"},
                       {"arguments", Object{}},
                       {"inputResponses", answers},
                       {"requestState", asked.at("requestState")}};
    const Value answer = client.request(2, "tools/call", modern(again, can)).at("result");
    EXPECT_EQ(answer.at("resultType"), "complete");
    EXPECT_EQ(answer.at("content").at(0).at("text"), "Ada");
    // The state was good for one round.
    EXPECT_EQ(client.request(3, "tools/call", modern(again, can)).at("error").at("code"), -32602);
}

TEST_F(OverLines, AToolWithParametersInHeadersIsCalledWithoutThemWhereThereAreNone) {
    const Object region{{"type", "string"}, {"x-mcp-header", "Region"}};
    runtime.tools().add_or_throw(
        schema_tool(ToolDefinition("where", "Says where",
                                   Object{{"type", "object"}, {"properties", Object{{"region", region}}}}),
                    [](const Object& arguments, CallContext&) -> ToolReturn {
                        return ToolResult(arguments.at("region"));
                    })
            .read_only()
            .risk(Risk::low));
    const Value answer = client.request(
        1, "tools/call", modern({{"name", "where"}, {"arguments", Object{{"region", "north"}}}}));
    EXPECT_EQ(answer.at("result").at("content").at(0).at("text"), "north");
}

TEST_F(OverLines, WhatIsNoMessageIsAnsweredAndTheNextOneServed) {
    client.send_text("{");
    EXPECT_EQ(client.read().at("error").at("code"), -32700);
    client.send_text(R"({"jsonrpc":"2.0","id":null,"method":"ping"})");
    EXPECT_EQ(client.read().at("error").at("code"), -32600);
    client.send_text(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])");
    EXPECT_EQ(client.read().at("error").at("code"), -32600);
    EXPECT_EQ(client.request(2, "ping").at("result"), Value(Object{}));
}

TEST(OverPackets, QuickAnswersToLinesThatCameTogetherLeaveTogether) {
    Runtime runtime;
    runtime.tools().add_or_throw(
        tool(
            "echo", "Says it back", [](std::string text) { return text; }, param("text"))
            .read_only()
            .run_inline());
    Server server(runtime);
    LineClient client(server, SOCK_SEQPACKET);
    const auto call = [](std::int64_t id) {
        return json::write(
            Object{{"jsonrpc", "2.0"},
                   {"id", id},
                   {"method", "tools/call"},
                   {"params", modern({{"name", "echo"}, {"arguments", Object{{"text", "hello"}}}})}});
    };
    client.send_text(call(1) + "\n" + call(2) + "\n" + call(3));
    const std::string answers = client.read_some();
    std::size_t begin = 0;
    for (std::int64_t id = 1; id <= 3; ++id) {
        const std::size_t end = answers.find('\n', begin);
        ASSERT_NE(end, std::string::npos) << answers;
        EXPECT_EQ(parsed(answers.substr(begin, end - begin)).at("id"), id);
        begin = end + 1;
    }
    EXPECT_EQ(begin, answers.size());
}

TEST_F(OverLines, ABatchIsAnsweredTogether) {
    (void)client.initialize("2025-03-26");
    client.send_text(
        R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":2},5])");
    const Value answers = client.read();
    ASSERT_TRUE(answers.is_array());
    EXPECT_EQ(answers.as_array().size(), 3u);
    client.send_text("[]");
    EXPECT_EQ(client.read().at("error").at("code"), -32600) << "one answer, not an array";
    client.send_text(R"([{"jsonrpc":"2.0","method":"x"}])");
    EXPECT_EQ(client.request(3, "ping").at("id"), 3);
}

TEST_F(OverLines, ThatTheInputEndsDoesNotLoseAnAnswer) {
    client.send(Object{{"jsonrpc", "2.0"},
                       {"id", 1},
                       {"method", "tools/call"},
                       {"params", modern({{"name", "add"}, {"arguments", Object{{"a", 1}, {"b", 2}}}})}});
    EXPECT_EQ(client.close(), 0);
    EXPECT_EQ(client.read().at("id"), 1);
}

}  // namespace
}  // namespace callgate::mcp
