// How a connection of the HTTP client finds its way to the peer: name, addresses, TLS.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "net/http_client_connection.h"
#include "os/system_error.h"
#include "os/unix_socket.h"

namespace callgate::net {

using std::chrono::steady_clock;

namespace {

void set_for_requests(const os::Fd& socket) {
    const auto set = [&socket](int level, int name, int value) {
        ::setsockopt(socket.get(), level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    // Of a stream on which nothing happens, a peer that is gone without a word is noticed after two minutes.
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
    set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

int connect_socket(const os::Fd& socket, const IpAddress& address, std::uint16_t port) {
    if (!address.six) {
        sockaddr_in four{};
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        std::memcpy(&four.sin_addr, address.bytes.data(), sizeof four.sin_addr);
        return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&four), sizeof four);
    }
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    six.sin6_scope_id = address.scope;
    std::memcpy(&six.sin6_addr, address.bytes.data(), sizeof six.sin6_addr);
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&six), sizeof six);
}

}  // namespace

void HttpClientConnection::open(const std::shared_ptr<HttpClientExchange>& exchange) {
    take(exchange);
    phase_ = Phase::connecting;
    const auto time = exchange->limits().connect_time;
    connect_until_ = time.count() > 0 ? steady_clock::now() + time : steady_clock::time_point::max();
    core_->set_deadline(*this, connect_until_);
    if (!exchange->unix_path().empty()) return connect_unix();
    if (!exchange->url().literal) return look_up();
    looked_up(std::vector<IpAddress>{*IpAddress::parse(exchange->url().host)});
}

void HttpClientConnection::look_up() {
    core_->lookup().look_up(exchange_->url().host,
                            [thread = core_->thread_pointer(),
                             weak = weak_from_this()](Result<std::vector<IpAddress>> found) mutable {
                                thread->post([weak = std::move(weak), found = std::move(found)]() mutable {
                                    if (const auto self = weak.lock()) self->looked_up(std::move(found));
                                });
                            });
}

void HttpClientConnection::looked_up(Result<std::vector<IpAddress>> found) {
    if (phase_ != Phase::connecting) return;
    if (found) {
        addresses_ = std::move(*found);
        return connect_next();
    }
    const Error& error = found.error();
    const auto* reason = error.details.if_contains("reason");
    fail(exchange_->failure(error.code,
                            reason != nullptr && reason->is_string() ? reason->get_string() : "lookup",
                            fmt::format("its host was not found ({})", error.message)));
}

// The next address that may be connected to and does not refuse at once.
void HttpClientConnection::connect_next() {
    const AddressRule& rule = core_->options().addresses;
    while (next_address_ < addresses_.size()) {
        const IpAddress& address = addresses_[next_address_++];
        if (rule && !rule(address)) {
            address_refused_ = true;
            continue;
        }
        if (connect_to(address)) return;
    }
    cannot_connect();
}

bool HttpClientConnection::connect_to(const IpAddress& address) {
    const auto fault = [&](int number) {
        connect_fault_ = fmt::format("{}: {}", address.text(), os::errno_text(number));
        return false;
    };
    os::Fd socket(::socket(address.six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return fault(errno);
    set_for_requests(socket);
    if (connect_socket(socket, address, exchange_->url().port) != 0 && errno != EINPROGRESS)
        return fault(errno);
    if (!watch(std::move(socket))) return fault(ENOMEM);
    const auto time = exchange_->limits().address_time;
    const bool last = next_address_ == addresses_.size() || time.count() <= 0;
    core_->set_deadline(*this, last ? connect_until_ : std::min(connect_until_, steady_clock::now() + time));
    wait_to_connect();
    return true;
}

void HttpClientConnection::connect_unix() {
    auto socket = os::connect_unix(exchange_->unix_path());
    if (!socket) {
        connect_fault_ = socket.error().message;
    } else if (!watch(std::move(*socket))) {
        connect_fault_ = os::errno_text(ENOMEM);
    } else {
        return connected();
    }
    cannot_connect();
}

bool HttpClientConnection::watch(os::Fd socket) {
    boost::system::error_code error;
    (void)socket_.close(error);
    (void)socket_.assign(socket.get(), error);
    if (error) return false;
    socket.release();
    return true;
}

// Of an address that was given up before, what its socket had to say may still be under way.
void HttpClientConnection::wait_to_connect() {
    socket_.async_wait(socket_.wait_write, [self = shared_from_this(),
                                            address = next_address_](const boost::system::error_code& error) {
        if (!error && self->phase_ == Phase::connecting && self->next_address_ == address)
            self->connect_ended();
    });
}

void HttpClientConnection::connect_ended() {
    int number = 0;
    socklen_t size = sizeof number;
    if (::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
    if (number == 0) return connected();
    connect_fault_ = fmt::format("{}: {}", addresses_[next_address_ - 1].text(), os::errno_text(number));
    connect_next();
}

void HttpClientConnection::connected() {
    std::vector<IpAddress>().swap(addresses_);
    std::string().swap(connect_fault_);
    const HttpUrl& url = exchange_->url();
    if (!url.secure) {
        stream_.emplace(socket_.native_handle(), nullptr);
        return run();
    }
    stream_.emplace(socket_.native_handle(), core_->tls(), url.host, url.literal);
    phase_ = Phase::securing;
    const auto time = exchange_->limits().tls_time;
    core_->set_deadline(*this,
                        time.count() > 0 ? steady_clock::now() + time : steady_clock::time_point::max());
    // Reading begins the handshake.
    read_later();
}

void HttpClientConnection::cannot_connect() {
    if (connect_fault_.empty() && address_refused_)
        return fail("address_refused", "none of its addresses may be connected to");
    fail("connect", connect_fault_.empty() ? "it has no address" : connect_fault_);
}

void HttpClientConnection::cannot_secure() {
    const TlsFault* fault = stream_->fault();
    if (fault == nullptr) return fail("tls", "the connection was closed before TLS was agreed on");
    if (fault->problem.empty()) return fail("tls", fmt::format("TLS was not agreed on ({})", fault->text));
    Error error = exchange_->failure(
        ErrorCode::transport, "bad_certificate",
        fmt::format("the certificate of {} is not accepted ({})", exchange_->url().host, fault->text));
    error.details["problem"] = fault->problem;
    fail(std::move(error));
}

}  // namespace callgate::net
