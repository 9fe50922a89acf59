// Lines from a stream of bytes, as newline-delimited JSON has them.
//
//     LineReader reader(1 << 20);
//     reader.feed(bytes, [&](LineReader::Line line) { … });
//
// A line ends with "\n"; a "\r" before that belongs to the end. Empty lines are left out. A line that is too
// long is reported once, without its text, and the reader goes on with the next one: one bad message is no
// bad stream.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace callgate::wire {

class LineReader {
public:
    struct Line {
        std::string_view text;  ///< valid until the function returns; empty where it was too long
        bool too_long = false;
    };
    using Take = std::function<void(const Line&)>;

    explicit LineReader(std::size_t max_bytes) : max_bytes_(max_bytes) {}

    /// Calls `take` for each line that is complete now.
    void feed(std::string_view bytes, const Take& take);
    /// The stream is over: what has no end yet is a line, too.
    void finish(const Take& take);
    /// Bytes that are kept for a line that is not complete.
    std::size_t kept() const noexcept { return rest_.size(); }

private:
    void end_line(std::string_view last, const Take& take);
    void keep(std::string_view part);

    std::size_t max_bytes_;
    std::string rest_;
    bool skipping_ = false;  // of a line that is too long
};

/// `json` as one line. Text that was written by json::write has no line breaks; with one this is a fault of
/// ours.
void append_line(std::string& out, std::string_view json);

}  // namespace callgate::wire
