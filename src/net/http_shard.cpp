#include "net/http_shard.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "net/http_connection.h"

namespace callgate::net {

using std::chrono::steady_clock;

namespace {

// Of the descriptors that the process may have, a quarter is for everything else, and not fewer than these.
constexpr rlim_t kLeastReserve = 64;

}  // namespace

std::size_t HttpServerState::with_descriptors_left(std::size_t most) {
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0 || descriptors.rlim_cur == RLIM_INFINITY) return most;
    const rlim_t reserve = std::max(kLeastReserve, descriptors.rlim_cur / 4);
    const rlim_t left = descriptors.rlim_cur > reserve ? descriptors.rlim_cur - reserve : 1;
    return static_cast<std::size_t>(std::min<rlim_t>(most, left));
}

void HttpServerState::connection_has_gone() {
    if (connections.fetch_sub(1) != 1) return;
    const base::MutexLock lock(mutex_);
    all_gone_.notify_all();
}

bool HttpServerState::wait_until_all_have_gone(std::chrono::milliseconds at_most) {
    base::MutexLock lock(mutex_);
    return all_gone_.wait_for(lock, at_most, [this] { return connections.load() == 0; });
}

HttpShard::HttpShard(std::shared_ptr<HttpServerState> state, std::shared_ptr<LoopThread> thread)
    : state_(std::move(state)),
      thread_(std::move(thread)),
      room_(std::make_unique<std::array<char, 64u << 10>>()),
      timer_(thread_->context()) {}

void HttpShard::take(os::Fd socket, HttpPeer peer) {
    if (closed_ || draining_) {
        state_->refused_connections.fetch_add(1, std::memory_order_relaxed);
        state_->connection_has_gone();
        return;
    }
    const auto connection =
        std::make_shared<HttpConnection>(shared_from_this(), std::move(socket), std::move(peer));
    connections_.push_back(*connection);
    if (!connection->start()) state_->refused_connections.fetch_add(1, std::memory_order_relaxed);
}

void HttpShard::drain() {
    draining_ = true;
    std::vector<std::shared_ptr<HttpConnection>> all;
    for (HttpConnectionHook& hook : connections_)
        all.push_back(static_cast<HttpConnection&>(hook).shared_from_this());
    for (const auto& connection : all) connection->end_when_idle();
}

void HttpShard::close() {
    closed_ = true;
    while (!connections_.empty()) {
        static_cast<HttpConnection&>(connections_.front()).shared_from_this()->close();
    }
    timer_.cancel();
}

void HttpShard::set_deadline(HttpConnection& connection, HttpDeadline kind) {
    HttpDeadlineHook& hook = connection;
    hook.unlink();
    hook.kind = kind;
    if (kind == HttpDeadline::none || closed_) return;
    hook.at = steady_clock::now() + time_of(kind);
    deadlines_[static_cast<std::size_t>(kind)].push_back(hook);
    if (hook.at < wakes_at_) wake_at(hook.at);
}

std::chrono::milliseconds HttpShard::time_of(HttpDeadline kind) const noexcept {
    switch (kind) {
        case HttpDeadline::tls: return limits().tls_time;
        case HttpDeadline::idle: return limits().idle_time;
        case HttpDeadline::head: return limits().head_time;
        case HttpDeadline::body: return limits().body_time;
        case HttpDeadline::write: return limits().write_time;
        case HttpDeadline::quiet: return limits().quiet_time;
        case HttpDeadline::linger: return std::chrono::seconds(1);
        case HttpDeadline::none: break;
    }
    return {};
}

void HttpShard::look_at_deadlines() {
    wakes_at_ = steady_clock::time_point::max();
    const auto now = steady_clock::now();
    auto next = steady_clock::time_point::max();
    for (Deadlines& list : deadlines_) {
        while (!list.empty() && list.front().at <= now) {
            HttpDeadlineHook& hook = list.front();
            const auto connection = static_cast<HttpConnection&>(hook).shared_from_this();
            // First, so that the list gets shorter whatever the connection makes of it.
            hook.unlink();
            connection->deadline_passed();
        }
        if (!list.empty()) next = std::min(next, list.front().at);
    }
    if (next < wakes_at_) wake_at(next);
}

// A deadline that went away in between wakes for nothing, which costs less than to move the timer each time.
void HttpShard::wake_at(steady_clock::time_point at) {
    wakes_at_ = at;
    timer_.expires_at(at);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        if (!error && !self->closed_) self->look_at_deadlines();
    });
}

}  // namespace callgate::net
