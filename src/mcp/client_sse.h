// A server over HTTP as it was in 2024-11-05: one stream of events on which all its messages come, and an
// address, named by its first event, to which all messages to it are posted.
//
// The address is of the same origin as the stream, or the connection is refused: no server names another to
// whom credentials are sent. The connection lasts as long as the stream.
//
// Threads: the client's thread, which is that of the HttpClient.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/client_http.h"

namespace callgate::mcp {

class ClientSse final : public ClientTransport, public std::enable_shared_from_this<ClientSse> {
public:
    static std::shared_ptr<ClientSse> make(std::shared_ptr<net::LoopThread> thread, net::HttpClient& http,
                                           ClientHttpOptions options);
    ~ClientSse() override;

    void begin(TransportPeer& peer) override;
    Result<void> send(OutgoingMessage message) override;
    bool forget(std::uint64_t request, bool modern) override;
    void close() override;
    bool has_headers() const noexcept override { return true; }

private:
    ClientSse(std::shared_ptr<net::LoopThread> thread, net::HttpClient& http, ClientHttpOptions options);
    void take_head(const net::HttpResponseHead& head);
    void take_event(const wire::SseEvent& event);
    void take_endpoint(std::string_view reference);
    void post(OutgoingMessage message);
    void posted(std::uint64_t number, std::uint64_t request, const Result<net::HttpClientResponse>& response);
    void end(Error why, int status);
    void stop();

    const std::shared_ptr<net::LoopThread> thread_;
    net::HttpClient& http_;
    const ClientHttpOptions options_;
    TransportPeer* peer_ = nullptr;
    bool over_ = false;
    wire::SseReader events_;
    std::shared_ptr<net::HttpExchange> stream_;
    std::string endpoint_;
    std::vector<OutgoingMessage> held_;  // until it is known
    std::uint64_t last_number_ = 0;
    std::map<std::uint64_t, std::shared_ptr<net::HttpExchange>> posts_;
};

}  // namespace callgate::mcp
