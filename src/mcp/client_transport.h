// What a client's messages travel over: lines, Streamable HTTP, or HTTP with server-sent events as it was
// before. A transport moves messages and knows nothing of what they mean; whether a server may have got what
// was lost is said with the loss.
//
// Threads: everything here belongs to the client's thread. A peer is not called before begin(), never from
// inside send() or forget(), and never after close().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/error.h>

#include "mcp/codec.h"

namespace callgate::mcp {

struct OutgoingMessage {
    std::string text;
    std::uint64_t request = 0;     ///< its id; 0: it is no request
    const Codec* codec = nullptr;  ///< null: there is none yet, which is `initialize`
    // For transports that repeat parts of a message in headers:
    std::string method;                                       ///< "" of a response
    std::string name;                                         ///< Mcp-Name; "": none
    std::vector<std::pair<std::string, std::string>> params;  ///< Mcp-Param-*: names and values, encoded
};

/// Why something will not be answered.
struct TransportLoss {
    Error error;
    bool may_have_arrived = true;
    int status = 0;  ///< of HTTP; 0: there was none
};

/// What servers do that they should not.
enum class ServerFault : std::uint8_t {
    not_a_message,     ///< a line, an event or a body that is none
    too_large,         ///< a message beyond the limit
    unknown_answer,    ///< an answer to what was never asked
    repeated_answer,   ///< a second answer
    unknown_progress,  ///< progress of nothing that was asked, or that goes back
    too_much_progress,
    unexpected_request,  ///< a request that this era has not, or that nobody can answer
    too_many_changes,    ///< of lists
    bad_notification,
    bad_stream,  ///< events or headers that mean nothing
};
inline constexpr std::size_t kServerFaults = 10;
std::string_view to_string(ServerFault fault) noexcept;

class TransportPeer {
public:
    virtual ~TransportPeer() = default;
    /// `of`: the request in whose answer it came; 0: in none. `status` is that of HTTP.
    virtual void arrived(std::string_view text, std::uint64_t of, int status) = 0;
    /// Whether anybody waits for its answer.
    virtual bool waits(std::uint64_t request) const = 0;
    /// No answer to this request will come.
    virtual void lost(std::uint64_t request, TransportLoss loss) = 0;
    /// Once, at the end, for all that is left.
    virtual void closed(TransportLoss loss) = 0;
    virtual void fault(ServerFault fault, std::string_view what) = 0;
};

class ClientTransport {
public:
    virtual ~ClientTransport() = default;
    virtual void begin(TransportPeer& peer) = 0;
    /// unavailable {reason: server_does_not_read | closed}: nothing of it was sent.
    virtual Result<void> send(OutgoingMessage message) = 0;
    /// Nobody waits for its answer any more. Where that alone calls a request of this era off, true.
    virtual bool forget(std::uint64_t request, bool modern) = 0;
    /// Ends it; the peer is not notified.
    virtual void close() = 0;

    /// Messages have headers, which repeat parts of them.
    virtual bool has_headers() const noexcept { return false; }
    /// `initialize` was answered.
    virtual void initialized(const Codec& /*codec*/) {}
    /// The server refused `initialize`: whether there is an older way, which is used from here on.
    virtual bool fall_back() { return false; }
};

}  // namespace callgate::mcp
