// A server over Streamable HTTP: each message is a POST of its own, and each answer one object or a stream of
// events.
//
// Of the older era: the session that the server names, a stream beside the requests for what belongs to none
// (where the server has one), and streams that the server ends before the answer, which are taken up again by
// the id of their last event, after the time that it asks for. A session that the server does not know any
// more ends the connection. A server that refuses `initialize` may be one of HTTP with server-sent events
// (2024-11-05), which is then spoken (client_sse.h).
// The first request waits until that stream is there or refused, though not for long.
//
// What a proxy or a web page answers is no answer: other types of content, redirects, bodies that are too
// large. A refusal says nothing about what the server speaks, unless it is one of 400 to 499 other than 401,
// 403 and 429.
//
// Threads: the client's thread, which is that of the HttpClient. That one lives for longer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "mcp/client_transport.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "wire/sse.h"

namespace callgate::mcp {

struct ClientHttpOptions {
    std::string url;
    std::string unix_path;     ///< "": none
    net::HttpHeaders headers;  ///< of every request: who asks
    std::size_t max_message = 4u << 20;
    std::size_t max_refusal = 64u << 10;  ///< of a body that is no answer
    std::size_t max_empty_resumes = 5;    ///< attempts, one after the other, that bring nothing
    std::chrono::milliseconds retry{
        1'000};  ///< before a stream is taken up again, where the server says nothing
    std::chrono::milliseconds side_time{500};  ///< for the stream beside the requests, before the first one
    std::chrono::milliseconds most_retry{60'000};  ///< however long the server asks for

    ClientHttpOptions() {}
};

class ClientHttp final : public ClientTransport, public std::enable_shared_from_this<ClientHttp> {
public:
    static std::shared_ptr<ClientHttp> make(std::shared_ptr<net::LoopThread> thread, net::HttpClient& http,
                                            ClientHttpOptions options);
    ~ClientHttp() override;

    void begin(TransportPeer& peer) override;
    Result<void> send(OutgoingMessage message) override;
    bool forget(std::uint64_t request, bool modern) override;
    void close() override;
    bool has_headers() const noexcept override { return true; }
    void initialized(const Codec& codec) override;
    bool fall_back() override;

private:
    enum class Use : std::uint8_t { post, resume, side };
    enum class Body : std::uint8_t { ignored, object, events, refusal };
    struct Stream;
    using StreamNumber = std::uint64_t;

    ClientHttp(std::shared_ptr<net::LoopThread> thread, net::HttpClient& http, ClientHttpOptions options);
    net::HttpClientRequest request(std::string method, const Codec* codec) const;
    void post(OutgoingMessage message);
    void get(const std::shared_ptr<Stream>& stream);
    void start(const std::shared_ptr<Stream>& stream, net::HttpClientRequest request);
    void take_head(Stream& stream, const net::HttpResponseHead& head);
    void take_piece(Stream& stream, std::string_view piece);
    void take_event(Stream& stream, const wire::SseEvent& event);
    void take_end(const std::shared_ptr<Stream>& stream, const Result<void>& result);
    void take_refusal(Stream& stream);
    void end_stream(const std::shared_ptr<Stream>& stream, Error why, bool may_have_arrived);
    bool take_up_again(const std::shared_ptr<Stream>& stream, bool refused);
    void lose(Stream& stream, Error error, bool may_have_arrived);
    void drop(Stream& stream);
    void introduced();
    void send_held();
    void session_lost();
    void stop();

    const std::shared_ptr<net::LoopThread> thread_;
    net::HttpClient& http_;
    const ClientHttpOptions options_;
    TransportPeer* peer_ = nullptr;  // null: not begun, or over
    bool over_ = false;
    const Codec* codec_ = nullptr;  // of a session
    std::string session_;
    bool introducing_ = false;  // until the server knows that, and can say things beside: the rest waits
    std::vector<OutgoingMessage> held_;
    std::shared_ptr<boost::asio::steady_timer> side_timer_;
    StreamNumber last_number_ = 0;
    std::map<StreamNumber, std::shared_ptr<Stream>> streams_;
    std::shared_ptr<ClientTransport> older_;
};

}  // namespace callgate::mcp
