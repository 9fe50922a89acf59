// MCP over two descriptors: a message a line. Both eras may be spoken at once: a request with an envelope is
// one of the stateless era, and `initialize` begins the session of everything without.
//
// Threads: made anywhere, used on the server's home thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "mcp/server_core.h"
#include "os/fd.h"
#include "wire/line_reader.h"

namespace callgate::mcp {

class StdioConnection final : public std::enable_shared_from_this<StdioConnection> {
public:
    /// `ended` is called once, at home: "", or what went wrong.
    StdioConnection(std::shared_ptr<ServerCore> core, os::Fd in, os::Fd out,
                    std::function<void(std::string)> ended);

    void begin();
    /// Ends it as if the client had gone.
    void stop() { end({}); }
    /// One line out.
    void send(std::string_view text);

private:
    class Way;

    void wait_to_read();
    void read_some();
    void take_line(const wire::LineReader::Line& line);
    void take_one(ReadMessage& read, const std::shared_ptr<Outlet>& outlet, bool in_batch);
    void write_some();
    void wait_to_write();
    void input_ended();
    void watch_output();
    void end(std::string trouble);

    const std::shared_ptr<ServerCore> core_;
    os::Fd in_;
    os::Fd out_;
    const bool in_is_socket_;
    const bool out_is_socket_;
    int in_flags_ = -1;  // as they were; others may share the descriptions
    int out_flags_ = -1;
    boost::asio::posix::stream_descriptor readable_;
    boost::asio::posix::stream_descriptor writable_;
    std::function<void(std::string)> ended_;
    std::shared_ptr<Session> session_;
    wire::LineReader lines_;
    std::vector<char> buffer_;
    std::string waiting_;  // to be written
    std::size_t written_ = 0;
    bool writing_ = false;
    bool gathers_ = false;  // what is sent leaves with the rest of this turn
    bool input_over_ = false;
    bool watches_output_ = false;
    bool over_ = false;
};

}  // namespace callgate::mcp
