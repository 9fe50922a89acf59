// Calls as the audit's events have them: reads and refusals leave no row among the recorded calls, only
// events.
//
// The log is read backwards, a page at a time, so that what is newest costs little however long the log is.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <callgate/json.h>

#include "operator_verb.h"

namespace callgate::cli {

/// What the events of one call, oldest first, say of it: {call_id, state, tool, action, principal, effect:
/// "", attempts, approval_id, fingerprint, error_code, created_at, ended_at, idempotency_key: "", recorded:
/// "events"}. `state` is that of a recorded call, or refused, timed_out, previewed, waiting, revoked,
/// superseded.
Object call_from_events(const Array& events);

/// Of a call that waited for an approval: what became of it, as `state` (waiting, approved, refused, expired,
/// revoked, superseded, resumed) and, where another call used the approval, `runs_as`. Other calls are left
/// as they are.
void say_what_became(OperatorRun& run, Object& call);

/// The call did not run because nobody knows what became of an earlier one with its key.
bool repeats_an_unknown(const Value& call);
/// That earlier call, as it is on record now; nothing where it is not, as after a restore. `events` are those
/// of `call`.
std::optional<Value> earlier_call(OperatorRun& run, const Value& call, const Array& events);

class EventCalls {
public:
    static constexpr std::uint64_t kFarBack = 10'000;  ///< events

    explicit EventCalls(OperatorRun& run) : run_(run) {}

    /// Reads so many events more, further back. True: there are no earlier ones. Where the log cannot be
    /// read, what was read so far is all.
    bool read_back(std::uint64_t events);

    std::size_t size() const noexcept { return events_.size(); }
    /// Oldest first.
    std::vector<std::string> ids() const;
    Object call(const std::string& id) const { return call_from_events(events_.at(id)); }

private:
    OperatorRun& run_;
    std::map<std::string, Array> events_;  // by call
    std::int64_t next_ = -1;               // the last event that was not read yet; -1: none was
};

}  // namespace callgate::cli
