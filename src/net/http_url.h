// URLs of http and https, read in one way alone.
//
// What two readers could understand differently is refused: credentials in front of the host, white space,
// control characters, anything beyond ASCII (an international name is written as xn--), escapes in the host,
// and addresses of IPv4 in any but the usual form (no octal, no hexadecimal, none of fewer than four parts).
//
// Threads: plain values; all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <callgate/error.h>

namespace callgate::net {

struct HttpUrl {
    static constexpr std::size_t kMostBytes = 8u << 10;

    bool secure = false;      ///< https
    bool literal = false;     ///< the host is an address: "127.0.0.1", "::1"
    std::string host;         ///< in small letters, without brackets
    std::uint16_t port = 80;  ///< that of the scheme where it was not written
    std::string target;       ///< path and query as they were written, "/" at least; no fragment

    HttpUrl() {}
    /// What Host says: "mcp.example.com", "[::1]:8080"; a port only where it is not the scheme's.
    std::string authority() const;
    /// "https://mcp.example.com", "http://[::1]:8080".
    std::string origin() const;
    std::string text() const;  ///< origin and target
    friend bool operator==(const HttpUrl&, const HttpUrl&) = default;
};

/// invalid_arguments {reason: bad_url}.
Result<HttpUrl> parse_url(std::string_view text);
/// What a reference means where it stands in a document of `base`: "/messages?id=1", "../x", "?page=2", or a
/// whole URL, as RFC 3986 says. invalid_arguments {reason: bad_url}, also of what is neither http nor https.
Result<HttpUrl> resolve_url(const HttpUrl& base, std::string_view reference);

}  // namespace callgate::net
