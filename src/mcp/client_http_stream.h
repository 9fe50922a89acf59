// One answer of a server over HTTP while it comes: what client_http.cpp and client_http_stream.cpp share.
//
// Threads: the client's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "mcp/client_http.h"
#include "wire/sse.h"

namespace callgate::mcp {

struct ClientHttp::Stream {
    StreamNumber number = 0;
    Use use = Use::post;
    std::uint64_t request = 0;  // that it answers; 0: none
    bool modern = false;
    bool begins_session = false;
    bool introduces = false;  // `notifications/initialized`
    std::shared_ptr<net::HttpExchange> exchange;
    int status = 0;
    std::optional<std::string> challenge;  // WWW-Authenticate
    Body body = Body::ignored;
    std::string text;
    wire::SseReader events;
    std::string last_id;
    std::chrono::milliseconds retry;
    std::size_t failures = 0;  // since something came
    std::size_t empty = 0;     // streams that brought nothing, since something came
    std::shared_ptr<boost::asio::steady_timer> pause;

    Stream(std::size_t max_event, std::chrono::milliseconds wait) : events(max_event), retry(wait) {}
};

}  // namespace callgate::mcp
