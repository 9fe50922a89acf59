// Peers that lie, flood, cut and reset: each costs its own exchange, and no more.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_client_testing.h"

namespace callgate::net {
namespace {

using namespace std::chrono_literals;

const std::string kBegin = "HTTP/1.1 200 OK\r\n";

// What becomes of an exchange whose peer says this and ends.
class HttpClientHostile : public testing::Test {
protected:
    std::string fault_of(std::string_view answer, const HttpClientLimits& limits = {}) {
        HttpClientRequest request("GET", listener_.url());
        request.limits = limits;
        const WatchedExchange exchange(*client_, request);
        TestClient peer = listener_.accept_request();
        peer.send(answer);
        peer.end_sending();
        const std::string fault = exchange.fault();
        if (fault != "") {
            EXPECT_TRUE(exchange.sent()) << answer;
        }
        return fault;
    }

    Loop loop_;
    TestListener listener_;
    std::unique_ptr<HttpClient> client_ = must(HttpClient::open(loop_, {}));
};

TEST_F(HttpClientHostile, LiesAboutTheLengthAreNoticed) {
    EXPECT_EQ(fault_of(kBegin + "Content-Length: 100\r\n\r\nless"), "cut");
    EXPECT_EQ(fault_of(kBegin + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nfour"), "malformed");
    EXPECT_EQ(fault_of(kBegin + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
              "malformed");
    EXPECT_EQ(fault_of(kBegin + "Content-Length: 4, 4\r\n\r\nfour"), "malformed");
    EXPECT_EQ(fault_of(kBegin + "Content-Length: 99999999999999999\r\n\r\n"), "too_large");
    // What follows on the answer is nobody's.
    EXPECT_EQ(fault_of(kBegin + "Content-Length: 4\r\n\r\nfour and more"), "");
    EXPECT_EQ(client_->stats().connections_now, 0u);
}

TEST_F(HttpClientHostile, TricksWithChunksAreNoticed) {
    const std::string chunked = kBegin + "Transfer-Encoding: chunked\r\n\r\n";
    EXPECT_EQ(fault_of(chunked + "5\r\nhelloX\r\n0\r\n\r\n"), "malformed");
    EXPECT_EQ(fault_of(chunked + "5\nhello\r\n0\r\n\r\n"), "malformed");
    EXPECT_EQ(fault_of(chunked + "-5\r\nhello\r\n0\r\n\r\n"), "malformed");
    EXPECT_EQ(fault_of(chunked + "ffffffffffffffff\r\n"), "malformed");
    EXPECT_EQ(fault_of(chunked + "fffffffffffffff\r\n"), "too_large");
    EXPECT_EQ(fault_of(chunked + "5\r\nhello\r\n"), "cut");
    EXPECT_EQ(fault_of(chunked + "1;" + std::string(10'000, 'x')), "malformed");
    EXPECT_EQ(fault_of(chunked + "0\r\n" + std::string(10'000, 'x')), "too_large");
}

TEST_F(HttpClientHostile, WhatIsNoHttpIsRefused) {
    EXPECT_EQ(fault_of("220 mail ready\r\n"), "malformed");
    EXPECT_EQ(fault_of("<html>\r\n"), "malformed");
    EXPECT_EQ(fault_of(kBegin + "X: a\r\n folded\r\n\r\n"), "malformed");
    EXPECT_EQ(fault_of(kBegin + "X: a\n\n"), "malformed");
    EXPECT_EQ(fault_of(std::string("\0\0\0\0", 4)), "malformed");
    EXPECT_EQ(fault_of(""), "closed");
    EXPECT_EQ(fault_of("HTTP/1.1 101 Switching Protocols\r\n\r\n"), "malformed");
}

TEST_F(HttpClientHostile, FloodsEnd) {
    std::string flood;
    for (int i = 0; i < 1'000; ++i) flood += "HTTP/1.1 100 Continue\r\n\r\n";
    EXPECT_EQ(fault_of(flood), "too_large");
    EXPECT_EQ(fault_of(kBegin + "X: " + std::string(100'000, 'x')), "too_large");
    std::string many;
    for (int i = 0; i < 200; ++i) many += "X: y\r\n";
    EXPECT_EQ(fault_of(kBegin + many + "\r\n"), "too_large");
    HttpClientLimits limits;
    limits.max_body_bytes = 1'000;
    EXPECT_EQ(fault_of(kBegin + "\r\n" + std::string(2'000, 'x'), limits), "too_large");
}

TEST_F(HttpClientHostile, WhatDripsIsWaitedForOnlySoLong) {
    HttpClientRequest request("GET", listener_.url());
    request.limits.head_time = 200ms;
    const WatchedExchange head(*client_, request);
    TestClient peer = listener_.accept_request();
    peer.drip(kBegin + "X: " + std::string(60'000, 'x'));
    EXPECT_EQ(head.fault(), "head");
    request.limits.head_time = 60s;
    request.deadline = std::chrono::steady_clock::now() + 200ms;
    const WatchedExchange body(*client_, request);
    TestClient other = listener_.accept_request();
    other.send(kBegin + "\r\n");
    other.drip(std::string(60'000, 'x'));
    EXPECT_EQ(body.fault(), "total");
}

TEST_F(HttpClientHostile, AResetIsAnErrorWhereverItComes) {
    for (const std::string& before : {std::string(), std::string("HTTP/1.1 "), kBegin,
                                      kBegin + "Content-Length: 10\r\n\r\nsome", kBegin + "\r\nsome"}) {
        const WatchedExchange exchange(*client_, {"POST", listener_.url()});
        TestClient peer = listener_.accept_request();
        peer.send(before);
        if (before.ends_with("some")) {
            EXPECT_EQ(exchange.body_of(4), "some");
        }
        peer.reset();
        EXPECT_EQ(exchange.fault(), before.empty() ? "closed" : "cut") << before;
        EXPECT_TRUE(exchange.sent());
    }
    EXPECT_EQ(client_->stats().sent_again, 0u);
}

TEST_F(HttpClientHostile, AnAnswerBeforeTheRequestHasLeftEndsTheExchange) {
    HttpClientRequest request("POST", listener_.url());
    request.body.resize(64u << 20, 'x');
    const WatchedExchange refused(*client_, request);
    TestClient peer = listener_.accept_request();
    peer.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nno\n");
    EXPECT_EQ(refused.head().status, 413);
    EXPECT_EQ(refused.fault(), "");
    // Where the rest of the request was to go, nothing can be sent any more.
    EXPECT_EQ(client_->stats().connections_now, 0u);
}

TEST_F(HttpClientHostile, OneThatFloodsHoldsNobodyUp) {
    HttpClientRequest request("GET", listener_.url("/flood"));
    request.limits.max_body_bytes = HttpClientLimits::kNoLimit;
    WatchedExchange flooded(*client_, request);
    TestClient flood = listener_.accept_request();
    flood.send(kBegin + "\r\n");
    EXPECT_EQ(flooded.head().status, 200);
    flooded->pause();
    // What is not read is not taken from the peer, beyond what the system holds.
    const std::string piece(64u << 10, 'x');
    while (::send(flood.fd(), piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    const WatchedExchange other(*client_, {"GET", listener_.url()});
    TestClient peer = listener_.accept_request();
    peer.send(kBegin + "Content-Length: 2\r\n\r\nok");
    EXPECT_EQ(other.fault(), "");
    const std::size_t held = flooded.body().size();
    flooded->resume();
    flood.end_sending();
    EXPECT_EQ(flooded.fault(), "");
    EXPECT_GT(flooded.body().size(), held);
    EXPECT_EQ(flooded.body().find_first_not_of('x'), std::string::npos);
}

}  // namespace
}  // namespace callgate::net
