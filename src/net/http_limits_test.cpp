// What hostile, slow and too many peers meet: HttpLimits, and what is refused as malformed.
#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/must.h"
#include "net/http_server.h"
#include "net/net_testing.h"

namespace callgate::net {
namespace {

using namespace std::chrono_literals;

void accept_all(std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) {
    reply->send({200, {}, "ok"});
}

struct Refused {
    const char* what;
    std::string request;
    int status;
};

const std::string kStart = "POST / HTTP/1.1\r\nHost: localhost\r\n";
const std::string kChunked = kStart + "Transfer-Encoding: chunked\r\n\r\n";

std::vector<Refused> refused_requests() {
    using namespace std::string_literals;
    return {
        {"no HTTP", "hello\r\n\r\n", 400},
        {"a handshake of TLS", "\x16\x03\x01\x02\x00\x01"s, 400},
        {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"a version without its line", "GET / HTTP/1.1x\r\nHost: localhost\r\n\r\n", 505},
        {"no version", "GET /\r\nHost: localhost\r\n\r\n", 400},
        {"a target with a space", "GET / b HTTP/1.1\r\nHost: localhost\r\n\r\n", 505},
        {"a target that is no path", "GET index HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        {"an empty target", "GET  HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        {"bytes in a target", "GET /\xc3\xa4 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        {"a method that is no token", "G(T / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        {"only line feeds", "GET / HTTP/1.1\nHost: localhost\n\n", 400},
        {"one bare line feed", "GET / HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", 400},
        {"a bare carriage return", kStart + "X: a\rb\r\n\r\n", 400},
        {"a NUL in a value", kStart + "X: a\0b\r\n\r\n"s, 400},
        {"a control character", kStart + "X: a\x01\r\n\r\n", 400},
        {"a folded header", kStart + "X: a\r\n b\r\n\r\n", 400},
        {"white space before the first header", "GET / HTTP/1.1\r\n Host: localhost\r\n\r\n", 400},
        {"white space before a colon", kStart + "X : a\r\n\r\n", 400},
        {"a header without a name", kStart + ": a\r\n\r\n", 400},
        {"a header without a colon", kStart + "X\r\n\r\n", 400},
        {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
        {"an empty Host", "GET / HTTP/1.1\r\nHost: \r\n\r\n", 400},
        {"several Hosts", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400},
        {"a Host that is none", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
        {"a Host with a user", "GET / HTTP/1.1\r\nHost: x@localhost\r\n\r\n", 400},
        {"length and encoding", kStart + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc", 400},
        {"encoding and length", kStart + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc", 400},
        {"two lengths", kStart + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400},
        {"one length twice", kStart + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
        {"a list of lengths", kStart + "Content-Length: 3, 3\r\n\r\nabc", 400},
        {"a signed length", kStart + "Content-Length: +3\r\n\r\nabc", 400},
        {"a negative length", kStart + "Content-Length: -3\r\n\r\nabc", 400},
        {"a hexadecimal length", kStart + "Content-Length: 0x3\r\n\r\nabc", 400},
        {"an empty length", kStart + "Content-Length:\r\n\r\nabc", 400},
        {"a length beyond numbers", kStart + "Content-Length: 99999999999999999999\r\n\r\n", 400},
        {"an unknown encoding", kStart + "Transfer-Encoding: gzip\r\n\r\n", 501},
        {"encodings before chunked", kStart + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
        {"encodings after chunked", kStart + "Transfer-Encoding: chunked, identity\r\n\r\n", 501},
        {"chunked with a parameter", kStart + "Transfer-Encoding: chunked;a=b\r\n\r\n", 501},
        {"chunked twice", kStart + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"chunks of HTTP/1.0", "POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
         400},
        {"an expectation", kStart + "Expect: 200-ok\r\nContent-Length: 3\r\n\r\n", 417},
        {"a chunk without a size", kChunked + "\r\nabc\r\n", 400},
        {"a size that is none", kChunked + "x\r\nabc\r\n", 400},
        {"a size with a prefix", kChunked + "0x3\r\nabc\r\n", 400},
        {"a negative size", kChunked + "-3\r\nabc\r\n", 400},
        {"a size with a space", kChunked + "3 \r\nabc\r\n", 400},
        {"a size beyond numbers", kChunked + "10000000000000003\r\nabc\r\n", 400},
        {"a size that ends in a line feed", kChunked + "3\nabc\r\n", 400},
        {"a line feed in an extension", kChunked + "3;a\nb\r\nabc\r\n", 400},
        {"an extension without an end", kChunked + "3;" + std::string(300, 'a') + "\r\n", 400},
        {"more data than the size", kChunked + "3\r\nabcd\r\n", 400},
        {"data that ends in a line feed", kChunked + "3\r\nabc\n0\r\n\r\n", 400},
        {"a trailer that ends in a line feed", kChunked + "0\r\nX: y\n\r\n", 400},
        {"trailers without an end", kChunked + "0\r\nX: " + std::string(9'000, 'a'), 431},
    };
}

TEST(HttpLimits, WhatCouldBeReadInTwoWaysIsRefusedAndTheConnectionClosed) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, accept_all));
    for (const Refused& refused : refused_requests()) {
        TestClient client(server->port());
        // What is smuggled behind it must not be taken for a request.
        client.send(refused.request + "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n");
        const TestAnswer answer = client.read_answer();
        EXPECT_EQ(answer.status, refused.status) << refused.what;
        EXPECT_EQ(answer.header("Connection"), "close") << refused.what;
        EXPECT_EQ(answer.header("Content-Type"), "text/plain; charset=utf-8") << refused.what;
        EXPECT_TRUE(answer.body.ends_with(".\n")) << answer.body;
        EXPECT_TRUE(client.ended()) << refused.what;
    }
    EXPECT_EQ(server->stats().requests, 0u);
    EXPECT_EQ(server->stats().refused_requests, refused_requests().size());
}

TEST(HttpLimits, SizesAreKeptExactly) {
    Loop loop;
    HttpServerOptions options;
    options.limits.max_target_bytes = 100;
    options.limits.max_header_bytes = 200;
    options.limits.max_headers = 5;
    options.limits.max_body_bytes = 50;
    const auto server = must(HttpServer::open(loop, options, accept_all));
    const auto status_of = [&server](const std::string& request) {
        return TestClient(server->port()).ask(request).status;
    };
    const auto target = [](std::size_t size) { return "/" + std::string(size - 1, 'a'); };
    EXPECT_EQ(status_of(get(target(100))), 200);
    EXPECT_EQ(status_of(get(target(101))), 414);
    EXPECT_EQ(status_of("GET " + target(100'000)), 414);  // without an end

    const std::string host = "Host: localhost\r\n";
    const auto header = [&host](std::size_t all) {
        return "X: " + std::string(all - host.size() - 5, 'a') + "\r\n";
    };
    EXPECT_EQ(status_of(get("/", header(200))), 200);
    EXPECT_EQ(status_of(get("/", header(201))), 431);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'a')), 431);
    EXPECT_EQ(status_of(get("/", "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n")), 200);
    EXPECT_EQ(status_of(get("/", "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\n")), 431);

    EXPECT_EQ(status_of(post(std::string(50, 'b'))), 200);
    EXPECT_EQ(status_of(kStart + "Content-Length: 51\r\n\r\n"), 413);
    EXPECT_EQ(status_of(kChunked + "20\r\n" + std::string(32, 'b') + "\r\n12\r\n" + std::string(18, 'b') +
                        "\r\n0\r\n\r\n"),
              200);
    EXPECT_EQ(status_of(kChunked + "20\r\n" + std::string(32, 'b') + "\r\n13\r\n"), 413);
    EXPECT_EQ(status_of(kChunked + "fffffffffffffff\r\n"), 413);
}

TEST(HttpLimits, ALargeBodyThatIsRefusedDoesNotHideTheAnswer) {
    Loop loop;
    HttpServerOptions options;
    options.limits.max_body_bytes = 1'000;
    const auto server = must(HttpServer::open(loop, options, accept_all));
    TestClient client(server->port());
    client.send(post(std::string(200'000, 'b')));
    EXPECT_EQ(client.read_answer().status, 413);
}

TEST(HttpLimits, SlowPeersAreTimedOutHoweverTheyDrip) {
    Loop loop;
    HttpServerOptions options;
    options.limits.head_time = 50ms;
    options.limits.body_time = 50ms;
    const auto server = must(HttpServer::open(loop, options, accept_all));
    TestClient silent(server->port());
    silent.send("GET / HT");
    const TestAnswer answer = silent.read_answer();
    EXPECT_EQ(answer.status, 408);
    EXPECT_EQ(answer.header("Connection"), "close");

    TestClient drips(server->port());
    drips.drip("GET / HTTP/1.1\r\nX: " + std::string(5'000, 'x'));
    EXPECT_EQ(drips.read_answer().status, 408);

    TestClient body(server->port());
    body.send(kStart + "Content-Length: 5000\r\n\r\n");
    body.drip(std::string(4'999, 'x'));
    EXPECT_EQ(body.read_answer().status, 408);

    // A request that was quick leaves no deadline behind.
    TestClient quick(server->port());
    EXPECT_EQ(quick.ask(get()).status, 200);
    EXPECT_EQ(silent.read_to_end(), "");
    EXPECT_EQ(quick.ask(post("body")).status, 200);
    EXPECT_EQ(server->stats().refused_requests, 3u);
}

TEST(HttpLimits, IdleConnectionsAreClosedQuietlyAndPendingOnesAreNot) {
    Loop loop;
    HttpServerOptions options;
    options.limits.idle_time = 50ms;
    std::promise<std::shared_ptr<HttpReply>> came;
    const auto server = must(HttpServer::open(
        loop, options, [&came](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
            if (request->path() == "/pending") return came.set_value(std::move(reply));
            reply->send({200, {}, "ok"});
        }));
    TestClient pending(server->port());
    pending.send(get("/pending"));
    const auto reply = came.get_future().get();
    TestClient fresh(server->port());
    TestClient used(server->port());
    EXPECT_EQ(used.ask(get()).status, 200);
    EXPECT_EQ(fresh.read_to_end(), "");
    EXPECT_EQ(used.read_to_end(), "");
    reply->send({200, {}, "at last"});
    EXPECT_EQ(pending.read_answer().body, "at last");
    EXPECT_TRUE(pending.ended());
}

TEST(HttpLimits, AConnectionHasSoManyRequests) {
    Loop loop;
    HttpServerOptions options;
    options.limits.max_requests_per_connection = 2;
    const auto server = must(HttpServer::open(loop, options, accept_all));
    TestClient client(server->port());
    EXPECT_EQ(client.ask(get()).header("Connection"), "");
    EXPECT_EQ(client.ask(get()).header("Connection"), "close");
    EXPECT_TRUE(client.ended());
}

TEST(HttpLimits, ConnectionsBeyondTheMostAreTurnedAway) {
    Loop loop;
    HttpServerOptions options;
    options.limits.max_connections = 2;
    const auto server = must(HttpServer::open(loop, options, accept_all));
    auto first = std::make_unique<TestClient>(server->port());
    TestClient second(server->port());
    EXPECT_EQ(first->ask(get()).status, 200);
    EXPECT_EQ(second.ask(get()).status, 200);
    TestClient third(server->port());
    const TestAnswer answer = third.read_answer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.body, "Too many connections at once\n");
    EXPECT_TRUE(third.ended());
    EXPECT_EQ(server->stats().refused_connections, 1u);
    first.reset();
    while (server->stats().connections_now > 1) std::this_thread::yield();
    EXPECT_EQ(TestClient(server->port()).ask(get()).status, 200);
}

TEST(HttpLimits, APeerThatIsFarAheadIsStillNoticedWhenItResets) {
    Loop loop;
    std::promise<std::shared_ptr<HttpReply>> came;
    const auto server = must(HttpServer::open(
        loop, {},
        [&came](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) { came.set_value(reply); }));
    TestClient client(server->port());
    client.send(get());
    const auto reply = came.get_future().get();
    std::promise<void> gone;
    reply->on_gone([&gone] { gone.set_value(); });
    client.send(std::string(200'000, 'x'));
    client.reset();
    gone.get_future().get();
}

TEST(HttpLimits, ConnectionsLeaveDescriptorsForTheRestOfTheProcess) {
    Loop loop;
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    const auto open_with = [&](rlim_t descriptors) {
        few.rlim_cur = descriptors;
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
        auto server = must(HttpServer::open(loop, {}, accept_all));
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
        return server;
    };
    EXPECT_EQ(open_with(1'024)->stats().max_connections, 768u);
    const auto server = open_with(100);
    ASSERT_EQ(server->stats().max_connections, 36u);
    std::vector<TestClient> clients;
    for (int i = 0; i < 36; ++i) {
        clients.emplace_back(server->port());
        EXPECT_EQ(clients.back().ask(get()).status, 200);
    }
    EXPECT_EQ(TestClient(server->port()).read_answer().status, 503);
    EXPECT_EQ(server->stats().refused_connections, 1u);
    HttpServerOptions options;
    options.limits.max_connections = 5;
    EXPECT_EQ(must(HttpServer::open(loop, options, accept_all))->stats().max_connections, 5u);
}

TEST(HttpLimits, FiveThousandConnectionsAreServedByOneThread) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, accept_all));
    std::vector<TestClient> clients;
    for (int i = 0; i < 5'000; ++i) clients.emplace_back(server->port());
    for (TestClient& client : clients) client.send(get());
    for (TestClient& client : clients) ASSERT_EQ(client.read_answer().status, 200);
    EXPECT_EQ(server->stats().connections_now, 5'000u);
    EXPECT_EQ(server->drain(60s), 0u);
}

TEST(HttpLimits, WithoutDescriptorsAcceptingPausesAndGoesOn) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, accept_all));
    EXPECT_EQ(TestClient(server->port()).ask(get()).status, 200);
    std::vector<TestClient> clients;
    for (int i = 0; i < 20; ++i)
        clients.emplace_back(os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(clients.back().fd()) + 10;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::vector<os::Fd> taken;
    for (;;) {
        os::Fd next(::dup(0));
        if (!next) break;
        taken.push_back(std::move(next));
    }
    for (TestClient& client : clients) {
        client.connect(server->port());
        client.send(get());
    }
    while (server->stats().accept_pauses == 0) std::this_thread::yield();
    taken.clear();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    for (TestClient& client : clients) EXPECT_EQ(client.read_answer().status, 200);
}

}  // namespace
}  // namespace callgate::net
