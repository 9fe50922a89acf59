#include "net/http_chunks.h"

#include <algorithm>

namespace callgate::net {
namespace {

// Of a chunk's size line, with its extensions.
constexpr std::size_t kChunkLineBytes = 256;
constexpr std::size_t kTrailerBytes = 8u << 10;

int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_control(char c) noexcept {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 127;
}

}  // namespace

HttpChunks::Got HttpChunks::next(std::string_view& bytes) noexcept {
    while (!bytes.empty()) {
        if (stage_ == Stage::data) {
            data_ = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
            bytes.remove_prefix(data_.size());
            left_ -= data_.size();
            if (left_ == 0) stage_ = Stage::data_cr;
            return Got::data;
        }
        const Got got = take(bytes.front());
        if (got == Got::malformed || got == Got::trailers_too_large) return got;
        bytes.remove_prefix(1);
        if (got != Got::more) return got;
    }
    return Got::more;
}

// One byte of what stands around the data.
HttpChunks::Got HttpChunks::take(char c) noexcept {
    const auto goes_on = [this](bool holds, Stage stage) {
        stage_ = stage;
        return holds ? Got::more : Got::malformed;
    };
    switch (stage_) {
        case Stage::size:
            if (const int digit = hex_value(c); digit >= 0) {
                left_ = 16 * left_ + static_cast<unsigned>(digit);
                return ++digits_ > 15 ? Got::malformed : Got::more;
            }
            return goes_on(digits_ > 0 && (c == ';' || c == '\r'),
                           c == ';' ? Stage::extension : Stage::size_end);
        case Stage::extension:
            if (c == '\r') return goes_on(true, Stage::size_end);
            return is_control(c) || ++framing_bytes_ > kChunkLineBytes ? Got::malformed : Got::more;
        case Stage::size_end:
            framing_bytes_ = 0;
            digits_ = 0;
            stage_ = left_ == 0 ? Stage::trailer : Stage::data;
            return c == '\n' ? Got::size : Got::malformed;
        case Stage::data: break;
        case Stage::data_cr: return goes_on(c == '\r', Stage::data_lf);
        case Stage::data_lf: return goes_on(c == '\n', Stage::size);
        case Stage::trailer:
        case Stage::trailer_text:
            if (++framing_bytes_ > kTrailerBytes) return Got::trailers_too_large;
            if (c == '\r')
                return goes_on(true, stage_ == Stage::trailer ? Stage::last_end : Stage::trailer_end);
            return goes_on(!is_control(c), Stage::trailer_text);
        case Stage::trailer_end: return goes_on(c == '\n', Stage::trailer);
        case Stage::last_end: return c == '\n' ? Got::whole : Got::malformed;
    }
    return Got::malformed;
}

}  // namespace callgate::net
