// What waits costs little: many streams on one thread while others are answered.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>

#include "base/must.h"
#include "base/mutex.h"
#include "net/http_client_testing.h"
#include "net/http_server.h"
#include "net/net_testing.h"

namespace callgate::net {
namespace {

std::size_t allocated() {
    const struct mallinfo2 all = ::mallinfo2();
    return all.uordblks + all.hblkhd;
}

TEST(HttpMemory, AThousandIdleStreamsCostLittleAndHoldNobodyUp) {
    constexpr std::size_t kStreams = 1'000;
    std::vector<std::shared_ptr<HttpReply>> streams;
    base::Mutex mutex;
    Loop loop;
    const auto server = must(HttpServer::open(
        loop, {}, [&](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
            if (request->path() != "/stream") return reply->send({200, {}, "answered"});
            reply->begin(200, {{"Content-Type", "text/event-stream"}});
            const base::MutexLock lock(mutex);
            streams.push_back(std::move(reply));
        }));
    TestClient other(server->port());
    EXPECT_EQ(other.ask(get()).body, "answered");
    std::vector<TestClient> clients;
    clients.reserve(kStreams);
    const std::size_t before = allocated();
    for (std::size_t i = 0; i < kStreams; ++i) {
        clients.emplace_back(server->port());
        clients.back().send(get("/stream", "X-Filler: " + std::string(2'000, 'x') + "\r\n"));
        ASSERT_EQ(clients.back().read_head().status, 200);
    }
    for (const auto& stream : streams) stream->write(std::string(4'000, 'x'));
    for (TestClient& client : clients) ASSERT_EQ(client.read_chunk()->size(), 4'000u);
    for (TestClient& client : clients) client.forget();
    EXPECT_EQ(other.ask(get()).body, "answered");
    const std::size_t each = (allocated() - before) / kStreams;
    std::printf("%zu bytes a stream\n", each);
    EXPECT_LE(each, 10u << 10);
    for (const auto& stream : streams) stream->end();
    for (TestClient& client : clients) ASSERT_EQ(client.read_chunk(), std::nullopt);
    EXPECT_EQ(other.ask(get()).body, "answered");
}

TEST(HttpMemory, AThousandIdleStreamsCostAClientLittle) {
    constexpr std::size_t kStreams = 1'000;
    Loop loop;
    const TestListener listener(kStreams);
    HttpClientOptions options;
    options.pool.max_connections = options.pool.max_per_origin = kStreams;
    const auto client = must(HttpClient::open(loop, options));
    std::vector<std::shared_ptr<HttpExchange>> streams;
    std::vector<TestClient> peers;
    streams.reserve(kStreams);
    peers.reserve(kStreams);
    std::atomic<std::size_t> came{0};
    const auto open = [&] {
        HttpClientRequest request("POST", listener.url());
        request.headers = {{"X-Filler", std::string(2'000, 'x')}};
        request.body.assign(2'000, 'x');
        request.limits.idle_time = {};
        HttpHandlers handlers;
        handlers.on_piece = [&came](std::string_view piece) { came += piece.size(); };
        streams.push_back(client->send(std::move(request), std::move(handlers)));
        peers.push_back(listener.accept_request());
        peers.back().forget();
        peers.back().send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Filler: " +
                          std::string(1'000, 'x') + "\r\n\r\n" + std::string(4'000, 'x'));
        while (came != streams.size() * 4'000) std::this_thread::yield();
    };
    open();
    const std::size_t before = allocated();
    while (streams.size() < kStreams) open();
    const std::size_t each = (allocated() - before) / (kStreams - 1);
    std::printf("%zu bytes a stream of a client\n", each);
    EXPECT_LE(each, 4u << 10);
}

}  // namespace
}  // namespace callgate::net
