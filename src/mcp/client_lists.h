// What a server lists: tools, prompts, resources and templates, each list read page by page, judged item by
// item, and held for as long as it is good.
//
// A list is good until the server says that it changed, for `ttlMs` where the server names a time (the
// stateless era, where none is named for none), and for ClientOptions::cache_time at most. What is refused of
// it, an item that is no tool, one whose name is taken, is in `refused` with the reason; the rest is good.
//
// Threads: the client's thread. Snapshots are constant.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include <callgate/tool.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "mcp/client_headers.h"
#include "mcp/client_options.h"
#include "net/loop.h"

namespace callgate::mcp {

struct ClientTool {
    ToolDefinition definition;
    std::vector<ParamHeader> headers;
};

struct RefusedItem {
    std::string name;  ///< "" where it has none that can be read
    Error why;
};

struct ListSnapshot {
    ListKind kind = ListKind::tools;
    /// Counts how often the list has been another one than before: 1, 2, …
    std::uint64_t revision = 0;
    std::vector<Object> items;      ///< as they came, without those that are refused
    std::vector<ClientTool> tools;  ///< of tools: of each item
    std::map<std::string, std::size_t, std::less<>> by_name;  ///< where in `tools`
    std::vector<RefusedItem> refused;

    const ClientTool* tool(std::string_view name) const;
};
using SharedList = std::shared_ptr<const ListSnapshot>;

class ClientLists {
public:
    /// Sends a request; its answer comes in a turn of its own.
    using Ask = std::function<void(ClientRequest, ClientDone)>;
    using Done = std::function<void(Result<SharedList>)>;

    struct Hooks {
        Ask ask;
        std::function<void(ServerFault, std::string_view)> fault;
    };
    ClientLists(net::LoopThread& thread, const ClientOptions& options, Hooks hooks);

    /// The server on this connection: what was listed before is not good any more.
    void begin(const ServerFacts& facts, bool drops_bad_headers);
    /// There is no server any more: who waits for a list.
    std::vector<Done> take_waiting();

    /// The list, asked for if it is not good. `done` is called once, not before this returns.
    void list(ListKind kind, Done done, bool again = false);
    /// The last that there was, good or not; null: none.
    const SharedList& last(ListKind kind) const { return state(kind).last; }
    bool is_good(ListKind kind) const;
    /// The server says so.
    void changed(ListKind kind);

private:
    /// A list that is being read.
    struct Reading {
        std::shared_ptr<ListSnapshot> next = std::make_shared<ListSnapshot>();
        std::set<std::string, std::less<>> cursors;
        std::set<std::string, std::less<>> names;
        std::size_t pages = 0;
        std::size_t bytes = 0;
        std::optional<std::chrono::milliseconds> holds;  // as the server says
        base::Sha256 digest;
        base::MonotonicTime deadline{};
        bool from_the_beginning_again = false;
    };
    struct State {
        SharedList last;
        std::string digest;
        base::MonotonicTime good_until = base::MonotonicTime::min();
        std::vector<Done> waiting;
        bool changed_meanwhile = false;
        std::unique_ptr<Reading> reading;
        // Notices:
        std::size_t changes = 0;  // since the last one
        std::shared_ptr<boost::asio::steady_timer> next_notice;
        std::optional<base::MonotonicTime> noticed;
    };

    State& state(ListKind kind) { return states_[static_cast<std::size_t>(kind)]; }
    const State& state(ListKind kind) const { return states_[static_cast<std::size_t>(kind)]; }
    bool offers(ListKind kind) const;
    void read(ListKind kind, bool again);
    void ask_page(ListKind kind, const std::optional<std::string>& cursor);
    void take_page(ListKind kind, ClientAnswer answer);
    Result<void> take_items(ListKind kind, const ClientResult& result);
    void take_item(ListKind kind, const Value& item);
    Result<std::string> judge(ListKind kind, const Object& item, ClientTool& tool) const;
    void finish(ListKind kind);
    void give(ListKind kind, const Result<SharedList>& result);
    void notice(ListKind kind);
    base::MonotonicTime now() const;

    net::LoopThread& thread_;
    const ClientOptions& options_;
    const Hooks hooks_;
    ServerFacts facts_;
    bool drops_bad_headers_ = false;
    std::array<State, kListKinds> states_;
};

}  // namespace callgate::mcp
