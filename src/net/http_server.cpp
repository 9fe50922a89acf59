#include "net/http_server.h"

#include <latch>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/try.h"
#include "net/http_acceptor.h"
#include "net/http_shard.h"

namespace callgate::net {

class HttpServer::Impl {
public:
    Impl(Loop& loop, std::shared_ptr<HttpServerState> state, ListeningSocket listening)
        : state_(std::move(state)), url_(listening.url), port_(listening.port) {
        for (std::size_t i = 0; i < loop.threads(); ++i)
            shards_.push_back(std::make_shared<HttpShard>(state_, loop.thread(i)));
        acceptor_ = std::make_shared<HttpAcceptor>(state_, shards_, std::move(listening));
    }
    ~Impl() {
        on_every_thread([acceptor = acceptor_](HttpShard& shard) {
            acceptor->close_on(shard);
            shard.close();
        });
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    void start() {
        on_every_thread([acceptor = acceptor_](HttpShard& shard) { acceptor->start_on(shard); });
    }
    std::size_t drain(std::chrono::milliseconds at_most) {
        on_every_thread([acceptor = acceptor_](HttpShard& shard) {
            acceptor->close_on(shard);
            shard.drain();
        });
        state_->wait_until_all_have_gone(at_most);
        return static_cast<std::size_t>(state_->connections.load());
    }
    const std::string& url() const noexcept { return url_; }
    std::uint16_t port() const noexcept { return port_; }
    const HttpServerState& state() const noexcept { return *state_; }

private:
    // Waits until it has run on all of them, or will not, because the loop has gone.
    template <class Work>
    void on_every_thread(const Work& work) {
        std::latch all(static_cast<std::ptrdiff_t>(shards_.size()));
        for (const auto& shard : shards_) {
            std::shared_ptr<void> ran(nullptr, [&all](void*) { all.count_down(); });
            shard->thread()->post([shard, work, ran = std::move(ran)] { work(*shard); });
        }
        all.wait();
    }

    const std::shared_ptr<HttpServerState> state_;
    std::vector<std::shared_ptr<HttpShard>> shards_;
    std::shared_ptr<HttpAcceptor> acceptor_;
    const std::string url_;
    const std::uint16_t port_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::open(Loop& loop, HttpServerOptions options, Handler handler) {
    std::shared_ptr<const TlsContext> tls;
    if (options.tls) {
        CALLGATE_TRY_ASSIGN(tls, TlsContext::open(options.tls->certificate_file, options.tls->key_file));
    }
    CALLGATE_TRY_ASSIGN(auto listening, listen(options));
    auto state = std::make_shared<HttpServerState>(std::move(options), std::move(handler), listening.loopback,
                                                   listening.host, std::move(tls));
    if (const auto& text = state->rules.malformed())
        return fail(ErrorCode::config_error, fmt::format("\"{}\" is no host or origin.", *text),
                    {{"reason", "bad_access"}});
    auto impl = std::make_unique<Impl>(loop, std::move(state), std::move(listening));
    impl->start();
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::string HttpServer::url() const {
    return impl_->url();
}

std::uint16_t HttpServer::port() const noexcept {
    return impl_->port();
}

std::size_t HttpServer::drain(std::chrono::milliseconds at_most) {
    return impl_->drain(at_most);
}

HttpStats HttpServer::stats() const {
    const HttpServerState& state = impl_->state();
    HttpStats stats;
    stats.accepted = state.accepted.load();
    stats.connections_now = state.connections.load();
    stats.max_connections = state.max_connections;
    stats.bytes_now = state.held->load();
    stats.requests = state.requests.load();
    stats.refused_connections = state.refused_connections.load();
    stats.refused_requests = state.refused_requests.load();
    stats.slow_readers = state.slow_readers.load();
    stats.accept_pauses = state.accept_pauses.load();
    return stats;
}

}  // namespace callgate::net
