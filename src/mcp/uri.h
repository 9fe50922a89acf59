// URIs of resources: how long one may be, and the one text it has.
//
// RFC 3986 lets a byte be written as itself or percent-encoded: "docs://secret" and "docs://%73ecret" are the
// same resource. Rules, contracts and subscriptions compare texts, so a resource is served under one of them.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace callgate::mcp {

inline constexpr std::size_t kMaxUriBytes = 8'192;

/// Whether it is short enough to be looked for. Asked before anything else is done with a client's URI.
inline bool uri_fits(std::string_view uri) noexcept {
    return uri.size() <= kMaxUriBytes;
}

/// RFC 3986, 6.2.2: letters, digits, "-", ".", "_" and "~" stand as they are, and what is encoded has capital
/// digits. All else stays as it is.
std::string normal_uri(std::string_view uri);
bool is_normal_uri(std::string_view uri) noexcept;

}  // namespace callgate::mcp
