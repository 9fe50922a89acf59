// Tasks: calls that go on without the request they began with.
//
// A task is a call on the record, and its id is the call's, with a mark that only this ledger can make for
// this caller: an id is known again after a restart, and no other is. What is under way is kept here; what
// has ended is on the record.
//
// Threads: the server's home thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/mcp.h>
#include <callgate/runtime.h>

#include "mcp/conversation.h"
#include "mcp/exchange.h"

namespace callgate::mcp {

class Tasks {
public:
    Tasks(Runtime& runtime, const ServerOptions& options, Executor home)
        : runtime_(runtime), options_(options), home_(std::move(home)) {}

    /// Whether the client of this request knows tasks.
    bool known_to(const Exchange& exchange) const;
    std::string new_key() const;
    std::string id_of(const std::string& call_id) const;
    /// Nothing: this is no id that was given to this caller.
    std::optional<std::string> call_of(std::string_view id) const;

    void keep(std::shared_ptr<Conversation> conversation);
    /// What ends without an effect leaves nothing on the record: its end is kept here, for a while.
    void ended(const std::string& call_id, const Outcome& outcome);
    std::shared_ptr<Conversation> find(const std::string& call_id) const;
    /// The server ends: those under way are called off.
    void abandon();
    /// As it was kept; otherwise as the record has it.
    void look_up(const std::string& call_id, std::function<void(const CallStatus&)> found) const;
    /// A task as its client is shown it, except what kind of result that is.
    Object describe(const Conversation& conversation) const;
    /// One that is not under way here.
    Object describe(const std::string& call_id, const CallStatus& status, const Codec& codec) const;

private:
    Object head(const std::string& call_id, std::string_view status,
                std::chrono::system_clock::time_point changed) const;

    Runtime& runtime_;
    const ServerOptions& options_;
    const Executor home_;
    static constexpr std::size_t kMaxEnded = 10'000;
    std::map<std::string, std::shared_ptr<Conversation>, std::less<>> live_;
    std::map<std::string, CallStatus, std::less<>> ended_;  // by call id, which grows with time
};

}  // namespace callgate::mcp
