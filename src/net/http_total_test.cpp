// What all connections hold together.
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_server.h"
#include "net/net_testing.h"

namespace callgate::net {
namespace {

constexpr std::size_t kBody = 100'000;

HttpServerOptions with_total(std::size_t bytes) {
    HttpServerOptions options;
    options.limits.max_total_bytes = bytes;
    return options;
}

void until_held(const HttpServer& server, std::uint64_t bytes) {
    while (server.stats().bytes_now != bytes) std::this_thread::yield();
}

void answer_size(std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
    reply->send({200, {}, std::to_string(request->take_body().size())});
}

TEST(HttpTotal, BodiesThatComeAreCountedAndLargeOnesRefusedBeyondIt) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, with_total(2 * kBody - 100), answer_size));
    const std::string whole = post(std::string(kBody, 'b'));
    std::vector<TestClient> slow;
    for (int i = 0; i < 2; ++i) {
        slow.emplace_back(server->port());
        slow.back().send(std::string_view(whole).substr(0, whole.size() - 1));
    }
    until_held(*server, 2 * (kBody - 1));
    TestClient large(server->port());
    const TestAnswer refused = large.ask(post(std::string(20'000, 'b')));
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.header("Connection"), "close");
    TestClient chunked(server->port());
    chunked.send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5000\r\n");
    EXPECT_EQ(chunked.read_answer().status, 503);
    TestClient small(server->port());
    EXPECT_EQ(small.ask(post("small")).body, "5");
    EXPECT_EQ(small.ask(get()).body, "0");
    // Room again, by one that goes.
    slow.pop_back();
    until_held(*server, kBody - 1);
    EXPECT_EQ(small.ask(post(std::string(20'000, 'b'))).body, "20000");
    slow.back().send("b");
    EXPECT_EQ(slow.back().read_answer().body, std::to_string(kBody));
    until_held(*server, 0);
}

TEST(HttpTotal, ABodyThatGrowsBeyondItIsRefusedInItsMiddle) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, with_total(kBody / 2), answer_size));
    TestClient client(server->port());
    const std::string whole = post(std::string(kBody, 'b'));
    client.send(std::string_view(whole).substr(0, whole.size() - 1));
    EXPECT_EQ(client.read_answer().status, 503);
    until_held(*server, 0);
}

TEST(HttpTotal, WhatWaitsForItsHandlerOrForItsReaderIsCountedUntilItHasGone) {
    Loop loop;
    std::promise<std::pair<std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply>>> came;
    auto server = must(HttpServer::open(
        loop, {}, [&came](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
            came.set_value({std::move(request), std::move(reply)});
        }));
    TestClient client(server->port());
    client.send(post(std::string(kBody, 'b')));
    auto [request, reply] = came.get_future().get();
    until_held(*server, kBody);
    client.send("ahead");
    until_held(*server, kBody + 5);
    EXPECT_EQ(request->take_body().size(), kBody);
    until_held(*server, 5);
    reply->begin(200, {});
    reply->write(std::string(20u << 20, 'x'));
    while (server->stats().bytes_now < 1u << 20) std::this_thread::yield();
    client.reset();
    until_held(*server, 0);
    // A request may be kept for longer than its server.
    TestClient other(server->port());
    came = {};
    other.send(post("body"));
    auto kept = came.get_future().get();
    until_held(*server, 4);
    server.reset();
    EXPECT_EQ(kept.first->take_body(), "body");
}

}  // namespace
}  // namespace callgate::net
