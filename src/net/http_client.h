// An HTTP/1.1 client: requests over TCP, TLS or a Unix socket, connections that are used again, and bodies
// that are handed on as they come.
//
//     net::Loop loop;
//     auto client = must(net::HttpClient::open(loop, {}));
//     net::HttpClientRequest request("POST", "https://mcp.example.com/mcp");
//     request.headers = {{"Content-Type", "application/json"}};
//     request.body = "{}";
//     client->fetch(std::move(request), [](Result<net::HttpClientResponse> response) { … });
//
// An error says in `details.sent` whether anything of the request has left. false: no byte of it, so the peer
// cannot have acted on it; true: it may have. And in `details.reason` what happened:
//
//   invalid_arguments  bad_url, bad_method, bad_header; what would break the request's own lines is refused
//   unavailable        too_many_waiting: HttpPool::max_waiting; too_many_lookups
//   transport          lookup, address_refused, connect, tls, bad_certificate (details.problem: expired,
//                      not_yet_valid, wrong_name, untrusted, other), closed (before an answer), cut (in its
//                      middle), malformed, too_large
//   timed_out          details.phase: wait, connect, tls, write, head, idle, total
//   cancelled          by cancel(), or close()
//
// A connection that was kept may have been closed by the peer at the very moment at which it is used again.
// If not a byte of an answer has come then, the request is sent once more, over a new connection, if nothing
// of it had left or it is idempotent; otherwise that is its end: transport {reason: closed, sent: true}.
//
// What a peer sends is hostile until it is judged: every size, count and time has a limit, and an answer
// whose length could be read in two ways is refused. The rule about addresses (HttpClientOptions::addresses)
// is asked about each address itself, directly before the connection to it. So no name leads past it, however
// often its meaning changes.
//
// It follows no redirect: that is an answer like any other. It keeps no cookies, uses no proxies (whatever
// the environment says), and asks for no compression: a body is handed on as it was sent.
//
// Threads: send(), fetch() and HttpExchange may be used from any thread. Handlers run on the client's loop
// thread, one at a time; they must neither block nor throw, and may call everything here except the
// destructor. To whoever calls send() on that thread none is called before it has returned.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/error.h>

#include "net/address.h"
#include "net/host_lookup.h"
#include "net/http_headers.h"
#include "net/loop.h"

namespace callgate::net {

/// Of one request. A time of 0: for ever.
struct HttpClientLimits {
    static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

    std::size_t max_head_bytes = 64u << 10;          ///< of the answer's head, and of those of 1xx before it
    std::size_t max_headers = 128;                   ///< of each of these
    std::uint64_t max_body_bytes = 4u << 20;         ///< kNoLimit: a stream
    std::chrono::milliseconds wait_time{30'000};     ///< until a connection is free
    std::chrono::milliseconds connect_time{10'000};  ///< to look up the name and to connect
    /// For one of several addresses to answer; then the next one is tried. The last has what is left.
    std::chrono::milliseconds address_time{3'000};
    std::chrono::milliseconds tls_time{10'000};    ///< for the handshake
    std::chrono::milliseconds write_time{30'000};  ///< for the peer to take anything of the request
    std::chrono::milliseconds head_time{60'000};   ///< from the request's last byte to the end of the head
    std::chrono::milliseconds idle_time{60'000};   ///< between two pieces of the body

    HttpClientLimits() {}
};

struct HttpClientRequest {
    std::string method = "GET";
    std::string url;  ///< http or https, see http_url.h
    /// Beside Host, Content-Length and Connection, which the client sets. Those, and others that say how a
    /// message is framed (Transfer-Encoding, TE, Trailer, Upgrade, Expect, …), are refused.
    HttpHeaders headers;
    std::string body;
    /// Connects to this Unix socket, whatever the host of the URL, which then only says what Host says. Never
    /// part of a URL, so that no peer's URL leads to a socket. "": none. The rule about addresses is not
    /// asked.
    std::string unix_path;
    /// Sent twice it does what it does once; see above. GET, HEAD and OPTIONS are, without being called so.
    bool idempotent = false;
    HttpClientLimits limits;
    /// The whole exchange, to the last byte of the answer.
    std::optional<std::chrono::steady_clock::time_point> deadline;

    HttpClientRequest() {}
    HttpClientRequest(std::string method_, std::string url_)
        : method(std::move(method_)), url(std::move(url_)) {}
};

struct HttpResponseHead {
    int status = 0;
    HttpHeaders headers;  ///< as they came; values without white space around them

    HttpResponseHead() {}
    /// Where the header came more than once, the values joined by ", ". Nothing where it did not come.
    std::optional<std::string> header(std::string_view name) const;
};

struct HttpClientResponse {
    HttpResponseHead head;
    std::string body;

    HttpClientResponse() {}
};

/// What is called as an answer comes: on_head once at most, on_piece as often as there is something, never an
/// empty piece; on_end once and last, if neither the client nor its loop is destroyed before. Each may be
/// empty. They are released with the end of the exchange.
struct HttpHandlers {
    std::function<void(HttpResponseHead head)> on_head;
    std::function<void(std::string_view piece)> on_piece;
    /// No error: the answer has come in whole.
    std::function<void(Result<void> result)> on_end;

    HttpHandlers() {}
};

/// One request and its answer. Releasing it changes nothing; the exchange goes on.
class HttpExchange {
public:
    virtual ~HttpExchange() = default;
    /// Its end is on_end with `cancelled`, in a turn of its own and before anything else is called, unless it
    /// has ended. The connection is closed, which is how a peer learns of it.
    virtual void cancel() = 0;
    /// No piece comes until resume(), and the peer can send no more than the system has room for. Called from
    /// a handler it holds at once. Neither idle_time nor head_time runs meanwhile; the deadline does.
    virtual void pause() = 0;
    virtual void resume() = 0;
};

/// What all requests of a client share. An origin is a scheme, a host and a port, or a Unix socket.
struct HttpPool {
    std::size_t max_connections = 512;
    std::size_t max_per_origin = 64;  ///< a stream has one for as long as it lasts
    std::size_t max_idle_per_origin = 16;
    std::size_t max_waiting = 1'024;  ///< requests for which no connection is free
    /// Then a connection that nobody uses is closed; sooner where the peer says so (Keep-Alive: timeout=…).
    std::chrono::milliseconds idle_time{30'000};

    HttpPool() {}
};

struct HttpClientOptions {
    HttpPool pool;
    /// In PEM: whom to trust. "": whom the system trusts. There is no way not to verify.
    std::string ca_file;
    AddressRule addresses;               ///< empty: any
    std::shared_ptr<HostLookup> lookup;  ///< null: the system's
    std::size_t thread = 0;              ///< of the loop

    HttpClientOptions() {}
};

/// What a client counted since it began.
struct HttpClientStats {
    std::uint64_t requests = 0;
    std::uint64_t connections_opened = 0;  ///< to be opened, that is
    std::uint64_t connections_reused = 0;  ///< for another request
    std::uint64_t sent_again = 0;          ///< over a new connection, because the one that was kept had gone
    std::uint64_t connections_now = 0;
    std::uint64_t idle_now = 0;
    std::uint64_t waiting_now = 0;
};

class HttpClient {
public:
    /// config_error {reason: bad_certificate}: the file of authorities cannot be used.
    static Result<std::unique_ptr<HttpClient>> open(Loop& loop, HttpClientOptions options);
    /// Closes everything; handlers are released without a call, and none runs when this returns. Not on a
    /// loop thread. It may outlive its loop.
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    std::shared_ptr<HttpExchange> send(HttpClientRequest request, HttpHandlers handlers);
    /// The same with the whole answer at its end, of no more than limits.max_body_bytes. `done` is called as
    /// on_end is.
    std::shared_ptr<HttpExchange> fetch(HttpClientRequest request,
                                        std::function<void(Result<HttpClientResponse>)> done);
    /// Ends every exchange, each with `cancelled`, and closes all connections. Later requests end the same
    /// way.
    void close();
    HttpClientStats stats() const;

private:
    class Impl;
    explicit HttpClient(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace callgate::net
