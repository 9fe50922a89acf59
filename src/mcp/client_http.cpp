#include "mcp/client_http.h"

#include <algorithm>
#include <utility>

#include "mcp/client_http_stream.h"
#include "mcp/client_sse.h"
#include "wire/header_value.h"

namespace callgate::mcp {

std::shared_ptr<ClientHttp> ClientHttp::make(std::shared_ptr<net::LoopThread> thread, net::HttpClient& http,
                                             ClientHttpOptions options) {
    return std::shared_ptr<ClientHttp>(new ClientHttp(std::move(thread), http, std::move(options)));
}

ClientHttp::ClientHttp(std::shared_ptr<net::LoopThread> thread, net::HttpClient& http,
                       ClientHttpOptions options)
    : thread_(std::move(thread)), http_(http), options_(std::move(options)) {}

ClientHttp::~ClientHttp() = default;

void ClientHttp::begin(TransportPeer& peer) {
    peer_ = &peer;
}

net::HttpClientRequest ClientHttp::request(std::string method, const Codec* codec) const {
    net::HttpClientRequest request(std::move(method), options_.url);
    request.unix_path = options_.unix_path;
    request.headers = options_.headers;
    if (codec != nullptr && codec->names_itself())
        request.headers.emplace_back("MCP-Protocol-Version", codec->revision());
    if (!session_.empty()) request.headers.emplace_back("Mcp-Session-Id", session_);
    // Answers may take as long as whoever waits for them wants.
    request.limits.head_time = std::chrono::milliseconds(0);
    request.limits.idle_time = std::chrono::milliseconds(0);
    request.limits.max_body_bytes = net::HttpClientLimits::kNoLimit;
    return request;
}

Result<void> ClientHttp::send(OutgoingMessage message) {
    if (older_) return older_->send(std::move(message));
    if (over_ || peer_ == nullptr)
        return fail(ErrorCode::unavailable, "The connection to the server is closed.",
                    {{"reason", "closed"}});
    // The server may refuse what overtakes it.
    if (introducing_)
        held_.push_back(std::move(message));
    else
        post(std::move(message));
    return {};
}

void ClientHttp::post(OutgoingMessage message) {
    const Codec* codec = message.codec != nullptr ? message.codec : codec_;
    const auto stream = std::make_shared<Stream>(options_.max_message, options_.retry);
    stream->request = message.request;
    stream->modern = codec != nullptr && codec->modern();
    stream->begins_session = message.method == "initialize";
    stream->introduces = message.method == "notifications/initialized";
    introducing_ = introducing_ || stream->introduces;
    net::HttpClientRequest out = request("POST", codec);
    out.headers.emplace_back("Content-Type", "application/json");
    out.headers.emplace_back("Accept", "application/json, text/event-stream");
    if (stream->modern) {
        if (!message.method.empty()) out.headers.emplace_back("Mcp-Method", message.method);
        if (!message.name.empty()) out.headers.emplace_back("Mcp-Name", wire::encode_value(message.name));
        for (auto& header : message.params) out.headers.push_back(std::move(header));
    }
    out.body = std::move(message.text);
    if (message.request == 0) {
        out.limits.head_time = std::chrono::seconds(60);
        out.limits.idle_time = std::chrono::seconds(60);
        out.limits.max_body_bytes = options_.max_message;
    }
    start(stream, std::move(out));
}

void ClientHttp::get(const std::shared_ptr<Stream>& stream) {
    net::HttpClientRequest out = request("GET", codec_);
    out.headers.emplace_back("Accept", "text/event-stream");
    if (!stream->last_id.empty()) out.headers.emplace_back("Last-Event-ID", stream->last_id);
    stream->events = wire::SseReader(options_.max_message);
    start(stream, std::move(out));
}

void ClientHttp::start(const std::shared_ptr<Stream>& stream, net::HttpClientRequest out) {
    stream->number = ++last_number_;
    stream->status = 0;
    stream->body = Body::ignored;
    stream->text.clear();
    streams_.emplace(stream->number, stream);
    const auto there = [weak = weak_from_this(), number = stream->number]() {
        const auto self = weak.lock();
        const auto it = self ? self->streams_.find(number) : decltype(streams_)::iterator();
        const bool is = self && !self->over_ && it != self->streams_.end();
        return std::pair(is ? self : nullptr, is ? it->second : nullptr);
    };
    net::HttpHandlers handlers;
    handlers.on_head = [there](const net::HttpResponseHead& head) {
        const auto [self, one] = there();
        if (self) self->take_head(*one, head);
    };
    handlers.on_piece = [there](std::string_view piece) {
        const auto [self, one] = there();
        if (self) self->take_piece(*one, piece);
    };
    handlers.on_end = [there](const Result<void>& result) {
        const auto [self, one] = there();
        if (self) self->take_end(one, result);
    };
    stream->exchange = http_.send(std::move(out), std::move(handlers));
}

void ClientHttp::drop(Stream& stream) {
    streams_.erase(stream.number);
    if (stream.pause) stream.pause->cancel();
    if (stream.exchange) stream.exchange->cancel();
}

// The server may now say what belongs to no request; and nothing is asked before it can, if it is quick.
void ClientHttp::introduced() {
    const auto side = std::make_shared<Stream>(options_.max_message, options_.retry);
    side->use = Use::side;
    get(side);
    side_timer_ = std::make_shared<boost::asio::steady_timer>(thread_->context(), options_.side_time);
    side_timer_->async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
        const auto self = weak.lock();
        if (!error && self && !self->over_) self->send_held();
    });
}

void ClientHttp::send_held() {
    if (!introducing_ || !side_timer_) return;
    introducing_ = false;
    side_timer_->cancel();
    for (OutgoingMessage& message : std::exchange(held_, {})) post(std::move(message));
}

void ClientHttp::initialized(const Codec& codec) {
    if (older_)
        older_->initialized(codec);
    else
        codec_ = &codec;
}

bool ClientHttp::forget(std::uint64_t request, bool modern) {
    if (older_) return older_->forget(request, modern);
    std::erase_if(held_, [&](const OutgoingMessage& message) { return message.request == request; });
    const auto it = std::find_if(streams_.begin(), streams_.end(),
                                 [&](const auto& one) { return one.second->request == request; });
    if (it != streams_.end()) {
        const auto stream = it->second;
        drop(*stream);
    }
    return modern;
}

void ClientHttp::session_lost() {
    const Error error(ErrorCode::transport, "The server does not know its session any more.",
                      {{"reason", "session_lost"}});
    session_.clear();
    TransportPeer* peer = peer_;
    stop();
    peer_ = nullptr;
    peer->closed({error, true, 404});
}

bool ClientHttp::fall_back() {
    if (over_ || older_) return false;
    older_ = ClientSse::make(thread_, http_, options_);
    older_->begin(*peer_);
    return true;
}

void ClientHttp::close() {
    peer_ = nullptr;
    if (older_) older_->close();
    if (over_) return;
    const bool had_session = !session_.empty();
    net::HttpClientRequest goodbye = request("DELETE", codec_);
    stop();
    if (!had_session) return;
    goodbye.limits = net::HttpClientLimits{};
    goodbye.limits.head_time = std::chrono::seconds(5);
    goodbye.limits.max_body_bytes = options_.max_refusal;
    (void)http_.send(std::move(goodbye), {});
}

void ClientHttp::stop() {
    over_ = true;
    held_.clear();
    if (side_timer_) side_timer_->cancel();
    for (const auto& [number, stream] : std::exchange(streams_, {})) {
        if (stream->pause) stream->pause->cancel();
        if (stream->exchange) stream->exchange->cancel();
    }
}

}  // namespace callgate::mcp
