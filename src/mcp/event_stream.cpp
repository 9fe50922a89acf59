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

void append(std::string& out, const EventLog::Event& event) {
    const std::string id = to_string(event.id);
    wire::append_event(out, {event.text, {}, id});
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

const EventLog::Event& EventLog::add(const EventId& id, std::string text) {
    bytes_ += text.size();
    events_.push_back({id, std::move(text)});
    while (events_.size() > 1 && (events_.size() > max_events_ || bytes_ > max_bytes_)) {
        bytes_ -= events_.front().text.size();
        events_.pop_front();
    }
    return events_.back();
}

void EventLog::drop(std::uint64_t stream) {
    std::erase_if(events_, [&](const Event& event) {
        if (event.id.stream != stream) return false;
        bytes_ -= event.text.size();
        return true;
    });
}

void EventStream::attach(std::shared_ptr<net::HttpReply> reply, std::shared_ptr<void> place) {
    if (reply_) reply_->end();
    reply_ = std::move(reply);
    place_ = std::move(place);
}

void EventStream::lost(const net::HttpReply* reply) {
    if (reply_.get() != reply) return;
    reply_ = nullptr;
    place_ = nullptr;
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
    const EventLog::Event& event = log_->add({number_, ++last_}, std::move(text));
    if (!reply_) return;
    std::string out;
    append(out, event);
    reply_->write(std::move(out));
}

void EventStream::finish() {
    finished_ = true;
    detach();
}

bool EventStream::can_resume(std::uint64_t after) const noexcept {
    if (after >= last_) return after == last_;
    for (const EventLog::Event& event : log_->events()) {
        if (event.id.stream == number_) return event.id.event <= after + 1;
    }
    return false;
}

void EventStream::resume(std::uint64_t after, std::shared_ptr<net::HttpReply> reply,
                         std::shared_ptr<void> place) {
    attach(std::move(reply), std::move(place));
    // In one piece, which passes however much may wait to be written.
    std::string out;
    for (const EventLog::Event& event : log_->events()) {
        if (event.id.stream == number_ && event.id.event > after) append(out, event);
    }
    if (!out.empty()) reply_->write(std::move(out));
    if (finished_) detach();
}

}  // namespace callgate::mcp
