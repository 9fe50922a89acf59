// What a child writes to its standard error, as lines for a log: as many as a log bears, however much it is.
//
// All of it has to be read, or the child would wait for us; so what is too much is dropped and counted. A
// line is cut where it is too long; lines come at a bounded rate, and after a gap one says how much is
// missing. The last bytes are kept for the message that says how the child ended. The bytes are the child's
// own: whoever shows them makes control characters visible.
//
// Threads: belongs to one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace callgate::os {

struct ErrorLineLimits {
    std::size_t line_bytes = 4'096;
    std::size_t lines_per_second = 50;
    std::size_t lines_at_once = 200;  ///< what a quiet child may say without a pause
    std::size_t kept_bytes = 8'192;   ///< the last ones

    ErrorLineLimits() = default;
};

class ErrorLines {
public:
    /// `clock` must outlive this. `line` is given each line without its end.
    ErrorLines(const base::Clock& clock, std::function<void(std::string_view)> line,
               ErrorLineLimits limits = {});

    void add(std::string_view bytes);
    /// The child has closed it: a last line without an end, and what is missing.
    void finish();

    /// The last that it wrote, from the beginning of a line where there is one.
    std::string_view last() const noexcept;
    std::uint64_t bytes() const noexcept { return bytes_; }
    std::uint64_t dropped_lines() const noexcept { return dropped_; }

private:
    void end_line();
    bool may_say();
    void say_what_is_missing();
    void keep(std::string_view bytes);

    const base::Clock& clock_;
    const std::function<void(std::string_view)> line_;
    const ErrorLineLimits limits_;
    std::string current_;
    std::uint64_t cut_ = 0;  // bytes of the current line that are not in current_
    std::string kept_;
    std::uint64_t bytes_ = 0;
    std::uint64_t dropped_ = 0;
    std::uint64_t missing_ = 0;  // dropped since the last line that was said
    double may_say_ = 0;
    base::MonotonicTime counted_at_;
};

}  // namespace callgate::os
