#include "mcp/client_http.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "mcp/client_sse.h"
#include "mcp/member_text.h"
#include "mcp/message.h"
#include "wire/header_value.h"

namespace callgate::mcp {
namespace {

constexpr std::size_t kLongestSession = 1'024;
constexpr std::chrono::milliseconds kLeastRetry{10};

std::string media_type(const net::HttpResponseHead& head) {
    const std::string value = head.header("Content-Type").value_or("");
    std::string type(wire::trim(std::string_view(value).substr(0, value.find(';'))));
    std::transform(type.begin(), type.end(), type.begin(), base::ascii_lower);
    return type;
}

bool is_session_id(std::string_view id) {
    return !id.empty() && id.size() <= kLongestSession &&
           std::all_of(id.begin(), id.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

/// A server that answers like this has not looked at the message.
bool refused_unread(int status) {
    return status == 401 || status == 403 || status == 404 || status == 405 || status == 406 ||
           status == 413 || status == 415 || status == 429;
}

Error refusal(int status) {
    switch (status) {
        case 401:
            return {ErrorCode::unavailable,
                    "The server wants to know who asks (401).",
                    {{"reason", "unauthorized"}, {"status", status}}};
        case 403:
            return {ErrorCode::unavailable,
                    "The server refuses whoever asks (403).",
                    {{"reason", "forbidden"}, {"status", status}}};
        case 429:
            return {ErrorCode::rate_limited,
                    "The server has been asked too often (429).",
                    {{"reason", "too_many_requests"}, {"status", status}}};
        default: break;
    }
    if (status >= 300 && status < 400)
        return {ErrorCode::transport,
                fmt::format("The server points elsewhere ({}).", status),
                {{"reason", "redirected"}, {"status", status}}};
    return {ErrorCode::transport,
            fmt::format("The server refuses the request ({}).", status),
            {{"reason", "http_status"}, {"status", status}}};
}

bool was_sent(const Error& error) {
    const auto* sent = error.details.if_contains("sent");
    return sent == nullptr || !sent->is_bool() || sent->get_bool();
}

}  // namespace

struct ClientHttp::Stream {
    StreamNumber number = 0;
    Use use = Use::post;
    std::uint64_t request = 0;  // that it answers; 0: none
    bool modern = false;
    bool begins_session = false;
    bool introduces = false;  // `notifications/initialized`
    std::shared_ptr<net::HttpExchange> exchange;
    int status = 0;
    std::optional<std::string> challenge;  // WWW-Authenticate
    Body body = Body::ignored;
    std::string text;
    wire::SseReader events;
    std::string last_id;
    std::chrono::milliseconds retry;
    std::size_t failures = 0;  // since something came
    std::size_t empty = 0;     // streams that brought nothing, since something came
    std::shared_ptr<boost::asio::steady_timer> pause;

    Stream(std::size_t max_event, std::chrono::milliseconds wait) : events(max_event), retry(wait) {}
};

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

void ClientHttp::get(std::shared_ptr<Stream> stream) {
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

void ClientHttp::take_head(Stream& stream, const net::HttpResponseHead& head) {
    stream.status = head.status;
    if (stream.use == Use::side) send_held();
    if (head.status < 200 || head.status > 299) {
        stream.body = Body::refusal;
        stream.challenge = head.header("WWW-Authenticate");
        return;
    }
    if (stream.begins_session) {
        const std::string id = head.header("Mcp-Session-Id").value_or("");
        if (is_session_id(id))
            session_ = id;
        else if (!id.empty())
            peer_->fault(ServerFault::bad_stream, "The server names its session as no header can.");
    }
    if (stream.use == Use::post && stream.request == 0) return;
    const std::string type = media_type(head);
    if (type == "text/event-stream") {
        stream.body = Body::events;
    } else if (type == "application/json" && stream.use == Use::post) {
        stream.body = Body::object;
    } else {
        peer_->fault(ServerFault::bad_stream,
                     fmt::format("The server answers with \"{}\".", type.substr(0, 100)));
        lose(stream,
             Error(ErrorCode::output_invalid, "The server's answer is neither JSON nor a stream of events.",
                   {{"reason", "wrong_content_type"}, {"status", head.status}}),
             true);
    }
}

void ClientHttp::take_piece(Stream& stream, std::string_view piece) {
    if (stream.body == Body::events) {
        const auto self = shared_from_this();
        const auto kept = streams_.at(stream.number);
        stream.events.feed(piece, [&](const wire::SseEvent& event) {
            if (streams_.contains(stream.number)) take_event(stream, event);
        });
        return;
    }
    if (stream.body == Body::refusal && stream.text.size() + piece.size() > options_.max_refusal) {
        lose(stream, refusal(stream.status), stream.use == Use::resume || !refused_unread(stream.status));
        return;
    }
    if (stream.body == Body::object && stream.text.size() + piece.size() > options_.max_message) {
        peer_->fault(ServerFault::too_large,
                     fmt::format("A body has more than {} bytes.", options_.max_message));
        lose(stream,
             Error(ErrorCode::output_invalid, "The server's answer is too large.", {{"reason", "too_large"}}),
             true);
        return;
    }
    if (stream.body != Body::ignored) stream.text += piece;
}

void ClientHttp::take_event(Stream& stream, const wire::SseEvent& event) {
    stream.failures = 0;
    stream.empty = 0;
    if (event.too_large)
        peer_->fault(ServerFault::too_large,
                     fmt::format("An event has more than {} bytes.", options_.max_message));
    else if (!event.data.empty() && event.type == "message")
        peer_->arrived(event.data, stream.request, stream.status);
}

void ClientHttp::take_end(std::shared_ptr<Stream> stream, const Result<void>& result) {
    const auto self = shared_from_this();
    streams_.erase(stream->number);
    if (stream->use == Use::side) send_held();
    if (stream->body == Body::events) {
        if (!stream->events.last_id().empty()) stream->last_id = stream->events.last_id();
        if (const auto wait = stream->events.retry()) stream->retry = std::min(*wait, options_.most_retry);
    }
    if (!result) {
        const bool sent = was_sent(result.error());
        if (stream->introduces) introduced();
        end_stream(stream, result.error(), sent);
        return;
    }
    if (stream->body == Body::refusal) {
        take_refusal(*stream);
        if (over_) return;
        if (stream->introduces) introduced();
        if (stream->use == Use::side && stream->status >= 500) (void)take_up_again(stream, true);
        return;
    }
    if (stream->introduces) introduced();
    if (stream->body == Body::object) peer_->arrived(stream->text, stream->request, stream->status);
    if (over_) return;
    end_stream(stream,
               Error(ErrorCode::output_invalid, "The server has ended its answer without a result.",
                     {{"reason", "no_result"}}),
               true);
}

// The server has ended a stream, or the network has.
void ClientHttp::end_stream(const std::shared_ptr<Stream>& stream, Error why, bool may_have_arrived) {
    if (stream->use == Use::side) {
        (void)take_up_again(stream, stream->status == 0);
        return;
    }
    if (stream->request == 0 || !peer_->waits(stream->request)) return;
    const bool resumable = !stream->modern && !stream->last_id.empty() &&
                           (stream->body == Body::events || stream->use == Use::resume);
    if (resumable && take_up_again(stream, stream->body != Body::events)) return;
    peer_->lost(stream->request,
                {std::move(why), may_have_arrived || stream->use == Use::resume, stream->status});
}

/// `refused`: there was no stream this time. A server that ends each at once sets the pace only so far.
bool ClientHttp::take_up_again(const std::shared_ptr<Stream>& stream, bool refused) {
    if (refused && ++stream->failures > options_.max_empty_resumes && stream->use != Use::side) return false;
    if (stream->use == Use::post) stream->use = Use::resume;
    const auto doubled = [](std::chrono::milliseconds one, std::size_t times) {
        return one * (1 << std::min<std::size_t>(times, 6));
    };
    const bool slower = refused || (stream->use == Use::side && stream->empty > 0);
    auto wait = slower ? doubled(stream->retry, stream->failures + stream->empty) : stream->retry;
    wait = std::max(std::min(wait, options_.most_retry), doubled(kLeastRetry, stream->empty));
    ++stream->empty;
    stream->exchange = nullptr;
    stream->number = ++last_number_;
    streams_.emplace(stream->number, stream);  // so that it can be forgotten meanwhile
    stream->pause = std::make_shared<boost::asio::steady_timer>(thread_->context(), wait);
    stream->pause->async_wait(
        [weak = weak_from_this(), stream, number = stream->number](const boost::system::error_code& error) {
            const auto self = weak.lock();
            if (error || !self || self->over_ || self->streams_.erase(number) == 0) return;
            stream->pause = nullptr;
            self->get(stream);
        });
    return true;
}

void ClientHttp::take_refusal(Stream& stream) {
    const int status = stream.status;
    if (status == 404 && !session_.empty() && !stream.begins_session) {
        session_lost();
        return;
    }
    if (stream.use == Use::side) return;  // it has none, or it is tried again
    if (stream.request == 0) return;
    if (stream.use == Use::post && status != 401 && status != 403 && status >= 400) {
        const ReadMessages read =
            read_messages(stream.text, json::ParseLimits(options_.max_refusal, 64, 10'000));
        const auto* message = read.batch ? nullptr : std::get_if<Message>(&read.all.front());
        if (message != nullptr && message->kind == Message::Kind::response && message->error) {
            peer_->arrived(stream.text, stream.request, status);
            if (over_ || !peer_->waits(stream.request)) return;
        }
    }
    Error error = refusal(status);
    if (stream.challenge) error.details["www_authenticate"] = stream.challenge->substr(0, 4'096);
    // Where it is the rest of an answer that is refused, the message was read long ago.
    const bool may_have_arrived = stream.use == Use::resume || !refused_unread(status);
    peer_->lost(stream.request, {std::move(error), may_have_arrived, status});
}

void ClientHttp::lose(Stream& stream, Error error, bool may_have_arrived) {
    const auto kept = streams_.at(stream.number);
    drop(stream);
    if (stream.introduces) introduced();
    if (stream.request != 0) peer_->lost(stream.request, {std::move(error), may_have_arrived, stream.status});
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
