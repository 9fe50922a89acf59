// A client over HTTP, word by word: what its requests say, which era the server is of, what answers mean, and
// HTTP as it was.
#include <string>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "mcp/client_http_testing.h"

namespace callgate::mcp {
namespace {

// What leaves.

TEST(ClientOverHttp, RepeatsPartsOfTheMessageInHeaders) {
    ScriptedHttp server;
    server.connect_modern();
    Waited<ClientAnswer> answer;
    server->start(a_call("Zürich", {{"region", "us-west1 "}, {"n", 5}, {"left", nullptr}}), answer.take());
    // The list says which arguments.
    ScriptedRequest list = server.next("tools/list");
    EXPECT_EQ(list.header("mcp-name"), "");
    list.result(Object{
        {"tools",
         Array{parsed(
             R"({"name":"Zürich","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"left":{"type":"string","x-mcp-header":"Left"}}}})")}}});
    ScriptedRequest call = server.next("tools/call");
    EXPECT_EQ(call.method(), "POST");
    EXPECT_EQ(call.target(), "/mcp");
    EXPECT_EQ(call.header("content-type"), "application/json");
    EXPECT_EQ(call.header("accept"), "application/json, text/event-stream");
    EXPECT_EQ(call.header("mcp-protocol-version"), "2026-07-28");
    EXPECT_EQ(call.header("mcp-method"), "tools/call");
    EXPECT_EQ(call.header("mcp-name"), "=?base64?WsO8cmljaA==?=");
    EXPECT_EQ(call.header("mcp-param-region"), "=?base64?dXMtd2VzdDEg?=");
    EXPECT_EQ(call.header("mcp-param-n"), "5");
    EXPECT_EQ(call.header("mcp-param-left"), "");
    EXPECT_EQ(call.header("mcp-session-id"), "");
    call.result(kNothing);
    EXPECT_TRUE(answer.get());
}

TEST(ClientOverHttp, DropsToolsWhoseHeadersBreakTheRules) {
    ScriptedHttp server;
    server.connect_modern();
    Waited<Result<SharedList>> listed;
    server->at_home([&] { server->client().list(ListKind::tools, listed.take()); });
    server.next("tools/list")
        .result(Object{
            {"tools",
             Array{
                 parsed(
                     R"({"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}})"),
                 parsed(R"({"name":"good","inputSchema":{"type":"object"}})")}}});
    const SharedList list = *listed.get();
    EXPECT_EQ(list->tools.size(), 1u);
    ASSERT_EQ(list->refused.size(), 1u);
    EXPECT_EQ(list->refused[0].name, "bad");
    EXPECT_EQ(list->refused[0].why.details.at("reason"), "bad_header");
}

TEST(ClientOverHttp, ListsAgainOnceWhereItsHeadersWereOfAnOlderList) {
    ScriptedHttp server;
    server.connect_modern();
    Waited<ClientAnswer> answer;
    server->start(a_call("t", {{"a", 1}}), answer.take());
    const auto with_header = [](std::string_view name) {
        return Object{
            {"tools",
             Array{Object{{"name", "t"},
                          {"inputSchema",
                           Object{{"type", "object"},
                                  {"properties",
                                   Object{{"a", Object{{"type", "integer"}, {"x-mcp-header", name}}}}}}}}}}};
    };
    server.next("tools/list").result(with_header("Old"));
    ScriptedRequest first = server.next("tools/call");
    EXPECT_EQ(first.header("mcp-param-old"), "1");
    first.error(400, -32020);
    server.next("tools/list").result(with_header("New"));
    ScriptedRequest second = server.next("tools/call");
    EXPECT_EQ(second.header("mcp-param-new"), "1");
    second.error(400, -32020);
    const ClientAnswer ended = answer.get();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, -32020);
}

TEST(ClientOverHttp, SaysWhoAsksInEveryRequest) {
    ClientHttpOptions http;
    http.headers = {{"Authorization", "Bearer t0k"}};
    ScriptedHttp server({}, http);
    server.begin();
    ScriptedRequest request = server.next("server/discover");
    EXPECT_EQ(request.header("authorization"), "Bearer t0k");
    request.answer(401, "text/plain", "who?", "WWW-Authenticate: Bearer resource_metadata=\"x\"\r\n");
    const Result<void> result = server.connected.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::unavailable);
    EXPECT_EQ(result.error().details.at("reason"), "unauthorized");
    EXPECT_EQ(result.error().details.at("www_authenticate"), "Bearer resource_metadata=\"x\"");
}

// The era.

TEST(ClientEraOverHttp, IsTheOlderOneWhereTheQuestionIsRefused) {
    for (const int status : {400, 404, 405, 406, 415, 422}) {
        ScriptedHttp server;
        server.begin();
        server.next("server/discover").answer(status, "text/html", "<html>");
        server.next("initialize")
            .result(Object{{"protocolVersion", "2025-03-26"}, {"capabilities", Object{}}});
        server.next("notifications/initialized").accepted();
        EXPECT_TRUE(server.connected.get()) << status;
        server->at_home([&] { EXPECT_EQ(server->client().server().codec->revision(), "2025-03-26"); });
    }
    for (const int status : {200, 400, 404}) {
        ScriptedHttp server;
        server.begin();
        server.next("server/discover").error(status, -32601);
        server.next("initialize")
            .result(Object{{"protocolVersion", "2025-11-25"}, {"capabilities", Object{}}});
        server.next("notifications/initialized").accepted();
        EXPECT_TRUE(server.connected.get()) << status;
    }
}

TEST(ClientEraOverHttp, IsTheNewOneWhereItsErrorsAreKnown) {
    ScriptedHttp server;
    server.begin();
    server.next("server/discover").error(400, -32022, Object{{"supported", Array{"2026-07-28"}}});
    server.next("server/discover")
        .result(Object{{"supportedVersions", Array{"2026-07-28"}}, {"capabilities", Object{}}});
    EXPECT_TRUE(server.connected.get());
}

TEST(ClientEraOverHttp, IsNoneWhereTheAnswerSaysNothingAboutIt) {
    for (const int status : {301, 307, 401, 403, 429, 500, 502, 503}) {
        ScriptedHttp server;
        server.begin();
        server.next("server/discover")
            .answer(status, "text/html", "<html>", "Location: http://10.0.0.1/\r\n");
        EXPECT_FALSE(server.connected.get()) << status;
        server->at_home([&] { EXPECT_EQ(server->client().state(), ClientState::error); });
        // And it is asked again the next time.
        server.begin();
        server.next("server/discover")
            .result(Object{{"supportedVersions", Array{"2026-07-28"}}, {"capabilities", Object{}}});
        EXPECT_TRUE(server.connected.get());
    }
    ScriptedHttp server;
    for (const bool html : {true, false}) {
        server.begin();
        ScriptedRequest request = server.next("server/discover");
        if (html) request.answer(200, "text/html", "<html>");
        request.close();
        EXPECT_FALSE(server.connected.get());
    }
    server.begin();
    server.next("server/discover").error(500, -32603);
    EXPECT_FALSE(server.connected.get());
}

// Answers.

TEST(ClientOverHttp, ReadsAnObjectOrAStream) {
    ScriptedHttp server;
    server.connect_modern({});
    Waited<ClientAnswer> answer;
    std::string seen;
    ClientRequest request("resources/read", {{"uri", "test://ä"}});
    request.progress = [&](const ClientProgress& progress) { seen += fmt::format("{};", progress.progress); };
    server->start(std::move(request), answer.take());
    ScriptedRequest read = server.next("resources/read");
    EXPECT_EQ(read.header("mcp-name"), "=?base64?dGVzdDovL8Ok?=");
    read.begin_stream();
    read.send(": hello\r\n\r\nevent: other\ndata: x\n\nretry: 5\ndata:\n\n");
    for (const int i : {1, 2})
        read.event(Object{{"jsonrpc", "2.0"},
                          {"method", "notifications/progress"},
                          {"params", Object{{"progressToken", read.message().at("id")}, {"progress", i}}}});
    read.event(read.result_message(Object{{"contents", Array{}}}));
    EXPECT_TRUE(answer.get());
    EXPECT_EQ(seen, "1;2;");
}

TEST(ClientOverHttp, DoesNotBelieveWhatIsNoAnswer) {
    ClientHttpOptions small;
    small.max_message = 10'000;
    ScriptedHttp server({}, small);
    server.connect_modern({});
    const auto ask = [&](const std::function<void(ScriptedRequest&)>& play) {
        Waited<ClientAnswer> answer;
        server->start(ClientRequest("x/y", {}), answer.take());
        ScriptedRequest request = server.next("x/y");
        play(request);
        const ClientAnswer ended = answer.get();
        EXPECT_FALSE(ended);
        return ended ? ClientFailure{} : ended.error();
    };
    const auto reason = [](const ClientFailure& failure) {
        const Value* given = failure.error.details.if_contains("reason");
        return given == nullptr ? "" : std::string(given->as_string());
    };
    EXPECT_EQ(reason(ask([](ScriptedRequest& to) { to.answer(200, "text/html", "<html>"); })),
              "wrong_content_type");
    EXPECT_EQ(reason(ask([](ScriptedRequest& to) { to.answer(202, "application/json", ""); })), "no_result");
    EXPECT_EQ(reason(ask([](ScriptedRequest& to) { to.answer(200, "application/json", "{}"); })),
              "no_result");
    EXPECT_EQ(reason(ask([](ScriptedRequest& to) {
                  to.answer(200, "application/json", R"({"jsonrpc":"2.0","id":99,"result":{}})");
              })),
              "no_result");
    EXPECT_EQ(reason(ask(
                  [](ScriptedRequest& to) { to.answer(200, "application/json", std::string(10'001, ' ')); })),
              "too_large");
    EXPECT_EQ(reason(ask([](ScriptedRequest& to) {
                  to.answer(302, "text/plain", "", "Location: http://127.0.0.1:1/\r\n");
              })),
              "redirected");
    EXPECT_EQ(
        reason(ask([](ScriptedRequest& to) { to.answer(500, "text/html", std::string(200'000, 'x')); })),
        "http_status");
    EXPECT_EQ(reason(ask([](ScriptedRequest& to) {
                  to.begin_stream();
                  to.send("id: 1\ndata: {\n\n");
                  to.close();
              })),
              "no_result");  // a stream of this era is not taken up again
    EXPECT_EQ(ask([](ScriptedRequest& to) { to.answer(403, "text/plain", ""); }).applied, Applied::no);
    const ClientFailure in_words = ask([](ScriptedRequest& to) { to.error(404, -32601); });
    EXPECT_EQ(in_words.code, -32601);
    EXPECT_EQ(in_words.status, 404);
    EXPECT_EQ(in_words.applied, Applied::no);
    const ClientFailure without_id = ask([](ScriptedRequest& to) {
        to.answer(400, "application/json",
                  R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}})");
    });
    EXPECT_EQ(without_id.code, -32600);
    const ClientFailure cut = ask([](ScriptedRequest& to) {
        to.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"json");
        to.close();
    });
    EXPECT_EQ(cut.error.code, ErrorCode::transport);
    EXPECT_EQ(cut.applied, Applied::maybe);
    // The next one is as good as any.
    Waited<ClientAnswer> answer;
    server->start(ClientRequest("x/y", {}), answer.take());
    server.next("x/y").result(Object{});
    EXPECT_TRUE(answer.get());
}

TEST(ClientOverHttp, ContainsAnEventThatIsTooLarge) {
    ClientHttpOptions small;
    small.max_message = 10'000;
    ScriptedHttp server({}, small);
    server.connect_modern({});
    Waited<ClientAnswer> answer;
    server->start(ClientRequest("x/y", {}), answer.take());
    ScriptedRequest request = server.next("x/y");
    request.begin_stream();
    request.send("data: " + std::string(1u << 20, 'x') + "\n\n");
    request.event(request.result_message(Object{}));
    EXPECT_TRUE(answer.get());
    server->at_home([&] { EXPECT_EQ(server.watcher->faults[ServerFault::too_large], 1); });
}

TEST(ClientOverHttp, CallsOffByClosingInTheStatelessEra) {
    ScriptedHttp server;
    server.connect_modern({});
    Waited<ClientAnswer> answer;
    const auto ticket = server->start(ClientRequest("x/y", {}), answer.take());
    ScriptedRequest request = server.next("x/y");
    request.begin_stream();
    server->cancel(ticket);
    EXPECT_FALSE(answer.get());
    EXPECT_TRUE(request.ended());
    Waited<ClientAnswer> next;
    server->start(ClientRequest("z", {}), next.take());
    server.next("z").result(Object{});  // nothing was posted in between
    EXPECT_TRUE(next.get());
}

TEST(ClientOverHttp, CallsOffWithANoticeInTheOlderEra) {
    ScriptedHttp server;
    ScriptedRequest side = server.connect_legacy();
    Waited<ClientAnswer> answer;
    const auto ticket = server->start(ClientRequest("x/y", {}), answer.take());
    ScriptedRequest request = server.next("x/y");
    server->cancel(ticket);
    EXPECT_FALSE(answer.get());
    ScriptedRequest notice = server.next("notifications/cancelled");
    EXPECT_EQ(notice.message().at("params").at("requestId"), request.message().at("id"));
    EXPECT_EQ(notice.header("mcp-session-id"), "abc");
    notice.accepted();
}

// HTTP as it was in 2024-11-05.

class OlderHttp : public testing::Test {
protected:
    /// The stream, with the address named.
    ScriptedRequest connect() {
        server.begin();
        server.next("server/discover").answer(405, "text/plain", "");
        server.next("initialize").answer(405, "text/plain", "");
        ScriptedRequest stream = server.next();
        EXPECT_EQ(stream.method(), "GET");
        stream.begin_stream();
        stream.send("event: endpoint\ndata: /messages?session=1\n\n");
        ScriptedRequest request = server.next("initialize");
        EXPECT_EQ(request.target(), "/messages?session=1");
        request.accepted();
        stream.event(request.result_message(
            Object{{"protocolVersion", "2024-11-05"}, {"capabilities", Object{{"tools", Object{}}}}}));
        server.next("notifications/initialized").accepted();
        EXPECT_TRUE(server.connected.get());
        return stream;
    }

    ScriptedHttp server;
};

TEST_F(OlderHttp, IsSpokenWhereTheServerKnowsNoOther) {
    ScriptedRequest stream = connect();
    Waited<ClientAnswer> answer;
    server->start(a_call(), answer.take());
    ScriptedRequest call = server.next("tools/call");
    EXPECT_EQ(call.target(), "/messages?session=1");
    call.accepted();
    stream.event(call.result_message(kNothing));
    EXPECT_TRUE(answer.get());
    Waited<ClientAnswer> refused;
    server->start(a_call(), refused.take());
    server.next("tools/call").answer(500, "text/plain", "");
    EXPECT_FALSE(refused.get());
    Waited<ClientAnswer> lost;
    server->start(a_call(), lost.take());
    server.next("tools/call").accepted();
    stream.close();
    const ClientAnswer ended = lost.get();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().applied, Applied::maybe);
    server->at_home([&] { EXPECT_EQ(server->client().state(), ClientState::disconnected); });
}

TEST_F(OlderHttp, IsNotSpokenToAnotherMachine) {
    for (const std::string_view elsewhere :
         {"http://10.0.0.1/messages", "https://127.0.0.1/m", "//evil/m", "file:///x"}) {
        server.begin();
        server.next("server/discover").answer(405, "text/plain", "");
        server.next("initialize").answer(404, "text/plain", "");
        ScriptedRequest stream = server.next();
        stream.begin_stream();
        stream.send(fmt::format("event: endpoint\ndata: {}\n\n", elsewhere));
        const Result<void> result = server.connected.get();
        ASSERT_FALSE(result) << elsewhere;
        EXPECT_EQ(result.error().details.at("reason"), "bad_endpoint");
    }
}

TEST_F(OlderHttp, IsNotThereEither) {
    server.begin();
    server.next("server/discover").answer(404, "text/plain", "");
    server.next("initialize").answer(404, "text/plain", "");
    server.next().answer(404, "text/html", "<html>");
    const Result<void> result = server.connected.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().details.at("status"), 404);
}

}  // namespace
}  // namespace callgate::mcp
