// For tests: a client on a loop of its own, and servers at the other end of its lines: ours, or one whose
// every word is written by the test.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "base/mutex.h"
#include "mcp/client.h"
#include "mcp/client_http.h"
#include "mcp/client_lines.h"
#include "mcp/mcp_testing.h"
#include "mcp/members.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "os/fd.h"

namespace callgate::mcp {

inline std::pair<os::Fd, os::Fd> connected_sockets() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::runtime_error("socketpair");
    return {os::Fd(ends[0]), os::Fd(ends[1])};
}

/// What happens to a client, to be waited for.
template <class T>
class Waited {
public:
    std::function<void(T)> take() {
        return [promise = promise_](T value) { promise->set_value(std::move(value)); };
    }
    T get() {
        auto future = promise_->get_future();
        if (future.wait_for(std::chrono::seconds(60)) != std::future_status::ready)
            throw std::runtime_error("nothing came for a minute");
        return future.get();
    }

private:
    std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
};

/// Keeps what a client says of its server.
class KeptWatcher final : public ClientWatcher {
public:
    void state_changed(ClientState state, const Error* why) override {
        states.emplace_back(to_string(state));
        if (why != nullptr) states.back() += ": " + why->message;
    }
    void list_changed(ListKind kind) override {
        ++changes[kind];
        if (on_change) on_change(kind);
    }
    void server_fault(ServerFault fault, std::string_view /*what*/) override {
        ++faults[fault];
        if (on_fault) on_fault(fault);
    }
    void log(const Object& params) override { logged.push_back(params); }

    std::vector<std::string> states;
    std::map<ListKind, int> changes;
    std::map<ServerFault, int> faults;
    std::vector<Object> logged;
    std::function<void(ListKind)> on_change;
    std::function<void(ServerFault)> on_fault;
};

/// Answers each question with what a function says, on the client's thread.
class AnsweringQuestions final : public ClientQuestions {
public:
    using Answer = std::function<Result<InputAnswer>(const InputRequest&)>;
    explicit AnsweringQuestions(Answer answer, InputAbilities can = all_abilities())
        : answer_(std::move(answer)), can_(can) {}

    static InputAbilities all_abilities() {
        InputAbilities can;
        can.form = can.url = can.sampling = can.roots = true;
        return can;
    }
    InputAbilities abilities() const override { return can_; }
    void ask(InputRequest request, std::function<void(Result<InputAnswer>)> answered) override {
        asked.push_back(request);
        if (keep) {
            kept.push_back(std::move(answered));
            if (on_kept) on_kept();
            return;
        }
        answered(answer_(request));
    }

    std::vector<InputRequest> asked;
    bool keep = false;  // the answer is given by the test
    std::vector<std::function<void(Result<InputAnswer>)>> kept;
    std::function<void()> on_kept;

private:
    Answer answer_;
    InputAbilities can_;
};

/// A client on its own loop; every function waits for its thread.
class ClientOnLoop {
public:
    ClientOnLoop(ClientOptions options, Client::Open open) {
        at_home([&] { client_ = Client::make(loop_.thread(), std::move(options), std::move(open)); });
    }
    ~ClientOnLoop() {
        at_home([&] { client_.reset(); });
    }
    ClientOnLoop(const ClientOnLoop&) = delete;
    ClientOnLoop& operator=(const ClientOnLoop&) = delete;

    void at_home(const std::function<void()>& work) {
        std::promise<void> done;
        (void)loop_.thread()->post([&] {
            work();
            done.set_value();
        });
        done.get_future().wait();
    }
    Client& client() { return *client_; }
    const std::shared_ptr<net::LoopThread>& thread() { return loop_.thread(); }
    net::Loop& loop() { return loop_; }

    Result<void> connect() {
        Waited<Result<void>> connected;
        at_home([&] { client_->connect(connected.take()); });
        return connected.get();
    }
    Client::Ticket start(ClientRequest request, ClientDone done) {
        Client::Ticket ticket = 0;
        at_home([&] { ticket = client_->start(std::move(request), std::move(done)); });
        return ticket;
    }
    ClientAnswer ask(ClientRequest request) {
        Waited<ClientAnswer> answer;
        (void)start(std::move(request), answer.take());
        return answer.get();
    }
    ClientAnswer call(std::string_view tool, Object arguments = {}) {
        return ask(ClientRequest("tools/call", {{"name", tool}, {"arguments", std::move(arguments)}}));
    }
    Result<SharedList> list(ListKind kind) {
        Waited<Result<SharedList>> list;
        at_home([&] { client_->list(kind, list.take()); });
        return list.get();
    }
    void cancel(Client::Ticket ticket) {
        at_home([&] { client_->cancel(ticket, "not wanted any more"); });
    }

private:
    net::Loop loop_;
    std::shared_ptr<Client> client_;
};

enum class Over : std::uint8_t { lines, http };

/// Each connection is one to this server.
class LinkToServer {
public:
    explicit LinkToServer(Server& server, Over over = Over::lines) : server_(server), over_(over) {
        if (over == Over::http) endpoint_ = std::move(HttpEndpoint::open(server).value());
    }
    ~LinkToServer() {
        for (std::thread& one : serves_) one.join();
    }
    /// For this client, which need not be there yet, and goes before.
    Client::Open open(ClientOnLoop& client) {
        return [this, &client](const Client::Opened& opened) {
            if (over_ == Over::http) {
                if (!http_) http_ = std::move(net::HttpClient::open(client.loop(), {}).value());
                ClientHttpOptions options;
                options.url = endpoint_->url();
                opened(std::shared_ptr<ClientTransport>(ClientHttp::make(client.thread(), *http_, options)));
                return;
            }
            auto [ours, theirs] = connected_sockets();
            serves_.emplace_back([this, fd = std::make_shared<os::Fd>(std::move(theirs))] {
                serve_stdio(server_, fd->get(), fd->get());
            });
            os::Fd again(::dup(ours.get()));
            opened(std::shared_ptr<ClientTransport>(
                ClientLines::make(client.thread(), std::move(ours), std::move(again))));
        };
    }

private:
    Server& server_;
    const Over over_;
    std::unique_ptr<HttpEndpoint> endpoint_;
    std::unique_ptr<net::HttpClient> http_;
    std::vector<std::thread> serves_;
};

/// An era and a transport, for tests of both.
struct EraOver {
    EraChoice era;
    Over over;
};
inline const auto kErasAndTransports =
    testing::Values(EraOver{EraChoice::modern, Over::lines}, EraOver{EraChoice::legacy, Over::lines},
                    EraOver{EraChoice::modern, Over::http}, EraOver{EraChoice::legacy, Over::http});
inline std::string name_of_era(const testing::TestParamInfo<EraOver>& info) {
    return std::string(info.param.era == EraChoice::modern ? "modern" : "legacy") +
           (info.param.over == Over::lines ? "_over_lines" : "_over_http");
}

/// The server's end of lines, in the test's hands. Waits for a minute at most.
class ScriptedPeer {
public:
    explicit ScriptedPeer(os::Fd end) : end_(std::move(end)) {
        timeval limit{60, 0};
        (void)::setsockopt(end_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    /// The next message; null at the end.
    Value read() {
        for (;;) {
            const auto at = buffer_.find('\n');
            if (at != std::string::npos) {
                const std::string line = buffer_.substr(0, at);
                buffer_.erase(0, at + 1);
                return parsed(line);
            }
            char bytes[4096];
            const ssize_t got = ::recv(end_.get(), bytes, sizeof bytes, 0);
            if (got <= 0) return nullptr;
            buffer_.append(bytes, static_cast<std::size_t>(got));
        }
    }
    Value read_request(std::string_view method) {
        Value message = read();
        const bool is_it = message.is_object() && string_member(message.get_object(), "method") == method;
        EXPECT_TRUE(is_it) << json::write(message) << " instead of " << method;
        return message;
    }
    /// False: the client takes nothing any more.
    bool send_bytes(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t put = ::send(end_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (put <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(put));
        }
        return true;
    }
    bool send_line(std::string_view line) { return send_bytes(std::string(line) + "\n"); }
    bool send(const Value& message) { return send_line(json::write(message)); }
    void result(const Value& request, Value what) {
        send(Object{{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"result", std::move(what)}});
    }
    void error(const Value& request, int code, std::string_view message, Value data = {}) {
        Object error{{"code", code}, {"message", message}};
        if (!data.is_null()) error["data"] = std::move(data);
        send(Object{{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"error", std::move(error)}});
    }
    void notify(std::string_view method, Object params = {}) {
        send(Object{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
    }
    void close() { end_.reset(); }

    /// As a server of the stateless era, of these capabilities.
    void be_modern(Object capabilities = {{"tools", Object{}}}) {
        result(read_request("server/discover"), Object{{"resultType", "complete"},
                                                       {"supportedVersions", Array{"2026-07-28"}},
                                                       {"capabilities", std::move(capabilities)},
                                                       {"ttlMs", 0},
                                                       {"cacheScope", "private"}});
    }
    /// As one of the older era, which refuses what it does not know.
    void be_legacy(Object capabilities = {{"tools", Object{}}}, std::string_view revision = "2025-11-25") {
        error(read_request("server/discover"), -32601, "no such method");
        result(read_request("initialize"),
               Object{{"protocolVersion", revision},
                      {"capabilities", std::move(capabilities)},
                      {"serverInfo", Object{{"name", "scripted"}, {"version", "1"}}}});
        read_request("notifications/initialized");
    }

private:
    os::Fd end_;
    std::string buffer_;
};

/// A client whose connections are each in the test's hands.
class ScriptedClient {
public:
    explicit ScriptedClient(ClientOptions options = {}, ClientLineLimits lines = {})
        : lines_(lines), on_loop_(watched(std::move(options), watcher), [this](const Client::Opened& opened) {
              auto [ours, theirs] = connected_sockets();
              os::Fd again(::dup(ours.get()));
              auto transport =
                  ClientLines::make(on_loop_.thread(), std::move(ours), std::move(again), {}, lines_);
              peers_.push(std::make_unique<ScriptedPeer>(std::move(theirs)));
              opened(std::shared_ptr<ClientTransport>(std::move(transport)));
          }) {}

    /// The server's end of the next connection, which is made by connect().
    std::unique_ptr<ScriptedPeer> next_peer() { return peers_.pop(); }
    /// Connects, with the server's part played by a function.
    std::unique_ptr<ScriptedPeer> connect(const std::function<void(ScriptedPeer&)>& play) {
        Waited<Result<void>> connected;
        on_loop_.at_home([&] { on_loop_.client().connect(connected.take()); });
        auto peer = next_peer();
        play(*peer);
        const Result<void> result = connected.get();
        EXPECT_TRUE(result) << (result ? "" : result.error().message);
        return peer;
    }
    std::unique_ptr<ScriptedPeer> connect_modern(Object capabilities = {{"tools", Object{}}}) {
        return connect([&](ScriptedPeer& peer) { peer.be_modern(std::move(capabilities)); });
    }
    std::unique_ptr<ScriptedPeer> connect_legacy(Object capabilities = {{"tools", Object{}}},
                                                 std::string_view revision = "2025-11-25") {
        return connect([&](ScriptedPeer& peer) { peer.be_legacy(std::move(capabilities), revision); });
    }
    ClientOnLoop* operator->() { return &on_loop_; }
    ClientOnLoop& operator*() { return on_loop_; }

    std::shared_ptr<KeptWatcher> watcher = std::make_shared<KeptWatcher>();

private:
    /// Peers from the client's thread to the test's.
    class Peers {
    public:
        void push(std::unique_ptr<ScriptedPeer> one) {
            const base::MutexLock lock(mutex_);
            all_.push_back(std::move(one));
            there_.notify_one();
        }
        std::unique_ptr<ScriptedPeer> pop() {
            base::MutexLock lock(mutex_);
            while (all_.empty()) there_.wait(lock);
            auto one = std::move(all_.front());
            all_.erase(all_.begin());
            return one;
        }

    private:
        base::Mutex mutex_;
        base::CondVar there_;
        std::vector<std::unique_ptr<ScriptedPeer>> all_ CALLGATE_GUARDED_BY(mutex_);
    };
    static ClientOptions watched(ClientOptions options, std::shared_ptr<ClientWatcher> watcher) {
        options.watcher = std::move(watcher);
        return options;
    }

    ClientLineLimits lines_;
    Peers peers_;
    ClientOnLoop on_loop_;
};

}  // namespace callgate::mcp
