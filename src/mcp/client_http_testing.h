// For tests: a server over HTTP whose every answer is the test's, and a client of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "mcp/client_testing.h"
#include "net/http_client_testing.h"

namespace callgate::mcp {

/// The result of a tool that says nothing.
inline const Object kNothing{{"content", Array{}}};

inline ClientRequest a_call(std::string_view tool = "t", Object arguments = {}) {
    return ClientRequest("tools/call", {{"name", tool}, {"arguments", std::move(arguments)}});
}

/// One request, and the connection that it came on, which is answered once.
class ScriptedRequest {
public:
    explicit ScriptedRequest(net::TestClient peer) : peer_(std::move(peer)) {
        head_ = peer_.read_until("\r\n\r\n");
        const std::string size = header("content-length");
        if (!size.empty() && size != "0") message_ = parsed(peer_.read_bytes(std::stoul(size)));
    }
    std::string method() const { return head_.substr(0, head_.find(' ')); }
    std::string target() const {
        const auto at = head_.find(' ') + 1;
        return head_.substr(at, head_.find(' ', at) - at);
    }
    /// "" where there is none; the name in small letters.
    std::string header(std::string_view name) const {
        std::size_t at = head_.find("\r\n");
        while (at != std::string::npos && at + 2 < head_.size()) {
            const std::size_t begin = at + 2;
            at = head_.find("\r\n", begin);
            const std::string line = head_.substr(begin, at - begin);
            const std::size_t colon = line.find(':');
            if (colon == std::string::npos) continue;
            std::string key = line.substr(0, colon);
            for (char& c : key) c = base::ascii_lower(c);
            if (key == name) return line.substr(std::min(colon + 2, line.size()));
        }
        return {};
    }
    const Value& message() const { return message_; }
    std::string rpc_method() const {
        return message_.is_object() ? std::string(string_member(message_.get_object(), "method")) : "";
    }

    void answer(int status, std::string_view type, std::string_view body, std::string_view headers = {}) {
        peer_.send(fmt::format(
            "HTTP/1.1 {} x\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
            status, type, body.size(), headers, body));
    }
    void result(Value what, std::string_view headers = {}) {
        answer(200, "application/json",
               json::write(
                   Value(Object{{"jsonrpc", "2.0"}, {"id", message_.at("id")}, {"result", std::move(what)}})),
               headers);
    }
    void error(int status, int code, Value data = {}) {
        Object error{{"code", code}, {"message", "no"}};
        if (!data.is_null()) error["data"] = std::move(data);
        answer(status, "application/json",
               json::write(Value(
                   Object{{"jsonrpc", "2.0"}, {"id", message_.at("id")}, {"error", std::move(error)}})));
    }
    void accepted() { answer(202, "text/plain", ""); }
    void begin_stream(std::string_view headers = {}) {
        peer_.send(
            fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: "
                        "close\r\n{}\r\n",
                        headers));
    }
    void event(const Value& message, std::string_view id = {}) {
        peer_.send(fmt::format("{}data: {}\n\n", id.empty() ? "" : fmt::format("id: {}\n", id),
                               json::write(message)));
    }
    void send(std::string_view bytes) { peer_.send(bytes); }
    Value result_message(Value what) const {
        return Object{{"jsonrpc", "2.0"}, {"id", message_.at("id")}, {"result", std::move(what)}};
    }
    /// Whether the client has closed it.
    bool ended() { return peer_.ended(); }
    void close() { peer_.close(); }

private:
    net::TestClient peer_;
    std::string head_;
    Value message_;
};

class ScriptedHttp {
public:
    explicit ScriptedHttp(ClientOptions options = {}, ClientHttpOptions http = {})
        : on_loop_(watched(std::move(options), watcher), [this, http](const Client::Opened& opened) {
              ClientHttpOptions own = http;
              own.url = url();
              opened(std::shared_ptr<ClientTransport>(ClientHttp::make(on_loop_.thread(), *http_, own)));
          }) {
        http_ = std::move(net::HttpClient::open(on_loop_.loop(), {}).value());
    }
    ~ScriptedHttp() {
        on_loop_.at_home([&] { on_loop_.client().disconnect(); });
    }
    std::string url() const { return listener_.url("/mcp"); }
    ScriptedRequest next() { return ScriptedRequest(listener_.accept()); }
    ScriptedRequest next(std::string_view rpc_method) {
        ScriptedRequest request = next();
        EXPECT_EQ(request.rpc_method(), rpc_method) << request.method();
        return request;
    }
    /// Begins to connect; the end is waited for with `connected.get()`.
    void begin() {
        connected = {};
        on_loop_.at_home([&] { on_loop_.client().connect(connected.take()); });
    }
    void connect_modern(Object capabilities = {{"tools", Object{}}}) {
        begin();
        next("server/discover")
            .result(Object{{"supportedVersions", Array{"2026-07-28"}},
                           {"capabilities", std::move(capabilities)}});
        EXPECT_TRUE(connected.get());
    }
    /// The stream beside the requests, which has begun.
    ScriptedRequest connect_legacy(std::string_view headers = "Mcp-Session-Id: abc\r\n") {
        begin();
        next("server/discover").error(400, -32000);
        ScriptedRequest request = next("initialize");
        request.result(
            Object{{"protocolVersion", "2025-11-25"}, {"capabilities", Object{{"tools", Object{}}}}},
            headers);
        next("notifications/initialized").accepted();
        EXPECT_TRUE(connected.get());
        ScriptedRequest side = next();
        EXPECT_EQ(side.method(), "GET");
        side.begin_stream();
        return side;
    }
    ClientOnLoop* operator->() { return &on_loop_; }

    std::shared_ptr<KeptWatcher> watcher = std::make_shared<KeptWatcher>();
    Waited<Result<void>> connected;

private:
    static ClientOptions watched(ClientOptions options, std::shared_ptr<ClientWatcher> watcher) {
        options.watcher = std::move(watcher);
        return options;
    }
    net::TestListener listener_;
    std::unique_ptr<net::HttpClient> http_;
    ClientOnLoop on_loop_;
};

}  // namespace callgate::mcp
