// Tasks: calls that go on without the request they began with.
//
// A task is a call on the record, and its id is the call's, with a mark that only this ledger can make for
// this caller: an id is known again after a restart, and no other is. What is under way is kept here; what
// has ended is on the record, or here for a while where that may have nothing of it.
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
#include "mcp/ended_tasks.h"
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

    /// As many are under way as may be: a call is answered when it ends, until there is room.
    bool full() const noexcept { return live_.size() + resuming_.size() >= options_.limits.max_tasks; }
    void keep(std::shared_ptr<Conversation> conversation);
    void ended(const std::string& call_id, const Outcome& outcome);
    /// From now on the record says what becomes of it.
    void release(const std::string& call_id) { live_.erase(call_id); }
    /// Goes on with one that was approved after its server had ended, unless that is being done already.
    /// `ended` is called at home.
    void resume(const std::string& call_id, std::function<void(const Outcome&)> ended);
    /// Whether that is its end.
    bool resumed(const std::string& call_id, const Outcome& outcome);
    std::shared_ptr<Conversation> find(const std::string& call_id) const;
    /// The server ends: those under way are called off.
    void end();
    /// As it was kept; otherwise as the record has it. Errors are the ledger's; denied {reason:
    /// no_such_call}: nothing is known of it any more.
    void look_up(const std::string& call_id, std::function<void(const Result<CallStatus>&)> found) const;
    /// A task as its client is shown it, except what kind of result that is.
    Object describe(const Conversation& conversation) const;
    /// One that is not under way here.
    Object describe(const std::string& call_id, const CallStatus& status, const Codec& codec) const;
    /// One that was on the record, or it would have no id, and is not any more.
    Object describe_gone(const std::string& call_id) const;

private:
    Object describe(const std::string& call_id, const Outcome& outcome, const Codec& codec) const;
    Object head(const std::string& call_id, std::string_view status,
                std::chrono::system_clock::time_point changed) const;

    Runtime& runtime_;
    const ServerOptions& options_;
    const Executor home_;
    std::map<std::string, std::shared_ptr<Conversation>, std::less<>> live_;
    std::map<std::string, std::string, std::less<>> resuming_;  // and the id that each runs under
    EndedTasks ended_;
};

}  // namespace callgate::mcp
