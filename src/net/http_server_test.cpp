#include "net/http_server.h"

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/must.h"
#include "base/mutex.h"
#include "net/net_testing.h"

namespace callgate::net {
namespace {

using namespace std::chrono_literals;

// Answers with what it was asked.
void echo(std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
    std::string text = std::string(request->method()) + " " + std::string(request->target()) + "\n";
    reply->send({200, {{"Content-Type", "text/plain"}}, text + request->take_body()});
}

// A server whose requests are answered by the test, one after the other.
class Asked {
public:
    struct Exchange {
        std::unique_ptr<HttpRequest> request;
        std::shared_ptr<HttpReply> reply;
    };

    explicit Asked(HttpServerOptions options = {})
        : server_(must(HttpServer::open(
              loop_, std::move(options),
              [this](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
                  const base::MutexLock lock(mutex_);
                  came_.push_back({std::move(request), std::move(reply)});
                  changed_.notify_all();
              }))) {}

    Exchange next() {
        base::MutexLock lock(mutex_);
        changed_.wait(lock, [this] { return !came_.empty(); });
        Exchange first = std::move(came_.front());
        came_.erase(came_.begin());
        return first;
    }
    bool nothing_came() {
        const base::MutexLock lock(mutex_);
        return came_.empty();
    }
    HttpServer& server() { return *server_; }
    std::uint16_t port() { return server_->port(); }
    /// Everything that the loop has been given until now is done.
    void settle() {
        std::promise<void> done;
        loop_.executor()([&done] { done.set_value(); });
        done.get_future().wait();
    }

private:
    base::Mutex mutex_;
    base::CondVar changed_;
    std::vector<Exchange> came_;
    Loop loop_;
    std::unique_ptr<HttpServer> server_;
};

std::future<void> when_gone(HttpReply& reply) {
    auto gone = std::make_shared<std::promise<void>>();
    reply.on_gone([gone] { gone->set_value(); });
    return gone->get_future();
}

TEST(HttpServer, AnswersRequestsOfAConnectionThatIsKept) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, echo));
    TestClient client(server->port());
    const TestAnswer first = client.ask(get("/a?b=c"));
    EXPECT_EQ(first.status, 200);
    EXPECT_EQ(first.body, "GET /a?b=c\n");
    EXPECT_EQ(first.header("Content-Type"), "text/plain");
    EXPECT_NE(first.header("Date"), "");
    EXPECT_EQ(first.header("Connection"), "");
    const TestAnswer second = client.ask(post("hello"));
    EXPECT_EQ(second.body, "POST /\nhello");
    const HttpStats stats = server->stats();
    EXPECT_EQ(stats.accepted, 1u);
    EXPECT_EQ(stats.connections_now, 1u);
    EXPECT_EQ(stats.requests, 2u);
}

TEST(HttpServer, AnAnswerLeavesInOneWriteWhateverItsSize) {
    Loop loop;
    const auto server = must(HttpServer::open(
        loop, {}, [](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
            reply->send({200, {}, std::string(request->target() == "/large" ? 20'000 : 10, 'x')});
        }));
    TestClient client(server->port());
    EXPECT_EQ(client.ask(get("/small")).body.size(), 10u);
    EXPECT_EQ(client.segments(), 1u);
    EXPECT_EQ(client.ask(get("/large")).body.size(), 20'000u);
    EXPECT_EQ(client.segments(), 2u);
}

TEST(HttpServer, ARequestSaysWhatCame) {
    Asked asked;
    TestClient client(asked.port());
    client.send(
        "PUT /a/b?c=d&e#f HTTP/1.1\r\nhOST: localhost:80\r\nX-One:  a b \t\r\nx-one: c\r\nX-Empty:\r\n"
        "Content-Length: 3\r\n\r\nabc");
    const auto [request, reply] = asked.next();
    EXPECT_EQ(request->method(), "PUT");
    EXPECT_EQ(request->target(), "/a/b?c=d&e");
    EXPECT_EQ(request->path(), "/a/b");
    EXPECT_EQ(request->query(), "c=d&e");
    EXPECT_EQ(request->header("X-ONE"), "a b, c");
    EXPECT_EQ(request->header("x-empty"), "");
    EXPECT_EQ(request->header("x-none"), std::nullopt);
    const auto once = request->header_view("host");
    const auto twice = request->header_view("x-oNe");
    EXPECT_EQ(once, "localhost:80");
    EXPECT_EQ(twice, "a b, c");
    // Nothing is copied or made again.
    EXPECT_EQ(request->header_view("Host")->data(), once->data());
    EXPECT_EQ(request->header_view("X-One")->data(), twice->data());
    EXPECT_EQ(request->header_view("x-none"), std::nullopt);
    EXPECT_EQ(request->take_body(), "abc");
    EXPECT_TRUE(request->peer().loopback);
    EXPECT_FALSE(request->peer().secure);
    EXPECT_TRUE(request->peer().address.starts_with("127.0.0.1:")) << request->peer().address;
    std::size_t headers = 0;
    request->for_each_header([&headers](std::string_view, std::string_view) { ++headers; });
    EXPECT_EQ(headers, 5u);
    reply->send({204, {}, ""});
    const TestAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 204);
    EXPECT_EQ(answer.header("Content-Length"), "");
}

TEST(HttpServer, BodiesMayComeInChunks) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, echo));
    TestClient client(server->port());
    const std::string request =
        "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n\r\n"
        "5\r\nhello\r\n00C;a=\"b\"\r\n, all of you\r\n0\r\nX-Trailer: dropped\r\n\r\n";
    EXPECT_EQ(client.ask(request).body, "POST /\nhello, all of you");
    for (const char c : request) client.send({&c, 1});
    EXPECT_EQ(client.read_answer().body, "POST /\nhello, all of you");
}

TEST(HttpServer, RequestsSentAheadAreAnsweredInTurn) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, echo));
    TestClient client(server->port());
    std::string all;
    for (int i = 0; i < 500; ++i) all += get("/" + std::to_string(i)) + post(std::to_string(i));
    std::thread sends([&] { client.send(all); });
    for (int i = 0; i < 500; ++i) {
        EXPECT_EQ(client.read_answer().body, "GET /" + std::to_string(i) + "\n");
        EXPECT_EQ(client.read_answer().body, "POST /\n" + std::to_string(i));
    }
    sends.join();
}

TEST(HttpServer, HeadersThatWouldBreakTheAnswerAreLeftOut) {
    Loop loop;
    const auto server =
        must(HttpServer::open(loop, {}, [](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) {
            reply->send({200,
                         {{"X-Good", "yes"},
                          {"X-Bad", "a\r\nX-Injected: b"},
                          {"X Bad", "c"},
                          {"content-length", "99"},
                          {"Transfer-Encoding", "chunked"}},
                         "body"});
        }));
    TestClient client(server->port());
    const TestAnswer answer = client.ask(get());
    EXPECT_EQ(answer.body, "body");
    EXPECT_EQ(answer.header("X-Good"), "yes");
    EXPECT_EQ(answer.head.find("Bad"), std::string::npos);
    EXPECT_EQ(answer.head.find("Injected"), std::string::npos);
    EXPECT_EQ(answer.head.find("99"), std::string::npos);
}

TEST(HttpServer, HeadGetsTheHeadAlone) {
    Loop loop;
    const auto server = must(HttpServer::open(
        loop, {}, [](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
            if (request->path() == "/stream") {
                reply->begin(200, {});
                reply->write("unseen");
                return reply->end();
            }
            reply->send({200, {}, "unseen"});
        }));
    TestClient client(server->port());
    client.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(client.read_answer(true).header("Content-Length"), "6");
    EXPECT_EQ(client.read_answer(true).header("Transfer-Encoding"), "chunked");
    EXPECT_EQ(client.ask(get()).body, "unseen");
}

TEST(HttpServer, ClosesWhenItIsAskedToAndSaysSo) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, echo));
    TestClient client(server->port());
    const TestAnswer answer = client.ask(get("/", "Connection: x, Close\r\n"));
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(client.ended());
}

TEST(HttpServer, OldClientsAreKeptOnlyIfTheyAskForIt) {
    Loop loop;
    const auto server = must(HttpServer::open(
        loop, {}, [](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
            if (request->path() == "/stream") {
                reply->begin(200, {});
                reply->write("no ");
                reply->write("chunks");
                return reply->end();
            }
            echo(std::move(request), std::move(reply));
        }));
    TestClient once(server->port());
    EXPECT_EQ(once.ask("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").header("Connection"), "close");
    EXPECT_TRUE(once.ended());
    TestClient kept(server->port());
    const std::string keep = "Host: localhost\r\nConnection: keep-alive\r\n\r\n";
    EXPECT_EQ(kept.ask("GET / HTTP/1.0\r\n" + keep).header("Connection"), "keep-alive");
    const TestAnswer stream = kept.ask("GET /stream HTTP/1.0\r\n" + keep);
    EXPECT_EQ(stream.header("Transfer-Encoding"), "");
    EXPECT_EQ(stream.header("Connection"), "close");
    EXPECT_EQ(stream.body, "no chunks");
}

TEST(HttpServer, WhoeverAsksBeforeSendingABodyIsToldToGoOn) {
    Loop loop;
    HttpServerOptions options;
    options.limits.max_body_bytes = 100;
    const auto server = must(HttpServer::open(loop, options, echo));
    TestClient client(server->port());
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-Continue\r\n\r\n");
    EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(client.ask("body").body, "POST /\nbody");
    // What is not taken need not be sent.
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(client.read_answer().status, 413);
}

TEST(HttpServer, AnEmptyLineBeforeARequestIsForgiven) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, echo));
    TestClient client(server->port());
    EXPECT_EQ(client.ask("\r\n" + get("/1")).status, 200);
    EXPECT_EQ(client.ask("\r\n" + get("/2")).status, 200);
}

TEST(HttpServer, WhoHasSaidEverythingStillReadsItsAnswer) {
    Loop loop;
    const auto server = must(HttpServer::open(loop, {}, echo));
    TestClient client(server->port());
    client.send(get("/1") + get("/2"));
    client.end_sending();
    EXPECT_EQ(client.read_answer().body, "GET /1\n");
    EXPECT_EQ(client.read_answer().body, "GET /2\n");
    EXPECT_TRUE(client.ended());
}

TEST(HttpServer, AHandlerThatThrowsEndsTheConnectionWithA500) {
    Loop loop;
    const auto server =
        must(HttpServer::open(loop, {}, [](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply>) {
            throw std::runtime_error("handler");
        }));
    TestClient client(server->port());
    EXPECT_EQ(client.ask(get()).status, 500);
    EXPECT_TRUE(client.ended());
    TestClient other(server->port());
    EXPECT_EQ(other.ask(get()).status, 500);
}

TEST(HttpServer, AReplyReleasedWithoutAnAnswerIsA500) {
    Asked asked;
    TestClient client(asked.port());
    client.send(get("/1"));
    asked.next().reply.reset();
    EXPECT_EQ(client.read_answer().status, 500);
    client.send(get("/2"));
    asked.next().reply->send({200, {}, "still there"});
    EXPECT_EQ(client.read_answer().body, "still there");
}

TEST(HttpServer, OnlyTheFirstAnswerCounts) {
    Asked asked;
    TestClient client(asked.port());
    client.send(get("/1") + get("/2"));
    const auto first = asked.next();
    first.reply->write("before its beginning");
    first.reply->send({200, {}, "one"});
    first.reply->send({200, {}, "another"});
    first.reply->begin(200, {});
    first.reply->write("piece");
    first.reply->end();
    EXPECT_EQ(client.read_answer().body, "one");
    const auto second = asked.next();
    first.reply->send({200, {}, "too late"});
    first.reply->abandon();
    second.reply->send({200, {}, "two"});
    EXPECT_EQ(client.read_answer().body, "two");
}

TEST(HttpServer, AStreamComesPieceByPiece) {
    Asked asked;
    TestClient client(asked.port());
    client.send(get());
    const auto [request, reply] = asked.next();
    reply->begin(200, {{"Content-Type", "text/event-stream"}});
    EXPECT_EQ(client.read_head().header("Transfer-Encoding"), "chunked");
    for (const std::string piece : {"a", "bc", "def"}) {
        reply->write(piece);
        EXPECT_EQ(client.read_chunk(), piece);
    }
    reply->write("");
    reply->write("last");
    reply->end();
    EXPECT_EQ(client.read_chunk(), "last");
    EXPECT_EQ(client.read_chunk(), std::nullopt);
    client.send(get());
    asked.next().reply->send({200, {}, "kept"});
    EXPECT_EQ(client.read_answer().body, "kept");
}

TEST(HttpServer, PiecesOfOneTurnOfTheLoopLeaveInOneWrite) {
    Asked asked;
    TestClient client(asked.port());
    client.send(get());
    const auto reply = asked.next().reply;
    reply->executor()([reply] {
        reply->begin(200, {});
        for (int i = 0; i < 100; ++i) reply->write("piece " + std::to_string(i));
    });
    client.read_head();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(client.read_chunk(), "piece " + std::to_string(i));
    EXPECT_EQ(client.segments(), 1u);
    reply->executor()([reply] {
        reply->write("more");
        reply->end();
    });
    EXPECT_EQ(client.read_chunk(), "more");
    EXPECT_EQ(client.read_chunk(), std::nullopt);
    EXPECT_EQ(client.segments(), 2u);
}

TEST(HttpServer, AStreamThatIsReleasedOrAbandonedIsSeenToBeCut) {
    Asked asked;
    TestClient released(asked.port());
    released.send(get());
    auto first = asked.next();
    first.reply->begin(200, {});
    first.reply->write("piece");
    first.reply.reset();
    EXPECT_EQ(released.read_head().status, 200);
    EXPECT_EQ(released.read_to_end(), "5\r\npiece\r\n");

    TestClient abandoned(asked.port());
    abandoned.send(get());
    auto second = asked.next();
    second.reply->begin(200, {});
    second.reply->abandon();
    second.reply->write("dropped");
    EXPECT_EQ(abandoned.read_head().status, 200);
    EXPECT_EQ(abandoned.read_to_end(), "");
}

TEST(HttpServer, APeerThatGoesIsNoticedWhileItsAnswerIsPending) {
    Asked asked;
    TestClient client(asked.port());
    client.send(get());
    const auto [request, reply] = asked.next();
    auto gone = when_gone(*reply);
    client.close();
    gone.get();
    reply->send({200, {}, "dropped"});
    asked.settle();
    EXPECT_EQ(asked.server().stats().connections_now, 0u);
}

TEST(HttpServer, APeerThatResetsOrGoesDuringAStreamIsNoticed) {
    Asked asked;
    for (const bool reset : {false, true}) {
        TestClient client(asked.port());
        client.send(get());
        const auto [request, reply] = asked.next();
        auto gone = when_gone(*reply);
        reply->begin(200, {});
        reply->write("piece");
        EXPECT_EQ(client.read_head().status, 200);
        if (reset) {
            client.reset();
        } else {
            client.close();
        }
        gone.get();
        reply->write("dropped");
        reply->end();
        asked.settle();
        EXPECT_EQ(asked.server().stats().connections_now, 0u);
    }
}

TEST(HttpServer, WhoLearnsOfAPeerTooLateLearnsAtOnce) {
    Asked asked;
    TestClient client(asked.port());
    client.send(get());
    const auto [request, reply] = asked.next();
    auto first = when_gone(*reply);
    client.close();
    first.get();
    when_gone(*reply).get();
}

TEST(HttpServer, NobodyIsNotifiedOfAPeerThatGoesWithItsAnswer) {
    Asked asked;
    std::atomic<int> notified{0};
    TestClient client(asked.port());
    client.send(get());
    const auto [request, reply] = asked.next();
    reply->on_gone([&notified] { ++notified; });
    reply->send({200, {}, "answer"});
    EXPECT_EQ(client.read_answer().body, "answer");
    reply->on_gone([&notified] { ++notified; });
    client.close();
    while (asked.server().stats().connections_now > 0) std::this_thread::yield();
    reply->on_gone([&notified] { ++notified; });
    asked.settle();
    EXPECT_EQ(notified, 0);
}

TEST(HttpServer, NothingOfWhatIsSentAheadIsLostWhileAnAnswerIsPending) {
    Asked asked;
    TestClient client(asked.port());
    client.send(get("/1"));
    const auto first = asked.next();
    // More than is read ahead, so that reading pauses.
    const std::string body(300'000, 'b');
    std::thread sends([&] { client.send(post(body) + get("/3")); });
    asked.settle();
    EXPECT_TRUE(asked.nothing_came());
    first.reply->begin(200, {});
    first.reply->write("stream");
    first.reply->end();
    EXPECT_EQ(client.read_answer().body, "stream");
    const auto second = asked.next();
    EXPECT_EQ(second.request->take_body(), body);
    second.reply->send({200, {}, "2"});
    asked.next().reply->send({200, {}, "3"});
    EXPECT_EQ(client.read_answer().body, "2");
    EXPECT_EQ(client.read_answer().body, "3");
    sends.join();
}

TEST(HttpServer, ListensWhereItIsToldAndSaysWhere) {
    Loop loop;
    HttpServerOptions options;
    const auto server = must(HttpServer::open(loop, options, echo));
    EXPECT_EQ(server->url(), "http://127.0.0.1:" + std::to_string(server->port()));
    options.port = server->port();
    const auto twice = HttpServer::open(loop, options, echo);
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code, ErrorCode::config_error);
    EXPECT_EQ(twice.error().details.at("reason"), "address_in_use");
    options.port = 0;
    options.address = "localhost";
    EXPECT_EQ(HttpServer::open(loop, options, echo).error().details.at("reason"), "bad_address");
    options.address = "192.0.2.1";
    EXPECT_EQ(HttpServer::open(loop, options, echo).error().details.at("reason"), "bad_address");
}

TEST(HttpServer, WhatIsPendingIsNotifiedWhenTheServerGoes) {
    Loop loop;
    std::promise<std::shared_ptr<HttpReply>> came;
    auto server = must(
        HttpServer::open(loop, {}, [&came](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) {
            came.set_value(std::move(reply));
        }));
    TestClient client(server->port());
    client.send(get());
    const auto reply = came.get_future().get();
    auto gone = when_gone(*reply);
    server.reset();
    EXPECT_EQ(gone.wait_for(0s), std::future_status::ready);
    EXPECT_TRUE(client.ended());
    reply->send({200, {}, "dropped"});
}

TEST(HttpServer, TheLoopMayGoBeforeTheServerAndRepliesAfterBoth) {
    auto loop = std::make_unique<Loop>(2);
    std::promise<std::shared_ptr<HttpReply>> came;
    auto server = must(
        HttpServer::open(*loop, {}, [&came](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) {
            came.set_value(std::move(reply));
        }));
    TestClient client(server->port());
    TestClient idle(server->port());
    client.send(get());
    auto reply = came.get_future().get();
    reply->begin(200, {});
    EXPECT_EQ(client.read_head().status, 200);
    loop.reset();
    EXPECT_TRUE(client.ended());
    EXPECT_TRUE(idle.ended());
    reply->write("dropped");
    reply->on_gone([] { FAIL() << "there is no thread for it"; });
    EXPECT_EQ(server->drain(0ms), server->stats().connections_now);
    server.reset();
    reply->executor()([] { FAIL(); });
    reply.reset();
}

TEST(HttpServer, DrainsByClosingWhatIsIdleAndWaitingForTheRest) {
    Asked asked;
    TestClient idle(asked.port());
    TestClient busy(asked.port());
    busy.send(get());
    const auto [request, reply] = asked.next();
    EXPECT_EQ(asked.server().drain(0ms), 1u);
    EXPECT_TRUE(idle.ended());
    EXPECT_THROW(TestClient(asked.port()), std::runtime_error);
    auto drained = std::async(std::launch::async, [&asked] { return asked.server().drain(60s); });
    reply->send({200, {}, "last"});
    const TestAnswer answer = busy.read_answer();
    EXPECT_EQ(answer.body, "last");
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(busy.ended());
    busy.close();
    EXPECT_EQ(drained.get(), 0u);
}

}  // namespace
}  // namespace callgate::net
