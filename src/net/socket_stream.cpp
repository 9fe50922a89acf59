#include "net/socket_stream.h"

#include <cerrno>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

namespace callgate::net {

SocketStream::SocketStream(int socket, const TlsContext* tls)
    : socket_(socket), plain_(tls == nullptr), tls_(tls == nullptr ? nullptr : tls->accept_on(socket)) {}

SocketStream::SocketStream(int socket, const TlsContext* tls, const std::string& host, bool is_address)
    : socket_(socket),
      plain_(tls == nullptr),
      tls_(tls == nullptr ? nullptr : tls->connect_on(socket, host, is_address)) {}

SocketStream::~SocketStream() {
    SSL_free(tls_);
}

SocketStream::Moved SocketStream::read(std::span<char> room) {
    if (!plain_) return read_tls(room);
    for (;;) {
        const ssize_t got = ::recv(socket_, room.data(), room.size(), 0);
        if (got > 0) return {static_cast<std::size_t>(got), State::done};
        if (got == 0) return {0, State::ended};
        if (errno == EINTR) continue;
        return {0, errno == EAGAIN ? State::waits_read : State::failed};
    }
}

SocketStream::Moved SocketStream::write(std::span<const iovec> pieces) {
    if (!plain_) return write_tls(pieces);
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());
    message.msg_iovlen = pieces.size();
    for (;;) {
        const ssize_t put = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
        if (put >= 0) return {static_cast<std::size_t>(put), State::done};
        if (errno == EINTR) continue;
        return {0, errno == EAGAIN ? State::waits_write : State::failed};
    }
}

bool SocketStream::ready() const noexcept {
    return plain_ || (tls_ != nullptr && SSL_is_init_finished(tls_) == 1);
}

bool SocketStream::is_over() const noexcept {
    return !plain_ && (broken_ || tls_ == nullptr || (SSL_get_shutdown(tls_) & SSL_RECEIVED_SHUTDOWN) != 0);
}

void SocketStream::end_writing() noexcept {
    if (!plain_ && !broken_ && ready()) {
        SSL_shutdown(tls_);
        ERR_clear_error();
    }
    ::shutdown(socket_, SHUT_WR);
}

// Record by record, as long as a whole one has room: of what was decrypted nothing is left behind, where
// waiting for the socket would not find it.
SocketStream::Moved SocketStream::read_tls(std::span<char> room) {
    Moved moved;
    if (tls_ == nullptr || broken_) return {0, State::failed};
    while (room.size() - moved.bytes >= kLeastRoom) {
        std::size_t got = 0;
        ERR_clear_error();
        const int result = SSL_read_ex(tls_, room.data() + moved.bytes, room.size() - moved.bytes, &got);
        moved.bytes += got;
        if (result != 1) {
            const State state = tls_state(result);
            return moved.bytes > 0 ? moved : Moved{0, state};
        }
    }
    return moved;
}

SocketStream::Moved SocketStream::write_tls(std::span<const iovec> pieces) {
    Moved moved;
    if (tls_ == nullptr || broken_) return {0, State::failed};
    for (const iovec& piece : pieces) {
        std::size_t done = 0;
        while (done < piece.iov_len) {
            std::size_t put = 0;
            ERR_clear_error();
            const int result = SSL_write_ex(tls_, static_cast<const char*>(piece.iov_base) + done,
                                            piece.iov_len - done, &put);
            done += put;
            moved.bytes += put;
            if (result != 1) {
                const State state = tls_state(result);
                return moved.bytes > 0 ? moved : Moved{0, state};
            }
        }
    }
    return moved;
}

SocketStream::State SocketStream::tls_state(int result) {
    switch (SSL_get_error(tls_, result)) {
        case SSL_ERROR_WANT_READ: return State::waits_read;
        case SSL_ERROR_WANT_WRITE: return State::waits_write;
        case SSL_ERROR_ZERO_RETURN: return State::ended;
        default:
            broken_ = true;
            if (!ready()) fault_ = std::make_unique<TlsFault>(fault_of(tls_));
            ERR_clear_error();
            return State::failed;
    }
}

}  // namespace callgate::net
