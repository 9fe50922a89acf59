// Reads one answer from bytes that come in any pieces, hands its body on as it comes, and keeps every limit
// while it does; knows no socket.
//
// What could be understood in two ways is refused: a length that is none, several of them, one beside a
// Transfer-Encoding, any Transfer-Encoding but `chunked`, folded lines, lines that end without a carriage
// return. Answers of 1xx, which announce another, are read and dropped.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_chunks.h"
#include "net/http_client.h"

namespace callgate::net {

class HttpResponseReader {
public:
    enum class Got : std::uint8_t {
        more,     ///< all the bytes were taken, and others are needed
        head,     ///< take_head(), once
        data,     ///< data(), never empty
        whole,    ///< the last byte of the answer was taken; what follows belongs to nobody
        refused,  ///< fault(); nothing that follows can be understood
    };
    /// A reason as http_client.h lists them, and a sentence.
    struct Fault {
        const char* reason = "malformed";
        const char* text = "";
    };

    /// `to_head`: of an answer to HEAD, which has no body whatever it says.
    HttpResponseReader(const HttpClientLimits& limits, bool to_head) noexcept
        : max_head_bytes_(limits.max_head_bytes),
          max_headers_(limits.max_headers),
          max_body_bytes_(limits.max_body_bytes),
          to_head_(to_head) {}

    /// Takes from the front of the bytes as far as there is something to say.
    Got next(std::string_view& bytes);
    /// The peer sends no more: whole, where only that says so, or else refused, with the reason `cut`.
    Got end();

    /// A byte of an answer has come.
    bool begun() const noexcept { return begun_; }
    /// The head has come, and what follows is the body.
    bool head_is_known() const noexcept { return stage_ != Stage::head; }
    HttpResponseHead take_head();
    /// Of Got::data, inside the bytes that were given.
    std::string_view data() const noexcept { return data_; }
    const Fault& fault() const noexcept { return fault_; }

    // At Got::whole:
    /// Another answer may follow on this connection.
    bool keeps_alive() const noexcept { return keeps_alive_; }
    /// For so many seconds, as the peer says.
    std::optional<unsigned> keep_alive_seconds() const noexcept { return keep_alive_seconds_; }

private:
    enum class Stage : std::uint8_t { head, no_body, sized, chunked, until_end, whole, refused };

    Got next_of_head(std::string_view& bytes);
    Got next_of_chunks(std::string_view& bytes);
    Got take_data(std::string_view& bytes, std::uint64_t most);
    std::optional<std::size_t> look_at_lines();
    Got head_is_whole();
    bool read_status(std::string_view line);
    bool read_field(std::string_view line);
    bool read_framing(std::string_view name, std::string_view value);
    void read_connection(std::string_view value);
    void read_keep_alive(std::string_view value);
    void set_stage();
    Got refuse(const char* reason, const char* text);

    const std::size_t max_head_bytes_;
    const std::size_t max_headers_;
    const std::uint64_t max_body_bytes_;
    std::string text_;            // of the head, as far as it has come
    std::size_t seen_ = 0;        // how far it was looked at
    std::size_t line_begin_ = 0;  // of the line that was not whole yet
    std::size_t lines_ = 0;
    std::size_t earlier_heads_ = 0;  // bytes of 1xx
    unsigned interim_ = 0;           // how many of them
    HttpResponseHead head_;
    HttpChunks chunks_;
    std::uint64_t length_ = 0;
    std::uint64_t come_ = 0;  // of the body
    std::string_view data_;
    Fault fault_;
    std::optional<unsigned> keep_alive_seconds_;
    const bool to_head_;
    Stage stage_ = Stage::head;
    bool begun_ = false;
    bool one_one_ = true;
    bool keeps_alive_ = true;
    bool has_length_ = false;
    bool is_chunked_ = false;
};

}  // namespace callgate::net
