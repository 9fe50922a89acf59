// Calls as the audit's events have them: reads and refusals leave no row among the recorded calls, only
// events.
//
// The log is read backwards, a page at a time, so that what is newest costs little however long the log is.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <callgate/json.h>

#include "operator_verb.h"

namespace callgate::cli {

/// What the events of one call, oldest first, say of it: {call_id, state, tool, action, principal, effect:
/// "", attempts, created_at, ended_at, idempotency_key: "", recorded: "events"}. `state` is that of a
/// recorded call, or refused, previewed, waiting.
Object call_from_events(const Array& events);

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
