// Values in Python's notation, into a bounded buffer: what S2's log lines show.
//
// Strings are written as Python's repr() does: in single quotes unless that costs escapes that double quotes
// would not; everything that is not printable is escaped. Bytes that are no UTF-8 are written as Python's
// lone surrogates. What does not fit any more is left out whole: never half a character or half an escape.
//
// Threads: a PythonText belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace callgate::pipeline {

class PythonText {
public:
    /// Appends to `out` when it is finished; at most `max_bytes`.
    PythonText(std::string& out, std::size_t max_bytes) noexcept
        : out_(out), end_(buffer_ + (max_bytes < kBuffer ? max_bytes : kBuffer)) {}
    PythonText(const PythonText&) = delete;
    PythonText& operator=(const PythonText&) = delete;

    void token(std::string_view text) {
        if (full_ || text.size() > room()) [[unlikely]] {
            full_ = true;
            return;
        }
        std::memcpy(next_, text.data(), text.size());
        next_ += text.size();
    }
    void real(double number);
    void string(std::string_view text);

    /// Something did not fit; nothing is written any more.
    bool full() const noexcept { return full_; }
    void finish() { out_.append(buffer_, static_cast<std::size_t>(next_ - buffer_)); }

    static constexpr std::size_t kBuffer = 2'048;

private:
    std::size_t room() const noexcept { return static_cast<std::size_t>(end_ - next_); }

    std::string& out_;
    bool full_ = false;
    char* next_ = buffer_;
    char* const end_;
    char buffer_[kBuffer];
};

/// The first `max_characters` of the text, escaped: control and other unprintable characters, backslashes,
/// both quotes unless `only_single_quotes`, and the space if told so. Says whether all of it was written.
struct EscapeRule {
    bool only_single_quotes = false;
    bool spaces = false;
};
bool append_escaped(std::string& out, std::string_view text, std::size_t max_characters, EscapeRule rule);

}  // namespace callgate::pipeline
