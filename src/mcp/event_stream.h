// Streams of server-sent events to a client of the legacy era, which outlive their connections: a client that
// lost one fetches what it missed by the id of the last event it saw.
//
// An event's id is the stream's number and its own within the stream. A session's streams keep their events
// in one log, which is bounded: the oldest go first, and the newest always stays, however large it is, since
// it may be an answer. A stream is not resumed over a gap.
//
// Threads: the server's home thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "net/http_server.h"

namespace callgate::mcp {

struct EventId {
    std::uint64_t stream = 0;
    std::uint64_t event = 0;
};
std::optional<EventId> parse_event_id(std::string_view text);
std::string to_string(const EventId& id);

/// What a session's streams have sent.
class EventLog {
public:
    struct Event {
        EventId id;
        std::string text;
    };

    EventLog(std::size_t max_events, std::size_t max_bytes)
        : max_events_(max_events), max_bytes_(max_bytes) {}

    const Event& add(const EventId& id, std::string text);
    void drop(std::uint64_t stream);
    const std::deque<Event>& events() const noexcept { return events_; }

private:
    const std::size_t max_events_;
    const std::size_t max_bytes_;
    std::size_t bytes_ = 0;
    std::deque<Event> events_;
};

class EventStream : public std::enable_shared_from_this<EventStream> {
public:
    EventStream(std::uint64_t number, std::shared_ptr<EventLog> log)
        : number_(number), log_(std::move(log)) {}
    ~EventStream() { log_->drop(number_); }
    EventStream(const EventStream&) = delete;
    EventStream& operator=(const EventStream&) = delete;

    std::uint64_t number() const noexcept { return number_; }
    /// Events go out by this from now on; the one before is ended. `place` is released with it.
    void attach(std::shared_ptr<net::HttpReply> reply, std::shared_ptr<void> place = nullptr);
    /// Goes on without a connection.
    void detach() { attach(nullptr); }
    /// The connection of this reply has gone.
    void lost(const net::HttpReply* reply);
    bool attached() const noexcept { return reply_ != nullptr; }
    /// An event without data, with an id to come back to and how long to wait before that.
    void prime();
    void add(std::string text);
    /// There will be no more.
    void finish();
    bool finished() const noexcept { return finished_; }
    /// Whether all that came after that one is still kept.
    bool can_resume(std::uint64_t after) const noexcept;
    /// What came after that one, and what comes.
    void resume(std::uint64_t after, std::shared_ptr<net::HttpReply> reply, std::shared_ptr<void> place);

private:
    const std::uint64_t number_;
    const std::shared_ptr<EventLog> log_;
    std::uint64_t last_ = 0;
    std::shared_ptr<net::HttpReply> reply_;
    std::shared_ptr<void> place_;
    bool finished_ = false;
};

}  // namespace callgate::mcp
