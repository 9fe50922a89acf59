#include "net/http_request_reader.h"

#include <algorithm>
#include <utility>

#include "net/http_server.h"
#include "wire/header_value.h"

namespace callgate::net {
namespace {

// A method and a version beside the target, in the request line.
constexpr std::size_t kMethodBytes = 32;
constexpr std::size_t kVersionBytes = 11;  // " HTTP/1.1\r\n"
// A body's room is not taken before this much of it has come, whatever was announced.
constexpr std::size_t kFirstRoom = 64u << 10;

}  // namespace

std::size_t HttpRequestReader::feed(std::string_view bytes) {
    switch (stage_) {
        case Stage::nothing:
        case Stage::head: return feed_head(bytes);
        case Stage::body:
            return head_.body == HttpHead::Body::sized ? feed_sized(bytes) : feed_chunked(bytes);
        case Stage::whole:
        case Stage::refused: return 0;
    }
    return 0;
}

void HttpRequestReader::take(HttpHead& head, std::string& body) {
    head = std::move(head_);
    body = std::move(body_);
    *this = HttpRequestReader(*limits_);
}

std::size_t HttpRequestReader::feed_head(std::string_view bytes) {
    std::size_t skipped = 0;
    if (stage_ == Stage::nothing) {
        // Old clients send an empty line after a body.
        while (skipped < bytes.size() && (bytes[skipped] == '\r' || bytes[skipped] == '\n')) {
            if (++empty_bytes_ > 4) {
                refuse(400, "This is no HTTP request.");
                return skipped;
            }
            ++skipped;
        }
        if (skipped == bytes.size()) return skipped;
        stage_ = Stage::head;
        empty_bytes_ = 0;
    }
    const std::size_t before = head_.bytes.size();
    // As far as a head may go, and not much of a body that follows it.
    const std::size_t most =
        limits_->max_target_bytes + limits_->max_header_bytes + kMethodBytes + kVersionBytes + 3;
    const std::size_t room = most - std::min(most, before);
    const std::size_t end = bytes.find("\r\n\r\n", skipped);
    const std::size_t offered =
        std::min(room, (end == std::string_view::npos ? bytes.size() : end + 4) - skipped);
    head_.bytes.append(bytes, skipped, offered);
    const bool whole = look_at_lines();
    if (stage_ == Stage::refused) return skipped;
    if (!whole) {
        if (head_.bytes.size() == most) refuse(431, "The headers are too large.");
        return skipped + offered;
    }
    head_.bytes.resize(seen_);
    head_is_whole();
    return skipped + seen_ - before;
}

// True: the head ends at seen_.
bool HttpRequestReader::look_at_lines() {
    const std::string& text = head_.bytes;
    if (seen_ == 0 && !wire::is_token(std::string_view(text).substr(0, 1)))
        return refuse(400, "This is no HTTP request.");
    for (;;) {
        const std::size_t end = text.find('\n', seen_);
        const std::size_t until = end == std::string::npos ? text.size() : end + 1;
        seen_ = until;
        if (lines_ == 0) {
            if (until - line_begin_ > limits_->max_target_bytes + kMethodBytes + kVersionBytes)
                return refuse(414, "The target of the request is too long.");
        } else if (until - first_line_ > limits_->max_header_bytes + 2) {
            return refuse(431, "The headers are too large.");
        }
        if (end == std::string::npos) return false;
        if (end == line_begin_ || text[end - 1] != '\r')
            return refuse(400, "A line of the head ends without a carriage return.");
        if (lines_ > 0) {
            if (end == line_begin_ + 1) return true;
            if (text[line_begin_] == ' ' || text[line_begin_] == '\t')
                return refuse(400, "A header is folded into several lines.");
            if (lines_ > limits_->max_headers) return refuse(431, "There are too many headers.");
        } else {
            first_line_ = until;
        }
        ++lines_;
        line_begin_ = until;
    }
}

void HttpRequestReader::head_is_whole() {
    head_.fields.reserve(lines_ - 1);
    if (auto refused = judge_head(head_)) {
        refuse(refused->status, std::move(refused->text));
        return;
    }
    if (head_.target.size > limits_->max_target_bytes) {
        refuse(414, "The target of the request is too long.");
        return;
    }
    switch (head_.body) {
        case HttpHead::Body::none: stage_ = Stage::whole; return;
        case HttpHead::Body::sized:
            if (head_.body_size > limits_->max_body_bytes) {
                refuse(413, "The body is too large.");
                return;
            }
            body_.reserve(std::min<std::size_t>(head_.body_size, kFirstRoom));
            break;
        case HttpHead::Body::chunked: break;
    }
    stage_ = Stage::body;
}

std::size_t HttpRequestReader::feed_sized(std::string_view bytes) {
    const std::size_t taken = std::min<std::size_t>(head_.body_size - body_.size(), bytes.size());
    if (body_.size() < kFirstRoom && body_.size() + taken >= kFirstRoom) body_.reserve(head_.body_size);
    body_.append(bytes.substr(0, taken));
    if (body_.size() == head_.body_size) stage_ = Stage::whole;
    return taken;
}

std::size_t HttpRequestReader::feed_chunked(std::string_view bytes) {
    std::string_view rest = bytes;
    while (stage_ == Stage::body) {
        switch (chunks_.next(rest)) {
            case HttpChunks::Got::more: return bytes.size();
            case HttpChunks::Got::size:
                if (chunks_.left() > limits_->max_body_bytes - body_.size())
                    refuse(413, "The body is too large.");
                break;
            case HttpChunks::Got::data: body_.append(chunks_.data()); break;
            case HttpChunks::Got::whole: stage_ = Stage::whole; break;
            case HttpChunks::Got::malformed: refuse(400, "The body is not properly chunked."); break;
            case HttpChunks::Got::trailers_too_large: refuse(431, "The trailers are too large."); break;
        }
    }
    return bytes.size() - rest.size();
}

bool HttpRequestReader::refuse(int status, std::string text) {
    refusal_ = {status, std::move(text)};
    stage_ = Stage::refused;
    return false;
}

}  // namespace callgate::net
