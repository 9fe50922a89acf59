// What really happened in a host, beside what was reported of it: the oracle's memory, outside the runtime.
//
// Bodies report each entry and what came of it; callers report what they asked for and how it ended;
// observers report what they heard. judge.h holds all of it against the promises. The first violations are
// kept, each with the story of the call it is about.
//
// Threads: may be used from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/callgate.h>

#include "base/clock.h"

#include "manner.h"

namespace callgate::hosts {

/// Nothing has this place in the order of things.
inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

/// A call, as who made it sees it.
struct Made {
    std::string tool;
    EffectClass effect = EffectClass::unsafe;
    std::string scope;  ///< what must not happen twice: a key, or this call alone
    bool keyed = false;
    bool episode = false;                    ///< judged by its episode; here only whether it ends
    std::optional<base::MonotonicTime> due;  ///< absent: its deadline is not judged
    int ends = 0;
    std::uint64_t ended_at = kNever;
    std::optional<Outcome> outcome;
};

/// One entry of a body.
struct Entry {
    Ticket ticket = 0;
    std::string tool;
    EffectClass effect = EffectClass::unsafe;
    std::string scope;
    std::string sent;  ///< what the other side would be sent as the key
    std::uint64_t at = kNever;
    std::uint64_t proven_at = kNever;  ///< when it said that nothing was done
    bool applies = true;
    bool returned = false;
};

/// What observers heard of one call.
struct Heard {
    int starts = 0;
    int ends = 0;
    int audit_ends = 0;
    bool out_of_order = false;
    State state = State::failed;
};

class Board {
public:
    // Who calls.
    void begins(Ticket ticket, Made made);
    /// It was called off: it ends by then.
    void must_end(Ticket ticket, base::MonotonicTime by);
    void ended(Ticket ticket, const Outcome& outcome);

    // Bodies. Judges at once whether this entry may be.
    std::size_t enter(Ticket ticket, std::string_view tool, EffectClass effect, const CallContext& context);
    /// What it will answer; to be said before it does.
    void answers(std::size_t entry, Ends how, bool applies);
    /// What a probe finds out. That nothing happened is then proven.
    Reconciliation::Verdict happened(const std::string& scope);
    static std::string scope_of(std::string_view tool, Ticket ticket, const Context& caller);

    // Observers.
    void heard_start(const CallId& call);
    void heard_end(const CallId& call, State state);
    void heard_terminal(const CallId& call);
    /// Calls that were refused and are recorded together, as a number.
    void heard_refused(std::size_t calls);
    std::size_t refused_together() const;
    /// A callback or an observer is about to throw.
    void throws();

    void violation(Ticket about, std::string_view rule, std::string what);
    void note(Ticket about, std::string what);
    void closing() { closing_ = true; }
    bool is_closing() const { return closing_; }

    /// Waits for a change, a moment at most: how a host's steps are paced.
    void wait_a_moment();
    /// A call that is still open although its time was over at `now`.
    std::optional<Ticket> overdue(base::MonotonicTime now) const;
    std::size_t open_calls() const;
    std::size_t open_bodies() const;
    bool all_heard() const;
    std::string open_ones() const;

    // For the judge, when nothing runs any more.
    const std::map<Ticket, Made>& calls() const { return made_; }
    const std::vector<Entry>& entries() const { return entries_; }
    const std::map<CallId, Heard>& heard() const { return heard_; }
    std::uint64_t thrown() const;
    bool entered(Ticket ticket) const;

    struct Violation {
        std::string rule;
        std::string what;
        std::string story;
    };
    std::vector<Violation> violations() const;
    std::string story_of(Ticket ticket) const;

private:
    std::string story(Ticket ticket) const;
    void fail(Ticket about, std::string_view rule, std::string what);
    void line(Ticket about, std::string what);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t now_ = 0;  // the order of things
    std::map<Ticket, Made> made_;
    std::vector<Entry> entries_;
    std::map<CallId, Heard> heard_;
    std::uint64_t thrown_ = 0;
    std::size_t refused_together_ = 0;
    std::size_t open_ = 0;
    std::size_t inside_ = 0;
    std::atomic<bool> closing_{false};
    std::vector<std::pair<Ticket, std::string>> lines_;
    std::vector<Violation> violations_;
};

}  // namespace callgate::hosts
