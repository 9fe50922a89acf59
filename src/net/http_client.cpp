#include "net/http_client.h"

#include <latch>
#include <utility>

#include "base/thread_role.h"
#include "base/try.h"
#include "net/http_client_core.h"
#include "net/http_client_exchange.h"
#include "net/http_head.h"
#include "net/tls.h"

namespace callgate::net {

class HttpClient::Impl {
public:
    Impl(std::shared_ptr<HttpClientCore> core, std::shared_ptr<HostLookup> lookup)
        : lookup_(std::move(lookup)), core_(std::move(core)) {}
    ~Impl() {
        CALLGATE_MAY_BLOCK("the end of an HTTP client");
        bool ran = false;
        std::latch done(1);
        {
            // Released without having run, too, where the loop has gone.
            std::shared_ptr<void> at_last(nullptr, [&done](void*) { done.count_down(); });
            core_->later([core = core_, &ran, at_last = std::move(at_last)] {
                core->destroy();
                ran = true;
            });
        }
        done.wait();
        // Nobody else is there any more.
        if (!ran) core_->destroy();
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    HttpClientCore& core() noexcept { return *core_; }
    const std::shared_ptr<HttpClientCore>& shared() const noexcept { return core_; }

private:
    // Its end may wait, so this is the last to release it.
    const std::shared_ptr<HostLookup> lookup_;
    const std::shared_ptr<HttpClientCore> core_;
};

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::open(Loop& loop, HttpClientOptions options) {
    CALLGATE_TRY_ASSIGN(auto tls, TlsContext::open_client(options.ca_file));
    auto lookup = options.lookup ? std::move(options.lookup) : system_lookup();
    const auto& thread = loop.thread(options.thread);
    auto core = std::make_shared<HttpClientCore>(thread, std::move(options), std::move(tls), lookup);
    return std::unique_ptr<HttpClient>(
        new HttpClient(std::make_unique<Impl>(std::move(core), std::move(lookup))));
}

std::shared_ptr<HttpExchange> HttpClient::send(HttpClientRequest request, HttpHandlers handlers) {
    const auto& core = impl_->shared();
    auto exchange = std::make_shared<HttpClientExchange>(core, std::move(request), std::move(handlers));
    core->run([core, exchange] { core->start(exchange); });
    return exchange;
}

std::shared_ptr<HttpExchange> HttpClient::fetch(HttpClientRequest request,
                                                std::function<void(Result<HttpClientResponse>)> done) {
    const auto response = std::make_shared<HttpClientResponse>();
    HttpHandlers handlers;
    handlers.on_head = [response](HttpResponseHead head) { response->head = std::move(head); };
    handlers.on_piece = [response](std::string_view piece) { response->body += piece; };
    handlers.on_end = [response, done = std::move(done)](Result<void> result) {
        if (!result) return done(tl::unexpected(std::move(result.error())));
        done(std::move(*response));
    };
    return send(std::move(request), std::move(handlers));
}

void HttpClient::close() {
    impl_->core().run([core = impl_->shared()] { core->close(); });
}

HttpClientStats HttpClient::stats() const {
    const HttpClientCore& core = impl_->core();
    HttpClientStats stats;
    stats.requests = core.requests.load();
    stats.connections_opened = core.opened.load();
    stats.connections_reused = core.reused.load();
    stats.sent_again = core.sent_again.load();
    stats.connections_now = core.connections.load();
    stats.idle_now = core.idle.load();
    stats.waiting_now = core.waiting.load();
    return stats;
}

std::optional<std::string> HttpResponseHead::header(std::string_view name) const {
    std::optional<std::string> all;
    for (const auto& [one, value] : headers) {
        if (!same_ignoring_case(one, name)) continue;
        if (all) {
            all->append(", ").append(value);
        } else {
            all = value;
        }
    }
    return all;
}

}  // namespace callgate::net
