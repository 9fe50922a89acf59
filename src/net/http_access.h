// Whose requests are served: what Host and Origin may say.
//
// A page in a browser can send requests to any address, a server on the same machine included, under a name
// of its own that it lets point there. It cannot choose what its browser writes into Host and Origin.
//
// Threads: constant once it is made.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_head.h"
#include "net/http_server.h"

namespace callgate::net {

/// A host as it is compared: lower case, without a port; of an IPv6 literal its shortest form.
struct HttpHost {
    std::string name;
    std::string port;  ///< "" where none is given
    bool loopback = false;
};
/// Nothing: this is no host.
std::optional<HttpHost> read_host(std::string_view text);

class HttpAccessRules {
public:
    /// `loopback`: the server listens on such an address. `own`: that address as a host, as the server's URL
    /// says it, which is one of this machine's names; "": none.
    HttpAccessRules(const HttpAccess& access, bool loopback, std::string_view own = {});
    /// A host or an origin that is none, of those that it was made of.
    const std::optional<std::string>& malformed() const noexcept { return malformed_; }
    /// Nothing: it may be served.
    std::optional<HttpRefusal> judge(const HttpHead& head) const;

private:
    bool allows_host(const HttpHost& host) const;
    bool allows_origin(std::string_view origin) const;

    std::vector<std::string> hosts_;
    std::vector<std::string> origins_;  // "https://app.example.com:443"
    bool any_host_ = false;
    bool loopback_origins_ = false;
    std::optional<std::string> malformed_;
};

}  // namespace callgate::net
