// The bytes of a connected socket, plain or through TLS, without ever waiting: what cannot be done now says
// what it waits for.
//
// TLS works on the socket itself, and its buffers are released while nothing is under way, so that an idle
// connection costs little.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <openssl/types.h>
#include <sys/uio.h>

#include "net/tls.h"

namespace callgate::net {

class SocketStream {
public:
    /// More than the largest record of TLS.
    static constexpr std::size_t kLeastRoom = 17u << 10;

    enum class State : std::uint8_t {
        done,         ///< something was moved
        waits_read,   ///< until the socket can be read
        waits_write,  ///< until it can be written
        ended,        ///< the peer sends nothing more
        failed,
    };
    struct Moved {
        std::size_t bytes = 0;
        State state = State::done;
    };

    /// The socket stays its owner's, and open for as long as this is used. Plain without a context. With one
    /// the peer is expected to begin, as a client does.
    SocketStream(int socket, const TlsContext* tls);
    /// Begins itself: the peer has to be who has this name, or this address.
    SocketStream(int socket, const TlsContext* tls, const std::string& host, bool is_address);
    ~SocketStream();
    SocketStream(const SocketStream&) = delete;
    SocketStream& operator=(const SocketStream&) = delete;

    int socket() const noexcept { return socket_; }
    /// The room is at least kLeastRoom. Reading is what carries the handshake on.
    Moved read(std::span<char> room);
    /// Of all these pieces in order; where the socket is plain, in one call of the system.
    Moved write(std::span<const iovec> pieces);
    /// The handshake is done, or there is none.
    bool ready() const noexcept;
    /// Nothing more comes, though the socket may not say so: TLS has.
    bool is_over() const noexcept;
    /// The peer is to see an end; what it still sends can be read.
    void end_writing() noexcept;
    /// After State::failed before it was ready; null where that was not for TLS to say.
    const TlsFault* fault() const noexcept { return fault_.get(); }

private:
    Moved read_tls(std::span<char> room);
    Moved write_tls(std::span<const iovec> pieces);
    State tls_state(int result);

    const int socket_;
    const bool plain_;
    bool broken_ = false;  // TLS goes no further
    SSL* tls_ = nullptr;
    std::unique_ptr<const TlsFault> fault_;
};

}  // namespace callgate::net
