#include "os/error_lines.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace callgate::os {

ErrorLines::ErrorLines(const base::Clock& clock, std::function<void(std::string_view)> line,
                       ErrorLineLimits limits)
    : clock_(clock),
      line_(std::move(line)),
      limits_(limits),
      may_say_(static_cast<double>(limits.lines_at_once)),
      counted_at_(clock.monotonic_now()) {}

void ErrorLines::add(std::string_view bytes) {
    bytes_ += bytes.size();
    keep(bytes);
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::string_view part = bytes.substr(0, end);
        const std::size_t room = limits_.line_bytes - current_.size();
        current_ += part.substr(0, room);
        cut_ += part.size() - std::min(part.size(), room);
        if (end == std::string_view::npos) return;
        end_line();
        bytes.remove_prefix(end + 1);
    }
}

void ErrorLines::finish() {
    if (!current_.empty() || cut_ > 0) end_line();
    say_what_is_missing();
}

std::string_view ErrorLines::last() const noexcept {
    std::string_view kept = kept_;
    if (kept.size() > limits_.kept_bytes) kept.remove_prefix(kept.size() - limits_.kept_bytes);
    if (bytes_ <= kept.size()) return kept;
    const std::size_t end = kept.find('\n');
    return end == std::string_view::npos || end + 1 == kept.size() ? kept : kept.substr(end + 1);
}

void ErrorLines::end_line() {
    std::string line = std::exchange(current_, {});
    const std::uint64_t cut = std::exchange(cut_, 0);
    if (line.ends_with('\r')) line.pop_back();
    if (!may_say()) {
        ++dropped_;
        ++missing_;
        return;
    }
    say_what_is_missing();
    if (cut > 0) line += fmt::format(" [{} more bytes]", cut);
    line_(line);
}

bool ErrorLines::may_say() {
    const base::MonotonicTime now = clock_.monotonic_now();
    const double seconds = std::chrono::duration<double>(now - counted_at_).count();
    counted_at_ = now;
    may_say_ = std::min(may_say_ + seconds * static_cast<double>(limits_.lines_per_second),
                        static_cast<double>(limits_.lines_at_once));
    if (may_say_ < 1) return false;
    may_say_ -= 1;
    return true;
}

void ErrorLines::say_what_is_missing() {
    if (missing_ == 0) return;
    line_(fmt::format("[{} lines came too fast and were dropped]", std::exchange(missing_, 0)));
}

void ErrorLines::keep(std::string_view bytes) {
    if (bytes.size() >= limits_.kept_bytes) kept_.clear();
    kept_ += bytes.substr(bytes.size() - std::min(bytes.size(), limits_.kept_bytes));
    // Moved to the front once in a while, and not for every line.
    if (kept_.size() > 2 * limits_.kept_bytes) kept_.erase(0, kept_.size() - limits_.kept_bytes);
}

}  // namespace callgate::os
