#include "mcp/event_stream.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "wire/sse.h"

namespace callgate::mcp {
namespace {

constexpr std::chrono::milliseconds kRetry{500};

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace

std::optional<EventId> parse_event_id(std::string_view text) {
    const auto dash = text.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto stream = parse_number(text.substr(0, dash));
    const auto event = parse_number(text.substr(dash + 1));
    if (!stream || !event) return std::nullopt;
    return EventId{*stream, *event};
}

std::string to_string(const EventId& id) {
    return fmt::format("{}-{}", id.stream, id.event);
}

void EventStream::attach(std::shared_ptr<net::HttpReply> reply) {
    if (reply_) reply_->end();
    reply_ = std::move(reply);
}

void EventStream::detach() {
    attach(nullptr);
}

void EventStream::prime() {
    if (!reply_) return;
    std::string out;
    wire::append_retry(out, kRetry);
    out += fmt::format("id: {}\ndata: \n\n", to_string(EventId{number_, last_}));
    reply_->write(std::move(out));
}

void EventStream::add(std::string text) {
    if (finished_) return;
    bytes_ += text.size();
    kept_.push_back({++last_, std::move(text)});
    write(kept_.back());
    while (!kept_.empty() && (kept_.size() > max_events_ || bytes_ > max_bytes_)) {
        bytes_ -= kept_.front().text.size();
        kept_.pop_front();
    }
}

void EventStream::write(const Kept& event) {
    if (!reply_) return;
    const std::string id = to_string(EventId{number_, event.number});
    std::string out;
    wire::append_event(out, {event.text, {}, id});
    reply_->write(std::move(out));
}

void EventStream::finish() {
    finished_ = true;
    detach();
}

void EventStream::resume(std::uint64_t after, std::shared_ptr<net::HttpReply> reply) {
    attach(std::move(reply));
    for (const Kept& event : kept_) {
        if (event.number > after) write(event);
    }
    if (finished_) detach();
}

}  // namespace callgate::mcp
