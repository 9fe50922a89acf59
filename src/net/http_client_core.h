// What the requests of one client share: its connections, by origin, who waits for one, and their deadlines.
//
// Handlers are called from here only at the end of an exchange that failed, in a turn of the loop of its own.
//
// Threads: belongs to the client's thread, except run() and the counters.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/set.hpp>

#include "net/http_client.h"
#include "net/http_client_exchange.h"
#include "net/loop.h"
#include "net/tls.h"

namespace callgate::net {

class HttpClientCore : public std::enable_shared_from_this<HttpClientCore> {
public:
    HttpClientCore(std::shared_ptr<LoopThread> thread, HttpClientOptions options,
                   std::shared_ptr<const TlsContext> tls, std::shared_ptr<HostLookup> lookup);

    /// At once where this is the client's thread.
    template <class Work>
    void run(Work work) {
        if (thread_->here()) return work();
        thread_->post(std::move(work));
    }
    /// In a turn of its own.
    template <class Work>
    void later(Work work) {
        thread_->post(std::move(work));
    }
    LoopThread& thread() noexcept { return *thread_; }
    const std::shared_ptr<LoopThread>& thread_pointer() const noexcept { return thread_; }
    const HttpClientOptions& options() const noexcept { return options_; }
    /// Until destroy().
    HostLookup& lookup() const noexcept { return *lookup_; }
    const TlsContext* tls() const noexcept { return tls_.get(); }
    /// To read into, for as long as nothing else is read on this thread.
    std::array<char, 64u << 10>& room() noexcept { return *room_; }

    void start(const std::shared_ptr<HttpClientExchange>& exchange);
    /// Once more, on a new connection.
    void start_again(const std::shared_ptr<HttpClientExchange>& exchange);
    /// It ends here, wherever it is; on_end is called later.
    void end_later(const std::shared_ptr<HttpClientExchange>& exchange, Error error);
    /// time_point::max(): none.
    void set_deadline(HttpTimed& timed, std::chrono::steady_clock::time_point at);

    // What a connection says of itself.
    void is_free(HttpClientConnection& connection, std::chrono::milliseconds at_most);
    void is_closed(const std::shared_ptr<HttpClientConnection>& connection);

    void close();
    /// Handlers are released without a call.
    void destroy();

    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> opened{0};
    std::atomic<std::uint64_t> reused{0};
    std::atomic<std::uint64_t> sent_again{0};
    std::atomic<std::uint64_t> connections{0};
    std::atomic<std::uint64_t> idle{0};
    std::atomic<std::uint64_t> waiting{0};

private:
    struct Origin {
        HttpClientExchange::Waiting waiting;
        std::vector<HttpClientConnection*> idle;  // the one that was used last at the end
        std::size_t connections = 0;
    };
    struct Sooner {
        bool operator()(const HttpTimed& one, const HttpTimed& other) const noexcept {
            return one.at < other.at;
        }
    };
    using Deadlines = boost::intrusive::multiset<HttpTimed, boost::intrusive::compare<Sooner>,
                                                 boost::intrusive::constant_time_size<false>>;

    bool begin(Origin& origin, const std::shared_ptr<HttpClientExchange>& exchange);
    bool can_begin(const Origin& origin) const noexcept;
    void open(Origin& origin, const std::shared_ptr<HttpClientExchange>& exchange);
    std::shared_ptr<HttpClientConnection> take_idle(Origin& origin, std::size_t index);
    void close_oldest_idle();
    void wait(Origin& origin, const std::shared_ptr<HttpClientExchange>& exchange);
    void stop_waiting(HttpClientExchange& exchange);
    void serve_later();
    void serve();
    void call_ends();
    void look_at_deadlines();
    void wake_at(std::chrono::steady_clock::time_point at);

    const std::shared_ptr<LoopThread> thread_;
    const HttpClientOptions options_;
    const std::shared_ptr<const TlsContext> tls_;
    std::shared_ptr<HostLookup> lookup_;
    const std::unique_ptr<std::array<char, 64u << 10>> room_;
    std::unordered_map<std::string, Origin> origins_;
    std::unordered_set<std::shared_ptr<HttpClientConnection>> all_;
    std::vector<std::pair<std::shared_ptr<HttpClientExchange>, Error>> ends_;
    Deadlines deadlines_;
    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>,
                                      boost::asio::io_context::executor_type>
        timer_;
    std::chrono::steady_clock::time_point wakes_at_ = std::chrono::steady_clock::time_point::max();
    std::uint64_t numbers_ = 0;
    bool serves_later_ = false;
    bool closed_ = false;
    bool destroyed_ = false;
};

}  // namespace callgate::net
