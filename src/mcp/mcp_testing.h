// For tests: a client at the other end of a server's standard input and output, which are a pair of sockets.
#pragma once

#include <string>
#include <string_view>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

namespace callgate::mcp {

inline Value parsed(std::string_view text) {
    auto value = json::parse(text, json::ParseLimits(64u << 20, 256, 1'000'000));
    if (!value) throw std::runtime_error("not JSON: " + std::string(text));
    return *value;
}

/// Speaks lines; waits for answers at most a minute.
class LineClient {
public:
    /// SOCK_SEQPACKET: what is written at once comes at once, or not at all.
    explicit LineClient(Server& server, int type = SOCK_STREAM) {
        int ends[2];
        if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
        fd_ = ends[0];
        timeval limit{60, 0};
        (void)::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        serves_ = std::thread([&server, theirs = ends[1], this] {
            exit_code_ = serve_stdio(server, theirs, theirs);
            ::close(theirs);
        });
    }
    ~LineClient() {
        close();
        ::close(fd_);
    }
    LineClient(const LineClient&) = delete;
    LineClient& operator=(const LineClient&) = delete;

    void send_text(std::string_view line) {
        std::string whole(line);
        whole += '\n';
        ASSERT_EQ(static_cast<std::size_t>(::send(fd_, whole.data(), whole.size(), MSG_NOSIGNAL)),
                  whole.size());
    }
    void send(const Value& message) { send_text(json::write(message)); }
    /// The next message; null at the end.
    Value read() {
        for (;;) {
            const auto end = buffer_.find('\n');
            if (end != std::string::npos) {
                const std::string line = buffer_.substr(0, end);
                buffer_.erase(0, end + 1);
                return parsed(line);
            }
            char bytes[4096];
            const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
            if (got <= 0) return nullptr;
            buffer_.append(bytes, static_cast<std::size_t>(got));
        }
    }
    /// What comes next, as it comes.
    std::string read_some() {
        std::string bytes(64u << 10, ' ');
        const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), 0);
        bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return bytes;
    }
    Value ask(const Value& message) {
        send(message);
        return read();
    }
    /// Of the legacy era: the result.
    Value request(std::int64_t id, std::string_view method, Value params = Object{}) {
        return ask(Object{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}});
    }
    Value initialize(std::string_view version = "2025-11-25", Object capabilities = {}) {
        Value answer = request(0, "initialize",
                               Object{{"protocolVersion", version},
                                      {"capabilities", std::move(capabilities)},
                                      {"clientInfo", Object{{"name", "test"}, {"version", "1"}}}});
        send_text(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
        return answer;
    }
    /// No more is sent; the server's exit code.
    int close() {
        if (!serves_.joinable()) return exit_code_;
        (void)::shutdown(fd_, SHUT_WR);
        serves_.join();
        return exit_code_;
    }

private:
    int fd_ = -1;
    int exit_code_ = -1;
    std::string buffer_;
    std::thread serves_;
};

/// The parameters of a request of the stateless era.
inline Object modern(Object params = {}, Object capabilities = {}) {
    Object meta;
    if (const Value* given = params.if_contains("_meta")) meta = given->as_object();
    meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
    meta["io.modelcontextprotocol/clientInfo"] = Object{{"name", "test"}, {"version", "1"}};
    meta["io.modelcontextprotocol/clientCapabilities"] = std::move(capabilities);
    params["_meta"] = std::move(meta);
    return params;
}

}  // namespace callgate::mcp
