// An HTTP/1.1 server: connections over TCP, TLS or a Unix socket, requests bounded and in whole, replies in
// one piece or as a stream.
//
//     net::Loop loop;
//     auto server = net::HttpServer::open(loop, options, [](std::unique_ptr<net::HttpRequest> request,
//                                                           std::shared_ptr<net::HttpReply> reply) {
//         reply->send({200, {{"Content-Type", "text/plain"}}, "hello\n"});
//     });
//
// What a peer sends is hostile until it is judged: every size, count and time has a limit, and what breaks
// one is answered (400, 408, 413, 414, 431, 503) where an answer can still be understood, and the connection
// closed. A message whose length could be read in two ways is refused. A peer that reads slower than it is
// written to is dropped before it costs more than HttpLimits::max_waiting_bytes and one piece. Whatever one
// connection does, the others go on.
//
// A browser's page must not reach a server on the same machine by a name of its own: Host and Origin are
// checked on every request (HttpAccess) before the handler sees it.
//
// Threads: the handler is called on the loop thread of the connection, one request of a connection at a time,
// in order; it must neither block nor throw (what it throws ends the connection with a 500). An HttpReply may
// be used from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <callgate/error.h>

#include "net/http_headers.h"
#include "net/loop.h"

namespace callgate::net {

/// Who is at the other end.
struct HttpPeer {
    std::string address;       ///< "127.0.0.1:4711", "[::1]:4711"; "unix" of a Unix socket
    bool loopback = false;     ///< this machine; also of a Unix socket
    bool secure = false;       ///< TLS
    std::optional<uid_t> uid;  ///< of a Unix socket, as the kernel says it
};

/// Threads: used by one at a time.
class HttpRequest {
public:
    virtual ~HttpRequest() = default;
    virtual std::string_view method() const noexcept = 0;
    virtual std::string_view target() const noexcept = 0;  ///< as it was sent, without a fragment
    std::string_view path() const noexcept;                ///< of the target, as it was sent
    std::string_view query() const noexcept;               ///< "" where there is none
    /// The value without white space around it; where the header came more than once, the values joined by
    /// ", ". Nothing where it did not come. Names of any case. The view is the request's own.
    virtual std::optional<std::string_view> header_view(std::string_view name) const = 0;
    std::optional<std::string> header(std::string_view name) const;  ///< the same as a copy
    virtual void for_each_header(
        const std::function<void(std::string_view name, std::string_view value)>& take) const = 0;
    virtual std::string take_body() = 0;
    virtual const HttpPeer& peer() const noexcept = 0;
};

struct HttpResponse {
    int status = 200;
    /// Beside Date, Content-Length or Transfer-Encoding, and Connection, which the server sets.
    HttpHeaders headers;
    std::string body;
    std::string_view content_type{};  ///< a constant, instead of a header of that name; "": none
};

/// The one answer to a request. Released without one, it answers 500.
class HttpReply {
public:
    virtual ~HttpReply() = default;
    /// The whole answer, written at once. Once, and not after begin(); later ones are dropped, as is
    /// everything once the peer has gone.
    virtual void send(HttpResponse response) = 0;
    /// An answer that comes piece by piece: head now, then write() as often as there is something, then
    /// end(). Pieces given in one turn of the loop leave in one write. `idle_text` is a piece that the
    /// connection writes by itself whenever nothing has been written for HttpLimits::quiet_time, so that a
    /// stream on which nothing happens is not taken for dead, nor a peer that has gone without a word for
    /// there: ":\n\n" for events. "": none.
    virtual void begin(int status, HttpHeaders headers, std::string idle_text = {}) = 0;
    virtual void write(std::string bytes) = 0;
    virtual void end() = 0;
    /// Ends the connection with whatever has been written, in the middle of a stream if need be.
    virtual void abandon() = 0;
    /// Called once, on the connection's loop thread, if the connection ends before the answer has left in
    /// whole, whoever ended it, except by abandon(); soon, if it has ended already; never after the answer
    /// has left, and never inside a function of the reply. One function; the last that
    /// is given counts, and it must not throw. It is released with the answer: what holds the reply in there
    /// must answer, or nobody releases it.
    virtual void on_gone(std::function<void()> function) = 0;
    /// Given to write(), with what frames it, and not taken by the system yet.
    virtual std::size_t waiting_bytes() const noexcept = 0;
    /// Of the connection's thread: work run there keeps its order with what is written there.
    virtual Executor executor() const = 0;
};

struct HttpLimits {
    /// More are closed at once, and counted. Never more than three quarters of the descriptors that the
    /// process may have when the server opens (the soft RLIMIT_NOFILE), and never the last 64.
    std::size_t max_connections = 10'000;
    std::size_t max_target_bytes = 8u << 10;
    std::size_t max_header_bytes = 32u << 10;  ///< all headers of a request together
    std::size_t max_headers = 128;
    std::size_t max_body_bytes = 4u << 20;
    /// Of one connection: a piece of a stream that is given while more waits drops the peer. So one answer or
    /// one piece may be of any size, and what waits is never more than this and the last piece.
    std::size_t max_waiting_bytes = 4u << 20;
    /// Of all connections together: bodies that come or wait for the handler to take them, what was sent
    /// ahead, and what waits to be written. While there is more, a body of more than 16 KB is answered 503
    /// and its connection closed; smaller ones are served, so that whoever holds the memory keeps no one out.
    std::size_t max_total_bytes = 256u << 20;
    std::size_t max_requests_per_connection = 1'000'000;
    std::chrono::milliseconds head_time{10'000};  ///< for the whole head, from its first byte
    std::chrono::milliseconds body_time{30'000};
    std::chrono::milliseconds idle_time{75'000};   ///< between requests
    std::chrono::milliseconds write_time{30'000};  ///< for a peer to take anything of what waits for it
    std::chrono::milliseconds tls_time{10'000};    ///< for the handshake
    std::chrono::milliseconds quiet_time{15'000};  ///< then a stream writes its idle text; 0: never

    HttpLimits() {}
};

/// Whose requests are served.
struct HttpAccess {
    /// What Host may say, without a port: "mcp.example.com", "[::1]". Empty: a server that listens on a
    /// loopback address takes "localhost", "127.0.0.1", "[::1]" and that address; one that listens elsewhere
    /// takes any.
    std::vector<std::string> hosts;
    /// What Origin may say where there is one: "https://app.example.com". Empty: a server that listens on a
    /// loopback address takes those of loopback hosts; one that listens elsewhere takes none.
    std::vector<std::string> origins;

    HttpAccess() {}
};

struct HttpTls {
    std::string certificate_file;  ///< the chain, in PEM
    std::string key_file;          ///< in PEM
};

struct HttpServerOptions {
    /// An address of this machine ("127.0.0.1", "::1", "0.0.0.0"); not a name.
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;  ///< 0: one that is free
    /// A Unix socket instead of address and port; "": none.
    std::string unix_path;
    mode_t unix_permissions = 0600;
    std::optional<HttpTls> tls;
    HttpLimits limits;
    HttpAccess access;

    HttpServerOptions() {}
};

/// What a server counted since it began.
struct HttpStats {
    std::uint64_t accepted = 0;
    std::uint64_t connections_now = 0;
    std::uint64_t max_connections = 0;  ///< as HttpLimits says, or fewer, where there are fewer descriptors
    std::uint64_t bytes_now = 0;        ///< as HttpLimits::max_total_bytes counts them
    std::uint64_t requests = 0;
    std::uint64_t refused_connections = 0;  ///< too many, while draining, or not to be watched
    std::uint64_t refused_requests = 0;     ///< malformed, too large, too slow, of a wrong Host or Origin
    std::uint64_t slow_readers = 0;
    std::uint64_t accept_pauses = 0;  ///< the system had no descriptor left
};

class HttpServer {
public:
    using Handler = std::function<void(std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply>)>;

    /// config_error {reason: bad_address | address_in_use | bad_certificate | …}.
    static Result<std::unique_ptr<HttpServer>> open(Loop& loop, HttpServerOptions options, Handler handler);
    /// Closes everything at once. Not on a loop thread; no handler runs when it returns.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// "http://127.0.0.1:4711", "https://…"; "unix:PATH".
    std::string url() const;
    std::uint16_t port() const noexcept;
    /// Takes no more connections, closes those that are idle, and the others after their answers; waits until
    /// they have gone, or so long, and returns how many have not. Not on a loop thread.
    std::size_t drain(std::chrono::milliseconds at_most);
    HttpStats stats() const;

private:
    class Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace callgate::net
