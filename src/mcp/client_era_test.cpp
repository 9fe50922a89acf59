// How a client finds out which era a server is of.
#include <gtest/gtest.h>

#include "mcp/client_testing.h"

namespace callgate::mcp {
namespace {

TEST(ClientEra, IsFoundOutByAskingForTheNewOneFirst) {
    Runtime runtime;
    Server server(runtime);
    LinkToServer lines(server);
    ClientOnLoop client({}, lines.open(client));
    ASSERT_TRUE(client.connect());
    client.at_home([&] { EXPECT_TRUE(client.client().server().codec->modern()); });
}

TEST(ClientEra, IsTheOlderOneWhateverAnOldServerSaysToTheQuestion) {
    for (const int code : {-32601, -32602, -32600, -32000, -32603, 1}) {
        ScriptedClient client;
        const auto peer = client.connect([&](ScriptedPeer& server) {
            server.error(server.read_request("server/discover"), code, "what?");
            const Value request = server.read_request("initialize");
            EXPECT_EQ(request.at("params").at("protocolVersion"), "2025-11-25");
            EXPECT_FALSE(request.at("params").as_object().contains("_meta"));
            server.result(request, Object{{"protocolVersion", "2025-06-18"}, {"capabilities", Object{}}});
            server.read_request("notifications/initialized");
        });
        client->at_home([&] { EXPECT_EQ(client->client().server().codec->revision(), "2025-06-18"); });
    }
}

TEST(ClientEra, IsTheOlderOneWhereTheServerSaysNothing) {
    ClientOptions options;
    options.probe_timeout = std::chrono::milliseconds(30);
    ScriptedClient client(options);
    const auto peer = client.connect([](ScriptedPeer& server) {
        const Value unanswered = server.read_request("server/discover");
        const Value request = server.read_request("initialize");  // and no notice that the other is off
        server.result(unanswered, Object{{"supportedVersions", Array{"2026-07-28"}}});  // too late
        server.result(request, Object{{"protocolVersion", "2025-11-25"}, {"capabilities", Object{}}});
        server.read_request("notifications/initialized");
    });
    client->at_home([&] {
        EXPECT_FALSE(client->client().server().codec->modern());
        EXPECT_TRUE(client.watcher->faults.empty());
    });
}

TEST(ClientEra, IsTheOlderOneWhereTheQuestionEndsTheServerAndIsRemembered) {
    ScriptedClient client;
    Waited<Result<void>> connected;
    client->at_home([&] { client->client().connect(connected.take()); });
    auto dying = client.next_peer();
    dying->read_request("server/discover");
    dying->close();
    auto peer = client.next_peer();
    const auto play = [](ScriptedPeer& server) {
        server.result(server.read_request("initialize"),
                      Object{{"protocolVersion", "2025-11-25"}, {"capabilities", Object{}}});
        server.read_request("notifications/initialized");
    };
    play(*peer);
    ASSERT_TRUE(connected.get());
    client->at_home([&] { client->client().disconnect(); });
    peer = client.connect(play);  // is not asked about the era again
}

TEST(ClientEra, IsTheNewOneWhereTheServerKnowsItsErrors) {
    ScriptedClient client;
    const auto peer = client.connect([](ScriptedPeer& server) {
        server.error(server.read_request("server/discover"), -32022, "unsupported",
                     Object{{"supported", Array{"2026-07-28"}}, {"requested", "2026-07-28"}});
        server.be_modern();
    });
}

TEST(ClientEra, IsAskedTwiceAtMost) {
    ScriptedClient client;
    Waited<Result<void>> connected;
    client->at_home([&] { client->client().connect(connected.take()); });
    const auto peer = client.next_peer();
    for (int i = 0; i < 2; ++i) {
        peer->error(peer->read_request("server/discover"), -32022, "unsupported",
                    Object{{"supported", Array{"2026-07-28"}}});
    }
    const Result<void> result = connected.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().details.at("reason"), "no_common_revision");
    EXPECT_EQ(peer->read(), nullptr);  // and the connection is closed
    client->at_home([&] { EXPECT_EQ(client->client().state(), ClientState::error); });
}

TEST(ClientEra, IsNoneWhereThereIsNoCommonRevision) {
    ScriptedClient client;
    Waited<Result<void>> connected;
    client->at_home([&] { client->client().connect(connected.take()); });
    const auto peer = client.next_peer();
    peer->error(peer->read_request("server/discover"), -32601, "no");
    peer->result(peer->read_request("initialize"),
                 Object{{"protocolVersion", "2031-01-01"}, {"capabilities", Object{}}});
    const Result<void> result = connected.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().details.at("reason"), "no_common_revision");
}

TEST(ClientEra, IsChosenByTheServersListOfRevisions) {
    ScriptedClient client;
    const auto peer = client.connect([](ScriptedPeer& server) {
        server.result(server.read_request("server/discover"),
                      Object{{"supportedVersions", Array{"2031-01-01", "2025-03-26", "2024-11-05"}}});
        const Value request = server.read_request("initialize");
        EXPECT_EQ(request.at("params").at("protocolVersion"), "2025-03-26");
        server.result(request, Object{{"protocolVersion", "2025-03-26"}, {"capabilities", Object{}}});
        server.read_request("notifications/initialized");
    });
}

}  // namespace
}  // namespace callgate::mcp
