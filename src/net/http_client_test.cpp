// What a client does with peers that behave.
#include "net/http_client.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_client_testing.h"
#include "net/http_server.h"
#include "os/scratch_dir.h"

namespace callgate::net {
namespace {

// Says what it was asked.
void say(std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
    if (request->path() == "/redirect") return reply->send({302, {{"Location", "http://10.0.0.1/"}}, ""});
    if (request->path() == "/empty") return reply->send({204, {}, ""});
    HttpHeaders headers = {{"X-Method", std::string(request->method())},
                           {"X-Target", std::string(request->target())},
                           {"X-Host", request->header("Host").value_or("none")},
                           {"X-Length", request->header("Content-Length").value_or("none")},
                           {"X-Encoding", request->header("Accept-Encoding").value_or("none")},
                           {"X-Mine", request->header("X-Mine").value_or("none")},
                           {"Set-Cookie", "a=b"},
                           {"X-Cookie", request->header("Cookie").value_or("none")}};
    reply->send({200, std::move(headers), request->take_body()});
}

HttpClientResponse fetch(HttpClient& client, HttpClientRequest request) {
    std::promise<Result<HttpClientResponse>> answered;
    auto future = answered.get_future();
    client.fetch(std::move(request), [&answered](Result<HttpClientResponse> response) {
        answered.set_value(std::move(response));
    });
    return must(future.get());
}

TEST(HttpClient, SendsRequestsAndHandsOnTheirAnswers) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, say));
    const auto client = must(HttpClient::open(loop, {}));
    HttpClientRequest request("POST", server->url() + "/path?query#fragment");
    request.headers = {{"X-Mine", "a value"}};
    request.body = "a body";
    const HttpClientResponse response = fetch(*client, request);
    EXPECT_EQ(response.head.status, 200);
    EXPECT_EQ(response.head.header("x-method"), "POST");
    EXPECT_EQ(response.head.header("X-Target"), "/path?query");
    EXPECT_EQ(response.head.header("X-Host"), "127.0.0.1:" + std::to_string(server->port()));
    EXPECT_EQ(response.head.header("X-Length"), "6");
    EXPECT_EQ(response.head.header("X-Encoding"), "none");
    EXPECT_EQ(response.head.header("X-Mine"), "a value");
    EXPECT_EQ(response.head.header("X-Other"), std::nullopt);
    EXPECT_EQ(response.body, "a body");
    EXPECT_EQ(fetch(*client, {"GET", server->url()}).head.header("X-Length"), "none");
    EXPECT_EQ(fetch(*client, {"POST", server->url()}).head.header("X-Length"), "0");
    EXPECT_EQ(fetch(*client, {"DELETE", server->url() + "/empty"}).head.status, 204);
    const HttpClientResponse head = fetch(*client, {"HEAD", server->url()});
    EXPECT_EQ(head.head.header("X-Method"), "HEAD");
    EXPECT_EQ(head.body, "");
}

TEST(HttpClient, UsesAConnectionAgain) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, say));
    const auto client = must(HttpClient::open(loop, {}));
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(fetch(*client, {i % 2 == 0 ? "GET" : "HEAD", server->url() + "/empty"}).head.status, 204);
        EXPECT_EQ(fetch(*client, {"GET", server->url()}).head.status, 200);
    }
    EXPECT_EQ(client->stats().requests, 20u);
    EXPECT_EQ(client->stats().connections_opened, 1u);
    EXPECT_EQ(client->stats().connections_reused, 19u);
    EXPECT_EQ(server->stats().accepted, 1u);
    EXPECT_EQ(client->stats().sent_again, 0u);
}

TEST(HttpClient, LooksNamesUp) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, say));
    const auto client = must(HttpClient::open(loop, {}));
    const std::string host = "localhost:" + std::to_string(server->port());
    EXPECT_EQ(fetch(*client, {"GET", "http://" + host}).head.header("X-Host"), host);
    WatchedExchange lost(*client, {"GET", "http://no-such-name.invalid/"});
    EXPECT_EQ(lost.fault(), "lookup");
    EXPECT_FALSE(lost.sent());
}

TEST(HttpClient, HandsARedirectOnAndKeepsNoCookies) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, say));
    const auto client = must(HttpClient::open(loop, {}));
    const HttpClientResponse redirect = fetch(*client, {"GET", server->url() + "/redirect"});
    EXPECT_EQ(redirect.head.status, 302);
    EXPECT_EQ(redirect.head.header("Location"), "http://10.0.0.1/");
    EXPECT_EQ(client->stats().connections_opened, 1u);
    EXPECT_EQ(fetch(*client, {"GET", server->url()}).head.header("Set-Cookie"), "a=b");
    EXPECT_EQ(fetch(*client, {"GET", server->url()}).head.header("X-Cookie"), "none");
}

TEST(HttpClient, SpeaksOverAUnixSocketThatNoUrlLeadsTo) {
    const os::ScratchDir directory;
    Loop loop;
    HttpServerOptions options;
    options.unix_path = directory.file("socket");
    const auto server = must(HttpServer::open(loop, options, say));
    HttpClientOptions public_only;
    public_only.addresses = is_public;
    const auto client = must(HttpClient::open(loop, public_only));
    HttpClientRequest request("GET", "http://localhost/over");
    request.unix_path = options.unix_path;
    for (int i = 0; i < 2; ++i) {
        const HttpClientResponse response = fetch(*client, request);
        EXPECT_EQ(response.head.header("X-Host"), "localhost");
        EXPECT_EQ(response.head.header("X-Target"), "/over");
    }
    EXPECT_EQ(client->stats().connections_opened, 1u);
    WatchedExchange by_url(*client, {"GET", "unix:" + options.unix_path});
    EXPECT_EQ(by_url.fault(), "bad_url");
    // What was opened for the socket serves nobody else.
    WatchedExchange by_name(*client, {"GET", "http://localhost/over"});
    EXPECT_EQ(by_name.fault(), "address_refused");
    request.unix_path = directory.file("nobody");
    WatchedExchange nobody(*client, request);
    EXPECT_EQ(nobody.fault(), "connect");
    EXPECT_FALSE(nobody.sent());
}

TEST(HttpClient, CarriesLargeBodiesBothWays) {
    Loop loop(2);
    HttpServerOptions large;
    large.limits.max_body_bytes = 32u << 20;
    const auto server = must(HttpServer::open(loop, large, say));
    HttpClientOptions options;
    options.thread = 1;
    const auto client = must(HttpClient::open(loop, options));
    HttpClientRequest request("POST", server->url());
    request.body.resize(20u << 20);
    for (std::size_t i = 0; i < request.body.size(); ++i) request.body[i] = static_cast<char>('a' + i % 23);
    request.limits.max_body_bytes = request.body.size();
    EXPECT_TRUE(fetch(*client, request).body == request.body);
    request.limits.max_body_bytes = request.body.size() - 1;
    WatchedExchange over(*client, request);
    EXPECT_EQ(over.fault(), "too_large");
    EXPECT_TRUE(over.sent());
    EXPECT_EQ(over.head().status, 200);
    EXPECT_EQ(over.body(), "");
}

TEST(HttpClient, HandsOnAStreamPieceByPiece) {
    Loop loop;
    std::promise<std::shared_ptr<HttpReply>> came;
    const auto server = must(
        HttpServer::open(loop, {}, [&came](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) {
            reply->begin(200, {{"Content-Type", "text/event-stream"}});
            came.set_value(std::move(reply));
        }));
    const auto client = must(HttpClient::open(loop, {}));
    HttpClientRequest request("GET", server->url());
    request.limits.max_body_bytes = HttpClientLimits::kNoLimit;
    request.limits.idle_time = {};
    const WatchedExchange stream(*client, request);
    EXPECT_EQ(stream.head().header("Content-Type"), "text/event-stream");
    const auto reply = came.get_future().get();
    std::string all;
    for (int i = 0; i < 5; ++i) {
        const std::string piece = "data: " + std::to_string(i) + "\n\n";
        all += piece;
        reply->write(piece);
        EXPECT_EQ(stream.body_of(all.size()), all);
    }
    EXPECT_FALSE(stream.has_ended());
    reply->end();
    EXPECT_TRUE(stream.end());
    EXPECT_EQ(stream.body(), all);
    EXPECT_EQ(client->stats().idle_now, 1u);
}

TEST(HttpClient, ThePeerOfACancelledStreamLearnsOfIt) {
    Loop loop;
    std::promise<void> gone;
    std::shared_ptr<HttpReply> kept;
    const auto server =
        must(HttpServer::open(loop, {}, [&](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) {
            reply->begin(200, {});
            reply->on_gone([&gone] { gone.set_value(); });
            kept = std::move(reply);
        }));
    const auto client = must(HttpClient::open(loop, {}));
    WatchedExchange stream(*client, {"GET", server->url()});
    EXPECT_EQ(stream.head().status, 200);
    stream->cancel();
    EXPECT_EQ(stream.fault(), "cancelled");
    gone.get_future().get();
    stream->cancel();
    stream->pause();
    stream->resume();
    on_thread(loop, [&kept] { kept.reset(); });
}

TEST(HttpClient, WhatWouldBreakARequestIsRefusedBeforeAnythingIsSent) {
    Loop loop;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, {}));
    const auto with_header = [&](std::string name, std::string value) {
        HttpClientRequest request("GET", listener.url());
        request.headers = {{"X-Good", "good"}, {std::move(name), std::move(value)}};
        return request;
    };
    std::vector<std::pair<std::string, HttpClientRequest>> bad = {
        {"bad_header", with_header("X", "a\r\nX-Injected: b")},
        {"bad_header", with_header("X", "a\nb")},
        {"bad_header", with_header("X", "a\rb")},
        {"bad_header", with_header("X", std::string("a\0b", 3))},
        {"bad_header", with_header("X", "a\x7f")},
        {"bad_header", with_header("X\r\nY", "a")},
        {"bad_header", with_header("X: a\r\nY", "a")},
        {"bad_header", with_header("X Y", "a")},
        {"bad_header", with_header("", "a")},
        {"bad_url", {"GET", listener.url("/ HTTP/1.1\r\nX: y")}},
        {"bad_url", {"GET", listener.url("/a\nb")}},
        {"bad_url", {"GET", "http://127.0.0.1\r\n:80/"}},
        {"bad_method", {"GET / HTTP/1.1\r\nX: y\r\n\r\nGET", listener.url()}},
        {"bad_method", {"", listener.url()}},
        {"bad_method", {"CONNECT", listener.url()}},
    };
    for (const char* own : {"Host", "content-length", "Connection", "Transfer-Encoding", "TE", "Trailer",
                            "Upgrade", "Expect", "Keep-Alive", "Proxy-Connection"})
        bad.emplace_back("bad_header", with_header(own, "1"));
    for (auto& [reason, request] : bad) {
        const WatchedExchange refused(*client, std::move(request));
        EXPECT_EQ(refused.fault(), reason);
        EXPECT_EQ(refused.end().error().code, ErrorCode::invalid_arguments);
        EXPECT_FALSE(refused.sent());
    }
    EXPECT_FALSE(listener.somebody_came());
    EXPECT_EQ(client->stats().connections_opened, 0u);
}

TEST(HttpClient, NoHandlerRunsBeforeSendReturns) {
    Loop loop;
    const os::ScratchDir directory;
    const TestListener listener;
    const auto client = must(HttpClient::open(loop, {}));
    HttpClientRequest unix_socket("GET", "http://localhost/");
    unix_socket.unix_path = directory.file("nobody");
    const std::vector<HttpClientRequest> requests = {
        {"GET", "no url"}, {"GET", "http://127.0.0.1:1/"}, unix_socket, {"GET", listener.url()}};
    std::vector<WatchedExchange> exchanges;
    on_thread(loop, [&] {
        for (const HttpClientRequest& request : requests) {
            exchanges.emplace_back(*client, request);
            EXPECT_FALSE(exchanges.back().has_ended());
            exchanges.emplace_back(*client, request)->cancel();
            EXPECT_FALSE(exchanges.back().has_ended());
        }
    });
    on_thread(loop, [&] { exchanges.at(6)->cancel(); });
    for (const WatchedExchange& exchange : exchanges) EXPECT_NE(exchange.fault(), "");
}

TEST(HttpClient, CloseEndsEverythingAndNothingBeginsAfterIt) {
    Loop loop;
    const TestListener listener;
    HttpClientOptions options;
    options.pool.max_per_origin = 1;
    options.lookup = std::make_shared<ScriptedLookup>();
    const auto client = must(HttpClient::open(loop, options));
    const WatchedExchange running(*client, {"GET", listener.url()});
    TestClient peer = listener.accept_request();
    const WatchedExchange waiting(*client, {"GET", listener.url()});
    const WatchedExchange looking(*client, {"GET", "http://never/"});
    client->close();
    for (const WatchedExchange* exchange : {&running, &waiting, &looking})
        EXPECT_EQ(exchange->fault(), "closed");
    EXPECT_TRUE(running.sent());
    EXPECT_FALSE(waiting.sent());
    EXPECT_TRUE(peer.ended());
    const WatchedExchange late(*client, {"GET", listener.url()});
    EXPECT_EQ(late.fault(), "closed");
    EXPECT_EQ(client->stats().connections_now, 0u);
}

TEST(HttpClient, MayBeDestroyedWithEverythingUnderWay) {
    const TestListener listener;
    const auto kept = std::make_shared<int>();
    std::shared_ptr<HttpExchange> exchange;
    {
        Loop loop;
        HttpClientOptions options;
        options.pool.max_per_origin = 2;
        options.lookup = std::make_shared<ScriptedLookup>();
        auto client = must(HttpClient::open(loop, options));
        for (int i = 0; i < 4; ++i) {
            for (const std::string& url :
                 {listener.url(), std::string("http://never/"), std::string("bad")}) {
                HttpHandlers handlers;
                handlers.on_head = [kept](const HttpResponseHead&) {};
                handlers.on_end = [kept](const Result<void>&) {};
                exchange = client->send({"GET", url}, std::move(handlers));
            }
        }
        TestClient peer = listener.accept_request();
        peer.send("HTTP/1.1 200 OK\r\n\r\n");
        client.reset();
        EXPECT_EQ(kept.use_count(), 1);
        EXPECT_TRUE(peer.ended());
        exchange->cancel();
    }
    exchange->pause();
}

TEST(HttpClient, MayOutliveItsLoop) {
    const TestListener listener;
    const auto kept = std::make_shared<int>();
    auto loop = std::make_unique<Loop>();
    auto client = must(HttpClient::open(*loop, {}));
    HttpHandlers handlers;
    handlers.on_end = [kept](const Result<void>&) {};
    const auto exchange = client->send({"GET", listener.url()}, std::move(handlers));
    TestClient peer = listener.accept_request();
    loop.reset();
    exchange->cancel();
    const WatchedExchange dropped(*client, {"GET", listener.url()});
    client.reset();
    EXPECT_EQ(kept.use_count(), 1);
    EXPECT_TRUE(peer.ended());
    EXPECT_FALSE(dropped.has_ended());
}

}  // namespace
}  // namespace callgate::net
