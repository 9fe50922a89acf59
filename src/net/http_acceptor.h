// The socket on which a server listens, and who is served on which thread.
//
// When the system has no more descriptors to give, it waits a little and goes on; who has come waits for that
// in the system's queue.
//
// Threads: HttpAcceptor belongs to the first thread of the server's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/http_shard.h"
#include "os/fd.h"

namespace callgate::net {

struct ListeningSocket {
    os::Fd socket;
    std::string url;
    std::uint16_t port = 0;
    bool loopback = false;
    std::string host;  ///< "127.0.0.2", "[::1]"; "" of a Unix socket, and where it listens on every address
    std::string unix_path;                             ///< "": none
    std::optional<std::pair<dev_t, ino_t>> unix_file;  ///< which file that is
};

/// config_error {reason: bad_address | address_in_use | listen}.
Result<ListeningSocket> listen(const HttpServerOptions& options);

class HttpAcceptor : public std::enable_shared_from_this<HttpAcceptor> {
public:
    HttpAcceptor(std::shared_ptr<HttpServerState> state, std::vector<std::shared_ptr<HttpShard>> shards,
                 ListeningSocket listening);

    // Each does what it says on the acceptor's own thread, and nothing on the others.
    void start_on(const HttpShard& shard);
    void close_on(const HttpShard& shard);

private:
    void wait();
    void accept_all();
    void back_off();
    void take(os::Fd socket, const sockaddr_storage& address);
    void turn_away(const os::Fd& socket) const;
    HttpPeer peer_of(const os::Fd& socket, const sockaddr_storage& address) const;

    const std::shared_ptr<HttpServerState> state_;
    const std::vector<std::shared_ptr<HttpShard>> shards_;
    const std::string unix_path_;
    const std::optional<std::pair<dev_t, ino_t>> unix_file_;
    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> socket_;
    boost::asio::steady_timer timer_;
    std::size_t next_ = 0;
    bool closed_ = false;
};

}  // namespace callgate::net
