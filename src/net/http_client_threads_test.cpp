#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_client.h"
#include "net/http_client_testing.h"
#include "net/http_server.h"

namespace callgate::net {
namespace {

// Answers with what it was sent: in whole, in pieces, or late, by the last digit of the tag.
void echo_somehow(std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
    const std::string body = request->take_body();
    const HttpHeaders headers = {{"X-Tag", request->header("X-Tag").value_or("none")}};
    switch (body.back() % 3) {
        case 0: return reply->send({200, headers, body});
        case 1:
            reply->begin(200, headers);
            for (const char c : body) reply->write({c});
            return reply->end();
        default: reply->executor()([reply, headers, body] { reply->send({200, headers, body}); }); return;
    }
}

TEST(HttpClientThreads, AThousandExchangesAtOnceGetEachItsOwnAnswer) {
    constexpr std::size_t kThreads = 4;
    constexpr std::size_t kEach = 250;
    Loop serving(2);
    Loop loop;
    const auto server = must(HttpServer::open(serving, {}, echo_somehow));
    HttpClientOptions options;
    options.pool.max_per_origin = options.pool.max_idle_per_origin = 50;
    const auto client = must(HttpClient::open(loop, options));
    std::atomic<std::size_t> crossed{0};
    std::latch ended(kThreads * kEach);
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            for (std::size_t i = 0; i < kEach; ++i) {
                const std::string tag = std::to_string(thread * kEach + i);
                HttpClientRequest request("POST", server->url());
                request.headers = {{"X-Tag", tag}};
                request.body = "tagged " + tag;
                client->fetch(request, [&, tag](Result<HttpClientResponse> response) {
                    if (!response || response->body != "tagged " + tag ||
                        response->head.header("X-Tag") != tag)
                        ++crossed;
                    ended.count_down();
                });
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    ended.wait();
    EXPECT_EQ(crossed.load(), 0u);
    EXPECT_EQ(client->stats().requests, kThreads * kEach);
    EXPECT_LE(client->stats().connections_opened, 50u);
}

TEST(HttpClientThreads, CancelsPausesAndCountersComeFromAnyThread) {
    constexpr std::size_t kThreads = 4;
    constexpr std::size_t kEach = 100;
    Loop loop(2);
    const auto server = must(HttpServer::open(loop, {}, echo_somehow));
    HttpClientOptions options;
    options.pool.max_per_origin = 10;
    options.thread = 1;
    const auto client = must(HttpClient::open(loop, options));
    std::latch ended(kThreads * kEach);
    std::atomic<std::size_t> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            for (std::size_t i = 0; i < kEach; ++i) {
                const std::string tag = std::to_string(i);
                HttpClientRequest request("POST", server->url());
                request.body = tag;
                const auto exchange = client->fetch(request, [&, tag](Result<HttpClientResponse> response) {
                    if (response ? response->body != tag : response.error().code != ErrorCode::cancelled)
                        ++wrong;
                    ended.count_down();
                });
                exchange->pause();
                if ((thread + i) % 3 == 0) exchange->cancel();
                exchange->resume();
                (void)client->stats();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    ended.wait();
    EXPECT_EQ(wrong.load(), 0u);
}

TEST(HttpClientThreads, ABodyThatIsPausedAtEveryPieceIsStillInOrder) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, {}));
    std::string body;
    for (int i = 0; i < 100'000; ++i) body += std::to_string(i) + ",";
    std::shared_ptr<HttpExchange> exchange;
    std::string come;
    std::latch ended(1);
    HttpHandlers handlers;
    handlers.on_piece = [&](std::string_view piece) {
        come += piece;
        exchange->pause();
    };
    handlers.on_end = [&](const Result<void>& result) {
        EXPECT_TRUE(result);
        ended.count_down();
    };
    on_thread(loop, [&] { exchange = client->send({"GET", listener.url()}, std::move(handlers)); });
    TestClient peer = listener.accept_request();
    std::thread resumes([&] {
        while (!ended.try_wait()) {
            exchange->resume();
            std::this_thread::yield();
        }
    });
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (std::size_t at = 0; at < body.size(); at += 1'001) {
        const std::string piece = body.substr(at, 1'001);
        peer.send(fmt::format("{:x}\r\n{}\r\n", piece.size(), piece));
    }
    peer.send("0\r\n\r\n");
    ended.wait();
    resumes.join();
    EXPECT_TRUE(come == body);
}

TEST(HttpClientThreads, ItMayGoWhileExchangesComeAndGo) {
    Loop loop(2);
    const auto server = must(HttpServer::open(loop, {}, echo_somehow));
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> gone{false};
        std::atomic<std::size_t> late{0};
        HttpClientOptions options;
        options.thread = 1;
        auto client = must(HttpClient::open(loop, options));
        std::vector<std::shared_ptr<HttpExchange>> exchanges;
        for (int i = 0; i < 20; ++i) {
            HttpClientRequest request("POST", server->url());
            request.body = std::to_string(i);
            exchanges.push_back(client->fetch(request, [&](const Result<HttpClientResponse>&) {
                if (gone) ++late;
            }));
        }
        std::thread cancels([&exchanges] {
            for (const auto& exchange : exchanges) exchange->cancel();
        });
        client.reset();
        gone = true;
        cancels.join();
        on_thread(loop, [] {});
        EXPECT_EQ(late.load(), 0u);
    }
}

}  // namespace
}  // namespace callgate::net
