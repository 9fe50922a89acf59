// For tests: a client of Streamable HTTP, of one connection.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "mcp/mcp_testing.h"
#include "net/http_server.h"
#include "net/net_testing.h"

namespace callgate::mcp {

/// A client of one connection, whose requests can be spoilt.
class HttpClient {
public:
    explicit HttpClient(std::uint16_t port) : socket_(port) {}

    void send(std::string_view method, const net::HttpHeaders& headers, std::string_view body) {
        std::string text =
            fmt::format("{} /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", method, body.size());
        for (const auto& [name, value] : headers) {
            text += fmt::format("{}: {}\r\n", name, value);
        }
        text += "\r\n";
        text += body;
        ASSERT_TRUE(socket_.send(text));
    }
    void post(const Value& message, net::HttpHeaders headers = {}) {
        headers.emplace_back("Content-Type", "application/json");
        headers.emplace_back("Accept", "application/json, text/event-stream");
        send("POST", headers, json::write(message));
    }
    net::TestAnswer ask(const Value& message, net::HttpHeaders headers = {}) {
        post(message, std::move(headers));
        return socket_.read_answer();
    }
    /// As the stateless era has it, with the headers that repeat the message.
    void post_modern(std::int64_t id, std::string_view method, Object params, net::HttpHeaders headers = {},
                     const Object& can = {}) {
        headers.emplace_back("MCP-Protocol-Version", "2026-07-28");
        headers.emplace_back("Mcp-Method", method);
        if (const Value* name = params.if_contains("name"))
            headers.emplace_back("Mcp-Name", std::string(name->as_string()));
        post(Object{{"jsonrpc", "2.0"},
                    {"id", id},
                    {"method", method},
                    {"params", modern(std::move(params), can)}},
             std::move(headers));
    }
    /// The message of the next event on a stream.
    Value read_event() {
        for (;;) {
            const std::string event = read_raw_event();
            const auto at = event.find("data: {");
            if (at != std::string::npos) return parsed(event.substr(at + 6, event.find('\n', at) - at - 6));
            if (event.empty()) return nullptr;
        }
    }
    /// Its lines; "" at the end of the stream.
    std::string read_raw_event() {
        for (;;) {
            const auto end = stream_.find("\n\n");
            if (end != std::string::npos) {
                std::string event = stream_.substr(0, end + 1);
                stream_.erase(0, end + 2);
                return event;
            }
            auto chunk = socket_.read_chunk();
            if (!chunk) return {};
            stream_ += *chunk;
        }
    }
    net::TestClient& socket() { return socket_; }

private:
    net::TestClient socket_;
    std::string stream_;
};

inline Object rpc(std::int64_t id, std::string_view method, Object params = {}) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace callgate::mcp
