// A stream of server-sent events to a client of the legacy era, which outlives its connection: a client that
// lost it fetches what it missed by the id of the last event it saw.
//
// An event's id is the stream's number and its own within the stream. What is kept is bounded; what has been
// dropped is gone.
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

class EventStream {
public:
    EventStream(std::uint64_t number, std::size_t max_events, std::size_t max_bytes)
        : number_(number), max_events_(max_events), max_bytes_(max_bytes) {}

    std::uint64_t number() const noexcept { return number_; }
    /// Events go out by this from now on; the one before is ended.
    void attach(std::shared_ptr<net::HttpReply> reply);
    /// Goes on without a connection.
    void detach();
    /// An event without data, with an id to come back to and how long to wait before that.
    void prime();
    void add(std::string text);
    /// There will be no more.
    void finish();
    bool finished() const noexcept { return finished_; }
    /// What came after that one, and what comes.
    void resume(std::uint64_t after, std::shared_ptr<net::HttpReply> reply);

private:
    struct Kept {
        std::uint64_t number;
        std::string text;
    };
    void write(const Kept& event);

    const std::uint64_t number_;
    const std::size_t max_events_;
    const std::size_t max_bytes_;
    std::uint64_t last_ = 0;
    std::size_t bytes_ = 0;
    std::deque<Kept> kept_;
    std::shared_ptr<net::HttpReply> reply_;
    bool finished_ = false;
};

}  // namespace callgate::mcp
