#include "net/http_client_exchange.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "net/http_client_connection.h"
#include "net/http_client_core.h"
#include "net/http_head.h"
#include "wire/header_value.h"

namespace callgate::net {

using std::chrono::steady_clock;

namespace {

constexpr std::array<std::string_view, 11> kClientsOwn{
    "host", "content-length", "connection", "keep-alive", "proxy-connection", "transfer-encoding",
    "te",   "trailer",        "upgrade",    "expect",     "http2-settings",
};

tl::unexpected<Error> bad_request(const char* reason, std::string text) {
    return fail(ErrorCode::invalid_arguments, std::move(text), {{"reason", reason}, {"sent", false}});
}

bool says_its_length(std::string_view method) noexcept {
    return method == "POST" || method == "PUT" || method == "PATCH";
}

}  // namespace

HttpClientExchange::HttpClientExchange(std::shared_ptr<HttpClientCore> core, HttpClientRequest request,
                                       HttpHandlers handlers)
    : core_(std::move(core)),
      limits_(request.limits),
      deadline_(request.deadline.value_or(steady_clock::time_point::max())),
      wait_until_(steady_clock::time_point::max()),
      handlers_(std::move(handlers)),
      unix_path_(std::move(request.unix_path)),
      body_(std::move(request.body)),
      idempotent_(request.idempotent || request.method == "GET" || request.method == "HEAD" ||
                  request.method == "OPTIONS"),
      to_head_(request.method == "HEAD"),
      judged_(judge(request)) {}

Result<void> HttpClientExchange::judge(const HttpClientRequest& request) {
    auto url = parse_url(request.url);
    if (!url) {
        url.error().details["sent"] = false;
        return tl::unexpected(std::move(url.error()));
    }
    url_ = std::move(*url);
    origin_ = url_.origin();
    if (!unix_path_.empty()) origin_ += " at " + unix_path_;
    return write_head(request);
}

Result<void> HttpClientExchange::write_head(const HttpClientRequest& request) {
    if (!wire::is_token(request.method) || request.method == "CONNECT")
        return bad_request("bad_method", "The method of the request is none that can be sent.");
    head_ = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, url_.target, url_.authority());
    for (const auto& [name, value] : request.headers) {
        if (!wire::is_token(name)) return bad_request("bad_header", "The name of a header is malformed.");
        if (!wire::is_value(value))
            return bad_request("bad_header",
                               fmt::format("The value of the header {} has a control character.", name));
        if (std::ranges::any_of(kClientsOwn, [&](auto own) { return same_ignoring_case(name, own); }))
            return bad_request("bad_header", fmt::format("The header {} is set by the client itself.", name));
        head_.append(name).append(": ").append(value).append("\r\n");
    }
    if (!body_.empty() || says_its_length(request.method))
        head_ += fmt::format("Content-Length: {}\r\n", body_.size());
    head_ += "\r\n";
    return {};
}

void HttpClientExchange::cancel() {
    core_->run([self = shared_from_this()] {
        if (self->ended_) return;
        self->core_->end_later(self, self->failure(ErrorCode::cancelled, "cancelled", "it was cancelled"));
    });
}

void HttpClientExchange::pause() {
    core_->run([self = shared_from_this()] {
        if (self->ended_ || std::exchange(self->paused_, true)) return;
        if (self->connection != nullptr) self->connection->paused();
    });
}

void HttpClientExchange::resume() {
    core_->run([self = shared_from_this()] {
        if (self->ended_ || !std::exchange(self->paused_, false)) return;
        if (self->connection != nullptr) self->connection->resumed();
    });
}

std::span<const iovec> HttpClientExchange::unwritten(std::span<iovec, 2> room) const noexcept {
    std::size_t count = 0;
    std::size_t skipped = written_;
    for (const std::string* part : {&head_, &body_}) {
        if (skipped < part->size()) {
            room[count++] = {const_cast<char*>(part->data()) + skipped, part->size() - skipped};
            skipped = 0;
        } else {
            skipped -= part->size();
        }
    }
    return room.first(count);
}

void HttpClientExchange::written(std::size_t bytes) noexcept {
    written_ += bytes;
    sent_ = sent_ || bytes > 0;
}

void HttpClientExchange::send_again() noexcept {
    again_ = true;
    written_ = 0;
}

void HttpClientExchange::watch_time(std::chrono::milliseconds wait_time) {
    wait_until_ = wait_time.count() > 0 ? steady_clock::now() + wait_time : steady_clock::time_point::max();
    core_->set_deadline(*this, std::min(deadline_, wait_until_));
}

void HttpClientExchange::deadline_passed() {
    const auto self = shared_from_this();
    core_->end_later(self, wait_until_ < deadline_
                               ? out_of_time("wait", "no connection was free for it in time")
                               : out_of_time("total", "its deadline has passed"));
}

Error HttpClientExchange::failure(ErrorCode code, std::string_view reason, std::string_view text) const {
    return {code,
            fmt::format("The request to {} failed: {}.", origin_, text),
            {{"reason", reason}, {"sent", sent_}, {"origin", origin_}}};
}

Error HttpClientExchange::out_of_time(std::string_view phase, std::string_view text) const {
    Error error = failure(ErrorCode::timed_out, "timed_out", text);
    error.details["phase"] = phase;
    return error;
}

// What is in the middle of a call must not be destroyed by it: a handler may end its exchange.
void HttpClientExchange::take_head(HttpResponseHead head) {
    // It is not sent once more.
    if (all_written()) {
        std::string().swap(head_);
        std::string().swap(body_);
        written_ = 0;
    }
    if (handlers_.on_head) handlers_.on_head(std::move(head));
}

void HttpClientExchange::take_piece(std::string_view piece) {
    if (handlers_.on_piece) handlers_.on_piece(piece);
}

void HttpClientExchange::end(Result<void> result) {
    has_ended();
    const HttpHandlers handlers = std::exchange(handlers_, {});
    if (handlers.on_end) handlers.on_end(std::move(result));
}

void HttpClientExchange::has_ended() noexcept {
    ended_ = true;
    HttpTimed::unlink();
    std::string().swap(head_);
    std::string().swap(body_);
    written_ = 0;
}

void HttpClientExchange::drop_handlers() {
    has_ended();
    const HttpHandlers dropped = std::exchange(handlers_, {});
}

}  // namespace callgate::net
