// Connections that are kept: how many, for whom, and what happens when one has gone.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_client_testing.h"

namespace callgate::net {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

HttpClientOptions with_pool(std::size_t all, std::size_t per_origin, std::size_t waiting = 100) {
    HttpClientOptions options;
    options.pool.max_connections = all;
    options.pool.max_per_origin = per_origin;
    options.pool.max_waiting = waiting;
    return options;
}

void until(const HttpClient& client, std::uint64_t HttpClientStats::* counter, std::uint64_t value) {
    while (client.stats().*counter != value) std::this_thread::yield();
}

TEST(HttpClientPool, AnOriginHasNoMoreConnectionsThanItMayAndTheOthersWaitInOrder) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, with_pool(10, 2)));
    std::vector<WatchedExchange> exchanges;
    for (int i = 0; i < 6; ++i)
        exchanges.emplace_back(*client, HttpClientRequest("GET", listener.url("/" + std::to_string(i))));
    until(*client, &HttpClientStats::waiting_now, 4);
    TestClient one = listener.accept_request();
    TestClient other = listener.accept_request();
    EXPECT_FALSE(listener.somebody_came());
    for (int i = 2; i < 6; ++i) {
        // The next one comes on the connection that is free.
        TestClient& peer = i % 2 == 0 ? one : other;
        peer.send(kOk);
        EXPECT_TRUE(peer.read_until("\r\n\r\n").starts_with("GET /" + std::to_string(i) + " "));
    }
    one.send(kOk);
    other.send(kOk);
    for (const WatchedExchange& exchange : exchanges) EXPECT_EQ(exchange.fault(), "");
    EXPECT_EQ(client->stats().connections_opened, 2u);
    EXPECT_EQ(client->stats().waiting_now, 0u);
}

TEST(HttpClientPool, BeyondTheMostThatMayWaitARequestEndsAtOnce) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, with_pool(10, 1, 2)));
    std::vector<WatchedExchange> exchanges;
    for (int i = 0; i < 3; ++i) exchanges.emplace_back(*client, HttpClientRequest("GET", listener.url()));
    const WatchedExchange over(*client, {"GET", listener.url()});
    EXPECT_EQ(over.fault(), "too_many_waiting");
    EXPECT_EQ(over.end().error().code, ErrorCode::unavailable);
    EXPECT_FALSE(over.sent());
    // One that waits may be called off, and makes room.
    exchanges[1]->cancel();
    EXPECT_EQ(exchanges[1].fault(), "cancelled");
    EXPECT_FALSE(exchanges[1].sent());
    const WatchedExchange next(*client, {"GET", listener.url()});
    TestClient peer = listener.accept_request();
    peer.send(kOk);
    EXPECT_EQ(exchanges[0].fault(), "");
    peer.read_until("\r\n\r\n");
    peer.send(kOk);
    EXPECT_EQ(exchanges[2].fault(), "");
    peer.read_until("\r\n\r\n");
    peer.send(kOk);
    EXPECT_EQ(next.fault(), "");
}

TEST(HttpClientPool, AStreamHasItsConnectionForItself) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, {}));
    WatchedExchange stream(*client, {"GET", listener.url("/stream")});
    TestClient streaming = listener.accept_request();
    streaming.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
    EXPECT_EQ(stream.body_of(2), "hi");
    const WatchedExchange other(*client, {"GET", listener.url()});
    TestClient peer = listener.accept_request();
    peer.send(kOk);
    EXPECT_EQ(other.fault(), "");
    streaming.send("0\r\n\r\n");
    EXPECT_EQ(stream.fault(), "");
}

TEST(HttpClientPool, OriginsShareTheTotalAndTheOneThatCameFirstIsServed) {
    Loop loop;
    const TestListener busy;
    const TestListener other;
    const auto client = must(HttpClient::open(loop, with_pool(1, 5)));
    const WatchedExchange first(*client, {"GET", busy.url()});
    const WatchedExchange second(*client, {"GET", other.url()});
    const WatchedExchange third(*client, {"GET", busy.url()});
    TestClient peer = busy.accept_request();
    EXPECT_FALSE(other.somebody_came());
    peer.send(kOk);
    EXPECT_EQ(first.fault(), "");
    // For the other origin the idle connection has to go.
    TestClient next = other.accept_request();
    EXPECT_TRUE(peer.ended());
    EXPECT_FALSE(busy.somebody_came());
    next.send(kOk);
    EXPECT_EQ(second.fault(), "");
    TestClient last = busy.accept_request();
    last.send(kOk);
    EXPECT_EQ(third.fault(), "");
}

TEST(HttpClientPool, AnAnswerThatEndsItsConnectionMakesRoomForOthers) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, with_pool(1, 1)));
    std::vector<WatchedExchange> exchanges;
    for (int i = 0; i < 3; ++i) exchanges.emplace_back(*client, HttpClientRequest("GET", listener.url()));
    for (const std::string_view answer :
         {std::string_view("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
          std::string_view("HTTP/1.1 200 OK\r\n\r\nuntil the end"), std::string_view("nonsense")}) {
        TestClient peer = listener.accept_request();
        peer.send(answer);
        peer.end_sending();
        EXPECT_TRUE(peer.ended());
    }
    EXPECT_EQ(exchanges[0].fault(), "");
    EXPECT_EQ(exchanges[1].body_of(13), "until the end");
    EXPECT_EQ(exchanges[1].fault(), "");
    EXPECT_EQ(exchanges[2].fault(), "malformed");
    EXPECT_EQ(client->stats().connections_opened, 3u);
}

TEST(HttpClientPool, AConnectionThatWasClosedBetweenRequestsIsNotUsed) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, {}));
    for (int i = 0; i < 3; ++i) {
        // Not idempotent, and still never lost.
        const WatchedExchange exchange(*client, {"POST", listener.url()});
        TestClient peer = listener.accept_request();
        peer.send(kOk);
        EXPECT_EQ(exchange.fault(), "");
        peer.close();
    }
    EXPECT_EQ(client->stats().sent_again, 0u);
    EXPECT_EQ(client->stats().connections_reused, 0u);
}

TEST(HttpClientPool, AConnectionThatSaysSomethingUnaskedIsNotUsed) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, {}));
    const WatchedExchange first(*client, {"GET", listener.url()});
    TestClient peer = listener.accept_request();
    peer.send(std::string(kOk) + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    EXPECT_EQ(first.fault(), "");
    const WatchedExchange second(*client, {"GET", listener.url()});
    TestClient other = listener.accept_request();
    other.send(kOk);
    EXPECT_EQ(second.fault(), "");
    EXPECT_EQ(second.body(), "ok");
    // Nor where it comes later.
    other.send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
    until(*client, &HttpClientStats::connections_now, 0);
}

TEST(HttpClientPool, ARequestIsSentOnceMoreOnlyIfThatCannotDoItTwice) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, {}));
    const auto once_kept = [&] {
        const WatchedExchange first(*client, {"GET", listener.url()});
        TestClient peer = listener.accept_request();
        peer.send(kOk);
        EXPECT_EQ(first.fault(), "");
        return peer;
    };
    // Each time the peer takes the request, and goes without an answer.
    HttpClientRequest keyed("POST", listener.url("/keyed"));
    keyed.idempotent = true;
    keyed.body = "body";
    for (const HttpClientRequest& request : {HttpClientRequest("GET", listener.url("/get")), keyed}) {
        TestClient kept = once_kept();
        const WatchedExchange again(*client, request);
        kept.read_until("\r\n\r\n" + request.body);
        kept.close();
        std::string head;
        TestClient fresh = listener.accept_request(&head);
        EXPECT_TRUE(head.starts_with(request.method));
        EXPECT_EQ(fresh.read_bytes(request.body.size()), request.body);
        fresh.send(kOk);
        EXPECT_EQ(again.fault(), "");
        fresh.close();
        until(*client, &HttpClientStats::connections_now, 0);
    }
    EXPECT_EQ(client->stats().sent_again, 2u);
    TestClient kept = once_kept();
    const WatchedExchange unsafe(*client, {"POST", listener.url("/unsafe")});
    kept.read_until("\r\n\r\n");
    kept.close();
    EXPECT_EQ(unsafe.fault(), "closed");
    EXPECT_TRUE(unsafe.sent());
    EXPECT_FALSE(listener.somebody_came());
    EXPECT_EQ(client->stats().sent_again, 2u);
}

TEST(HttpClientPool, ARequestIsSentOnceMoreAndNotForEver) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, {}));
    const WatchedExchange first(*client, {"GET", listener.url()});
    TestClient kept = listener.accept_request();
    kept.send(kOk);
    EXPECT_EQ(first.fault(), "");
    const WatchedExchange again(*client, {"GET", listener.url()});
    kept.read_until("\r\n\r\n");
    kept.close();
    listener.accept_request().close();
    EXPECT_EQ(again.fault(), "closed");
    EXPECT_TRUE(again.sent());
    // On its first connection nothing is sent again.
    const WatchedExchange fresh(*client, {"GET", listener.url()});
    listener.accept_request().close();
    EXPECT_EQ(fresh.fault(), "closed");
    EXPECT_FALSE(listener.somebody_came());
    EXPECT_EQ(client->stats().sent_again, 1u);
}

TEST(HttpClientPool, WhatHasBeenAnsweredInPartIsNotSentAgain) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, {}));
    const WatchedExchange first(*client, {"GET", listener.url()});
    TestClient kept = listener.accept_request();
    kept.send(kOk);
    EXPECT_EQ(first.fault(), "");
    const WatchedExchange cut(*client, {"GET", listener.url()});
    kept.read_until("\r\n\r\n");
    kept.send("H");
    kept.close();
    EXPECT_EQ(cut.fault(), "cut");
    EXPECT_EQ(client->stats().sent_again, 0u);
}

TEST(HttpClientPool, AConnectionIsKeptForItsTimeOrForThatOfThePeer) {
    Loop loop;
    const TestListener listener;
    HttpClientOptions options;
    options.pool.idle_time = 50ms;
    const auto client = must(HttpClient::open(loop, options));
    const WatchedExchange first(*client, {"GET", listener.url()});
    TestClient peer = listener.accept_request();
    peer.send(kOk);
    EXPECT_EQ(first.fault(), "");
    EXPECT_TRUE(peer.ended());
    options.pool.idle_time = std::chrono::hours(1);
    const auto patient = must(HttpClient::open(loop, options));
    const WatchedExchange second(*patient, {"GET", listener.url()});
    TestClient hasty = listener.accept_request();
    // A second before it the peer is not to be trusted any more.
    hasty.send("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(second.fault(), "");
    EXPECT_TRUE(hasty.ended());
}

TEST(HttpClientPool, NoMoreIdleConnectionsAreKeptThanMayBe) {
    Loop loop;
    const TestListener listener;
    HttpClientOptions options;
    options.pool.max_idle_per_origin = 2;
    const auto client = must(HttpClient::open(loop, options));
    std::vector<WatchedExchange> exchanges;
    std::vector<TestClient> peers;
    for (int i = 0; i < 5; ++i) exchanges.emplace_back(*client, HttpClientRequest("GET", listener.url()));
    for (int i = 0; i < 5; ++i) peers.push_back(listener.accept_request());
    for (TestClient& peer : peers) peer.send(kOk);
    for (const WatchedExchange& exchange : exchanges) EXPECT_EQ(exchange.fault(), "");
    EXPECT_EQ(client->stats().idle_now, 2u);
    EXPECT_EQ(client->stats().connections_now, 2u);
}

TEST(HttpClientPool, AHandlerMaySendTheNextRequestOnTheSameConnection) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, with_pool(1, 1, 0)));
    int left = 3;
    std::vector<std::shared_ptr<WatchedExchange>> next;
    base::Mutex mutex;
    base::CondVar changed;
    std::function<void()> send = [&] {
        HttpHandlers handlers;
        handlers.on_end = [&](const Result<void>& result) {
            EXPECT_TRUE(result);
            if (--left > 0) return send();
            const base::MutexLock lock(mutex);
            changed.notify_all();
        };
        client->send({"GET", listener.url()}, std::move(handlers));
    };
    on_thread(loop, send);
    TestClient peer = listener.accept();
    for (int i = 0; i < 3; ++i) {
        peer.read_until("\r\n\r\n");
        peer.send(kOk);
    }
    base::MutexLock lock(mutex);
    while (client->stats().idle_now != 1 || left > 0) changed.wait_for(lock, 10ms, [] { return false; });
    EXPECT_EQ(client->stats().connections_opened, 1u);
}

}  // namespace
}  // namespace callgate::net
