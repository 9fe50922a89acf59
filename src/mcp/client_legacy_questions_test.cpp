// What a server of the older era asks its client, word by word.
#include <string>

#include <gtest/gtest.h>

#include "mcp/client_questions_testing.h"

namespace callgate::mcp {
namespace {

class LegacyQuestions : public testing::Test {
protected:
    static ClientOptions options() {
        ClientOptions options;
        options.abilities = AnsweringQuestions::all_abilities();
        return options;
    }
    static void ask(ScriptedPeer& peer, const Value& id = "q1") {
        peer.send(Object{{"jsonrpc", "2.0"},
                         {"id", id},
                         {"method", "elicitation/create"},
                         {"params", Object{{"message", "?"}, {"requestedSchema", kNameForm}}}});
    }

    ScriptedClient client{options()};
};

TEST_F(LegacyQuestions, AreSaidToBePossibleInInitialize) {
    const auto peer = client.connect([](ScriptedPeer& server) {
        server.error(server.read_request("server/discover"), -32601, "no");
        const Value request = server.read_request("initialize");
        EXPECT_EQ(request.at("params").at("capabilities"),
                  parsed(R"({"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}})"));
        server.result(request, Object{{"protocolVersion", "2025-11-25"}, {"capabilities", Object{}}});
        server.read_request("notifications/initialized");
    });
}

TEST_F(LegacyQuestions, BelongToTheOnlyRequestThatCanBeMeant) {
    const auto peer = client.connect_legacy();
    const auto first = accepting(Object{{"name", "first"}});
    const auto second = accepting(Object{{"name", "second"}});
    Waited<ClientAnswer> one;
    client->start(call_with(first), one.take());
    const Value request = peer->read_request("tools/call");
    ask(*peer);
    EXPECT_EQ(peer->read().at("result").at("content").at("name"), "first");
    // One that can be asked nothing changes nothing.
    client->start(call_with(nullptr), [](const ClientAnswer&) {});
    peer->read_request("tools/call");
    ask(*peer);
    EXPECT_EQ(peer->read().at("result").at("content").at("name"), "first");
    // Between two nobody guesses.
    client->start(call_with(second), [](const ClientAnswer&) {});
    peer->read_request("tools/call");
    ask(*peer);
    EXPECT_EQ(peer->read().at("error").at("code"), -32601);
    EXPECT_TRUE(second->asked.empty());
    peer->result(request, Object{{"content", Array{}}});
    EXPECT_TRUE(one.get());
    ask(*peer);
    EXPECT_EQ(peer->read().at("result").at("content").at("name"), "second");
}

TEST_F(LegacyQuestions, AreWithdrawnAndThenNotAnswered) {
    const auto peer = client.connect_legacy();
    const auto person = accepting(nullptr);
    person->keep = true;
    std::promise<void> asked;
    person->on_kept = [&] { asked.set_value(); };
    client->start(call_with(person), [](const ClientAnswer&) {});
    peer->read_request("tools/call");
    ask(*peer, "q1");
    asked.get_future().wait();
    peer->notify("notifications/cancelled", {{"requestId", "q1"}});
    peer->send_line(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
    EXPECT_EQ(peer->read().at("id"), 1);
    client->at_home([&] { person->kept.at(0)(InputAnswer::accept(Object{{"name", "late"}})); });
    peer->send_line(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
    EXPECT_EQ(peer->read().at("id"), 2);
}

TEST_F(LegacyQuestions, KeepTheTimeOfTheirRequestStandingUntilTheLastIsAnswered) {
    const auto peer = client.connect_legacy();
    const auto person = accepting(nullptr);
    person->keep = true;
    ClientRequest request = call_with(person);
    request.timeout = std::chrono::milliseconds(400);
    Waited<ClientAnswer> answer;
    client->start(std::move(request), answer.take());
    const Value call = peer->read_request("tools/call");
    ask(*peer, 1);
    ask(*peer, 2);
    peer->send_line(R"({"jsonrpc":"2.0","id":3,"method":"ping"})");
    peer->read();
    client->at_home([&] { person->kept.at(0)(InputAnswer::decline()); });
    EXPECT_EQ(peer->read().at("id"), 1);
    // Longer than it has: a second request, which is asked nothing, is given up meanwhile.
    ClientRequest other("tools/call", {{"name", "other"}});
    other.timeout = std::chrono::milliseconds(600);
    EXPECT_FALSE(client->ask(std::move(other)));
    client->at_home([&] { person->kept.at(1)(InputAnswer::decline()); });
    peer->read_request("tools/call");
    peer->read_request("notifications/cancelled");
    EXPECT_EQ(peer->read().at("id"), 2);
    peer->result(call, Object{{"content", Array{}}});
    EXPECT_TRUE(answer.get());
}

TEST_F(LegacyQuestions, AreNoMoreThanTheLimitAtOnce) {
    const auto peer = client.connect_legacy();
    const auto person = accepting(nullptr);
    person->keep = true;
    client->start(call_with(person), [](const ClientAnswer&) {});
    peer->read_request("tools/call");
    for (int i = 1; i <= 16; ++i) ask(*peer, i);
    ask(*peer, 3);
    EXPECT_EQ(peer->read().at("id"), 3);  // the same id twice
    ask(*peer, 17);
    const Value refused = peer->read();
    EXPECT_EQ(refused.at("id"), 17);
    EXPECT_EQ(refused.at("error").at("code"), -32600);
    client->at_home([&] {
        EXPECT_EQ(person->asked.size(), 16u);
        EXPECT_EQ(client.watcher->faults[ServerFault::unexpected_request], 1);
    });
}

TEST_F(LegacyQuestions, MayBePagesToOpenBeforeTheRequestIsMadeAgain) {
    const auto peer = client.connect_legacy();
    const Value pages = parsed(
        R"({"elicitations":[{"mode":"url","elicitationId":"1","url":"https://example.com/a","message":"Sign in"}]})");
    const auto person = accepting(nullptr);
    Waited<ClientAnswer> answer;
    client->start(call_with(person), answer.take());
    const Value first = peer->read_request("tools/call");
    peer->error(first, -32042, "sign in first", pages);
    const Value second = peer->read_request("tools/call");
    EXPECT_EQ(second.at("params"), first.at("params"));
    ASSERT_EQ(person->asked.size(), 1u);
    EXPECT_EQ(person->asked[0].url, "https://example.com/a");
    peer->result(second, Object{{"content", Array{}}});
    EXPECT_TRUE(answer.get());
    const auto nobody =
        answering([](const InputRequest&) -> Result<InputAnswer> { return InputAnswer::decline(); });
    for (const auto& whom : {nobody, std::shared_ptr<AnsweringQuestions>()}) {
        Waited<ClientAnswer> refused;
        client->start(call_with(whom), refused.take());
        peer->error(peer->read_request("tools/call"), -32042, "sign in first", pages);
        const ClientAnswer ended = refused.get();
        ASSERT_FALSE(ended);
        EXPECT_EQ(ended.error().code, -32042);
    }
}

TEST_F(LegacyQuestions, ThatAreDeclinedWithoutWordsForItAreErrors) {
    const auto peer = client.connect_legacy();
    client->start(call_with(answering(
                      [](const InputRequest&) -> Result<InputAnswer> { return InputAnswer::decline(); })),
                  [](const ClientAnswer&) {});
    peer->read_request("tools/call");
    ask(*peer);
    EXPECT_EQ(peer->read().at("result"), (Value(Object{{"action", "decline"}})));
    peer->send_line(R"({"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}})");
    EXPECT_EQ(peer->read().at("error").at("code"), -1);
}

}  // namespace
}  // namespace callgate::mcp
