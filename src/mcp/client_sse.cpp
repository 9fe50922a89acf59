#include "mcp/client_sse.h"

#include <utility>

#include <fmt/format.h>

#include "net/http_url.h"

namespace callgate::mcp {

std::shared_ptr<ClientSse> ClientSse::make(std::shared_ptr<net::LoopThread> thread, net::HttpClient& http,
                                           ClientHttpOptions options) {
    return std::shared_ptr<ClientSse>(new ClientSse(std::move(thread), http, std::move(options)));
}

ClientSse::ClientSse(std::shared_ptr<net::LoopThread> thread, net::HttpClient& http,
                     ClientHttpOptions options)
    : thread_(std::move(thread)), http_(http), options_(std::move(options)), events_(options_.max_message) {}

ClientSse::~ClientSse() = default;

void ClientSse::begin(TransportPeer& peer) {
    peer_ = &peer;
    net::HttpClientRequest request("GET", options_.url);
    request.unix_path = options_.unix_path;
    request.headers = options_.headers;
    request.headers.emplace_back("Accept", "text/event-stream");
    request.limits.idle_time = std::chrono::milliseconds(0);
    request.limits.max_body_bytes = net::HttpClientLimits::kNoLimit;
    const std::weak_ptr<ClientSse> weak = weak_from_this();
    net::HttpHandlers handlers;
    handlers.on_head = [weak](const net::HttpResponseHead& head) {
        const auto self = weak.lock();
        if (self && !self->over_) self->take_head(head);
    };
    handlers.on_piece = [weak](std::string_view piece) {
        const auto self = weak.lock();
        if (!self || self->over_) return;
        self->events_.feed(piece, [&](const wire::SseEvent& event) {
            if (!self->over_) self->take_event(event);
        });
    };
    handlers.on_end = [weak](const Result<void>& result) {
        const auto self = weak.lock();
        if (!self || self->over_) return;
        self->end(
            result ? Error(ErrorCode::transport, "The server has ended its stream.", {{"reason", "closed"}})
                   : result.error(),
            0);
    };
    stream_ = http_.send(std::move(request), std::move(handlers));
}

void ClientSse::take_head(const net::HttpResponseHead& head) {
    const std::string type = head.header("Content-Type").value_or("");
    if (head.status == 200 && type.starts_with("text/event-stream")) return;
    end(Error(ErrorCode::transport,
              fmt::format("The server has none of the ways of MCP over HTTP (it answers {}).", head.status),
              {{"reason", "http_status"}, {"status", head.status}}),
        head.status);
}

void ClientSse::take_event(const wire::SseEvent& event) {
    const auto self = shared_from_this();
    if (event.too_large)
        peer_->fault(ServerFault::too_large,
                     fmt::format("An event has more than {} bytes.", options_.max_message));
    else if (event.type == "endpoint")
        take_endpoint(event.data);
    else if (event.type == "message" && !event.data.empty())
        peer_->arrived(event.data, 0, 0);
}

void ClientSse::take_endpoint(std::string_view reference) {
    if (!endpoint_.empty()) {
        peer_->fault(ServerFault::bad_stream, "The server names a second address.");
        return;
    }
    const auto base = net::parse_url(options_.url);
    const auto address = base ? net::resolve_url(*base, reference) : base;
    if (!address || address->origin() != base->origin()) {
        end(Error(ErrorCode::transport, "The server names an address that is not its own.",
                  {{"reason", "bad_endpoint"}}),
            0);
        return;
    }
    endpoint_ = address->text();
    for (OutgoingMessage& message : std::exchange(held_, {})) post(std::move(message));
}

Result<void> ClientSse::send(OutgoingMessage message) {
    if (over_)
        return fail(ErrorCode::unavailable, "The connection to the server is closed.",
                    {{"reason", "closed"}});
    if (endpoint_.empty())
        held_.push_back(std::move(message));
    else
        post(std::move(message));
    return {};
}

void ClientSse::post(OutgoingMessage message) {
    net::HttpClientRequest request("POST", endpoint_);
    request.unix_path = options_.unix_path;
    request.headers = options_.headers;
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = std::move(message.text);
    request.limits.max_body_bytes = options_.max_refusal;
    const std::uint64_t number = ++last_number_;
    posts_[number] = http_.fetch(std::move(request), [weak = weak_from_this(), number, id = message.request](
                                                         const Result<net::HttpClientResponse>& response) {
        const auto self = weak.lock();
        if (self && !self->over_) self->posted(number, id, response);
    });
}

// The answer comes on the stream; here comes only whether the message was taken.
void ClientSse::posted(std::uint64_t number, std::uint64_t request,
                       const Result<net::HttpClientResponse>& response) {
    const auto self = shared_from_this();
    posts_.erase(number);
    const int status = response ? response->head.status : 0;
    if (request == 0 || (status >= 200 && status <= 299)) return;
    if (!response) {
        const auto* sent = response.error().details.if_contains("sent");
        const bool left = sent == nullptr || !sent->is_bool() || sent->get_bool();
        peer_->lost(request, {response.error(), left, 0});
        return;
    }
    peer_->lost(request,
                {Error(ErrorCode::transport, fmt::format("The server refuses the message ({}).", status),
                       {{"reason", "http_status"}, {"status", status}}),
                 true, status});
}

bool ClientSse::forget(std::uint64_t request, bool /*modern*/) {
    std::erase_if(held_, [&](const OutgoingMessage& message) { return message.request == request; });
    return false;
}

void ClientSse::end(Error why, int status) {
    const auto self = shared_from_this();
    TransportPeer* peer = std::exchange(peer_, nullptr);
    stop();
    peer->closed({std::move(why), true, status});
}

void ClientSse::close() {
    peer_ = nullptr;
    if (!over_) stop();
}

void ClientSse::stop() {
    over_ = true;
    held_.clear();
    if (stream_) stream_->cancel();
    for (const auto& [number, post] : std::exchange(posts_, {})) post->cancel();
}

}  // namespace callgate::mcp
