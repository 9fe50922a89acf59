// Servers that break the protocol: what they do is contained, reported once, and changes nothing for the next
// request.
#include <string>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "mcp/client_testing.h"

namespace callgate::mcp {
namespace {

class HostileServer : public testing::Test {
protected:
    /// A request, whose end is waited for with `answer.get()`.
    Value begin(ScriptedPeer& peer, std::string_view tool = "t") {
        client->start(ClientRequest("tools/call", {{"name", tool}}), answer.take());
        return peer.read_request("tools/call");
    }
    void finish(ScriptedPeer& peer, const Value& request) {
        peer.result(request, Object{{"content", Array{}}});
        EXPECT_TRUE(answer.get());
    }
    int faults(ServerFault fault) {
        int count = 0;
        client->at_home([&] { count = client.watcher->faults[fault]; });
        return count;
    }

    ScriptedClient client;
    Waited<ClientAnswer> answer;
};

TEST_F(HostileServer, WritesWhatIsNoMessage) {
    const auto peer = client.connect_modern();
    const Value request = begin(*peer);
    for (const std::string_view line :
         {"listening on port 3000", "<html>", "{", "null", "[]", "\x01\xff", R"({"jsonrpc":"2.0","id":{}})",
          R"({"jsonrpc":"1.0","id":2,"result":{}})", R"({"id":2,"result":{}})",
          R"({"jsonrpc":"2.0","id":2,"result":{},"error":{}})", R"({"jsonrpc":"2.0","id":2})"})
        peer->send_line(line);
    peer->send_line(R"([{"jsonrpc":"2.0","id":2,"result":{}}])");
    finish(*peer, request);
    EXPECT_EQ(faults(ServerFault::not_a_message), 1);
}

TEST_F(HostileServer, AnswersTwiceNeverAskedAndWithoutAnId) {
    const auto peer = client.connect_modern();
    const Value request = begin(*peer);
    peer->send_line(R"({"jsonrpc":"2.0","id":999,"result":{}})");
    peer->send_line(R"({"jsonrpc":"2.0","id":-1,"result":{}})");
    peer->send_line(R"({"jsonrpc":"2.0","id":"2","result":{}})");
    peer->send_line(R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"?"}})");
    peer->result(request, Object{{"content", Array{}}});
    peer->result(request, Object{{"content", Array{"again"}}});
    peer->result(request, Object{{"content", Array{"again"}}});
    EXPECT_TRUE(answer.get());
    answer = {};
    finish(*peer, begin(*peer));
    EXPECT_EQ(faults(ServerFault::unknown_answer), 1);
    EXPECT_EQ(faults(ServerFault::repeated_answer), 1);
}

TEST_F(HostileServer, AnswersLateAndIsNotBlamedForIt) {
    const auto peer = client.connect_modern();
    ClientRequest slow("tools/call", {{"name", "t"}});
    slow.timeout = std::chrono::milliseconds(30);
    EXPECT_FALSE(client->ask(std::move(slow)));
    const Value request = peer->read_request("tools/call");
    const Value notice = peer->read_request("notifications/cancelled");
    EXPECT_EQ(notice.at("params").at("requestId"), request.at("id"));
    peer->result(request, Object{{"content", Array{}}});
    finish(*peer, begin(*peer));
    client->at_home([&] { EXPECT_TRUE(client.watcher->faults.empty()); });
}

TEST_F(HostileServer, AnswersWithWhatIsNoResult) {
    const auto peer = client.connect_modern();
    for (const std::string_view result :
         {"null", "[]", "1", "\"text\"", R"({"resultType":"task"})", R"({"resultType":7})",
          R"({"resultType":"input_required"})", R"({"resultType":"input_required","inputRequests":[]})",
          R"({"resultType":"input_required","requestState":{}})"}) {
        answer = {};
        const Value request = begin(*peer);
        peer->send_line(
            fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", json::write(request.at("id")), result));
        const ClientAnswer ended = answer.get();
        ASSERT_FALSE(ended) << result;
        EXPECT_EQ(ended.error().error.code, ErrorCode::output_invalid) << result;
        EXPECT_EQ(ended.error().applied, Applied::maybe);
    }
}

TEST_F(HostileServer, SendsErrorsOfEveryShape) {
    const auto peer = client.connect_modern();
    for (const std::string_view error :
         {"{}", R"({"code":"x"})", R"({"code":1e300,"message":7})", R"({"code":99999999999,"message":"m"})",
          R"({"code":-32000,"message":"m","data":[1]})"}) {
        answer = {};
        const Value request = begin(*peer);
        peer->send_line(
            fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{}}})", json::write(request.at("id")), error));
        const ClientAnswer ended = answer.get();
        ASSERT_FALSE(ended) << error;
        EXPECT_EQ(ended.error().error.code, ErrorCode::tool_error) << error;
        EXPECT_EQ(ended.error().applied, Applied::answered);
        EXPECT_FALSE(ended.error().error.message.empty());
    }
}

TEST_F(HostileServer, DidNothingOnlyIfItShowedNoSignOfWork) {
    const auto peer = client.connect_modern();
    for (const bool progress : {false, true}) {
        for (const int code : {-32700, -32600, -32601, -32602}) {
            answer = {};
            ClientRequest call("tools/call", {{"name", "t"}});
            call.progress = [](const ClientProgress&) {};
            client->start(std::move(call), answer.take());
            const Value request = peer->read_request("tools/call");
            if (progress)
                peer->notify("notifications/progress",
                             {{"progressToken", request.at("id")}, {"progress", 1}});
            peer->error(request, code, "no");
            EXPECT_EQ(answer.get().error().applied, progress ? Applied::answered : Applied::no) << code;
        }
    }
}

TEST_F(HostileServer, SendsALineWithoutEnd) {
    ClientLineLimits lines;
    lines.max_line = 1u << 20;
    ScriptedClient small({}, lines);
    const auto peer = small.connect_modern();
    small->start(ClientRequest("tools/call", {{"name", "t"}}), answer.take());
    const Value request = peer->read_request("tools/call");
    const std::string piece(1u << 20, 'x');
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(peer->send_bytes(piece));
    peer->send_line("");
    peer->result(request, Object{{"content", Array{}}});
    EXPECT_TRUE(answer.get());
    small->at_home([&] { EXPECT_EQ(small.watcher->faults[ServerFault::too_large], 1); });
}

TEST_F(HostileServer, ClosesInTheMiddleOfALine) {
    const auto peer = client.connect_modern();
    begin(*peer);
    peer->send_bytes(R"({"jsonrpc":"2.0","id":2,"resu)");
    peer->close();
    const ClientAnswer lost = answer.get();
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().applied, Applied::maybe);
    EXPECT_EQ(faults(ServerFault::not_a_message), 1);
}

TEST_F(HostileServer, FloodsProgress) {
    ClientOptions options;
    options.limits.max_progress = 100;
    ScriptedClient bounded(options);
    const auto peer = bounded.connect_modern();
    int seen = 0;
    ClientRequest call("tools/call", {{"name", "t"}});
    call.progress = [&](const ClientProgress&) { ++seen; };
    bounded->start(std::move(call), answer.take());
    const Value request = peer->read_request("tools/call");
    for (int i = 1; i <= 5'000; ++i)
        peer->notify("notifications/progress", {{"progressToken", request.at("id")}, {"progress", i}});
    for (const std::string_view token : {"77777", "\"a\"", "null", "{}", "-3"})
        peer->send_line(fmt::format(
            R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":1}}}})",
            token));
    finish(*peer, request);
    EXPECT_EQ(seen, 100);
    bounded->at_home([&] {
        EXPECT_EQ(bounded.watcher->faults[ServerFault::too_much_progress], 1);
        EXPECT_EQ(bounded.watcher->faults[ServerFault::unknown_progress], 1);
    });
}

TEST_F(HostileServer, LetsProgressGoBack) {
    const auto peer = client.connect_modern();
    std::string seen;
    ClientRequest call("tools/call", {{"name", "t"}});
    call.progress = [&](const ClientProgress& progress) { seen += fmt::format("{};", progress.progress); };
    client->start(std::move(call), answer.take());
    const Value request = peer->read_request("tools/call");
    for (const int value : {5, 3, 5, 9, 1})
        peer->notify("notifications/progress", {{"progressToken", request.at("id")}, {"progress", value}});
    finish(*peer, request);
    EXPECT_EQ(seen, "5;5;9;");
    EXPECT_EQ(faults(ServerFault::unknown_progress), 1);
}

TEST_F(HostileServer, SendsRequestsThatItsEraHasNot) {
    const auto peer = client.connect_modern();
    const Value request = begin(*peer);
    peer->send_line(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
    peer->send_line(R"({"jsonrpc":"2.0","id":2,"method":"roots/list"})");
    finish(*peer, request);
    answer = {};
    finish(*peer, begin(*peer));  // nothing was answered in between
    EXPECT_EQ(faults(ServerFault::unexpected_request), 1);
}

TEST_F(HostileServer, AsksForWhatNobodyCanAnswer) {
    const auto peer = client.connect_legacy();
    for (const std::string_view method : {"roots/list", "sampling/createMessage", "tools/call", "x"}) {
        peer->send(Object{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", Object{}}});
        EXPECT_EQ(peer->read().at("error").at("code"), -32601) << method;
    }
    peer->send_line(R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":1}})");
    EXPECT_EQ(peer->read().at("error").at("code"), -32602);
}

TEST_F(HostileServer, DoesNotReadAndStopsNoOneButItself) {
    ClientLineLimits lines;
    lines.max_waiting = 8u << 20;
    ScriptedClient bounded({}, lines);
    const auto peer = bounded.connect_modern();
    std::vector<Waited<ClientAnswer>> answers(6);
    bounded->at_home([&] {
        for (auto& one : answers)
            bounded->client().start(ClientRequest("tools/call", {{"name", std::string(3u << 20, 'x')}}),
                                    one.take());
    });
    const ClientAnswer refused = answers.back().get();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error.details.at("reason"), "server_does_not_read");
    EXPECT_EQ(refused.error().applied, Applied::no);
    const Value request = peer->read_request("tools/call");
    peer->result(request, Object{{"content", Array{}}});
    EXPECT_TRUE(answers.front().get());
    peer->close();
    for (std::size_t i = 1; i + 1 < answers.size(); ++i) EXPECT_FALSE(answers[i].get());
}

TEST_F(HostileServer, IsSentNoMoreThanTheLimitOfRequestsAndBytes) {
    ClientOptions options;
    options.limits.max_requests = 2;
    options.limits.message.max_bytes = 10'000;
    ScriptedClient bounded(options);
    const auto peer = bounded.connect_modern();
    EXPECT_EQ(bounded->call(std::string(20'000, 'x')).error().error.details.at("reason"), "too_large");
    Waited<ClientAnswer> one;
    Waited<ClientAnswer> two;
    bounded->start(ClientRequest("tools/call", {{"name", "a"}}), one.take());
    bounded->start(ClientRequest("tools/call", {{"name", "b"}}), two.take());
    const ClientAnswer third = bounded->call("c");
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().error.details.at("reason"), "too_many_requests");
    EXPECT_EQ(third.error().applied, Applied::no);
    peer->result(peer->read(), Object{{"content", Array{}}});
    EXPECT_TRUE(one.get());
}

TEST_F(HostileServer, MayBeDroppedFromInsideWhateverItCaused) {
    const auto peer = client.connect_legacy();
    client->at_home([&] {
        client->client().start(ClientRequest("tools/call", {{"name", "t"}}), [&](const ClientAnswer& first) {
            EXPECT_TRUE(first);
            client->client().disconnect();
        });
        client->client().start(ClientRequest("tools/call", {{"name", "u"}}), answer.take());
    });
    const Value one = peer->read_request("tools/call");
    const Value two = peer->read_request("tools/call");
    const auto said = [](const Value& request) {
        return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", json::write(request.at("id")));
    };
    peer->send_bytes(said(one) + "\n" + said(two) + "\n" + said(two) + "\n");
    EXPECT_FALSE(answer.get());
}

TEST_F(HostileServer, SendsABatchOfTheOneRevisionThatHasThem) {
    const auto peer = client.connect_legacy({{"tools", Object{}}}, "2025-03-26");
    const Value request = begin(*peer);
    peer->send_line(fmt::format(
        R"([{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":1}}}},{{"jsonrpc":"2.0","id":{},"result":{{"content":[]}}}},7])",
        json::write(request.at("id"))));
    const ClientAnswer ended = answer.get();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->received, R"({"content":[]})");
    EXPECT_EQ(faults(ServerFault::not_a_message), 1);
}

}  // namespace
}  // namespace callgate::mcp
