// Streams on which nothing happens: what they say instead.
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_server.h"
#include "net/net_testing.h"

namespace callgate::net {
namespace {

using namespace std::chrono_literals;

constexpr const char* kComment = ":\n\n";

// A server of streams that the test goes on with, and its clients, which have read the head.
class Streams {
public:
    explicit Streams(std::chrono::milliseconds quiet_time) {
        HttpServerOptions options;
        options.limits.quiet_time = quiet_time;
        server_ = must(HttpServer::open(
            loop_, options, [this](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
                if (request->path() != "/stream") return reply->send({200, {}, "answered"});
                came_.set_value(std::move(reply));
            }));
    }
    std::uint16_t port() { return server_->port(); }
    std::shared_ptr<HttpReply> begin(TestClient& client, const std::string& idle_text) {
        came_ = {};
        client.send(get("/stream"));
        auto reply = came_.get_future().get();
        reply->begin(200, {}, idle_text);
        EXPECT_EQ(client.read_head().status, 200);
        return reply;
    }

private:
    Loop loop_;
    std::promise<std::shared_ptr<HttpReply>> came_;
    std::unique_ptr<HttpServer> server_;
};

TEST(HttpQuiet, AStreamThatIsQuietSaysItsTextAgainAndAgain) {
    Streams streams(10ms);
    TestClient client(streams.port());
    const auto reply = streams.begin(client, kComment);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read_chunk(), kComment);
    reply->write("piece");
    auto chunk = client.read_chunk();
    while (chunk == kComment) chunk = client.read_chunk();
    EXPECT_EQ(chunk, "piece");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read_chunk(), kComment);
    reply->end();
    while (client.read_chunk() == kComment) {
    }
    // The text goes with its stream.
    EXPECT_EQ(client.ask(get()).body, "answered");
    const auto silent = streams.begin(client, "");
    TestClient other(streams.port());
    const auto quiet = streams.begin(other, kComment);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(other.read_chunk(), kComment);
    silent->write("piece");
    EXPECT_EQ(client.read_chunk(), "piece");
}

TEST(HttpQuiet, WithoutATimeNoStreamSaysAnything) {
    Streams streams(0ms);
    TestClient client(streams.port());
    const auto reply = streams.begin(client, kComment);
    TestClient other(streams.port());
    EXPECT_EQ(other.ask(get()).body, "answered");
    reply->write("piece");
    EXPECT_EQ(client.read_chunk(), "piece");
}

TEST(HttpQuiet, APeerThatTakesNothingIsStillDropped) {
    HttpServerOptions options;
    options.limits.quiet_time = 5ms;
    options.limits.write_time = 100ms;
    std::promise<std::shared_ptr<HttpReply>> came;
    Loop loop;
    const auto server = must(HttpServer::open(
        loop, options,
        [&came](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) { came.set_value(reply); }));
    TestClient never(server->port());
    never.send(get());
    const auto reply = came.get_future().get();
    std::promise<void> gone;
    reply->on_gone([&gone] { gone.set_value(); });
    reply->begin(200, {}, kComment);
    reply->write(std::string(20u << 20, 'x'));
    gone.get_future().get();
    EXPECT_EQ(server->stats().slow_readers, 1u);
}

}  // namespace
}  // namespace callgate::net
