// A client of one MCP server: finds out which era it speaks, keeps a connection, and asks.
//
//     auto client = Client::make(loop.thread(), options, [&](Client::Opened opened) {
//         opened(ClientLines::make(loop.thread(), std::move(in), std::move(out)));
//     });
//     client->connect([client](Result<void> connected) {
//         client->start({"tools/call", {{"name", "add"}, {"arguments", Object{{"a", 1}}}}},
//                       [](ClientAnswer answer) { … });
//     });
//
// Every request has exactly one end: a result, with its bytes as they came, or a failure that keeps apart
// what the connection did, what the server answered, and what may have been done. A tool's own failure
// (`isError`) is a result. Nothing is sent a second time on our own initiative, except where a server has
// refused it for its headers, or has asked a question.
//
// A server is not trusted: messages, lists, questions, progress and rounds are bounded, and what breaks the
// protocol is reported once (ClientWatcher::server_fault) and changes nothing else. A connection that is lost
// ends what was under way and is not made again here: that is for whoever knows when, by connect(). Which era
// a server speaks is remembered until connecting fails.
//
// Of the older era: questions of a server belong to the request in whose answer they come (HTTP) or, over
// lines, to the only request that can be asked so; otherwise to ClientOptions::questions. A connection on
// which nothing is under way and nothing comes is looked at with a ping. Of the stateless era: one
// `subscriptions/listen` for changes of lists, which is made again when it ends.
//
// Threads: made and used on its thread, and destroyed there or when that has gone. Completions are called
// there, never before the function that they were given to returns; cancel() and disconnect() may call them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "mcp/client_call.h"
#include "mcp/client_handshake.h"
#include "mcp/client_lists.h"
#include "mcp/client_options.h"
#include "mcp/client_requests.h"
#include "mcp/client_transport.h"
#include "mcp/message.h"
#include "net/loop.h"

namespace callgate::mcp {

class Client final : public std::enable_shared_from_this<Client>, private TransportPeer {
public:
    using Opened = std::function<void(Result<std::shared_ptr<ClientTransport>>)>;
    /// Makes a new connection to the server; `opened` is called on the client's thread, at once or later.
    using Open = std::function<void(Opened opened)>;
    using Ticket = std::uint64_t;

    static std::shared_ptr<Client> make(std::shared_ptr<net::LoopThread> thread, ClientOptions options,
                                        Open open);
    ~Client() override;

    /// Once there is an era and a revision; at once if there is. unavailable {reason: no_common_revision |
    /// unauthorized | …}, transport, timed_out.
    void connect(std::function<void(Result<void>)> done);
    void disconnect();
    ClientState state() const noexcept { return state_; }
    /// Of `error`, and of a connection that was lost.
    const std::optional<Error>& why() const noexcept { return why_; }
    /// While connected.
    const ServerFacts& server() const noexcept { return parts_.facts; }

    Ticket start(ClientRequest request, ClientDone done);
    /// The server is asked to stop; `done` is called with `cancelled`, and what it still says is dropped.
    void cancel(Ticket ticket, std::string_view reason = {});
    std::size_t under_way() const noexcept { return calls_.size(); }

    void list(ListKind kind, ClientLists::Done done);
    /// The last list that there was, good or not; null: none.
    const SharedList& last_list(ListKind kind) const { return lists_.last(kind); }

private:
    struct OpenQuestion {
        std::uint64_t request = 0;  // whose time stands still; 0: none
    };

    Client(std::shared_ptr<net::LoopThread> thread, ClientOptions options, Open open);

    void arrived(std::string_view text, std::uint64_t of, int status) override;
    bool waits(std::uint64_t request) const override { return requests_.has(request); }
    void lost(std::uint64_t request, TransportLoss loss) override;
    void closed(TransportLoss loss) override;
    void fault(ServerFault fault, std::string_view what) override;

    // client_connection.cpp
    void open_transport(EraChoice era);
    void opened(EraChoice era, Result<std::shared_ptr<ClientTransport>> transport);
    void shook_hands(ClientHandshake::Ended ended);
    void connected(ServerFacts facts);
    void fail_connecting(const Error& why);
    void drop_connection(const TransportLoss& loss, ClientState state, std::optional<Error> why);
    void set_state(ClientState state, std::optional<Error> why);
    void end_connecting(const Result<void>& result);
    void keep_alive();
    void ping();
    void listen();
    void listen_again();

    void take(ReadMessage& read, std::string_view text, std::uint64_t of, int status);
    void take_request(Message& request, std::uint64_t of);
    void take_notification(const Message& message);
    void put_question(Message& request, std::uint64_t of);
    std::shared_ptr<ClientCall> whom_it_asks(InputRequest::Kind kind, std::uint64_t of) const;
    void answer_question(const std::string& key, const Value& id, Result<Value> answer);
    void send_text(std::string text);

    const std::shared_ptr<net::LoopThread> thread_;
    const ClientOptions options_;
    const Open open_;
    std::shared_ptr<ClientTransport> transport_;
    ClientRequests requests_;
    ClientLists lists_;
    ClientParts parts_;
    std::shared_ptr<ClientHandshake> handshake_;
    ClientState state_ = ClientState::disconnected;
    std::optional<Error> why_;
    std::optional<EraChoice> verdict_;
    std::vector<std::function<void(Result<void>)>> connecting_;
    std::uint64_t connection_ = 0;
    Ticket last_ticket_ = 0;
    std::map<Ticket, std::shared_ptr<ClientCall>> calls_;
    std::map<std::string, OpenQuestion, std::less<>> questions_;  // by the server's id
    std::uint32_t faults_ = 0;                                    // kinds that were reported
    bool heard_ = false;
    std::shared_ptr<boost::asio::steady_timer> alive_timer_;
    std::shared_ptr<boost::asio::steady_timer> listen_timer_;
    std::chrono::milliseconds listen_pause_{0};
    std::chrono::steady_clock::time_point listens_since_{};
};

}  // namespace callgate::mcp
