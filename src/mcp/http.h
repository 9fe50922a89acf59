// MCP over Streamable HTTP: one path for both eras.
//
// A message is a POST. Its answer is one JSON object, or a stream of events where something has to be said
// before it. The legacy era has sessions beside: GET opens a stream for what belongs to no request, or takes
// one up again where it broke; DELETE ends the session. There a client that goes is only away; in the
// stateless era it has called its request off.
//
// Threads: requests come on the threads of their connections, and are looked at on the server's home thread.
#pragma once

#include <memory>
#include <string>

#include <callgate/mcp.h>

#include "mcp/server_core.h"
#include "net/http_server.h"

namespace callgate::mcp {

/// What the requests of an endpoint have in common.
class HttpTransport final : public Transport, public std::enable_shared_from_this<HttpTransport> {
public:
    HttpTransport(std::shared_ptr<ServerCore> core, std::string path)
        : core_(std::move(core)), path_(std::move(path)) {}

    void end_listening() { core_->end_listening(*this); }
    /// Any thread.
    void take(std::unique_ptr<net::HttpRequest> request, std::shared_ptr<net::HttpReply> reply);

private:
    class Way;
    struct Visit;
    using Arrived = std::shared_ptr<const Visit>;

    void look_at(const Arrived& visit);
    void post(const Arrived& visit);
    void get(const Arrived& visit);
    void end(const Arrived& visit);
    void take_messages(const Arrived& visit, ReadMessages messages);

    const std::shared_ptr<ServerCore> core_;
    const std::string path_;
};

}  // namespace callgate::mcp
