// Each state that an exchange passes: its time is bounded there, it can be cancelled, and it can be paused.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_client_testing.h"
#include "net/http_server.h"
#include "net/tls_testing.h"

namespace callgate::net {
namespace {

using namespace std::chrono_literals;

constexpr auto kSoon = 100ms;
const std::string kStreamBegins = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

class HttpClientStates : public testing::Test {
protected:
    HttpClientStates() {
        HttpClientOptions options;
        options.pool.max_per_origin = 1;
        options.lookup = lookup_;
        client_ = must(HttpClient::open(loop_, options));
    }
    ~HttpClientStates() override { EXPECT_EQ(client_->stats().waiting_now, 0u); }

    HttpClientRequest request(std::string_view method = "GET") const {
        return {std::string(method), listener_.url()};
    }

    Loop loop_;
    TestListener listener_;
    const std::shared_ptr<ScriptedLookup> lookup_ = std::make_shared<ScriptedLookup>();
    std::unique_ptr<HttpClient> client_;
};

TEST_F(HttpClientStates, WaitingForAConnection) {
    const WatchedExchange running(*client_, request());
    TestClient peer = listener_.accept_request();
    HttpClientRequest bounded = request();
    bounded.limits.wait_time = kSoon;
    const WatchedExchange timed(*client_, bounded);
    EXPECT_EQ(timed.fault(), "wait");
    EXPECT_EQ(timed.end().error().code, ErrorCode::timed_out);
    EXPECT_FALSE(timed.sent());
    bounded = request();
    bounded.deadline = std::chrono::steady_clock::now() + kSoon;
    EXPECT_EQ(WatchedExchange(*client_, bounded).fault(), "total");
    WatchedExchange cancelled(*client_, request());
    cancelled->cancel();
    EXPECT_EQ(cancelled.fault(), "cancelled");
    EXPECT_FALSE(running.has_ended());
}

TEST_F(HttpClientStates, LookingItsNameUp) {
    HttpClientRequest bounded("GET", "http://never/");
    bounded.limits.connect_time = kSoon;
    const WatchedExchange timed(*client_, bounded);
    EXPECT_EQ(timed.fault(), "connect");
    EXPECT_FALSE(timed.sent());
    HttpClientRequest by_deadline("GET", "http://never/");
    by_deadline.deadline = std::chrono::steady_clock::now() + kSoon;
    EXPECT_EQ(WatchedExchange(*client_, by_deadline).fault(), "total");
    WatchedExchange cancelled(*client_, {"GET", "http://never/"});
    cancelled->cancel();
    EXPECT_EQ(cancelled.fault(), "cancelled");
    EXPECT_EQ(client_->stats().connections_now, 0u);
}

TEST_F(HttpClientStates, Connecting) {
    TestListener full(0);
    full.fill();
    HttpClientRequest bounded("GET", full.url());
    bounded.limits.connect_time = kSoon;
    const WatchedExchange timed(*client_, bounded);
    EXPECT_EQ(timed.fault(), "connect");
    EXPECT_EQ(timed.end().error().code, ErrorCode::timed_out);
    EXPECT_FALSE(timed.sent());
    WatchedExchange cancelled(*client_, {"GET", full.url()});
    cancelled->cancel();
    EXPECT_EQ(cancelled.fault(), "cancelled");
    EXPECT_FALSE(cancelled.sent());
    EXPECT_EQ(client_->stats().connections_now, 0u);
}

TEST_F(HttpClientStates, OneOfSeveralAddressesIsGivenUpForTheNext) {
    TestListener full(0, "127.0.0.2");
    full.fill();
    const TestListener other(8, "127.0.0.3", full.port());
    lookup_->add("several", {"127.0.0.4", "127.0.0.2", "127.0.0.3"});
    HttpClientRequest several("GET", full.url("/", "several"));
    several.limits.address_time = kSoon;
    const WatchedExchange exchange(*client_, several);
    TestClient peer = other.accept_request();
    peer.send("HTTP/1.1 204 No Content\r\n\r\n");
    EXPECT_EQ(exchange.fault(), "");
    // None of them answers: one refuses, the others say nothing.
    lookup_->add("none", {"127.0.0.2", "127.0.0.4"});
    HttpClientRequest none("GET", full.url("/", "none"));
    none.limits.address_time = kSoon;
    const WatchedExchange nobody(*client_, none);
    EXPECT_EQ(nobody.fault(), "connect");
    EXPECT_EQ(nobody.end().error().code, ErrorCode::transport);
}

TEST_F(HttpClientStates, AgreeingOnTls) {
    HttpClientRequest bounded("GET", "https://127.0.0.1:" + std::to_string(listener_.port()));
    bounded.limits.tls_time = kSoon;
    const WatchedExchange timed(*client_, bounded);
    TestClient peer = listener_.accept();
    EXPECT_EQ(timed.fault(), "tls");
    EXPECT_EQ(timed.end().error().code, ErrorCode::timed_out);
    EXPECT_FALSE(timed.sent());
    WatchedExchange cancelled(*client_, {"GET", bounded.url});
    TestClient other = listener_.accept();
    cancelled->cancel();
    EXPECT_EQ(cancelled.fault(), "cancelled");
    EXPECT_FALSE(cancelled.sent());
}

TEST_F(HttpClientStates, Sending) {
    HttpClientRequest large = request("POST");
    large.body.resize(64u << 20, 'x');
    large.limits.write_time = kSoon;
    const WatchedExchange timed(*client_, large);
    TestClient peer = listener_.accept();
    EXPECT_EQ(timed.fault(), "write");
    EXPECT_TRUE(timed.sent());
    large.limits.write_time = {};
    WatchedExchange cancelled(*client_, large);
    TestClient other = listener_.accept_request();
    cancelled->cancel();
    EXPECT_EQ(cancelled.fault(), "cancelled");
    EXPECT_TRUE(cancelled.sent());
}

TEST_F(HttpClientStates, WaitingForTheHead) {
    HttpClientRequest bounded = request("POST");
    bounded.limits.head_time = kSoon;
    const WatchedExchange timed(*client_, bounded);
    TestClient peer = listener_.accept_request();
    peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n");
    EXPECT_EQ(timed.fault(), "head");
    EXPECT_TRUE(timed.sent());
    EXPECT_TRUE(peer.ended());
    bounded = request();
    bounded.deadline = std::chrono::steady_clock::now() + kSoon;
    const WatchedExchange by_deadline(*client_, bounded);
    TestClient second = listener_.accept_request();
    EXPECT_EQ(by_deadline.fault(), "total");
    EXPECT_TRUE(second.ended());
    WatchedExchange cancelled(*client_, request());
    TestClient third = listener_.accept_request();
    cancelled->cancel();
    EXPECT_EQ(cancelled.fault(), "cancelled");
    EXPECT_TRUE(third.ended());
}

TEST_F(HttpClientStates, BetweenTwoPieces) {
    HttpClientRequest bounded = request();
    bounded.limits.idle_time = kSoon;
    const WatchedExchange timed(*client_, bounded);
    TestClient peer = listener_.accept_request();
    peer.send(kStreamBegins + "2\r\nhi\r\n");
    EXPECT_EQ(timed.fault(), "idle");
    EXPECT_EQ(timed.body(), "hi");
    EXPECT_TRUE(peer.ended());
    WatchedExchange cancelled(*client_, request());
    TestClient other = listener_.accept_request();
    other.send(kStreamBegins + "2\r\nhi\r\n");
    EXPECT_EQ(cancelled.body_of(2), "hi");
    cancelled->cancel();
    EXPECT_EQ(cancelled.fault(), "cancelled");
    EXPECT_TRUE(other.ended());
}

TEST_F(HttpClientStates, AStreamWithoutATimeLastsAsLongAsItsOthersDoNot) {
    HttpClientRequest endless = request();
    endless.limits.idle_time = endless.limits.head_time = {};
    const WatchedExchange stream(*client_, endless);
    TestClient peer = listener_.accept_request();
    // Meanwhile what is bounded ends.
    HttpClientRequest bounded = request();
    bounded.limits.wait_time = kSoon;
    EXPECT_EQ(WatchedExchange(*client_, bounded).fault(), "wait");
    peer.send(kStreamBegins);
    EXPECT_EQ(stream.head().status, 200);
    EXPECT_EQ(WatchedExchange(*client_, bounded).fault(), "wait");
    peer.send("2\r\nhi\r\n0\r\n\r\n");
    EXPECT_EQ(stream.fault(), "");
    EXPECT_EQ(stream.body(), "hi");
}

TEST_F(HttpClientStates, ADeadlineThatHasPassedEndsItBeforeAnythingIsSent) {
    HttpClientRequest late = request();
    late.deadline = std::chrono::steady_clock::now() - 1s;
    const WatchedExchange exchange(*client_, late);
    EXPECT_EQ(exchange.fault(), "total");
}

TEST_F(HttpClientStates, CancelledInItsOwnHandlersNothingMoreIsCalled) {
    for (const std::size_t at : {1u, 2u, 3u}) {
        std::shared_ptr<HttpExchange> exchange;
        std::size_t calls = 0;
        std::size_t ends = 0;
        base::Mutex mutex;
        base::CondVar changed;
        HttpHandlers handlers;
        const auto step = [&] {
            EXPECT_EQ(ends, 0u);
            if (++calls == at) exchange->cancel();
        };
        handlers.on_head = [&](const HttpResponseHead&) { step(); };
        handlers.on_piece = [&](std::string_view) { step(); };
        handlers.on_end = [&](const Result<void>& result) {
            EXPECT_FALSE(result);
            const base::MutexLock lock(mutex);
            ++ends;
            changed.notify_all();
        };
        on_thread(loop_, [&] { exchange = client_->send(request(), std::move(handlers)); });
        TestClient peer = listener_.accept_request();
        peer.send(kStreamBegins + "2\r\nhi\r\n3\r\nyou\r\n0\r\n\r\n");
        base::MutexLock lock(mutex);
        changed.wait(lock, [&] { return ends > 0; });
        EXPECT_EQ(calls, at);
        EXPECT_TRUE(peer.ended());
    }
}

TEST_F(HttpClientStates, PausedNothingComesAndNoTimeButTheDeadlineRuns) {
    HttpClientRequest bounded = request();
    bounded.limits.idle_time = kSoon;
    std::shared_ptr<HttpExchange> handle;
    WatchedExchange stream(*client_, bounded, [&handle] { handle->pause(); });
    // Before anything has come, the handle is there.
    TestClient peer = listener_.accept_request();
    on_thread(loop_, [&] { handle = std::shared_ptr<HttpExchange>(std::shared_ptr<void>(), &*stream); });
    peer.send(kStreamBegins + "2\r\nhi\r\n3\r\nyou\r\n0\r\n\r\n");
    EXPECT_EQ(stream.head().status, 200);
    // Something that takes its own time has passed.
    HttpClientRequest other = request();
    other.limits.wait_time = 3 * kSoon;
    EXPECT_EQ(WatchedExchange(*client_, other).fault(), "wait");
    EXPECT_EQ(stream.body(), "");
    stream->resume();
    EXPECT_EQ(stream.body_of(1), "hi");
    EXPECT_FALSE(stream.has_ended());
    stream->resume();
    EXPECT_EQ(stream.body_of(3), "hiyou");
    stream->resume();
    EXPECT_EQ(stream.fault(), "");
}

TEST_F(HttpClientStates, PausedItCanBeCancelledAndRunsOutOfTime) {
    WatchedExchange cancelled(*client_, request());
    cancelled->pause();
    TestClient peer = listener_.accept_request();
    peer.send(kStreamBegins);
    cancelled->cancel();
    EXPECT_EQ(cancelled.fault(), "cancelled");
    EXPECT_FALSE(cancelled.has_head());
    EXPECT_TRUE(peer.ended());
    HttpClientRequest bounded = request();
    bounded.deadline = std::chrono::steady_clock::now() + kSoon;
    WatchedExchange timed(*client_, bounded);
    timed->pause();
    TestClient other = listener_.accept_request();
    EXPECT_EQ(timed.fault(), "total");
    EXPECT_TRUE(other.ended());
}

}  // namespace
}  // namespace callgate::net
