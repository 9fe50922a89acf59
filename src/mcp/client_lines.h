// A server at the other end of two descriptors: a message a line. Where they come from is not its business.
//
// What a server does not read waits, up to a limit; past it nothing more is taken. A line that is too long is
// reported and left out. When the connection ends, each request is said to have left or not.
//
// Threads: the client's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "mcp/client_transport.h"
#include "net/loop.h"
#include "os/fd.h"
#include "wire/line_reader.h"

namespace callgate::mcp {

struct ClientLineLimits {
    std::size_t max_line = 4u << 20;
    std::size_t max_waiting = 16u << 20;  ///< to be written; one message may always wait

    ClientLineLimits() {}
};

class ClientLines final : public ClientTransport, public std::enable_shared_from_this<ClientLines> {
public:
    /// Both are made not to block; they may be one socket, as two descriptors. `kept` is released when the
    /// connection is: what the descriptors belong to.
    static std::shared_ptr<ClientLines> make(std::shared_ptr<net::LoopThread> thread, os::Fd in, os::Fd out,
                                             std::shared_ptr<void> kept = {}, ClientLineLimits limits = {});
    ~ClientLines() override;

    void begin(TransportPeer& peer) override;
    Result<void> send(OutgoingMessage message) override;
    bool forget(std::uint64_t request, bool modern) override;
    void close() override;

private:
    struct Unsent {
        std::uint64_t request;
        std::uint64_t begin;  // of its line, in all that is ever written
    };

    ClientLines(std::shared_ptr<net::LoopThread> thread, os::Fd in, os::Fd out, std::shared_ptr<void> kept,
                ClientLineLimits limits);
    void wait_to_read();
    void read_some();
    void take_line(const wire::LineReader::Line& line);
    void write_soon();
    void write_some();
    void wait_to_write();
    void end(std::string why);
    void stop();

    const std::shared_ptr<net::LoopThread> thread_;
    const ClientLineLimits limits_;
    os::Fd in_;
    os::Fd out_;
    bool in_is_socket_ = false;
    bool out_is_socket_ = false;
    std::shared_ptr<void> kept_;
    boost::asio::posix::stream_descriptor readable_;
    boost::asio::posix::stream_descriptor writable_;
    TransportPeer* peer_ = nullptr;  // null: not begun, or over
    wire::LineReader lines_;
    std::vector<char> buffer_;
    std::string waiting_;       // to be written
    std::size_t written_ = 0;   // of that
    std::uint64_t before_ = 0;  // written before what is in `waiting_`
    std::deque<Unsent> unsent_;
    bool writes_soon_ = false;
    bool waits_to_write_ = false;
    bool over_ = false;
};

}  // namespace callgate::mcp
