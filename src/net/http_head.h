// The head of a request, judged: what cannot be understood in exactly one way is refused.
//
// Beast reads the request line and the fields; everything that decides where a message ends, or who it is
// for, is decided here, more strictly: one Content-Length of digits alone, or one Transfer-Encoding that says
// `chunked`; no folded lines; one Host.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace callgate::net {

/// The answer to what is not served: a status, and a sentence for whoever sent it.
struct HttpRefusal {
    int status = 400;
    std::string text;
};

/// Where in the head's bytes something stands.
struct HttpSpan {
    std::uint32_t at = 0;
    std::uint32_t size = 0;
};

struct HttpField {
    HttpSpan name;
    HttpSpan value;
};

struct HttpHead {
    enum class Body : std::uint8_t { none, sized, chunked };

    std::string bytes;  ///< as it came; everything else refers to it
    HttpSpan method;
    HttpSpan target;  ///< without a fragment
    std::vector<HttpField> fields;
    HttpSpan host;                ///< size 0 where there is none
    std::uint64_t body_size = 0;  ///< where Body::sized
    Body body = Body::none;
    bool one_one = true;  ///< HTTP/1.1, or else 1.0
    bool keeps_alive = true;
    bool expects_continue = false;

    std::string_view text(HttpSpan span) const noexcept {
        return std::string_view(bytes).substr(span.at, span.size);
    }
};

/// Of `head.bytes`, which ends with the first empty line and has line ends of CRLF alone, none of them
/// followed by white space (HttpRequestReader has seen to that); fills in the rest.
std::optional<HttpRefusal> judge_head(HttpHead& head);

/// Whether two texts are equal, except for the case of ASCII letters.
bool same_ignoring_case(std::string_view one, std::string_view other) noexcept;

}  // namespace callgate::net
