// What waits to be written: how much of it a peer that does not read may cost, and what is never cut.
#include <algorithm>
#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_server.h"
#include "net/net_testing.h"

namespace callgate::net {
namespace {

using namespace std::chrono_literals;

TEST(HttpWaiting, APeerThatNeverReadsIsDroppedWhileOthersGoOn) {
    Loop loop;
    HttpServerOptions options;
    options.limits.write_time = 100ms;
    std::promise<std::shared_ptr<HttpReply>> came;
    const auto server = must(HttpServer::open(
        loop, options, [&came](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
            if (request->path() == "/stream") return came.set_value(std::move(reply));
            reply->send({200, {}, "ok"});
        }));
    TestClient never(server->port());
    never.send(get("/stream"));
    const auto reply = came.get_future().get();
    std::promise<void> gone;
    reply->on_gone([&gone] { gone.set_value(); });
    reply->begin(200, {});
    // Until the system takes no more of it.
    while (reply->waiting_bytes() < 1u << 20) {
        reply->write(std::string(256u << 10, 'x'));
        std::promise<void> written;
        reply->executor()([&written] { written.set_value(); });
        written.get_future().wait();
    }
    TestClient other(server->port());
    EXPECT_EQ(other.ask(get()).status, 200);
    gone.get_future().get();
    EXPECT_EQ(server->stats().slow_readers, 1u);
    EXPECT_EQ(other.ask(get()).status, 200);
}

TEST(HttpWaiting, APeerCostsNoMoreThanTheMostThatMayWait) {
    Loop loop;
    HttpServerOptions options;
    options.limits.max_waiting_bytes = 1u << 20;
    std::promise<std::shared_ptr<HttpReply>> came;
    const auto server = must(HttpServer::open(
        loop, options,
        [&came](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) { came.set_value(reply); }));
    TestClient never(server->port());
    never.send(get());
    const auto reply = came.get_future().get();
    std::promise<void> gone;
    reply->on_gone([&gone] { gone.set_value(); });
    auto future = gone.get_future();
    reply->begin(200, {});
    std::size_t most = 0;
    while (future.wait_for(0s) != std::future_status::ready) {
        reply->write(std::string(10'000, 'x'));
        most = std::max(most, reply->waiting_bytes());
    }
    EXPECT_LE(most, options.limits.max_waiting_bytes + 10'020);
    EXPECT_GT(most, options.limits.max_waiting_bytes / 2);
    EXPECT_EQ(server->stats().slow_readers, 1u);
}

TEST(HttpWaiting, AWholeAnswerMayBeLargerThanWhatMayWait) {
    Loop loop;
    HttpServerOptions options;
    options.limits.max_waiting_bytes = 1'000;
    const std::string body(20u << 20, 'x');
    const auto server = must(HttpServer::open(
        loop, options, [&body](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) {
            reply->send({200, {}, body});
        }));
    TestClient client(server->port());
    EXPECT_EQ(client.ask(get()).body.size(), body.size());
    client.send(get() + get());
    client.end_sending();
    EXPECT_EQ(client.read_answer().body.size(), body.size());
    EXPECT_EQ(client.read_answer().body.size(), body.size());
}

TEST(HttpWaiting, AStreamThatHasBegunMayGoOnWithAPieceOfAnySize) {
    Loop loop;
    HttpServerOptions options;
    options.limits.max_waiting_bytes = 1'000;
    const std::string piece(20u << 20, 'x');
    const auto server = must(HttpServer::open(
        loop, options, [&piece](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) {
            reply->begin(200, {});
            // The head has not left yet.
            EXPECT_GT(reply->waiting_bytes(), 0u);
            reply->write(piece);
            reply->end();
        }));
    TestClient client(server->port());
    EXPECT_EQ(client.ask(get()).body.size(), piece.size());
    EXPECT_EQ(server->stats().slow_readers, 0u);
}

TEST(HttpWaiting, PiecesThatHaveNotHadTheirTurnAreCountedAndOneMorePasses) {
    Loop loop;
    HttpServerOptions options;
    options.limits.max_waiting_bytes = 1'000;
    std::promise<std::shared_ptr<HttpReply>> came;
    const auto server = must(HttpServer::open(
        loop, options,
        [&came](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) { came.set_value(reply); }));
    TestClient client(server->port());
    client.send(get());
    const auto reply = came.get_future().get();
    reply->begin(200, {});
    EXPECT_EQ(client.read_head().status, 200);
    while (reply->waiting_bytes() > 0) std::this_thread::yield();
    // The connection's thread is busy, so nothing leaves in between.
    std::promise<void> goes_on;
    reply->executor()([future = goes_on.get_future().share()] { future.wait(); });
    for (int i = 0; i < 4; ++i) reply->write(std::string(200, 'x'));
    EXPECT_GE(reply->waiting_bytes(), 800u);
    reply->write(std::string(100'000, 'y'));
    EXPECT_GE(reply->waiting_bytes(), 100'800u);
    goes_on.set_value();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(client.read_chunk()->size(), 200u);
    EXPECT_EQ(client.read_chunk()->size(), 100'000u);
    reply->end();
    EXPECT_EQ(client.read_chunk(), std::nullopt);
    EXPECT_EQ(server->stats().slow_readers, 0u);
}

}  // namespace
}  // namespace callgate::net
