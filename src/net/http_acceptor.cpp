#include "net/http_acceptor.h"

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/try.h"
#include "os/system_error.h"
#include "os/unix_socket.h"

namespace callgate::net {
namespace {

constexpr int kBacklog = 1024;
// Of one wake-up; other connections have their turn in between.
constexpr int kAcceptedAtOnce = 64;
constexpr std::chrono::milliseconds kBackOff{50};

union Address {
    sockaddr any;
    sockaddr_in four;
    sockaddr_in6 six;
};

tl::unexpected<Error> cannot_listen(const std::string& where, int number) {
    Error error = os::system_error(ErrorCode::config_error, "listen on", where, number);
    error.details["reason"] = number == EADDRINUSE                                ? "address_in_use"
                              : number == EADDRNOTAVAIL || number == EAFNOSUPPORT ? "bad_address"
                                                                                  : "listen";
    return tl::unexpected(std::move(error));
}

Result<std::pair<Address, socklen_t>> read_address(const std::string& text, std::uint16_t port) {
    Address address{};
    if (::inet_pton(AF_INET, text.c_str(), &address.four.sin_addr) == 1) {
        address.four.sin_family = AF_INET;
        address.four.sin_port = htons(port);
        return std::pair(address, static_cast<socklen_t>(sizeof address.four));
    }
    if (::inet_pton(AF_INET6, text.c_str(), &address.six.sin6_addr) == 1) {
        address.six.sin6_family = AF_INET6;
        address.six.sin6_port = htons(port);
        return std::pair(address, static_cast<socklen_t>(sizeof address.six));
    }
    return fail(ErrorCode::config_error,
                fmt::format("\"{}\" is no address of a machine; write it as 127.0.0.1 or ::1.", text),
                {{"reason", "bad_address"}});
}

bool is_loopback(const Address& address) noexcept {
    if (address.any.sa_family == AF_INET) return ntohl(address.four.sin_addr.s_addr) >> 24 == 127;
    if (IN6_IS_ADDR_V4MAPPED(&address.six.sin6_addr)) return address.six.sin6_addr.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&address.six.sin6_addr);
}

bool is_any(const Address& address) noexcept {
    if (address.any.sa_family == AF_INET) return address.four.sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&address.six.sin6_addr);
}

// "127.0.0.1:80", "[::1]:80".
std::string text_of(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.any.sa_family == AF_INET) {
        ::inet_ntop(AF_INET, &address.four.sin_addr, text.data(), text.size());
        return fmt::format("{}:{}", text.data(), ntohs(address.four.sin_port));
    }
    ::inet_ntop(AF_INET6, &address.six.sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), ntohs(address.six.sin6_port));
}

// Connections have what the socket has that listens.
void set_for_connections(int socket) {
    const auto set = [socket](int level, int name, int value) {
        ::setsockopt(socket, level, name, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_REUSEADDR, 1);
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    // A machine that is gone without a word is noticed after about two minutes.
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
    set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

Result<ListeningSocket> listen_tcp(const HttpServerOptions& options) {
    CALLGATE_TRY_ASSIGN(auto found, read_address(options.address, options.port));
    auto& [address, size] = found;
    ListeningSocket listening;
    listening.loopback = is_loopback(address);
    listening.socket = os::Fd(::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listening.socket) return cannot_listen(text_of(address), errno);
    set_for_connections(listening.socket.get());
    if (::bind(listening.socket.get(), &address.any, size) != 0 ||
        ::listen(listening.socket.get(), kBacklog) != 0 ||
        ::getsockname(listening.socket.get(), &address.any, &size) != 0)
        return cannot_listen(text_of(address), errno);
    listening.port = ntohs(address.any.sa_family == AF_INET ? address.four.sin_port : address.six.sin6_port);
    const std::string text = text_of(address);
    listening.url = (options.tls ? "https://" : "http://") + text;
    if (!is_any(address)) listening.host = text.substr(0, text.rfind(':'));
    return listening;
}

// Which file it is, so that another's is never removed.
std::optional<std::pair<dev_t, ino_t>> file_at(const std::string& path) {
    struct ::stat there = {};
    if (::lstat(path.c_str(), &there) != 0 || !S_ISSOCK(there.st_mode)) return std::nullopt;
    return std::pair(there.st_dev, there.st_ino);
}

// What nobody serves any more may be replaced; a server that runs keeps its address, as over TCP.
bool is_served(const std::string& path) {
    const auto connected = os::connect_unix(path);
    return connected || os::error_number(connected.error()) == EAGAIN;
}

Result<ListeningSocket> listen_unix(const HttpServerOptions& options) {
    if (is_served(options.unix_path)) return cannot_listen(options.unix_path, EADDRINUSE);
    auto socket = os::listen_unix(options.unix_path, options.unix_permissions, kBacklog);
    if (!socket) return cannot_listen(options.unix_path, os::error_number(socket.error()));
    ListeningSocket listening;
    listening.socket = std::move(*socket);
    listening.url = "unix:" + options.unix_path;
    listening.unix_path = options.unix_path;
    listening.unix_file = file_at(options.unix_path);
    return listening;
}

}  // namespace

Result<ListeningSocket> listen(const HttpServerOptions& options) {
    return options.unix_path.empty() ? listen_tcp(options) : listen_unix(options);
}

HttpAcceptor::HttpAcceptor(std::shared_ptr<HttpServerState> state,
                           std::vector<std::shared_ptr<HttpShard>> shards, ListeningSocket listening)
    : state_(std::move(state)),
      shards_(std::move(shards)),
      unix_path_(listening.unix_path),
      unix_file_(listening.unix_file),
      socket_(shards_.front()->thread()->context(), listening.socket.get()),
      timer_(shards_.front()->thread()->context()) {
    listening.socket.release();
}

void HttpAcceptor::start_on(const HttpShard& shard) {
    if (&shard == shards_.front().get()) wait();
}

void HttpAcceptor::close_on(const HttpShard& shard) {
    if (&shard != shards_.front().get() || std::exchange(closed_, true)) return;
    boost::system::error_code ignored;
    // While it is served nobody replaces it.
    if (unix_file_ && file_at(unix_path_) == unix_file_) (void)::unlink(unix_path_.c_str());
    (void)socket_.close(ignored);
    timer_.cancel();
}

void HttpAcceptor::wait() {
    socket_.async_wait(socket_.wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                           if (!error && !self->closed_) self->accept_all();
                       });
}

void HttpAcceptor::accept_all() {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        os::Fd socket(::accept4(socket_.native_handle(), reinterpret_cast<sockaddr*>(&address), &size,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket) {
            take(std::move(socket), address);
        } else if (errno == EAGAIN) {
            break;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            return back_off();
        }
        // Otherwise who came has gone again.
    }
    wait();
}

void HttpAcceptor::back_off() {
    state_->accept_pauses.fetch_add(1, std::memory_order_relaxed);
    timer_.expires_after(kBackOff);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        if (!error && !self->closed_) self->accept_all();
    });
}

void HttpAcceptor::take(os::Fd socket, const sockaddr_storage& address) {
    state_->accepted.fetch_add(1, std::memory_order_relaxed);
    if (state_->connections.load() >= state_->max_connections) return turn_away(socket);
    state_->connections.fetch_add(1);
    HttpPeer peer = peer_of(socket, address);
    const std::shared_ptr<HttpShard>& shard = shards_[next_++ % shards_.size()];
    if (shard->thread()->here()) return shard->take(std::move(socket), std::move(peer));
    shard->thread()->post([shard, socket = std::move(socket), peer = std::move(peer)]() mutable {
        shard->take(std::move(socket), std::move(peer));
    });
}

void HttpAcceptor::turn_away(const os::Fd& socket) const {
    state_->refused_connections.fetch_add(1, std::memory_order_relaxed);
    if (state_->options.tls) return;
    static constexpr std::string_view kAnswer =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: "
        "29\r\n"
        "Connection: close\r\n\r\nToo many connections at once\n";
    static_cast<void>(::send(socket.get(), kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL));
    ::shutdown(socket.get(), SHUT_WR);
    // What it has said already would make the system reset the connection.
    std::array<char, 4096> dropped;
    // It does not block. NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
    static_cast<void>(::recv(socket.get(), dropped.data(), dropped.size(), 0));
}

HttpPeer HttpAcceptor::peer_of(const os::Fd& socket, const sockaddr_storage& from) const {
    HttpPeer peer;
    peer.secure = state_->options.tls.has_value();
    if (!unix_path_.empty()) {
        peer.address = "unix";
        peer.loopback = true;
        if (const auto credentials = os::peer_of(socket)) peer.uid = credentials->uid;
        return peer;
    }
    const auto& address = reinterpret_cast<const Address&>(from);
    peer.address = text_of(address);
    peer.loopback = is_loopback(address);
    return peer;
}

}  // namespace callgate::net
