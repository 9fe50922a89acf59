// What a server answers over HTTP: objects, streams of events, refusals; and streams that end too early.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "mcp/client_http_stream.h"
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

void ClientHttp::take_end(const std::shared_ptr<Stream>& stream, const Result<void>& result) {
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

}  // namespace callgate::mcp
