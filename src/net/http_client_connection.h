// One connection of the HTTP client: a state machine driven by what happens to its socket and by deadlines.
// It is made for one exchange, finds its way to the peer, and may serve others after it, one at a time. Like
// the server's it never waits and keeps nothing to read into, so one with a stream on which nothing happens
// costs little more than this object.
//
// Threads: belongs to the client's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "net/http_client_core.h"
#include "net/http_client_exchange.h"
#include "net/http_response_reader.h"
#include "net/socket_stream.h"
#include "os/fd.h"

namespace callgate::net {

class HttpClientConnection final : public HttpTimed,
                                   public std::enable_shared_from_this<HttpClientConnection> {
public:
    HttpClientConnection(std::shared_ptr<HttpClientCore> core, std::string origin);

    const std::string& origin() const noexcept { return origin_; }
    const std::shared_ptr<HttpClientExchange>& exchange() const noexcept { return exchange_; }

    /// Finds its way to where the exchange goes, and sends it. No handler is called before this returns.
    void open(const std::shared_ptr<HttpClientExchange>& exchange);
    /// Of one that is idle: nothing has come on it, not even its end.
    bool is_usable() const noexcept;
    /// Sends another. No handler is called before this returns.
    void begin(const std::shared_ptr<HttpClientExchange>& exchange);
    /// Its exchange has been paused, or goes on; that does not happen before this returns.
    void paused();
    void resumed();
    /// Its exchange has ended before its answer did.
    void drop();
    void close();
    void deadline_passed() override;

private:
    enum class Phase : std::uint8_t {
        connecting,  ///< looks the name up, or waits for an address to answer
        securing,    ///< TLS's handshake
        running,     ///< it has an exchange
        idle,
        closed,
    };

    void take(const std::shared_ptr<HttpClientExchange>& exchange);
    std::shared_ptr<HttpClientExchange> release_exchange() noexcept;
    void fail(Error error);
    void fail(std::string_view reason, std::string_view text);

    // On the way: http_client_connect.cpp
    void look_up();
    void looked_up(Result<std::vector<IpAddress>> found);
    void connect_next();
    bool connect_to(const IpAddress& address);
    void connect_unix();
    bool watch(os::Fd socket);
    void wait_to_connect();
    void connect_ended();
    void connected();
    void cannot_connect();
    void cannot_secure();

    void run();
    void write();
    void wait_to_write();
    void wait_to_read();
    void wait_to_write_for_reading();
    void readable();
    void process(std::string_view bytes);
    void answer_is_whole(bool nothing_follows);
    void lost(bool properly);
    void read_later();
    void set_phase_deadline();

    const std::shared_ptr<HttpClientCore> core_;
    const std::string origin_;
    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> socket_;
    std::optional<SocketStream> stream_;
    std::shared_ptr<HttpClientExchange> exchange_;
    std::optional<HttpResponseReader> reader_;
    std::string held_;  // came while the exchange was paused
    std::vector<IpAddress> addresses_;
    std::size_t next_address_ = 0;
    std::string connect_fault_;  // of the last address that was tried
    std::chrono::steady_clock::time_point connect_until_;
    Phase phase_ = Phase::connecting;
    bool reused_ = false;
    bool address_refused_ = false;
    bool waits_to_read_ = false;
    bool waits_to_write_ = false;
    bool reads_later_ = false;
    bool goes_on_later_ = false;  // with what was held; until then nothing is read
    bool broken_ = false;         // nothing can be written any more
};

}  // namespace callgate::net
