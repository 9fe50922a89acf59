// Server-sent events, read and written as the HTML standard has them.
//
// The reader takes bytes in any pieces, with line ends "\n", "\r\n" and "\r", and a byte order mark at the
// beginning. Comments and unknown fields are ignored. An event without data is none, but its id counts, as
// the standard says. One that is too large, or has a line that is, is reported once, without its data, and
// the reader goes on with the next one; comments may be of any size.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace callgate::wire {

struct SseEvent {
    std::string_view type;  ///< "message" where the stream names none
    std::string_view data;
    std::string_view id;  ///< the last id of the stream so far; "" is none
    bool too_large = false;
};

class SseReader {
public:
    /// The texts of the event are valid until the function returns.
    using Take = std::function<void(const SseEvent&)>;

    explicit SseReader(std::size_t max_event_bytes) : max_bytes_(max_event_bytes) {}

    /// Calls `take` for each event that is complete now. What a stream ends in the middle of is no event.
    void feed(std::string_view bytes, const Take& take);

    /// For the Last-Event-ID of the next connection.
    const std::string& last_id() const noexcept { return id_; }
    /// How long the stream asks to wait before that.
    std::optional<std::chrono::milliseconds> retry() const noexcept { return retry_; }

private:
    void keep(std::string_view part);
    bool begins_comment(std::string_view part) const;
    void end_line(std::string_view last, const Take& take);
    void take_line(std::string_view line, const Take& take);
    void take_field(std::string_view name, std::string_view value);
    void dispatch(const Take& take);

    std::size_t max_bytes_;
    std::string line_;  // what is there of one
    std::string type_;
    std::string data_;
    std::string id_;
    std::optional<std::chrono::milliseconds> retry_;
    bool at_begin_ = true;  // of the stream, where a byte order mark may stand
    bool has_data_ = false;
    bool line_too_long_ = false;
    bool long_comment_ = false;  // of a line that is too long
    bool too_large_ = false;
    bool after_cr_ = false;  // a "\n" now belongs to the end of the line before
};

struct SseOut {
    std::string_view data;
    std::string_view type;  ///< "": no field
    std::string_view id;    ///< "": no field; without line breaks and NUL
};
/// The event's bytes, with a data field for each line of its data.
void append_event(std::string& out, const SseOut& event);
/// A comment keeps a stream alive.
void append_comment(std::string& out, std::string_view text);
void append_retry(std::string& out, std::chrono::milliseconds wait);

}  // namespace callgate::wire
