// A chunked body out of bytes in any pieces: what stands around the data is read and dropped, strictly and
// within limits. Extensions and trailers, which nobody needs, may be there and mean nothing.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace callgate::net {

class HttpChunks {
public:
    enum class Got : std::uint8_t {
        more,                ///< all the bytes were taken, and others are needed
        size,                ///< of a chunk that begins: left(); 0: the last, after which trailers may stand
        data,                ///< data()
        whole,               ///< the last byte of the body was taken
        malformed,           ///< nothing that follows can be understood
        trailers_too_large,  ///< the same
    };

    /// Takes from the front of the bytes as far as there is something to say.
    Got next(std::string_view& bytes) noexcept;
    /// Of Got::data, inside the bytes that were given.
    std::string_view data() const noexcept { return data_; }
    /// How much of the chunk under way has not come yet.
    std::uint64_t left() const noexcept { return left_; }

private:
    enum class Stage : std::uint8_t {
        size,
        extension,
        size_end,
        data,
        data_cr,
        data_lf,
        trailer,
        trailer_text,
        trailer_end,
        last_end,
    };

    Got take(char c) noexcept;

    std::uint64_t left_ = 0;
    std::string_view data_;
    std::size_t framing_bytes_ = 0;  // of a chunk's size line, or of all trailers
    unsigned digits_ = 0;
    Stage stage_ = Stage::size;
};

}  // namespace callgate::net
