// What the connections of one server on one thread of its loop share: options, the handler, deadlines, room
// to read into, and the list of them all.
//
// Threads: HttpServerState may be used from any thread; HttpShard belongs to its loop thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

#include "base/mutex.h"
#include "net/http_access.h"
#include "net/http_answer.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/tls.h"
#include "os/fd.h"

namespace callgate::net {

class HttpConnection;

/// What a server's shards share.
struct HttpServerState {
    HttpServerState(HttpServerOptions given, HttpServer::Handler take, bool loopback, std::string_view host,
                    std::shared_ptr<const TlsContext> speaks)
        : options(std::move(given)),
          max_connections(with_descriptors_left(options.limits.max_connections)),
          handler(std::move(take)),
          rules(options.access, loopback, host),
          tls(std::move(speaks)) {}

    const HttpServerOptions options;
    const std::size_t max_connections;  ///< of the options, or fewer
    const HttpServer::Handler handler;
    const HttpAccessRules rules;
    const std::shared_ptr<const TlsContext> tls;  ///< null: plain
    /// Bytes as HttpLimits::max_total_bytes counts them; a request may be kept for longer than the server.
    const std::shared_ptr<std::atomic<std::size_t>> held = std::make_shared<std::atomic<std::size_t>>(0);
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> connections{0};
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> refused_connections{0};
    std::atomic<std::uint64_t> refused_requests{0};
    std::atomic<std::uint64_t> slow_readers{0};
    std::atomic<std::uint64_t> accept_pauses{0};

    bool holds_too_much() const noexcept {
        return held->load(std::memory_order_relaxed) > options.limits.max_total_bytes;
    }
    void connection_has_gone();
    /// False: not within this time.
    bool wait_until_all_have_gone(std::chrono::milliseconds at_most);

private:
    static std::size_t with_descriptors_left(std::size_t most);

    base::Mutex mutex_;
    base::CondVar all_gone_;
};

/// Why a connection is closed when nothing happens for long enough; of `quiet`, why it writes. At most one
/// holds at a time.
enum class HttpDeadline : std::uint8_t { none, tls, idle, head, body, write, quiet, linger };
inline constexpr std::size_t kHttpDeadlines = 8;

/// What a connection has of its shard's lists.
struct HttpDeadlineHook
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    std::chrono::steady_clock::time_point at;
    HttpDeadline kind = HttpDeadline::none;
};
struct HttpConnectionHook
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
                                       boost::intrusive::tag<struct HttpConnectionTag>> {};

class HttpShard : public std::enable_shared_from_this<HttpShard> {
public:
    HttpShard(std::shared_ptr<HttpServerState> state, std::shared_ptr<LoopThread> thread);

    HttpServerState& state() noexcept { return *state_; }
    const HttpLimits& limits() const noexcept { return state_->options.limits; }
    const std::shared_ptr<LoopThread>& thread() const noexcept { return thread_; }

    /// Begins to serve a peer.
    void take(os::Fd socket, HttpPeer peer);
    /// From here on connections end as soon as they can.
    void drain();
    bool draining() const noexcept { return draining_; }
    /// Ends them all; takes no more.
    void close();

    /// Instead of the one that held before. All deadlines of one kind are equally far away, so each kind's
    /// are in order as they come.
    void set_deadline(HttpConnection& connection, HttpDeadline kind);

    /// To read into, for as long as nothing else runs on this thread.
    std::array<char, 64u << 10>& room() noexcept { return *room_; }
    std::string_view date() { return date_.line(); }

private:
    using Deadlines = boost::intrusive::list<HttpDeadlineHook, boost::intrusive::constant_time_size<false>>;
    using Connections =
        boost::intrusive::list<HttpConnectionHook, boost::intrusive::base_hook<HttpConnectionHook>,
                               boost::intrusive::constant_time_size<false>>;

    std::chrono::milliseconds time_of(HttpDeadline kind) const noexcept;
    void look_at_deadlines();
    void wake_at(std::chrono::steady_clock::time_point at);

    const std::shared_ptr<HttpServerState> state_;
    const std::shared_ptr<LoopThread> thread_;
    const std::unique_ptr<std::array<char, 64u << 10>> room_;
    HttpDate date_;
    std::array<Deadlines, kHttpDeadlines> deadlines_;
    Connections connections_;
    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>,
                                      boost::asio::io_context::executor_type>
        timer_;
    std::chrono::steady_clock::time_point wakes_at_ = std::chrono::steady_clock::time_point::max();
    bool draining_ = false;
    bool closed_ = false;
};

}  // namespace callgate::net
