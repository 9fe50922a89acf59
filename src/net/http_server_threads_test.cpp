#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/must.h"
#include "base/mutex.h"
#include "net/http_server.h"
#include "net/net_testing.h"

namespace callgate::net {
namespace {

using namespace std::chrono_literals;

// Threads that answer whatever they are given, in any order.
class Answering {
public:
    using Answer = std::function<void(std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply>)>;

    Answering(std::size_t threads, Answer answer) : answer_(std::move(answer)) {
        for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
    }
    ~Answering() {
        {
            const base::MutexLock lock(mutex_);
            ended_ = true;
            changed_.notify_all();
        }
        for (std::thread& thread : threads_) thread.join();
    }
    HttpServer::Handler handler() {
        return [this](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
            const base::MutexLock lock(mutex_);
            waiting_.emplace_back(std::move(request), std::move(reply));
            changed_.notify_one();
        };
    }

private:
    void run() {
        for (;;) {
            base::MutexLock lock(mutex_);
            changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            auto [request, reply] = std::move(waiting_.back());
            waiting_.pop_back();
            lock.unlock();
            answer_(std::move(request), std::move(reply));
        }
    }

    const Answer answer_;
    base::Mutex mutex_;
    base::CondVar changed_;
    std::vector<std::pair<std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply>>> waiting_;
    bool ended_ = false;
    std::vector<std::thread> threads_;
};

// Each way in which a reply can be used, chosen by the body.
void answer_somehow(std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
    const std::string body = request->take_body();
    const int number = std::stoi(body);
    // Who holds a reply in its own function does not release it.
    if (number % 4 != 3) reply->on_gone([reply] { reply->write("to nobody"); });
    switch (number % 4) {
        case 0: return reply->send({200, {}, body});
        case 1:
            reply->begin(200, {});
            for (const char c : body) reply->write({c});
            return reply->end();
        case 2:
            reply->executor()([reply, body] {
                reply->begin(200, {});
                reply->write(body);
                reply->executor()([reply] { reply->end(); });
            });
            return;
        default: return;  // released
    }
}

TEST(HttpServerThreads, RepliesMayComeFromAnyThread) {
    constexpr int kClients = 8;
    constexpr int kRequests = 200;
    Answering answering(4, answer_somehow);
    Loop loop(2);
    const auto server = must(HttpServer::open(loop, {}, answering.handler()));
    std::vector<std::thread> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.emplace_back([&server, i] {
            TestClient client(server->port());
            for (int j = 0; j < kRequests; ++j) {
                const int number = i * kRequests + j;
                // Two ahead of the answers.
                if (j == 0) client.send(post(std::to_string(number)));
                if (j + 1 < kRequests) client.send(post(std::to_string(number + 1)));
                const TestAnswer answer = client.read_answer();
                EXPECT_EQ(answer.status, number % 4 == 3 ? 500 : 200);
                if (number % 4 != 3) {
                    EXPECT_EQ(answer.body, std::to_string(number));
                }
            }
        });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(server->stats().requests, static_cast<std::uint64_t>(kClients * kRequests));
    EXPECT_EQ(server->drain(60s), 0u);
}

TEST(HttpServerThreads, PiecesOfSeveralThreadsComeWhole) {
    std::promise<std::shared_ptr<HttpReply>> came;
    Loop loop;
    const auto server = must(HttpServer::open(
        loop, {},
        [&came](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) { came.set_value(reply); }));
    TestClient client(server->port());
    client.send(get());
    const auto reply = came.get_future().get();
    reply->begin(200, {});
    std::vector<std::thread> writers;
    for (int i = 0; i < 4; ++i) {
        writers.emplace_back([&reply, i] {
            for (int j = 0; j < 500; ++j) reply->write(std::to_string(i) + ":" + std::to_string(j));
        });
    }
    EXPECT_EQ(client.read_head().status, 200);
    std::vector<int> next(4, 0);
    for (int i = 0; i < 2'000; ++i) {
        const std::string piece = client.read_chunk().value_or("none");
        const auto writer = static_cast<std::size_t>(std::stoi(piece));
        EXPECT_EQ(piece.substr(2), std::to_string(next.at(writer)++));
    }
    for (std::thread& writer : writers) writer.join();
    reply->end();
    EXPECT_EQ(client.read_chunk(), std::nullopt);
}

// Clients that ask for as long as they are answered, and do not care how that ends.
class Load {
public:
    Load(std::uint16_t port, int clients) {
        for (int i = 0; i < clients; ++i) {
            threads_.emplace_back([this, port, i] {
                try {
                    TestClient client(port);
                    for (int j = i; client.ask(post(std::to_string(j))).status != 0; ++j) ++answered_;
                } catch (const std::exception&) {
                    // Cut in the middle of a stream.
                }
            });
        }
        while (answered_ < 100) std::this_thread::yield();
    }
    ~Load() {
        for (std::thread& thread : threads_) thread.join();
    }

private:
    std::atomic<int> answered_{0};
    std::vector<std::thread> threads_;
};

TEST(HttpServerThreads, DrainsUnderLoad) {
    Answering answering(2, answer_somehow);
    Loop loop(2);
    const auto server = must(HttpServer::open(loop, {}, answering.handler()));
    const Load load(server->port(), 8);
    EXPECT_EQ(server->drain(60s), 0u);
    EXPECT_EQ(server->stats().connections_now, 0u);
}

TEST(HttpServerThreads, GoesUnderLoad) {
    for (int i = 0; i < 5; ++i) {
        std::atomic<bool> gone{false};
        Answering answering(2, answer_somehow);
        Loop loop(2);
        auto server =
            must(HttpServer::open(loop, {}, [&gone, handle = answering.handler()](auto request, auto reply) {
                EXPECT_FALSE(gone) << "a handler ran after the server had gone";
                handle(std::move(request), std::move(reply));
            }));
        const Load load(server->port(), 8);
        server.reset();
        gone = true;
    }
}

TEST(HttpServerThreads, TheLoopGoesUnderLoad) {
    for (int i = 0; i < 5; ++i) {
        Answering answering(2, answer_somehow);
        auto loop = std::make_unique<Loop>(2);
        const auto server = must(HttpServer::open(*loop, {}, answering.handler()));
        const Load load(server->port(), 8);
        loop.reset();
    }
}

TEST(HttpServerThreads, EveryPeerThatGoesIsNotifiedOnce) {
    constexpr std::size_t kPeers = 200;
    std::atomic<std::size_t> came{0};
    std::atomic<std::size_t> gone{0};
    std::vector<std::shared_ptr<HttpReply>> replies;
    base::Mutex mutex;
    Loop loop(2);
    const auto server =
        must(HttpServer::open(loop, {}, [&](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) {
            const base::MutexLock lock(mutex);
            replies.push_back(std::move(reply));
            ++came;
        }));
    std::vector<TestClient> clients;
    for (std::size_t i = 0; i < kPeers; ++i) {
        clients.emplace_back(server->port());
        clients.back().send(get());
    }
    while (came < kPeers) std::this_thread::yield();
    std::thread goes([&clients] { clients.clear(); });
    for (const auto& reply : replies) {
        reply->on_gone([&gone] { ++gone; });
        reply->begin(200, {});
        reply->write("piece");
    }
    goes.join();
    while (gone < kPeers) std::this_thread::yield();
    EXPECT_EQ(server->drain(60s), 0u);
    EXPECT_EQ(gone, kPeers);
}

}  // namespace
}  // namespace callgate::net
