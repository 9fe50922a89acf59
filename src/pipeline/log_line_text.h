// The text of one log line, in a buffer of fixed size: names and texts escaped, values in Python's notation.
//
// Strings are written as Python's repr() does: in single quotes unless that costs escapes that double quotes
// would not; everything that is not printable, and all that
// is not seen (base/unseen.h), is escaped. Bytes that are no UTF-8 are written as Python's
// lone surrogates. What does not fit any more is left out whole: never half a character or half an escape.
//
// Threads: a LineText belongs to one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace callgate::pipeline {

/// What is escaped besides control and other unprintable characters, backslashes and single quotes.
struct EscapeRule {
    bool only_single_quotes = false;  ///< double quotes stand as they are
    bool spaces = false;
};

class LineText {
public:
    LineText() noexcept = default;
    LineText(const LineText&) = delete;
    LineText& operator=(const LineText&) = delete;

    std::string_view view() const noexcept { return {buffer_, static_cast<std::size_t>(next_ - buffer_)}; }
    void clear() noexcept {
        next_ = buffer_;
        end_ = buffer_ + kBytes;
        full_ = false;
    }

    /// All of it, or nothing from here on.
    void token(std::string_view text) noexcept {
        if (full_ || text.size() > room()) [[unlikely]] {
            full_ = true;
            return;
        }
        std::memcpy(next_, text.data(), text.size());
        next_ += text.size();
    }
    [[gnu::hot]] void integer(std::int64_t number);
    void integer(std::uint64_t number);
    void real(double number);
    [[gnu::hot]] void string(std::string_view text);
    /// A member's name, with what stands before and after it.
    [[gnu::hot]] void name(std::string_view text, bool first);
    /// The first `max_characters` of the text; then "...".
    [[gnu::hot]] void escaped(std::string_view text, std::size_t max_characters, EscapeRule rule);

    /// From here on at most so many bytes, until end_part(), which puts "..." after a part that was cut.
    void begin_part(std::size_t max_bytes) noexcept { end_ = next_ + std::min(max_bytes, room()); }
    [[gnu::hot]] void end_part() noexcept;
    /// Something did not fit; nothing is written any more.
    bool full() const noexcept { return full_; }

    static constexpr std::size_t kBytes = 16'384;

private:
    static constexpr std::string_view kCut = "...";

    std::size_t room() const noexcept { return next_ < end_ ? static_cast<std::size_t>(end_ - next_) : 0; }
    template <class Number>
    void digits(Number number) noexcept;
    /// Characters that stand for themselves, up to the first that does not; the number of them.
    std::size_t copy_plain(std::string_view text, std::uint8_t where) noexcept;

    char* next_ = buffer_;
    char* end_ = buffer_ + kBytes;
    bool full_ = false;
    char buffer_[kBytes + 2 * kCut.size()];
};

}  // namespace callgate::pipeline
