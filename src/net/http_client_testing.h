// For tests of the HTTP client: a peer of raw sockets, an exchange whose steps can be waited for, and names
// whose meaning the test decides.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/mutex.h"
#include "net/http_client.h"
#include "net/net_testing.h"

namespace callgate::net {

/// Who is connected to; what is accepted is a TestClient, which reads requests as well as answers.
class TestListener {
public:
    explicit TestListener(int backlog = 64, const char* address = "127.0.0.1", std::uint16_t port = 0)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const int again = 1;
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_port = htons(port);
        ::inet_pton(AF_INET, address, &here.sin_addr);
        socklen_t size = sizeof here;
        if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&here), size) != 0 ||
            ::listen(socket_.get(), backlog) != 0 ||
            ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&here), &size) != 0)
            throw std::runtime_error("cannot listen");
        port_ = ntohs(here.sin_port);
        const timeval patience{kPatienceSeconds, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }

    std::uint16_t port() const noexcept { return port_; }
    std::string url(std::string_view target = "/", std::string_view host = "127.0.0.1") const {
        return "http://" + std::string(host) + ":" + std::to_string(port_) + std::string(target);
    }
    TestClient accept() const {
        os::Fd peer(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!peer) throw std::runtime_error("nobody came for a minute");
        return TestClient(std::move(peer));
    }
    /// Accepts, and reads the head of a request.
    TestClient accept_request(std::string* head = nullptr) const {
        TestClient peer = accept();
        const std::string read = peer.read_until("\r\n\r\n");
        if (head != nullptr) *head = read;
        return peer;
    }
    bool somebody_came() const {
        pollfd wait{socket_.get(), POLLIN, 0};
        return ::poll(&wait, 1, 0) == 1;
    }
    /// Who comes from here on is not answered, not even by the system.
    void fill() {
        for (int i = 0; i < 8; ++i) {
            const os::Fd& one = filling_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
            sockaddr_in there{};
            socklen_t size = sizeof there;
            ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&there), &size);
            (void)::connect(one.get(), reinterpret_cast<const sockaddr*>(&there), size);
        }
    }

private:
    os::Fd socket_;
    std::vector<os::Fd> filling_;
    std::uint16_t port_ = 0;
};

/// An exchange, and what has come of it.
class WatchedExchange {
public:
    /// `more` runs in on_head and in on_piece, on the client's thread.
    WatchedExchange(HttpClient& client, HttpClientRequest request, std::function<void()> more = {}) {
        HttpHandlers handlers;
        handlers.on_head = [seen = seen_, more](HttpResponseHead head) {
            {
                const base::MutexLock lock(seen->mutex);
                seen->head = std::move(head);
                seen->changed.notify_all();
            }
            if (more) more();
        };
        handlers.on_piece = [seen = seen_, more](std::string_view piece) {
            {
                const base::MutexLock lock(seen->mutex);
                seen->body += piece;
                seen->late = seen->late || seen->end.has_value();
                seen->changed.notify_all();
            }
            if (more) more();
        };
        handlers.on_end = [seen = seen_](Result<void> result) {
            const base::MutexLock lock(seen->mutex);
            seen->late = seen->late || seen->end.has_value();
            seen->end = std::move(result);
            seen->changed.notify_all();
        };
        exchange_ = client.send(std::move(request), std::move(handlers));
    }

    HttpExchange& operator*() const noexcept { return *exchange_; }
    HttpExchange* operator->() const noexcept { return exchange_.get(); }

    HttpResponseHead head() const {
        wait([](const Seen& seen) { return seen.head.has_value() || seen.end.has_value(); });
        const base::MutexLock lock(seen_->mutex);
        if (!seen_->head) throw std::runtime_error(seen_->end->error().message);
        return *seen_->head;
    }
    std::string body_of(std::size_t size) const {
        wait([size](const Seen& seen) { return seen.body.size() >= size || seen.end.has_value(); });
        return body();
    }
    std::string body() const {
        const base::MutexLock lock(seen_->mutex);
        return seen_->body;
    }
    Result<void> end() const {
        wait([](const Seen& seen) { return seen.end.has_value(); });
        const base::MutexLock lock(seen_->mutex);
        if (seen_->late) throw std::runtime_error("something was called after the end");
        return *seen_->end;
    }
    /// The error at its end, as "reason", "phase of timed_out", or "" where it ended well.
    std::string fault() const {
        const auto result = end();
        if (result) return "";
        const auto& details = result.error().details;
        const auto* phase = details.if_contains("phase");
        const auto* problem = details.if_contains("problem");
        if (phase != nullptr) return std::string(phase->get_string());
        return std::string(details.at("reason").get_string()) +
               (problem != nullptr ? ":" + std::string(problem->get_string()) : "");
    }
    bool sent() const { return end().error().details.at("sent").get_bool(); }
    bool has_ended() const {
        const base::MutexLock lock(seen_->mutex);
        return seen_->end.has_value();
    }
    bool has_head() const {
        const base::MutexLock lock(seen_->mutex);
        return seen_->head.has_value();
    }

private:
    struct Seen {
        base::Mutex mutex;
        base::CondVar changed;
        std::optional<HttpResponseHead> head;
        std::string body;
        std::optional<Result<void>> end;
        bool late = false;
    };

    template <class Holds>
    void wait(const Holds& holds) const {
        base::MutexLock lock(seen_->mutex);
        if (!seen_->changed.wait_for(lock, std::chrono::seconds(kPatienceSeconds),
                                     [&] { return holds(*seen_); }))
            throw std::runtime_error("nothing happened for a minute");
    }

    const std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
    std::shared_ptr<HttpExchange> exchange_;
};

/// Names that mean what the test says, in turn; of others nothing is ever heard.
class ScriptedLookup final : public HostLookup {
public:
    void add(const std::string& host, const std::vector<std::string>& addresses) {
        std::vector<IpAddress> parsed;
        for (const std::string& address : addresses) parsed.push_back(IpAddress::parse(address).value());
        const base::MutexLock lock(mutex_);
        answers_[host].push_back(std::move(parsed));
    }
    void look_up(std::string host, Done done) override {
        std::vector<IpAddress> answer;
        {
            const base::MutexLock lock(mutex_);
            auto& answers = answers_[host];
            if (answers.empty()) return waiting_.push_back(std::move(done));
            answer = answers.front();
            if (answers.size() > 1) answers.erase(answers.begin());
        }
        done(std::move(answer));
    }

private:
    base::Mutex mutex_;
    std::map<std::string, std::vector<std::vector<IpAddress>>> answers_ CALLGATE_GUARDED_BY(mutex_);
    std::vector<Done> waiting_ CALLGATE_GUARDED_BY(mutex_);
};

/// Runs on the client's thread, and returns when it has: what was given before has had its turn.
inline void on_thread(Loop& loop, std::function<void()> work) {
    base::Mutex mutex;
    base::CondVar changed;
    bool done = false;
    loop.executor()([&] {
        work();
        const base::MutexLock lock(mutex);
        done = true;
        changed.notify_all();
    });
    base::MutexLock lock(mutex);
    changed.wait(lock, [&] { return done; });
}

}  // namespace callgate::net
