#include "net/http_response_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "net/http_answer.h"
#include "net/http_head.h"
#include "wire/header_value.h"

namespace callgate::net {
namespace {

constexpr std::string_view kAnswerBegins = "HTTP/1.";
constexpr std::size_t kStatusLineBytes = 12;  // "HTTP/1.1 200"
constexpr unsigned kMostInterim = 16;
constexpr std::string_view kTimeout = "timeout=";

bool all_digits(std::string_view text) noexcept {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Each part of a list with commas, without white space around it.
template <class Take>
void for_each_part(std::string_view list, const Take& take) {
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        take(wire::trim(list.substr(0, comma)));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
}

}  // namespace

HttpResponseReader::Got HttpResponseReader::next(std::string_view& bytes) {
    switch (stage_) {
        case Stage::head: return next_of_head(bytes);
        case Stage::sized:
            if (length_ > max_body_bytes_) return refuse("too_large", "its body is too large");
            if (come_ < length_) return take_data(bytes, length_ - come_);
            break;
        case Stage::chunked: return next_of_chunks(bytes);
        case Stage::until_end:
            if (come_ == max_body_bytes_ && !bytes.empty())
                return refuse("too_large", "its body is too large");
            return take_data(bytes, max_body_bytes_ - come_);
        case Stage::refused: return Got::refused;
        case Stage::no_body:
        case Stage::whole: break;
    }
    stage_ = Stage::whole;
    return Got::whole;
}

HttpResponseReader::Got HttpResponseReader::end() {
    if (stage_ != Stage::until_end) return refuse("cut", "the connection ended in its middle");
    stage_ = Stage::whole;
    return Got::whole;
}

HttpResponseHead HttpResponseReader::take_head() {
    return std::exchange(head_, {});
}

HttpResponseReader::Got HttpResponseReader::next_of_chunks(std::string_view& bytes) {
    for (;;) {
        switch (chunks_.next(bytes)) {
            case HttpChunks::Got::more: return Got::more;
            case HttpChunks::Got::size:
                if (chunks_.left() > max_body_bytes_ - come_)
                    return refuse("too_large", "its body is too large");
                break;
            case HttpChunks::Got::data:
                data_ = chunks_.data();
                come_ += data_.size();
                return Got::data;
            case HttpChunks::Got::whole: stage_ = Stage::whole; return Got::whole;
            case HttpChunks::Got::malformed: return refuse("malformed", "its body is not properly chunked");
            case HttpChunks::Got::trailers_too_large:
                return refuse("too_large", "its trailers are too large");
        }
    }
}

HttpResponseReader::Got HttpResponseReader::take_data(std::string_view& bytes, std::uint64_t most) {
    if (bytes.empty()) return Got::more;
    data_ = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(most, bytes.size())));
    come_ += data_.size();
    bytes.remove_prefix(data_.size());
    return Got::data;
}

HttpResponseReader::Got HttpResponseReader::next_of_head(std::string_view& bytes) {
    while (!bytes.empty()) {
        begun_ = true;
        const std::size_t before = text_.size();
        const std::size_t room = max_head_bytes_ - std::min(max_head_bytes_, earlier_heads_ + before);
        const std::string_view offered = bytes.substr(0, room);
        text_ += offered;
        const std::string_view begin = std::string_view(text_).substr(0, kAnswerBegins.size());
        if (begin != kAnswerBegins.substr(0, begin.size())) return refuse("malformed", "it is not HTTP/1.1");
        const auto end = look_at_lines();
        if (stage_ == Stage::refused) return Got::refused;
        if (!end) {
            bytes.remove_prefix(offered.size());
            if (offered.size() == room) return refuse("too_large", "its head is too large");
            continue;
        }
        bytes.remove_prefix(*end - before);
        text_.resize(*end);
        if (const Got got = head_is_whole(); got != Got::more) return got;
    }
    return Got::more;
}

// Where the head ends, if it does. Other faults stop the reader.
std::optional<std::size_t> HttpResponseReader::look_at_lines() {
    const auto fault = [this](const char* reason, const char* text) {
        refuse(reason, text);
        return std::nullopt;
    };
    for (;;) {
        const std::size_t end = text_.find('\n', seen_);
        seen_ = end == std::string::npos ? text_.size() : end + 1;
        if (end == std::string::npos) return std::nullopt;
        if (end == line_begin_ || text_[end - 1] != '\r')
            return fault("malformed", "a line of its head ends without a carriage return");
        if (lines_ > 0) {
            if (end == line_begin_ + 1) return end + 1;
            if (text_[line_begin_] == ' ' || text_[line_begin_] == '\t')
                return fault("malformed", "a header is folded into several lines");
            if (lines_ > max_headers_) return fault("too_large", "it has too many headers");
        }
        ++lines_;
        line_begin_ = end + 1;
    }
}

HttpResponseReader::Got HttpResponseReader::head_is_whole() {
    std::string_view rest = text_;
    head_.headers.reserve(lines_ - 1);
    for (std::size_t i = 0; i < lines_; ++i) {
        const std::size_t end = rest.find('\r');
        const std::string_view line = rest.substr(0, end);
        // Another line end than the one of CRLF would be a control character.
        if (rest[end + 1] != '\n') return refuse("malformed", "a line of its head is malformed");
        rest.remove_prefix(end + 2);
        if (!(i == 0 ? read_status(line) : read_field(line))) return Got::refused;
    }
    if (has_length_ && is_chunked_)
        return refuse("malformed", "it has both a Content-Length and a Transfer-Encoding");
    if (is_chunked_ && !one_one_) return refuse("malformed", "HTTP/1.0 knows no Transfer-Encoding");
    if (head_.status == 101) return refuse("malformed", "it changes the protocol, which nobody asked for");
    const std::size_t size = text_.size();
    std::string().swap(text_);
    if (head_.status >= 200) {
        set_stage();
        return Got::head;
    }
    if (++interim_ > kMostInterim) return refuse("too_large", "too many answers of 1xx announce it");
    earlier_heads_ += size;
    head_ = {};
    seen_ = line_begin_ = lines_ = 0;
    length_ = 0;
    has_length_ = is_chunked_ = false;
    keep_alive_seconds_.reset();
    return Got::more;
}

void HttpResponseReader::set_stage() {
    if (!one_one_) keeps_alive_ = false;
    if (to_head_ || !has_body(head_.status)) {
        stage_ = Stage::no_body;
        // What it announces there and may not send, it may yet send.
        if (head_.status == 204 && (is_chunked_ || length_ > 0)) keeps_alive_ = false;
    } else if (is_chunked_) {
        stage_ = Stage::chunked;
    } else if (has_length_) {
        stage_ = Stage::sized;
    } else {
        stage_ = Stage::until_end;
        keeps_alive_ = false;
    }
}

bool HttpResponseReader::read_status(std::string_view line) {
    const bool form = line.size() >= kStatusLineBytes && (line[7] == '1' || line[7] == '0') &&
                      line[8] == ' ' && all_digits(line.substr(9, 3)) &&
                      (line.size() == kStatusLineBytes || line[kStatusLineBytes] == ' ') &&
                      wire::is_value(line);
    if (form) std::from_chars(line.data() + 9, line.data() + kStatusLineBytes, head_.status);
    one_one_ = form && line[7] == '1';
    if (head_.status >= 100 && head_.status <= 599) return true;
    refuse("malformed", "its status line is malformed");
    return false;
}

bool HttpResponseReader::read_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || !wire::is_token(name)) {
        refuse("malformed", "a header is malformed");
        return false;
    }
    const std::string_view value = wire::trim(line.substr(colon + 1));
    if (!wire::is_value(value)) {
        refuse("malformed", "a header has a control character");
        return false;
    }
    head_.headers.emplace_back(name, value);
    return read_framing(name, value);
}

bool HttpResponseReader::read_framing(std::string_view name, std::string_view value) {
    const auto holds = [this](bool good, const char* text) {
        if (!good) refuse("malformed", text);
        return good;
    };
    switch (name.size()) {
        case 10:
            if (same_ignoring_case(name, "connection")) read_connection(value);
            if (same_ignoring_case(name, "keep-alive")) read_keep_alive(value);
            return true;
        case 14:
            if (!same_ignoring_case(name, "content-length")) return true;
            if (!holds(!std::exchange(has_length_, true), "it has several Content-Length headers") ||
                !holds(all_digits(value) && value.size() <= 18, "its Content-Length is no length"))
                return false;
            std::from_chars(value.data(), value.data() + value.size(), length_);
            return true;
        case 17:
            return !same_ignoring_case(name, "transfer-encoding") ||
                   holds(!std::exchange(is_chunked_, true) && same_ignoring_case(value, "chunked"),
                         "it has a Transfer-Encoding other than one of `chunked`");
        default: return true;
    }
}

void HttpResponseReader::read_connection(std::string_view value) {
    for_each_part(value, [this](std::string_view part) {
        if (same_ignoring_case(part, "close")) keeps_alive_ = false;
    });
}

void HttpResponseReader::read_keep_alive(std::string_view value) {
    for_each_part(value, [this](std::string_view part) {
        if (!same_ignoring_case(part.substr(0, kTimeout.size()), kTimeout)) return;
        const std::string_view seconds = part.substr(kTimeout.size());
        unsigned number = 0;
        if (all_digits(seconds) && seconds.size() <= 9) {
            std::from_chars(seconds.data(), seconds.data() + seconds.size(), number);
            keep_alive_seconds_ = number;
        }
    });
}

HttpResponseReader::Got HttpResponseReader::refuse(const char* reason, const char* text) {
    fault_ = {reason, text};
    stage_ = Stage::refused;
    return Got::refused;
}

}  // namespace callgate::net
