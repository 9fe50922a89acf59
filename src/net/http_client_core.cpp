#include "net/http_client_core.h"

#include <algorithm>

#include "net/http_client_connection.h"

namespace callgate::net {

using std::chrono::steady_clock;

HttpClientCore::HttpClientCore(std::shared_ptr<LoopThread> thread, HttpClientOptions options,
                               std::shared_ptr<const TlsContext> tls, std::shared_ptr<HostLookup> lookup)
    : thread_(std::move(thread)),
      options_(std::move(options)),
      tls_(std::move(tls)),
      lookup_(std::move(lookup)),
      room_(std::make_unique<std::array<char, 64u << 10>>()),
      timer_(thread_->context()) {}

// ---- requests

void HttpClientCore::start(const std::shared_ptr<HttpClientExchange>& exchange) {
    requests.fetch_add(1, std::memory_order_relaxed);
    if (!exchange->judged()) return end_later(exchange, exchange->judged().error());
    if (closed_) {
        end_later(exchange, exchange->failure(ErrorCode::cancelled, "closed", "the client is closed"));
        return;
    }
    exchange->number = ++numbers_;
    Origin& origin = origins_[exchange->origin()];
    // Nobody passes who waits already.
    if (!origin.waiting.empty() || !begin(origin, exchange)) wait(origin, exchange);
}

void HttpClientCore::start_again(const std::shared_ptr<HttpClientExchange>& exchange) {
    sent_again.fetch_add(1, std::memory_order_relaxed);
    exchange->send_again();
    open(origins_[exchange->origin()], exchange);
}

bool HttpClientCore::begin(Origin& origin, const std::shared_ptr<HttpClientExchange>& exchange) {
    while (!origin.idle.empty()) {
        const auto connection = take_idle(origin, origin.idle.size() - 1);
        if (connection->is_usable()) {
            reused.fetch_add(1, std::memory_order_relaxed);
            exchange->watch_time({});
            connection->begin(exchange);
            return true;
        }
        connection->close();
    }
    if (!can_begin(origin)) return false;
    if (connections.load() >= options_.pool.max_connections) close_oldest_idle();
    exchange->watch_time({});
    open(origin, exchange);
    return true;
}

bool HttpClientCore::can_begin(const Origin& origin) const noexcept {
    return !origin.idle.empty() || (origin.connections < options_.pool.max_per_origin &&
                                    (connections.load() < options_.pool.max_connections || idle.load() > 0));
}

void HttpClientCore::open(Origin& origin, const std::shared_ptr<HttpClientExchange>& exchange) {
    opened.fetch_add(1, std::memory_order_relaxed);
    connections.fetch_add(1, std::memory_order_relaxed);
    ++origin.connections;
    const auto connection = std::make_shared<HttpClientConnection>(shared_from_this(), exchange->origin());
    all_.insert(connection);
    connection->open(exchange);
}

void HttpClientCore::wait(Origin& origin, const std::shared_ptr<HttpClientExchange>& exchange) {
    if (waiting.load() >= options_.pool.max_waiting) {
        end_later(exchange, exchange->failure(ErrorCode::unavailable, "too_many_waiting",
                                              "too many requests wait for a connection"));
        return;
    }
    exchange->place = origin.waiting.insert(origin.waiting.end(), exchange);
    exchange->waits = true;
    waiting.fetch_add(1, std::memory_order_relaxed);
    exchange->watch_time(exchange->limits().wait_time);
}

void HttpClientCore::stop_waiting(HttpClientExchange& exchange) {
    if (!std::exchange(exchange.waits, false)) return;
    origins_[exchange.origin()].waiting.erase(exchange.place);
    waiting.fetch_sub(1, std::memory_order_relaxed);
}

void HttpClientCore::end_later(const std::shared_ptr<HttpClientExchange>& exchange, Error error) {
    if (exchange->ended()) return;
    exchange->has_ended();
    stop_waiting(*exchange);
    if (exchange->connection != nullptr) exchange->connection->drop();
    if (destroyed_) return exchange->drop_handlers();
    ends_.emplace_back(exchange, std::move(error));
    if (ends_.size() == 1) later([self = shared_from_this()] { self->call_ends(); });
}

void HttpClientCore::call_ends() {
    auto ends = std::exchange(ends_, {});
    for (auto& [exchange, error] : ends) exchange->end(tl::unexpected(std::move(error)));
}

// ---- connections

std::shared_ptr<HttpClientConnection> HttpClientCore::take_idle(Origin& origin, std::size_t index) {
    auto connection = origin.idle.at(index)->shared_from_this();
    origin.idle.erase(origin.idle.begin() + static_cast<std::ptrdiff_t>(index));
    idle.fetch_sub(1, std::memory_order_relaxed);
    return connection;
}

void HttpClientCore::is_free(HttpClientConnection& connection, std::chrono::milliseconds at_most) {
    Origin& origin = origins_[connection.origin()];
    origin.idle.push_back(&connection);
    idle.fetch_add(1, std::memory_order_relaxed);
    const auto time = std::min(options_.pool.idle_time, at_most);
    set_deadline(connection, steady_clock::now() + time);
    if (closed_ || time.count() <= 0) return connection.close();
    // Who waits has it before it could be one too many.
    if (waiting.load() > 0) return serve();
    if (origin.idle.size() > options_.pool.max_idle_per_origin) origin.idle.front()->close();
}

void HttpClientCore::is_closed(const std::shared_ptr<HttpClientConnection>& connection) {
    Origin& origin = origins_[connection->origin()];
    const auto found = std::ranges::find(origin.idle, connection.get());
    if (found != origin.idle.end()) take_idle(origin, static_cast<std::size_t>(found - origin.idle.begin()));
    --origin.connections;
    connections.fetch_sub(1, std::memory_order_relaxed);
    all_.erase(connection);
    serve_later();
}

void HttpClientCore::close_oldest_idle() {
    HttpClientConnection* oldest = nullptr;
    for (auto& [key, origin] : origins_) {
        if (origin.idle.empty()) continue;
        HttpClientConnection* first = origin.idle.front();
        if (oldest == nullptr || first->at < oldest->at) oldest = first;
    }
    if (oldest != nullptr) oldest->close();
}

void HttpClientCore::serve_later() {
    if (std::exchange(serves_later_, true)) return;
    later([self = shared_from_this()] {
        self->serves_later_ = false;
        self->serve();
    });
}

// Who came first of those for whom there is a connection, whatever their origins.
void HttpClientCore::serve() {
    while (waiting.load() > 0) {
        Origin* first = nullptr;
        for (auto& [key, origin] : origins_) {
            if (origin.waiting.empty() || !can_begin(origin)) continue;
            if (first == nullptr || origin.waiting.front()->number < first->waiting.front()->number)
                first = &origin;
        }
        if (first == nullptr) break;
        const auto exchange = first->waiting.front();
        stop_waiting(*exchange);
        if (!begin(*first, exchange)) wait(*first, exchange);
    }
    std::erase_if(origins_, [](const auto& entry) {
        return entry.second.connections == 0 && entry.second.waiting.empty();
    });
}

void HttpClientCore::close() {
    closed_ = true;
    std::vector<std::shared_ptr<HttpClientExchange>> exchanges;
    for (const auto& [key, origin] : origins_)
        exchanges.insert(exchanges.end(), origin.waiting.begin(), origin.waiting.end());
    const std::vector<std::shared_ptr<HttpClientConnection>> all(all_.begin(), all_.end());
    for (const auto& connection : all) {
        if (auto exchange = connection->exchange()) {
            exchanges.push_back(std::move(exchange));
        } else {
            connection->close();
        }
    }
    for (const auto& exchange : exchanges)
        end_later(exchange, exchange->failure(ErrorCode::cancelled, "closed", "the client is closed"));
}

void HttpClientCore::destroy() {
    destroyed_ = true;
    close();
    lookup_.reset();
    timer_.cancel();
    const auto ends = std::exchange(ends_, {});
    for (const auto& [exchange, error] : ends) exchange->drop_handlers();
}

// ---- deadlines

void HttpClientCore::set_deadline(HttpTimed& timed, steady_clock::time_point at) {
    timed.unlink();
    timed.at = at;
    if (at == steady_clock::time_point::max()) return;
    deadlines_.insert(timed);
    if (at < wakes_at_) wake_at(at);
}

void HttpClientCore::look_at_deadlines() {
    wakes_at_ = steady_clock::time_point::max();
    const auto now = steady_clock::now();
    while (!deadlines_.empty() && deadlines_.begin()->at <= now) {
        HttpTimed& first = *deadlines_.begin();
        // First, so that there are fewer whatever comes of it.
        first.unlink();
        first.deadline_passed();
    }
    if (!deadlines_.empty() && deadlines_.begin()->at < wakes_at_) wake_at(deadlines_.begin()->at);
}

// A deadline that went away in between wakes for nothing, which costs less than to move the timer each time.
void HttpClientCore::wake_at(steady_clock::time_point at) {
    wakes_at_ = at;
    timer_.expires_at(at);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        if (!error) self->look_at_deadlines();
    });
}

}  // namespace callgate::net
