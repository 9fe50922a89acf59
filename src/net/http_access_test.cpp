#include "net/http_access.h"

#include <string>

#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_server.h"
#include "net/net_testing.h"

namespace callgate::net {
namespace {

// The status that a request with this Host, and this Origin where there is one, is refused with; 0: none.
int refused(const HttpAccessRules& rules, std::string_view host, std::string_view origin = {},
            std::string_view target = "/") {
    HttpHead head;
    head.bytes = "GET " + std::string(target) + " HTTP/1.1\r\nHost: " + std::string(host) + "\r\n";
    if (!origin.empty()) head.bytes += "oRigin: " + std::string(origin) + "\r\n";
    head.bytes += "\r\n";
    if (const auto refusal = judge_head(head)) return refusal->status;
    const auto refusal = rules.judge(head);
    return refusal ? refusal->status : 0;
}

TEST(HttpAccess, OnALoopbackAddressOnlyItsOwnNamesAreServed) {
    const HttpAccessRules rules({}, true);
    for (const char* host : {"localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:80",
                             "[0:0:0:0:0:0:0:1]:80", "localhost:"})
        EXPECT_EQ(refused(rules, host), 0) << host;
    for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2",
                             "[::2]", "localhost.", "0.0.0.0"})
        EXPECT_EQ(refused(rules, host), 403) << host;
    for (const char* host : {"", "::1", "[::1", "[localhost]", "local host", "localhost:x",
                             "localhost:123456", "a@localhost", "localhost/x", "localhost,localhost"})
        EXPECT_EQ(refused(rules, host), 400) << host;
}

TEST(HttpAccess, OnALoopbackAddressOnlyPagesOfThisMachineAreServed) {
    const HttpAccessRules rules({}, true);
    for (const char* origin : {"http://localhost", "http://localhost:3000", "https://127.0.0.1:8443",
                               "HTTP://LOCALHOST", "http://[::1]:3000"})
        EXPECT_EQ(refused(rules, "localhost", origin), 0) << origin;
    for (const char* origin :
         {"null", "http://evil.example", "http://localhost.evil.example", "http://localhost@evil.example",
          "file://", "chrome-extension://localhost", "localhost", "http://localhost http://evil.example"})
        EXPECT_EQ(refused(rules, "localhost", origin), 403) << origin;
}

TEST(HttpAccess, ElsewhereAnyHostIsServedAndNoPage) {
    const HttpAccessRules rules({}, false);
    EXPECT_EQ(refused(rules, "mcp.example.com"), 0);
    EXPECT_EQ(refused(rules, "10.0.0.1:80"), 0);
    EXPECT_EQ(refused(rules, "not a host"), 400);
    EXPECT_EQ(refused(rules, "mcp.example.com", "https://mcp.example.com"), 403);
    EXPECT_EQ(refused(rules, "mcp.example.com", "null"), 403);
}

TEST(HttpAccess, ListsSayWhatIsServed) {
    HttpAccess access;
    access.hosts = {"MCP.example.com", "[2001:db8:0::1]"};
    access.origins = {"https://App.example.com", "http://localhost:3000"};
    const HttpAccessRules rules(access, true);
    EXPECT_EQ(rules.malformed(), std::nullopt);
    EXPECT_EQ(refused(rules, "mcp.EXAMPLE.com:8443"), 0);
    EXPECT_EQ(refused(rules, "[2001:DB8::1]"), 0);
    EXPECT_EQ(refused(rules, "localhost"), 403);
    EXPECT_EQ(refused(rules, "mcp.example.com", "https://app.example.com"), 0);
    EXPECT_EQ(refused(rules, "mcp.example.com", "https://app.example.com:443"), 0);
    EXPECT_EQ(refused(rules, "mcp.example.com", "http://app.example.com"), 403);
    EXPECT_EQ(refused(rules, "mcp.example.com", "https://app.example.com:444"), 403);
    EXPECT_EQ(refused(rules, "mcp.example.com", "http://localhost:3000"), 0);
    EXPECT_EQ(refused(rules, "mcp.example.com", "http://localhost"), 403);
}

TEST(HttpAccess, TheAddressListenedOnIsOneOfThisMachinesNames) {
    EXPECT_EQ(refused(HttpAccessRules({}, true, "127.0.0.2"), "127.0.0.2:80"), 0);
    EXPECT_EQ(refused(HttpAccessRules({}, true, "127.0.0.2"), "127.0.0.3"), 403);
    EXPECT_EQ(refused(HttpAccessRules({}, true, "[::ffff:127.0.0.2]"), "[::FFFF:127.0.0.2]:80"), 0);
    HttpAccess access;
    access.hosts = {"mcp.example.com"};
    EXPECT_EQ(refused(HttpAccessRules(access, true, "127.0.0.2"), "127.0.0.2:80"), 403)
        << "names that are given take its place";
    EXPECT_EQ(refused(HttpAccessRules({}, false, "192.0.2.1"), "any.name"), 0);
}

TEST(HttpAccess, AServerIsServedUnderTheUrlThatItSays) {
    Loop loop;
    for (const char* where : {"127.0.0.1", "127.0.0.2"}) {
        HttpServerOptions options;
        options.address = where;
        const auto server = must(HttpServer::open(loop, options, [](auto, auto reply) { reply->send({}); }));
        os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(server->port());
        ASSERT_EQ(::inet_pton(AF_INET, where, &address.sin_addr), 1);
        ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        TestClient client(std::move(socket));
        const std::string host = server->url().substr(std::string("http://").size());
        EXPECT_EQ(client.ask("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status, 200);
    }
    HttpServerOptions options;
    options.address = "0.0.0.0";
    options.access.hosts = {"mcp.example.com"};
    const auto server = must(HttpServer::open(loop, options, [](auto, auto) {}));
    EXPECT_EQ(TestClient(server->port()).ask("GET / HTTP/1.1\r\nHost: 0.0.0.0\r\n\r\n").status, 403);
}

TEST(HttpAccess, ATargetWithAHostIsJudgedByThatAsWell) {
    const HttpAccessRules rules({}, true);
    EXPECT_EQ(refused(rules, "localhost", {}, "http://localhost:80/a?b"), 0);
    EXPECT_EQ(refused(rules, "localhost", {}, "http://evil.example/"), 403);
    EXPECT_EQ(refused(rules, "localhost", {}, "http://localhost@evil.example/"), 403);
    EXPECT_EQ(refused(rules, "localhost", {}, "http:///"), 403);
}

TEST(HttpAccess, EveryOriginOfSeveralIsJudged) {
    const HttpAccessRules rules({}, true);
    HttpHead head;
    head.bytes =
        "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: "
        "http://evil.example\r\n\r\n";
    ASSERT_FALSE(judge_head(head));
    ASSERT_TRUE(rules.judge(head));
}

TEST(HttpAccess, MalformedRulesAreFoundWhenTheServerOpens) {
    Loop loop;
    for (const char* text : {"http://mcp.example.com", "mcp.example.com:80", "", "*"}) {
        HttpServerOptions options;
        options.access.hosts = {text};
        const auto server = HttpServer::open(loop, options, [](auto, auto) {});
        ASSERT_FALSE(server) << text;
        EXPECT_EQ(server.error().details.at("reason"), "bad_access");
    }
    HttpServerOptions options;
    options.access.origins = {"app.example.com"};
    EXPECT_FALSE(HttpServer::open(loop, options, [](auto, auto) {}));
}

TEST(HttpAccess, IsJudgedBeforeTheHandlerAndBeforeTheBody) {
    Loop loop;
    const auto server = must(HttpServer::open(
        loop, {}, [](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) { reply->send({}); }));
    TestClient client(server->port());
    client.send("POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n");
    const TestAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(client.ended());
    EXPECT_EQ(TestClient(server->port()).ask("GET / HTTP/1.0\r\n\r\n").status, 403);
    EXPECT_EQ(TestClient(server->port()).ask(get("/", "Origin: null\r\n")).status, 403);
    EXPECT_EQ(server->stats().requests, 0u);
    EXPECT_EQ(server->stats().refused_requests, 3u);
}

}  // namespace
}  // namespace callgate::net
