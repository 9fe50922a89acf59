// Reads one request from bytes that come in any pieces, and keeps every limit while it does; knows no socket.
//
// What is not taken yet costs no more than the limits allow. After the last byte of a request nothing more is
// taken, so what a peer sends ahead stays with whoever feeds it.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_chunks.h"
#include "net/http_head.h"

namespace callgate::net {

struct HttpLimits;

class HttpRequestReader {
public:
    enum class Stage : std::uint8_t {
        nothing,  ///< not a byte of a request yet
        head,
        body,  ///< the head is known
        whole,
        refused,  ///< nothing that follows can be understood
    };

    explicit HttpRequestReader(const HttpLimits& limits) noexcept : limits_(&limits) {}

    Stage stage() const noexcept { return stage_; }
    /// How many of the bytes were taken; it stops where the stage changes.
    std::size_t feed(std::string_view bytes);
    /// From Stage::body on.
    const HttpHead& head() const noexcept { return head_; }
    /// What has come of the body, and how large it will be as far as that is known.
    std::size_t body_bytes() const noexcept { return body_.size(); }
    std::uint64_t known_body_size() const noexcept {
        return head_.body == HttpHead::Body::sized ? head_.body_size : body_.size() + chunks_.left();
    }
    /// At Stage::refused.
    const HttpRefusal& refusal() const noexcept { return refusal_; }
    /// At Stage::whole, once; then the next request may come.
    void take(HttpHead& head, std::string& body);

private:
    std::size_t feed_head(std::string_view bytes);
    std::size_t feed_sized(std::string_view bytes);
    std::size_t feed_chunked(std::string_view bytes);
    bool look_at_lines();
    void head_is_whole();
    bool refuse(int status, std::string text);

    const HttpLimits* limits_;
    HttpHead head_;
    std::string body_;
    HttpRefusal refusal_;
    std::size_t seen_ = 0;        // of the head, how far it was looked at
    std::size_t line_begin_ = 0;  // of the line that was not whole yet
    std::size_t lines_ = 0;       // whole ones, the request line included
    std::size_t first_line_ = 0;  // how long the request line is, once it is whole
    HttpChunks chunks_;
    unsigned empty_bytes_ = 0;  // before a request
    Stage stage_ = Stage::nothing;
};

}  // namespace callgate::net
