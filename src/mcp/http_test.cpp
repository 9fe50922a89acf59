// What a client sees over Streamable HTTP.
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "base/must.h"
#include "mcp/http_testing.h"

namespace callgate::mcp {
namespace {

class OverHttp : public testing::Test {
protected:
    OverHttp() {
        runtime.tools().add_or_throw(
            tool(
                "echo", "", [](const std::string& text) { return text; }, param("text"))
                .read_only()
                .run_inline());
        runtime.tools().add_or_throw(schema_tool(ToolDefinition("steps", "", Object{{"type", "object"}}),
                                                 [](const Object&, CallContext& context) -> ToolReturn {
                                                     context.progress("one", 1, 2);
                                                     caller(context)->log(LogLevel::info, "so far");
                                                     return ToolResult(Value("done"));
                                                 })
                                         .read_only());
        runtime.tools().add_or_throw(schema_tool(ToolDefinition("wait", "", Object{{"type", "object"}}),
                                                 [this](const Object&, CallContext& context) -> ToolReturn {
                                                     std::promise<void> off;
                                                     const std::stop_callback stops(context.cancel(),
                                                                                    [&] { off.set_value(); });
                                                     context.progress("begun", 1);
                                                     off.get_future().wait();
                                                     called_off.set_value();
                                                     return tl::unexpected(ToolFailure::not_applied("off"));
                                                 })
                                         .read_only());
    }
    /// A session's id.
    std::string begin(HttpClient& by, std::string_view version = "2025-11-25") {
        const auto answer = by.ask(rpc(0, "initialize",
                                       {{"protocolVersion", version},
                                        {"capabilities", Object{}},
                                        {"clientInfo", Object{{"name", "t"}, {"version", "1"}}}}));
        EXPECT_EQ(answer.status, 200);
        return answer.header("Mcp-Session-Id");
    }

    std::promise<void> called_off;
    Runtime runtime;
    Server server{runtime};
    std::unique_ptr<HttpEndpoint> endpoint = must(HttpEndpoint::open(server));
    HttpClient client{endpoint->port()};
};

TEST_F(OverHttp, ARequestIsAnsweredByOneObject) {
    client.post_modern(1, "tools/call", {{"name", "echo"}, {"arguments", Object{{"text", "hé"}}}});
    const auto answer = client.socket().read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_EQ(parsed(answer.body).at("result").at("content").at(0).at("text"), "hé");
}

TEST_F(OverHttp, WhatIsSaidBeforeTheAnswerComesBeforeItOnAStream) {
    client.post_modern(
        1, "tools/call",
        {{"name", "steps"},
         {"arguments", Object{}},
         {"_meta", Object{{"progressToken", "p"}, {"io.modelcontextprotocol/logLevel", "info"}}}});
    const auto head = client.socket().read_head();
    EXPECT_EQ(head.header("Content-Type"), "text/event-stream");
    EXPECT_EQ(head.header("X-Accel-Buffering"), "no");
    std::vector<std::string> methods;
    Value message = client.read_event();
    for (; message.is_object() && message.as_object().contains("method"); message = client.read_event()) {
        methods.emplace_back(message.at("method").as_string());
    }
    EXPECT_THAT(methods, testing::UnorderedElementsAre("notifications/progress", "notifications/message"));
    EXPECT_EQ(message.at("id"), 1);
}

TEST_F(OverHttp, AClientOfTheStatelessEraThatGoesHasCalledItsRequestOff) {
    {
        HttpClient gone(endpoint->port());
        gone.post_modern(
            1, "tools/call",
            {{"name", "wait"}, {"arguments", Object{}}, {"_meta", Object{{"progressToken", 1}}}});
        (void)gone.socket().read_head();
        (void)gone.read_event();
    }
    called_off.get_future().wait();
}

TEST_F(OverHttp, ASessionBeginsIsNamedAndEnds) {
    const std::string id = begin(client);
    ASSERT_FALSE(id.empty());
    const net::HttpHeaders named{{"Mcp-Session-Id", id}, {"MCP-Protocol-Version", "2025-11-25"}};
    EXPECT_EQ(client.ask(Object{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}, named).status,
              202);
    EXPECT_EQ(client.ask(rpc(1, "ping"), named).body, R"({"jsonrpc":"2.0","id":1,"result":{}})");
    EXPECT_EQ(client.ask(rpc(2, "ping")).status, 400);
    EXPECT_EQ(client.ask(rpc(3, "ping"), {{"Mcp-Session-Id", "nobody"}}).status, 404);
    client.send("DELETE", named, "");
    EXPECT_EQ(client.socket().read_answer().status, 204);
    EXPECT_EQ(client.ask(rpc(4, "ping"), named).status, 404);
}

TEST_F(OverHttp, HeadersSayWhatTheMessageSays) {
    const Object call{{"name", "echo"}, {"arguments", Object{{"text", "x"}}}};
    const Value message = rpc(9, "tools/call", modern(call));
    const auto code = [&](net::HttpHeaders headers) {
        const auto answer = client.ask(message, std::move(headers));
        EXPECT_EQ(answer.status, 400);
        EXPECT_EQ(parsed(answer.body).at("id"), 9);
        return parsed(answer.body).at("error").at("code").to_number<int>();
    };
    EXPECT_EQ(code({}), -32020);
    EXPECT_EQ(
        code({{"MCP-Protocol-Version", "2025-11-25"}, {"Mcp-Method", "tools/call"}, {"Mcp-Name", "echo"}}),
        -32020);
    EXPECT_EQ(
        code({{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "TOOLS/CALL"}, {"Mcp-Name", "echo"}}),
        -32020);
    EXPECT_EQ(
        code({{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "tools/call"}, {"Mcp-Name", "steps"}}),
        -32020);
    EXPECT_EQ(code({{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "tools/call"}}), -32020);
}

TEST_F(OverHttp, WhatIsNoMessageOfThisProtocolIsRefusedAndTheConnectionGoesOn) {
    const net::HttpHeaders json{{"Content-Type", "application/json"}};
    client.send("POST", {{"Content-Type", "text/plain"}}, "{}");
    EXPECT_EQ(client.socket().read_answer().status, 415);
    client.send("POST", {{"Content-Type", "application/json"}, {"Accept", "text/html"}}, "{}");
    EXPECT_EQ(client.socket().read_answer().status, 406);
    for (const char* body :
         {"", "{", "[]", "5", R"({"a":1,"a":2})", "\xff", R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])",
          R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", R"({"jsonrpc":"1.0","id":1,"method":"ping"})"}) {
        client.send("POST", json, body);
        const auto answer = client.socket().read_answer();
        EXPECT_EQ(answer.status, 400) << body;
        EXPECT_TRUE(parsed(answer.body).as_object().contains("error")) << body;
    }
    client.send("PUT", {}, "");
    EXPECT_EQ(client.socket().read_answer().status, 405);
    client.post_modern(1, "nothing/at-all", {});
    EXPECT_EQ(client.socket().read_answer().status, 404);
    client.post_modern(2, "tools/list", {});
    EXPECT_EQ(client.socket().read_answer().status, 200);
}

TEST_F(OverHttp, ABatchIsOfItsOwnRevision) {
    const std::string id = begin(client, "2025-03-26");
    const Value batch = Array{
        rpc(1, "ping"), Object{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}, rpc(2, "ping")};
    const auto answer = client.ask(batch, {{"Mcp-Session-Id", id}});
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(parsed(answer.body).as_array().size(), 2u);
}

TEST_F(OverHttp, AStreamOfTheLegacyEraOutlivesItsConnection) {
    std::promise<void> go_on;
    runtime.tools().add_or_throw(schema_tool(ToolDefinition("later", "", Object{{"type", "object"}}),
                                             [&](const Object&, CallContext& context) -> ToolReturn {
                                                 caller(context)->close_stream();
                                                 go_on.get_future().wait();
                                                 return ToolResult(Value("later"));
                                             })
                                     .read_only());
    const std::string id = begin(client);
    client.post(rpc(1, "tools/call", {{"name", "later"}}), {{"Mcp-Session-Id", id}});
    EXPECT_EQ(client.socket().read_head().status, 200);
    std::string priming = client.read_raw_event();
    if (priming.starts_with("retry:")) priming = client.read_raw_event();
    const auto at = priming.find("id: ");
    EXPECT_NE(at, std::string::npos) << priming;
    const std::string event = priming.substr(at + 4, priming.find('\n', at) - at - 4);
    HttpClient again(endpoint->port());
    again.send("GET", {{"Accept", "text/event-stream"}, {"Mcp-Session-Id", id}, {"Last-Event-ID", event}},
               "");
    EXPECT_EQ(again.socket().read_head().status, 200);
    go_on.set_value();
    EXPECT_EQ(again.read_event().at("result").at("content").at(0).at("text"), "later");
    HttpClient wrong(endpoint->port());
    wrong.send("GET", {{"Mcp-Session-Id", id}, {"Last-Event-ID", "99-0"}}, "");
    EXPECT_EQ(wrong.socket().read_answer().status, 400);
}

TEST_F(OverHttp, AKeyInTheHeaderIsHeededInBothEras) {
    const auto ran = std::make_shared<std::atomic<int>>(0);
    runtime.tools().add_or_throw(
        tool("once", "", [ran] { return ++*ran; }).risk(Risk::low).effect(EffectClass::unsafe));
    for (int i = 0; i < 2; ++i) {
        client.post_modern(1, "tools/call", {{"name", "once"}}, {{"Idempotency-Key", "stateless"}});
        EXPECT_THAT(client.socket().read_answer().body, testing::HasSubstr(R"("text":"1")"));
    }
    const std::string id = begin(client);
    for (int i = 1; i <= 2; ++i) {
        const auto answer = client.ask(rpc(i, "tools/call", {{"name", "once"}}),
                                       {{"Mcp-Session-Id", id}, {"Idempotency-Key", "session"}});
        EXPECT_THAT(answer.body, testing::HasSubstr(R"("text":"2")"));
    }
}

TEST_F(OverHttp, AKeyThatIsNoneIsRefused) {
    const auto key = [](Value value) { return Object{{"callgate/idempotencyKey", std::move(value)}}; };
    for (const Value& wrong : {Value(7), Value(true), Value(""), Value(Array{}), Value(nullptr)}) {
        client.post_modern(1, "tools/call",
                           {{"name", "echo"}, {"arguments", Object{{"text", "x"}}}, {"_meta", key(wrong)}});
        EXPECT_EQ(parsed(client.socket().read_answer().body).at("error").at("code"), -32602);
    }
    client.post_modern(1, "tools/call", {{"name", "echo"}, {"arguments", Object{{"text", "x"}}}},
                       {{"Idempotency-Key", ""}});
    EXPECT_EQ(parsed(client.socket().read_answer().body).at("error").at("code"), -32602);
    client.post_modern(1, "tools/call",
                       {{"name", "echo"}, {"arguments", Object{{"text", "x"}}}, {"_meta", key("a")}},
                       {{"Idempotency-Key", "b"}});
    EXPECT_EQ(parsed(client.socket().read_answer().body).at("error").at("code"), -32602);
}

TEST_F(OverHttp, ManyClientsGetTheirOwnAnswers) {
    constexpr int kClients = 1'000;
    std::vector<std::unique_ptr<HttpClient>> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.push_back(std::make_unique<HttpClient>(endpoint->port()));
    }
    for (int i = 0; i < kClients; ++i) {
        clients[static_cast<std::size_t>(i)]->post_modern(
            1, "tools/call", {{"name", "echo"}, {"arguments", Object{{"text", fmt::format("of {}", i)}}}});
    }
    for (int i = kClients - 1; i >= 0; --i) {
        const auto answer = clients[static_cast<std::size_t>(i)]->socket().read_answer();
        ASSERT_EQ(parsed(answer.body).at("result").at("content").at(0).at("text"),
                  Value(fmt::format("of {}", i)));
    }
}

TEST_F(OverHttp, ManyListenAndOneIsAnswered) {
    constexpr std::int64_t kListeners = 1'000;
    std::vector<std::unique_ptr<HttpClient>> listeners;
    for (std::int64_t i = 0; i < kListeners; ++i) {
        listeners.push_back(std::make_unique<HttpClient>(endpoint->port()));
        listeners.back()->post_modern(i, "subscriptions/listen",
                                      {{"notifications", Object{{"toolsListChanged", true}}}});
    }
    for (const auto& one : listeners) {
        ASSERT_EQ(one->socket().read_head().status, 200);
        ASSERT_EQ(one->read_event().at("method"), "notifications/subscriptions/acknowledged");
    }
    client.post_modern(1, "tools/call", {{"name", "echo"}, {"arguments", Object{{"text", "x"}}}});
    EXPECT_EQ(client.socket().read_answer().status, 200);
    runtime.tools().add_or_throw(tool("new", "", [] { return 1; }).read_only());
    for (std::int64_t i = 0; i < kListeners; ++i) {
        const Value changed = listeners[static_cast<std::size_t>(i)]->read_event();
        ASSERT_EQ(changed.at("method"), "notifications/tools/list_changed");
        ASSERT_EQ(changed.at("params").at("_meta").at("io.modelcontextprotocol/subscriptionId"), i);
    }
}

TEST_F(OverHttp, DrainingDoesNotWaitForThoseWhoListen) {
    client.post_modern(1, "subscriptions/listen", {{"notifications", Object{{"toolsListChanged", true}}}});
    (void)client.socket().read_head();
    ASSERT_EQ(client.read_event().at("method"), "notifications/subscriptions/acknowledged");
    HttpClient legacy(endpoint->port());
    const std::string id = begin(legacy);
    legacy.send("GET", {{"Mcp-Session-Id", id}, {"Accept", "text/event-stream"}}, "");
    (void)legacy.socket().read_head();
    EXPECT_EQ(endpoint->drain(std::chrono::seconds(60)), 0u);
    const Value cancelled = client.read_event();
    EXPECT_EQ(cancelled.at("method"), "notifications/cancelled");
    EXPECT_EQ(cancelled.at("params").at("requestId"), 1);
    const Value end = client.read_event();
    EXPECT_EQ(end.at("id"), 1);
    EXPECT_EQ(end.at("result").at("_meta").at("io.modelcontextprotocol/subscriptionId"), 1);
    EXPECT_EQ(legacy.read_event(), Value());
}

}  // namespace
}  // namespace callgate::mcp
