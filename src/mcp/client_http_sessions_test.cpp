// A client and the sessions of the older era over HTTP, and streams that end before the answer.
#include <gtest/gtest.h>

#include "mcp/client_http_testing.h"

namespace callgate::mcp {
namespace {

TEST(ClientSession, IsNamedInEveryRequestAndEndedAtTheEnd) {
    ScriptedHttp server;
    ScriptedRequest side = server.connect_legacy();
    EXPECT_EQ(side.header("mcp-session-id"), "abc");
    EXPECT_EQ(side.header("mcp-protocol-version"), "2025-11-25");
    EXPECT_EQ(side.header("accept"), "text/event-stream");
    Waited<ClientAnswer> answer;
    server->start(a_call(), answer.take());
    ScriptedRequest call = server.next("tools/call");
    EXPECT_EQ(call.header("mcp-session-id"), "abc");
    EXPECT_EQ(call.header("mcp-protocol-version"), "2025-11-25");
    EXPECT_EQ(call.header("mcp-method"), "");
    call.result(kNothing);
    EXPECT_TRUE(answer.get());
    server->at_home([&] { server->client().disconnect(); });
    ScriptedRequest end = server.next();
    EXPECT_EQ(end.method(), "DELETE");
    EXPECT_EQ(end.header("mcp-session-id"), "abc");
    end.answer(200, "text/plain", "");
}

TEST(ClientSession, ThatTheServerDoesNotKnowEndsTheConnection) {
    ScriptedHttp server;
    ScriptedRequest side = server.connect_legacy();
    Waited<ClientAnswer> one;
    Waited<ClientAnswer> other;
    server->start(a_call("a"), one.take());
    ScriptedRequest first = server.next("tools/call");
    server->start(a_call("b"), other.take());
    server.next("tools/call").error(404, -32001);
    EXPECT_FALSE(one.get());
    const ClientAnswer lost = other.get();
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().error.details.at("reason"), "session_lost");
    server->at_home([&] { EXPECT_EQ(server->client().state(), ClientState::disconnected); });
    // The era is known; a new session begins.
    server.begin();
    server.next("initialize")
        .result(Object{{"protocolVersion", "2025-11-25"}, {"capabilities", Object{}}},
                "Mcp-Session-Id: new\r\n");
    server.next("notifications/initialized").accepted();
    EXPECT_TRUE(server.connected.get());
}

TEST(ClientSession, BeginsBeforeAnythingElseIsSent) {
    for (const bool quick : {true, false}) {
        ClientHttpOptions http;
        http.side_time = std::chrono::milliseconds(quick ? 60'000 : 20);
        ScriptedHttp server({}, http);
        server.begin();
        server.next("server/discover").error(400, -32000);
        server.next("initialize")
            .result(Object{{"protocolVersion", "2025-11-25"}, {"capabilities", Object{{"tools", Object{}}}}});
        ScriptedRequest notice = server.next("notifications/initialized");
        EXPECT_TRUE(server.connected.get());
        Waited<ClientAnswer> answer;
        server->start(a_call(), answer.take());
        notice.accepted();
        ScriptedRequest side = server.next();
        EXPECT_EQ(side.method(), "GET");
        if (quick) side.begin_stream();  // or else it says nothing, and is not waited for
        server.next("tools/call").result(kNothing);
        EXPECT_TRUE(answer.get());
    }
}

TEST(ClientSession, HearsTheServerBesideItsRequests) {
    ClientOptions options;
    const auto person = std::make_shared<AnsweringQuestions>(
        [](const InputRequest&) -> Result<InputAnswer> { return InputAnswer::accept(Array{}); });
    options.questions = person;
    ClientHttpOptions http;
    http.retry = std::chrono::milliseconds(10);
    ScriptedHttp server(options, http);
    ScriptedRequest side = server.connect_legacy();
    side.event(parsed(R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})"), "e7");
    ScriptedRequest answer = server.next();
    EXPECT_EQ(answer.message(), parsed(R"({"jsonrpc":"2.0","id":"q","result":{"roots":[]}})"));
    answer.accepted();
    // It is taken up again where it was.
    side.close();
    ScriptedRequest again = server.next();
    EXPECT_EQ(again.method(), "GET");
    EXPECT_EQ(again.header("last-event-id"), "e7");
    std::promise<void> changed;
    server->at_home([&] { server.watcher->on_change = [&](ListKind) { changed.set_value(); }; });
    again.begin_stream();
    again.event(parsed(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})"));
    changed.get_future().wait();
    server->at_home([&] { server.watcher->on_change = nullptr; });
}

TEST(ClientSession, KnowsWhichRequestAQuestionIsOf) {
    ScriptedHttp server;
    ScriptedRequest side = server.connect_legacy();
    const auto answering = [](std::string_view name) {
        return std::make_shared<AnsweringQuestions>(
            [name = std::string(name)](const InputRequest&) -> Result<InputAnswer> {
                return InputAnswer::accept(Object{{"name", name}});
            });
    };
    ClientRequest first = a_call("a");
    first.questions = answering("first");
    ClientRequest second = a_call("b");
    second.questions = answering("second");
    server->start(std::move(first), [](const ClientAnswer&) {});
    ScriptedRequest one = server.next("tools/call");
    server->start(std::move(second), [](const ClientAnswer&) {});
    ScriptedRequest two = server.next("tools/call");
    const auto ask = [&](ScriptedRequest& on, std::string_view expected) {
        on.event(parsed(
            R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}})"));
        ScriptedRequest answer = server.next();
        EXPECT_EQ(answer.message().at("result").at("content").at("name"), Value(expected));
        answer.accepted();
    };
    two.begin_stream();
    one.begin_stream();
    ask(two, "second");
    ask(one, "first");
}

// Streams that end before the answer.

TEST(ClientResume, AsksForTheRestAfterTheTimeThatTheServerNames) {
    ScriptedHttp server;
    ScriptedRequest side = server.connect_legacy();
    Waited<ClientAnswer> answer;
    server->start(a_call(), answer.take());
    ScriptedRequest call = server.next("tools/call");
    call.begin_stream();
    call.send("id: e1\nretry: 20\ndata: \n\n");
    call.close();
    ScriptedRequest again = server.next();
    EXPECT_EQ(again.method(), "GET");
    EXPECT_EQ(again.header("last-event-id"), "e1");
    EXPECT_EQ(again.header("mcp-session-id"), "abc");
    again.begin_stream();
    again.event(parsed(R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})"), "e2");
    again.close();
    ScriptedRequest third = server.next();
    EXPECT_EQ(third.header("last-event-id"), "e2");
    third.begin_stream();
    third.event(call.result_message(kNothing));
    EXPECT_TRUE(answer.get());
}

TEST(ClientResume, GivesUpWhereNothingComes) {
    ClientHttpOptions http;
    http.retry = std::chrono::milliseconds(1);
    http.max_empty_resumes = 2;
    ScriptedHttp server({}, http);
    ScriptedRequest side = server.connect_legacy();
    const auto begin = [&](Waited<ClientAnswer>& answer) {
        server->start(a_call(), answer.take());
        ScriptedRequest call = server.next("tools/call");
        call.begin_stream();
        call.send("id: e1\ndata: \n\n");
        call.close();
    };
    Waited<ClientAnswer> refused;
    begin(refused);
    server.next().answer(405, "text/plain", "");
    const ClientAnswer ended = refused.get();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().applied, Applied::maybe);
    Waited<ClientAnswer> silent;
    begin(silent);
    for (int i = 0; i < 3; ++i) server.next().close();
    EXPECT_FALSE(silent.get());
}

TEST(ClientResume, IsNotTriedWithoutAnEventsId) {
    ScriptedHttp server;
    ScriptedRequest side = server.connect_legacy();
    Waited<ClientAnswer> answer;
    server->start(a_call(), answer.take());
    ScriptedRequest call = server.next("tools/call");
    call.begin_stream();
    call.send("data: \n\n");
    call.close();
    const ClientAnswer ended = answer.get();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().applied, Applied::maybe);
}

TEST(ClientResume, EndsWithItsRequest) {
    ScriptedHttp server;
    ScriptedRequest side = server.connect_legacy();
    ClientRequest request = a_call();
    request.timeout = std::chrono::milliseconds(30);
    Waited<ClientAnswer> answer;
    server->start(std::move(request), answer.take());
    ScriptedRequest call = server.next("tools/call");
    call.begin_stream();
    call.send("id: e1\nretry: 60000\ndata: \n\n");
    call.close();
    EXPECT_EQ(answer.get().error().error.code, ErrorCode::timed_out);
    server.next("notifications/cancelled").accepted();
}

}  // namespace
}  // namespace callgate::mcp
