// How many clients there may be, and that making room for one takes nothing from another.
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "base/must.h"
#include "mcp/http_testing.h"

namespace callgate::mcp {
namespace {

Object initialize(std::string_view version = "2025-11-25") {
    return rpc(0, "initialize",
               {{"protocolVersion", version},
                {"capabilities", Object{}},
                {"clientInfo", Object{{"name", "test"}, {"version", "1"}}}});
}

/// The id of a session that begins.
std::string begin(HttpClient& client, std::string_view version = "2025-11-25") {
    return client.ask(initialize(version)).header("Mcp-Session-Id");
}

class Rooms : public testing::Test {
protected:
    Rooms() { options.limits.max_sessions = 2; }
    void open() {
        runtime.tools().add_or_throw(tool("wait", "", [this] {
                                         begun.set_value();
                                         go_on.get_future().wait();
                                         return 1;
                                     }).read_only());
        server = std::make_unique<Server>(runtime, options);
        endpoint = must(HttpEndpoint::open(*server));
    }
    bool lives(const std::string& id) {
        HttpClient client(endpoint->port());
        return client.ask(rpc(1, "ping"), {{"Mcp-Session-Id", id}}).status == 200;
    }

    std::promise<void> begun;
    std::promise<void> go_on;
    Runtime runtime;
    ServerOptions options;
    std::unique_ptr<Server> server;
    std::unique_ptr<HttpEndpoint> endpoint;
};

TEST_F(Rooms, TheOneThatWasUsedTheLongestAgoGoes) {
    open();
    HttpClient client(endpoint->port());
    const std::string first = begin(client);
    const std::string second = begin(client);
    EXPECT_TRUE(lives(first));
    const std::string third = begin(client);
    EXPECT_TRUE(lives(first));
    EXPECT_FALSE(lives(second));
    EXPECT_TRUE(lives(third));
}

TEST_F(Rooms, OneWithACallUnderWayOrAClientThatListensStays) {
    open();
    HttpClient working(endpoint->port());
    const std::string calls = begin(working);
    working.post(rpc(1, "tools/call", {{"name", "wait"}}), {{"Mcp-Session-Id", calls}});
    begun.get_future().wait();
    HttpClient listening(endpoint->port());
    const std::string listens = begin(listening);
    listening.send("GET", {{"Mcp-Session-Id", listens}, {"Accept", "text/event-stream"}}, "");
    EXPECT_EQ(listening.socket().read_head().status, 200);
    HttpClient third(endpoint->port());
    EXPECT_EQ(third.ask(initialize()).status, 503);
    EXPECT_TRUE(lives(listens));
    go_on.set_value();
    EXPECT_EQ(parsed(working.socket().read_answer().body).at("id"), 1);
    EXPECT_EQ(third.ask(initialize()).status, 200) << "nothing is under way any more";
}

TEST_F(Rooms, AClientThatListenedAndWentMakesRoom) {
    options.limits.max_sessions = 1;
    open();
    HttpClient listening(endpoint->port());
    const std::string listens = begin(listening);
    listening.send("GET", {{"Mcp-Session-Id", listens}, {"Accept", "text/event-stream"}}, "");
    EXPECT_EQ(listening.socket().read_head().status, 200);
    HttpClient other(endpoint->port());
    EXPECT_EQ(other.ask(initialize()).status, 503);
    listening.socket().close();
    while (other.ask(initialize()).status != 200) {
    }
}

TEST_F(Rooms, AClientOverLinesIsNotEndedForOthers) {
    open();
    LineClient lines(*server);
    (void)lines.initialize();
    HttpClient client(endpoint->port());
    for (int i = 0; i < 5; ++i) EXPECT_NE(begin(client), "");
    runtime.tools().add_or_throw(tool("new", "", [] { return 1; }).read_only());
    EXPECT_EQ(lines.read().at("method"), "notifications/tools/list_changed");
    EXPECT_EQ(lines.request(1, "ping").at("id"), 1);
}

TEST_F(Rooms, WhatIsRefusedBeginsNoSession) {
    open();
    HttpClient client(endpoint->port());
    const auto refused = client.ask(rpc(0, "initialize", {{"capabilities", Object{}}}));
    EXPECT_TRUE(parsed(refused.body).as_object().contains("error"));
    EXPECT_EQ(refused.header("Mcp-Session-Id"), "");
    const Object talkative{{"name", std::string(70'000, 'x')}, {"version", "1"}};
    const auto large = client.ask(
        rpc(0, "initialize",
            {{"protocolVersion", "2025-11-25"}, {"capabilities", Object{}}, {"clientInfo", talkative}}));
    EXPECT_TRUE(parsed(large.body).as_object().contains("error"));
    const std::string first = begin(client);
    EXPECT_NE(begin(client), "");
    EXPECT_TRUE(lives(first)) << "the two that were refused took no room";
}

TEST_F(Rooms, AsManyListenAsMay) {
    options.limits.max_listeners = 2;
    open();
    HttpClient first(endpoint->port());
    first.post_modern(1, "subscriptions/listen", {{"notifications", Object{{"toolsListChanged", true}}}});
    EXPECT_EQ(first.socket().read_head().status, 200);
    HttpClient second(endpoint->port());
    const std::string id = begin(second);
    second.send("GET", {{"Mcp-Session-Id", id}, {"Accept", "text/event-stream"}}, "");
    EXPECT_EQ(second.socket().read_head().status, 200);
    HttpClient third(endpoint->port());
    third.send("GET", {{"Mcp-Session-Id", id}, {"Accept", "text/event-stream"}}, "");
    EXPECT_EQ(third.socket().read_answer().status, 503);
    third.post_modern(2, "subscriptions/listen", {{"notifications", Object{{"toolsListChanged", true}}}});
    EXPECT_EQ(third.socket().read_answer().status, 503);
}

TEST_F(Rooms, ThoseThatListenAreNotAmongTheRequestsUnderWay) {
    options.limits.max_requests = 1;
    open();
    HttpClient listening(endpoint->port());
    listening.post_modern(1, "subscriptions/listen",
                          {{"notifications", Object{{"toolsListChanged", true}, {"taskIds", Array{"t"}}}}});
    EXPECT_EQ(listening.socket().read_head().status, 200);
    const Value accepted = listening.read_event().at("params").at("notifications");
    EXPECT_EQ(accepted, Value(Object{{"toolsListChanged", true}})) << "it did not say that it knows tasks";
    HttpClient client(endpoint->port());
    client.post_modern(2, "tools/list", {});
    EXPECT_EQ(client.socket().read_answer().status, 200);
}

TEST_F(Rooms, WhatCannotBeListenedForIsSaid) {
    open();
    HttpClient client(endpoint->port());
    const Object wrong[] = {{{"toolsListChanged", "yes"}},
                            {{"resourceSubscriptions", "x"}},
                            {{"resourceSubscriptions", Array{5}}},
                            {{"resourceSubscriptions", Array{std::string(9'000, 'x')}}}};
    for (const Object& one : wrong) {
        client.post_modern(1, "subscriptions/listen", {{"notifications", one}});
        EXPECT_EQ(parsed(client.socket().read_answer().body).at("error").at("code"), -32602);
    }
}

TEST_F(Rooms, ABatchHasSoManyMessagesAndItsAnswersAreSoLarge) {
    options.limits.max_batch = 3;
    runtime.tools().add_or_throw(tool("large", "", [] { return std::string(7u << 20, 'x'); }).read_only());
    open();
    HttpClient client(endpoint->port());
    const std::string id = begin(client, "2025-03-26");
    const auto four = client.ask(Array{rpc(1, "ping"), rpc(2, "ping"), rpc(3, "ping"), rpc(4, "ping")},
                                 {{"Mcp-Session-Id", id}});
    EXPECT_EQ(four.status, 400);
    const Object call{{"name", "large"}};
    const auto three =
        client.ask(Array{rpc(1, "tools/call", call), rpc(2, "tools/call", call), rpc(3, "tools/call", call)},
                   {{"Mcp-Session-Id", id}});
    ASSERT_EQ(three.status, 200);
    int refused = 0;
    const Value answers = parsed(three.body);
    ASSERT_EQ(answers.as_array().size(), 3u);
    for (const Value& answer : answers.as_array()) {
        if (answer.as_object().contains("error")) ++refused;
    }
    EXPECT_EQ(refused, 1);
    LineClient lines(*server);
    (void)lines.initialize("2025-03-26");
    lines.send(Array{rpc(1, "ping"), rpc(2, "ping"), rpc(3, "ping"), rpc(4, "ping")});
    EXPECT_TRUE(lines.read().as_object().contains("error"));
}

TEST_F(Rooms, AStatelessRequestIsNoPartOfABatch) {
    open();
    HttpClient client(endpoint->port());
    const std::string id = begin(client, "2025-03-26");
    const Value listen =
        rpc(1, "subscriptions/listen", modern({{"notifications", Object{{"toolsListChanged", true}}}}));
    const auto answer = client.ask(Array{listen, rpc(2, "ping")}, {{"Mcp-Session-Id", id},
                                                                   {"MCP-Protocol-Version", "2026-07-28"},
                                                                   {"Mcp-Method", "subscriptions/listen"}});
    ASSERT_EQ(answer.status, 200);
    EXPECT_EQ(parsed(answer.body).at(0).at("error").at("code"), -32600);
    LineClient lines(*server);
    (void)lines.initialize("2025-03-26");
    EXPECT_EQ(lines.ask(Array{listen, rpc(2, "ping")}).at(1).at("id"), 2);
}

TEST_F(Rooms, AClientThatListensElsewhereIsOfThatEndpoint) {
    open();
    const auto other = must(HttpEndpoint::open(*server));
    HttpClient here(endpoint->port());
    const std::string id = begin(here);
    EXPECT_EQ(here.ask(Object{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}},
                       {{"Mcp-Session-Id", id}})
                  .status,
              202);
    here.send("GET", {{"Mcp-Session-Id", id}, {"Accept", "text/event-stream"}}, "");
    EXPECT_EQ(here.socket().read_head().status, 200);
    HttpClient there(other->port());
    there.send("GET", {{"Mcp-Session-Id", id}, {"Accept", "text/event-stream"}}, "");
    EXPECT_EQ(there.socket().read_head().status, 200);
    EXPECT_EQ(here.read_event(), Value()) << "a session has one stream of its own at a time";
    EXPECT_EQ(endpoint->drain(std::chrono::seconds(60)), 0u);
    runtime.tools().add_or_throw(tool("new", "", [] { return 1; }).read_only());
    EXPECT_EQ(there.read_event().at("method"), "notifications/tools/list_changed");
}

TEST_F(Rooms, AnEndpointThatDrainsLeavesTheOthersAlone) {
    open();
    const auto other = must(HttpEndpoint::open(*server));
    HttpClient stays(other->port());
    stays.post_modern(1, "subscriptions/listen", {{"notifications", Object{{"toolsListChanged", true}}}});
    EXPECT_EQ(stays.socket().read_head().status, 200);
    EXPECT_EQ(stays.read_event().at("method"), "notifications/subscriptions/acknowledged");
    EXPECT_EQ(endpoint->drain(std::chrono::seconds(60)), 0u);
    runtime.tools().add_or_throw(tool("new", "", [] { return 1; }).read_only());
    EXPECT_EQ(stays.read_event().at("method"), "notifications/tools/list_changed");
}

/// A client over two pipes, whose ends can be closed one by one.
struct PipeClient {
    os::Fd to;
    os::Fd from;
    std::future<int> exit_code;

    explicit PipeClient(Server& server) {
        int in[2];
        int out[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
        to = os::Fd(in[1]);
        from = os::Fd(out[0]);
        exit_code = std::async(std::launch::async, [&server, theirs_in = in[0], theirs_out = out[1]] {
            const int code = serve_stdio(server, theirs_in, theirs_out);
            ::close(theirs_in);
            ::close(theirs_out);
            return code;
        });
    }
    void send(const Value& message) const {
        const std::string line = json::write(message) + "\n";
        ASSERT_EQ(::write(to.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    }
    std::string read_line() const {
        std::string line;
        for (char c = 0; ::read(from.get(), &c, 1) == 1 && c != '\n';) line += c;
        return line;
    }
};

TEST_F(Rooms, AClientThatReadsNoMoreEndsWhileAllAreNotified) {
    open();
    std::vector<std::unique_ptr<PipeClient>> clients;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(std::make_unique<PipeClient>(*server));
        clients.back()->send(initialize());
        clients.back()->send(Object{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
        clients.back()->send(
            rpc(1, "subscriptions/listen", modern({{"notifications", Object{{"toolsListChanged", true}}}})));
        EXPECT_NE(clients.back()->read_line(), "");
        EXPECT_NE(clients.back()->read_line(), "") << "what it listens for";
    }
    for (int i = 0; i < 3; ++i) clients[static_cast<std::size_t>(i)]->from.reset();
    runtime.tools().add_or_throw(tool("new", "", [] { return 1; }).read_only());
    EXPECT_NE(clients[3]->read_line().find("list_changed"), std::string::npos);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(clients[static_cast<std::size_t>(i)]->exit_code.get(), 0);
    clients[3]->to.reset();
    EXPECT_EQ(clients[3]->exit_code.get(), 0);
}

TEST_F(Rooms, AClientThatHasGoneAltogetherIsNotWaitedFor) {
    open();
    PipeClient client(*server);
    client.send(initialize());
    client.send(rpc(1, "tools/call", {{"name", "wait"}}));
    EXPECT_NE(client.read_line(), "");
    begun.get_future().wait();
    client.to.reset();
    client.from.reset();
    EXPECT_EQ(client.exit_code.get(), 0) << "though its tool has not ended";
    go_on.set_value();
}

TEST_F(Rooms, DescriptorsAreLeftAsTheyWere) {
    open();
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const os::Fd ours(ends[0]);
    const os::Fd theirs(ends[1]);
    (void)::shutdown(ours.get(), SHUT_WR);
    EXPECT_EQ(serve_stdio(*server, theirs.get(), theirs.get()), 0);
    EXPECT_EQ(::fcntl(theirs.get(), F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace callgate::mcp
