// Where JSON text is put together: a sink that appends tokens to a std::string through a small buffer of its
// own, so that a short document costs one allocation and a long one few.
//
// Whatever is put in, what comes out is valid JSON in valid UTF-8: characters that must be escaped are (only
// those), and bytes that are not UTF-8 become U+FFFD. Nothing reaches the string before finish().
//
// Threads: a sink belongs to one thread.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace callgate::json {

class TextSink {
public:
    explicit TextSink(std::string& out) noexcept : out_(out) {}
    TextSink(const TextSink&) = delete;
    TextSink& operator=(const TextSink&) = delete;

    void put(char c) {
        need(1);
        *next_++ = c;
    }

    /// Text that is JSON already, at most kMaxToken bytes.
    void put_token(std::string_view token) {
        need(kMaxToken);
        std::memcpy(next_, token.data(), token.size());
        next_ += token.size();
    }

    void put_repeated(char c, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) put(c);
    }

    void put_integer(std::int64_t number) { put_number(number); }
    void put_integer(std::uint64_t number) { put_number(number); }

    /// The fewest digits that read back as the same double and as a double: a fraction or an exponent is
    /// always there, an exponent not below 1e15. There is no JSON for NaN and infinities: null.
    void put_double(double number);

    /// In quotes, escaped.
    void put_string(std::string_view text) { put_quoted(text, false); }

    /// The same with a colon.
    void put_key(std::string_view text) { put_quoted(text, true); }

    /// Hand everything over. The sink may be used on.
    void finish() { flush(); }

    static constexpr std::size_t kMaxToken = 64;

private:
    static constexpr std::size_t kBuffer = 8192;
    static constexpr std::size_t kPiece = 512;  ///< of a string, for which room is made at once

    void need(std::size_t bytes) {
        if (static_cast<std::size_t>(buffer_ + kBuffer - next_) < bytes) [[unlikely]]
            flush();
    }

    template <class Integer>
    void put_number(Integer number) {
        need(kMaxToken);
        next_ = std::to_chars(next_, next_ + kMaxToken, number).ptr;
    }

    [[gnu::hot]] void flush();
    void put_quoted(std::string_view text, bool colon);

    std::string& out_;
    char* next_ = buffer_;
    char buffer_[kBuffer];
};

/// `text` with every byte that is part of no valid UTF-8 sequence replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace callgate::json
