// A client and a server: one request and its end, and what is left when one of them goes.
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "mcp/client_testing.h"

namespace callgate::mcp {
namespace {

ClientOptions of_era(EraChoice era) {
    ClientOptions options;
    options.era = era;
    return options;
}

/// A client of a server of ours.
class ClientAndServer : public testing::TestWithParam<EraOver> {
protected:
    ClientAndServer() {
        runtime.tools().add_or_throw(tool(
                                         "add", "Add two numbers",
                                         [](std::int64_t a, std::int64_t b) { return a + b; },
                                         param("a", "first"), param("b", "second"))
                                         .read_only()
                                         .risk(Risk::low));
        runtime.tools().add_or_throw(schema_tool(ToolDefinition("steps", "", Object{{"type", "object"}}),
                                                 [](const Object&, CallContext& context) -> ToolReturn {
                                                     context.progress("half of it", 1, 2);
                                                     context.progress("all of it", 2, 2);
                                                     return ToolResult(Value("done"));
                                                 })
                                         .read_only()
                                         .risk(Risk::low));
        runtime.tools().add_or_throw(
            schema_tool(ToolDefinition("waits", "", Object{{"type", "object"}}),
                        [this](const Object&, CallContext& context) -> ToolReturn {
                            entered.set_value();
                            std::promise<void> stopped;
                            const std::stop_callback stops(context.cancel(), [&] { stopped.set_value(); });
                            stopped.get_future().wait();
                            left.set_value();
                            return tl::unexpected(ToolFailure::not_applied("called off"));
                        })
                .read_only()
                .risk(Risk::low));
    }
    bool is_modern() const { return GetParam().era == EraChoice::modern; }

    std::promise<void> entered;
    std::promise<void> left;
    Runtime runtime;  // after what its tools use
    Server server{runtime};
    LinkToServer link{server, GetParam().over};
    ClientOnLoop client{of_era(GetParam().era), link.open(client)};
};

INSTANTIATE_TEST_SUITE_P(Eras, ClientAndServer, kErasAndTransports, name_of_era);

TEST_P(ClientAndServer, CallsAToolAndGetsItsBytes) {
    ASSERT_TRUE(client.connect());
    client.at_home([&] {
        EXPECT_EQ(client.client().state(), ClientState::connected);
        EXPECT_EQ(client.client().server().codec->modern(), is_modern());
        EXPECT_EQ(client.client().server().info.at("name"), "callgate");
    });
    const ClientAnswer answer = client.call("add", {{"a", 2}, {"b", 9007199254740993}});
    ASSERT_TRUE(answer) << answer.error().error.message;
    EXPECT_EQ(answer->value.at("content").at(0).at("text"), "9007199254740995");
    EXPECT_EQ(json::write(parsed(answer->received)), json::write(answer->value));
    const ToolReturn read = read_mcp_result(answer->received);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->blocks.at(0).text, "9007199254740995");
}

TEST_P(ClientAndServer, ConnectsOnceForAllWhoWait) {
    Waited<Result<void>> one;
    Waited<Result<void>> two;
    client.at_home([&] {
        client.client().connect(one.take());
        client.client().connect(two.take());
    });
    EXPECT_TRUE(one.get());
    EXPECT_TRUE(two.get());
    EXPECT_TRUE(client.connect());
}

TEST_P(ClientAndServer, KeepsAToolsFailureApartFromTheProtocols) {
    ASSERT_TRUE(client.connect());
    const ClientAnswer of_tool = client.call("add", {{"a", "x"}, {"b", 1}});
    ASSERT_TRUE(of_tool);
    EXPECT_EQ(of_tool->value.at("isError"), true);
    const ClientAnswer of_protocol = client.call("subtract");
    ASSERT_FALSE(of_protocol);
    EXPECT_EQ(of_protocol.error().code, -32602);
    EXPECT_EQ(of_protocol.error().error.code, ErrorCode::invalid_arguments);
    EXPECT_EQ(of_protocol.error().applied, Applied::no);
}

TEST_P(ClientAndServer, ReportsProgressInOrderBeforeTheAnswer) {
    ASSERT_TRUE(client.connect());
    std::string seen;
    ClientRequest request("tools/call", {{"name", "steps"}, {"arguments", Object{}}});
    request.progress = [&](const ClientProgress& progress) {
        seen += fmt::format("{}/{} {};", progress.progress, *progress.total, progress.message);
    };
    const ClientAnswer answer = client.ask(std::move(request));
    ASSERT_TRUE(answer);
    EXPECT_EQ(seen, "1/2 half of it;2/2 all of it;");
}

TEST_P(ClientAndServer, CallsOffWhatIsNotWantedAnyMore) {
    ASSERT_TRUE(client.connect());
    Waited<ClientAnswer> answer;
    const auto ticket = client.start(
        ClientRequest("tools/call", {{"name", "waits"}, {"arguments", Object{}}}), answer.take());
    entered.get_future().wait();
    client.cancel(ticket);
    const ClientAnswer ended = answer.get();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().error.code, ErrorCode::cancelled);
    left.get_future().wait();  // the server's tool was asked to stop
    EXPECT_TRUE(client.call("add", {{"a", 1}, {"b", 1}}));
}

TEST_P(ClientAndServer, GivesUpAtTheDeadlineAndTellsTheServer) {
    ASSERT_TRUE(client.connect());
    ClientRequest request("tools/call", {{"name", "waits"}, {"arguments", Object{}}});
    request.timeout = std::chrono::milliseconds(50);
    const ClientAnswer ended = client.ask(std::move(request));
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().error.code, ErrorCode::timed_out);
    EXPECT_EQ(ended.error().applied, Applied::maybe);
    left.get_future().wait();
    EXPECT_TRUE(client.call("add", {{"a", 1}, {"b", 1}}));
}

TEST_P(ClientAndServer, EndsWhatIsUnderWayWhenItDisconnectsAndConnectsAgain) {
    ASSERT_TRUE(client.connect());
    Waited<ClientAnswer> answer;
    client.start(ClientRequest("tools/call", {{"name", "waits"}, {"arguments", Object{}}}), answer.take());
    entered.get_future().wait();
    client.at_home([&] { client.client().disconnect(); });
    const ClientAnswer ended = answer.get();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().applied, Applied::maybe);
    const ClientAnswer unsent = client.call("add");
    ASSERT_FALSE(unsent);
    EXPECT_EQ(unsent.error().error.details.at("reason"), "not_connected");
    EXPECT_EQ(unsent.error().applied, Applied::no);
    ASSERT_TRUE(client.connect());
    EXPECT_TRUE(client.call("add", {{"a", 1}, {"b", 1}}));
}

TEST_P(ClientAndServer, EndsWhatIsUnderWayWhenItIsDropped) {
    Waited<ClientAnswer> answer;
    {
        ClientOnLoop short_lived(of_era(GetParam().era), link.open(short_lived));
        ASSERT_TRUE(short_lived.connect());
        short_lived.start(ClientRequest("tools/call", {{"name", "waits"}, {"arguments", Object{}}}),
                          answer.take());
        entered.get_future().wait();
    }
    EXPECT_FALSE(answer.get());
}

// What leaves.

TEST(ClientEnvelope, SaysWhoAsksAndKeepsWhatOthersPutThere) {
    ScriptedClient client;
    const auto peer = client.connect_modern();
    ClientRequest request("tools/call", {{"name", "t"}, {"_meta", Object{{"traceparent", "00-1-2-01"}}}});
    request.log_level = LogLevel::warning;
    request.progress = [](const ClientProgress&) {};
    client->start(std::move(request), [](const ClientAnswer&) {});
    const Value sent = peer->read_request("tools/call");
    const Value& meta = sent.at("params").at("_meta");
    EXPECT_EQ(meta.at("io.modelcontextprotocol/protocolVersion"), "2026-07-28");
    EXPECT_EQ(meta.at("io.modelcontextprotocol/clientInfo").at("name"), "callgate");
    EXPECT_EQ(meta.at("io.modelcontextprotocol/clientCapabilities"), Value(Object{}));
    EXPECT_EQ(meta.at("io.modelcontextprotocol/logLevel"), "warning");
    EXPECT_EQ(meta.at("traceparent"), "00-1-2-01");
    EXPECT_EQ(meta.at("progressToken"), sent.at("id"));
}

TEST(ClientEnvelope, IsNotSentToOlderServers) {
    ScriptedClient client;
    const auto peer = client.connect_legacy();
    client->start(
        ClientRequest("tools/call",
                      {{"name", "t"}, {"_meta", Object{{"io.modelcontextprotocol/logLevel", "debug"}}}}),
        [](const ClientAnswer&) {});
    EXPECT_FALSE(peer->read_request("tools/call").at("params").as_object().contains("_meta"));
}

TEST(ClientEnvelope, SaysWhatTheRequestsOwnCallerCanBeAsked) {
    ScriptedClient client;
    const auto peer = client.connect_modern();
    ClientRequest request("tools/call", {{"name", "t"}});
    InputAbilities can;
    can.form = true;
    request.questions = std::make_shared<AnsweringQuestions>(nullptr, can);
    client->start(std::move(request), [](const ClientAnswer&) {});
    EXPECT_EQ(peer->read_request("tools/call")
                  .at("params")
                  .at("_meta")
                  .at("io.modelcontextprotocol/clientCapabilities"),
              (Value(Object{{"elicitation", Object{{"form", Object{}}}}})));
}

// Signs of life.

TEST(ClientAlive, AnswersPingsInEveryMoment) {
    ScriptedClient client;
    const auto peer = client.connect([](ScriptedPeer& server) {
        server.error(server.read_request("server/discover"), -32601, "no");
        const Value request = server.read_request("initialize");
        server.send_line(R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
        EXPECT_EQ(server.read(), parsed(R"({"jsonrpc":"2.0","id":"p","result":{}})"));
        server.result(request, Object{{"protocolVersion", "2025-11-25"}, {"capabilities", Object{}}});
        server.read_request("notifications/initialized");
    });
    peer->send_line(R"({"jsonrpc":"2.0","id":7,"method":"ping"})");
    EXPECT_EQ(peer->read(), parsed(R"({"jsonrpc":"2.0","id":7,"result":{}})"));
}

TEST(ClientAlive, PingsAServerThatSaysNothingAndGivesItUp) {
    ClientOptions options;
    options.keep_alive = std::chrono::milliseconds(20);
    ScriptedClient client(options);
    const auto peer = client.connect_legacy();
    peer->result(peer->read_request("ping"), Object{});
    peer->read_request("ping");
    EXPECT_EQ(peer->read(), nullptr);
    client->at_home([&] {
        EXPECT_EQ(client->client().state(), ClientState::disconnected);
        EXPECT_EQ(client->client().why()->details.at("reason"), "no_sign_of_life");
    });
}

TEST(ClientAlive, DoesNotGiveUpAServerThatIsAtWork) {
    ClientOptions options;
    options.keep_alive = std::chrono::milliseconds(10);
    ScriptedClient client(options);
    const auto peer = client.connect_legacy();
    Waited<ClientAnswer> answer;
    client->start(ClientRequest("tools/call", {{"name", "t"}}), answer.take());
    Value call = peer->read();
    while (call.at("method") == "ping") call = peer->read();
    // Nothing else is sent while it works, for as long as a second request takes to reach its deadline.
    ClientRequest second("tools/call", {{"name", "u"}});
    second.timeout = std::chrono::milliseconds(100);
    EXPECT_FALSE(client->ask(std::move(second)));
    EXPECT_EQ(peer->read_request("tools/call").at("params").at("name"), "u");
    peer->read_request("notifications/cancelled");
    peer->result(call, Object{{"content", Array{}}});
    EXPECT_TRUE(answer.get());
}

// The connection goes.

TEST(ClientLoss, SaysWhatMayHaveArrived) {
    ScriptedClient client;
    auto peer = client.connect_modern();
    Waited<ClientAnswer> answer;
    client->start(ClientRequest("tools/call", {{"name", "t"}}), answer.take());
    peer->read_request("tools/call");
    peer->close();
    const ClientAnswer lost = answer.get();
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().error.code, ErrorCode::transport);
    EXPECT_EQ(lost.error().applied, Applied::maybe);
    client->at_home([&] {
        EXPECT_EQ(client->client().state(), ClientState::disconnected);
        EXPECT_TRUE(client->client().why());
    });
    peer = client.connect_modern();
}

TEST(ClientLoss, KnowsWhatNeverLeft) {
    ScriptedClient client;
    const auto peer = client.connect_modern();
    // The first fills the way there, and the second waits behind it.
    Waited<ClientAnswer> first;
    Waited<ClientAnswer> second;
    client->at_home([&] {
        client->client().start(ClientRequest("tools/call", {{"name", std::string(3u << 20, 'x')}}),
                               first.take());
        client->client().start(ClientRequest("tools/call", {{"name", "t"}}), second.take());
    });
    // What was given out in one turn is written in the next.
    client->at_home([] {});
    client->at_home([] {});
    peer->close();
    EXPECT_EQ(first.get().error().applied, Applied::maybe);
    EXPECT_EQ(second.get().error().applied, Applied::no);
}

TEST(ClientLoss, IsTheSameOverPipes) {
    int to[2];
    int from[2];
    ASSERT_EQ(::pipe2(to, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(from, O_CLOEXEC), 0);
    ClientOnLoop client({}, [&](const Client::Opened& opened) {
        opened(std::shared_ptr<ClientTransport>(
            ClientLines::make(client.thread(), os::Fd(from[0]), os::Fd(to[1]))));
    });
    Waited<Result<void>> connected;
    client.at_home([&] { client.client().connect(connected.take()); });
    char byte = 0;
    ASSERT_EQ(::read(to[0], &byte, 1), 1);
    ::close(to[0]);  // it takes nothing any more, and has said nothing
    ::close(from[1]);
    const Result<void> result = connected.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::transport);
}

TEST(ClientLoss, MayConnectAgainFromInsideACompletion) {
    ScriptedClient client;
    auto peer = client.connect_modern();
    Waited<Result<void>> again;
    client->at_home([&] {
        client->client().start(ClientRequest("tools/call", {{"name", "t"}}), [&](const ClientAnswer& answer) {
            EXPECT_FALSE(answer);
            client->client().connect(again.take());
        });
    });
    peer->read_request("tools/call");
    peer->close();
    peer = client.next_peer();
    peer->be_modern();
    EXPECT_TRUE(again.get());
    client->at_home([&] { EXPECT_EQ(client->client().state(), ClientState::connected); });
}

}  // namespace
}  // namespace callgate::mcp
