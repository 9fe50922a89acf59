// The head of an answer, written by hand into one string: what the server sets itself, then what the handler
// says.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_server.h"

namespace callgate::net {

/// "OK" of 200; "" where nobody has given the number a name.
std::string_view status_text(int status) noexcept;

/// What is known of an answer's body before it leaves.
struct HttpFraming {
    bool close = false;       ///< the connection ends after it
    bool keep_alive = false;  ///< to be said to a peer of HTTP/1.0, which would not expect it
    bool chunked = false;
    std::optional<std::size_t> size;
    std::string_view content_type;  ///< "": there is none, or a header says it
};

/// Headers that are the server's own, and those that would break the head, are left out.
void append_head(std::string& out, int status, const HttpHeaders& headers, const HttpFraming& framing,
                 std::string_view date);

/// "Date: Thu, 19 Nov 2026 18:00:00 GMT\r\n", written once a second.
class HttpDate {
public:
    std::string_view line();

private:
    std::int64_t second_ = -1;
    std::string line_;
};

/// Whether an answer of this status may have a body.
bool has_body(int status) noexcept;

}  // namespace callgate::net
