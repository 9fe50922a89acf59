// The requests of a client that are under way: each has an id that is never used again, a deadline, and one
// end, whatever the server does.
//
// A response finds its request by its id. One that finds none is a fault of the server, unless its request
// was given up before: then it is late, and dropped.
//
// Threads: the client's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "mcp/client_options.h"
#include "mcp/message.h"
#include "net/loop.h"

namespace callgate::mcp {

/// One request as it leaves, and who waits.
struct ClientRound {
    OutgoingMessage message;
    std::chrono::milliseconds timeout{0};  ///< max(): none
    std::function<void(const ClientProgress&)> progress;
    ClientDone done;
    bool can_be_called_off = true;
};

class ClientRequests {
public:
    using Faults = std::function<void(ServerFault, std::string_view)>;
    ClientRequests(net::LoopThread& thread, const ClientLimits& limits, Faults faults);

    /// All that is sent goes there. Null: nowhere.
    void use(std::shared_ptr<ClientTransport> transport, bool modern);
    void modern(bool is) noexcept { modern_ = is; }

    std::uint64_t next_id() noexcept { return ++last_id_; }
    std::size_t under_way() const noexcept { return open_.size(); }
    /// `done` is called once, not before this returns. `message.request` is the id.
    void begin(ClientRound round);
    /// It is called off; `done` gets this error. Nothing, if it has ended.
    void call_off(std::uint64_t id, Error why);
    /// Its time stands still, and goes on after as many of the other.
    void pause(std::uint64_t id);
    void go_on(std::uint64_t id);
    bool has(std::uint64_t id) const { return open_.contains(id); }

    /// A response; `text` is the message.
    void take(Message& response, std::string_view text, std::uint64_t of, int status);
    void take_progress(const Object& params);
    void lose(std::uint64_t id, TransportLoss loss);
    /// All of them, which are not under way any more; and nothing is sent until there is a transport.
    std::vector<ClientDone> take_all();

private:
    struct Open {
        ClientRound round;
        base::MonotonicTime deadline = base::MonotonicTime::max();
        std::size_t pauses = 0;  // while there are any its time stands still
        std::optional<std::chrono::nanoseconds> left;
        std::size_t progressed = 0;
        double last_progress = 0;
    };
    using Node = std::map<std::uint64_t, Open>::node_type;

    void set_deadline(std::uint64_t id, Open& open, base::MonotonicTime at);
    void look_at_deadlines();
    void arm();
    Node remove(std::uint64_t id);
    void finish_later(ClientDone done, ClientFailure failure);
    std::optional<std::uint64_t> find(const Message& response, std::uint64_t of);
    void tell_server(std::uint64_t id, const ClientRound& round, std::string_view why);

    net::LoopThread& thread_;
    const ClientLimits& limits_;
    const Faults faults_;
    std::shared_ptr<ClientTransport> transport_;
    bool modern_ = false;
    std::uint64_t last_id_ = 0;
    std::map<std::uint64_t, Open> open_;
    std::set<std::uint64_t> given_up_;  // the last of them, whose answers may still come
    std::set<std::pair<base::MonotonicTime, std::uint64_t>> deadlines_;
    std::shared_ptr<boost::asio::steady_timer> timer_;
    base::MonotonicTime armed_for_ = base::MonotonicTime::max();
};

}  // namespace callgate::mcp
