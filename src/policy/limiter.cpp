#include <algorithm>
#include <list>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "policy/memory.h"

namespace callgate::policy {

namespace {

using base::MonotonicTime;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kMostSubjects = 100'000;  // of each table
// A contract's window, whatever it says, is counted within these.
constexpr milliseconds kShortest{1};
constexpr milliseconds kLongest = std::chrono::hours(24 * 365);
constexpr milliseconds kTryAgain{50};  // a place becomes free when a call ends, nobody knows when

// A token bucket as one number, the moment at which it will be full again.
struct Bucket {
    MonotonicTime full_at = MonotonicTime::min();
};

struct Rate {
    nanoseconds interval;  // one token
    nanoseconds capacity;  // an empty bucket is full after this

    explicit Rate(const UseLimits& limits)
        : interval((nanoseconds(std::clamp(limits.window, kShortest, kLongest)).count() + limits.calls - 1) /
                   limits.calls),
          capacity(interval * limits.calls) {}
};

// One tool, principal or run, or a tool or principal within a run.
struct Subject {
    std::string name;  // for people
    std::uint32_t running = 0;
    Bucket by_contract;
    Bucket by_policy;
    std::uint64_t run_calls = 0;
    std::uint32_t pins = 0;  // tickets that refer to it
    const std::string* key = nullptr;
    std::list<Subject*>::iterator idle_place;  // only while pins is 0
};

// Subjects by key. One that no ticket refers to may be forgotten, the one unused for the longest time first.
class Table {
public:
    /// Null when there are too many that cannot be forgotten.
    template <class Name>
    Subject* pin(std::string key, const Name& name) {
        if (const auto found = subjects_.find(key); found != subjects_.end()) {
            Subject& subject = found->second;
            if (subject.pins++ == 0) idle_.erase(subject.idle_place);
            return &subject;
        }
        if (subjects_.size() >= kMostSubjects) {
            if (idle_.empty()) return nullptr;
            const std::string oldest = *idle_.front()->key;
            idle_.pop_front();
            subjects_.erase(oldest);
        }
        const auto made = subjects_.try_emplace(std::move(key)).first;
        made->second.key = &made->first;
        made->second.name = name();
        made->second.pins = 1;
        return &made->second;
    }

    void unpin(Subject& subject) {
        if (--subject.pins == 0) subject.idle_place = idle_.insert(idle_.end(), &subject);
    }

private:
    std::unordered_map<std::string, Subject> subjects_;
    std::list<Subject*> idle_;
};

std::string joined(std::string_view kind, std::initializer_list<std::string_view> parts) {
    std::string key(kind);
    for (const std::string_view part : parts) key.append(fmt::format("{}:", part.size())).append(part);
    return key;
}

Error refused(std::string_view reason, std::uint64_t limit, const std::string& subject, milliseconds wait) {
    std::string message;
    if (reason == "concurrent") {
        message =
            fmt::format("{} already has {} calls running, which is the limit; try again when one has ended.",
                        subject, limit);
    } else {
        message = fmt::format("{} has used up its {} calls for now; try again in {} ms.", subject, limit,
                              wait.count());
    }
    return {ErrorCode::rate_limited,
            std::move(message),
            {{"reason", reason}, {"retry_after_ms", wait.count()}, {"limit", limit}, {"subject", subject}}};
}

Error out_of_budget(std::uint64_t limit, const std::string& subject) {
    return {ErrorCode::budget_exceeded,
            fmt::format("{} has used all of its {} calls; finish without it, or ask the operator for more.",
                        subject, limit),
            {{"reason", "per_run"}, {"limit", limit}, {"subject", subject}}};
}

Error too_many_subjects() {
    return {ErrorCode::rate_limited,
            "Too many principals and runs have calls running at once; try again when some have ended.",
            {{"reason", "too_many_subjects"},
             {"retry_after_ms", kTryAgain.count()},
             {"limit", kMostSubjects},
             {"subject", "all"}}};
}

}  // namespace

struct Limiter::State {
    std::mutex mutex;
    Table lasting;  // tools and principals
    Table runs;     // runs, and tools and principals within them: a flood of runs pushes out only runs
};

struct Limiter::Ticket::Held {
    struct Part {
        Table* table;
        Subject* subject;
        bool running = false;
        bool budget = false;
    };

    std::shared_ptr<Limiter::State> owner;
    std::vector<Part> parts;
    bool entered = false;

    ~Held() {
        const std::scoped_lock lock(owner->mutex);
        release();
    }

    void release() {
        for (const Part& part : parts) {
            if (part.running) --part.subject->running;
            if (part.budget && !entered) --part.subject->run_calls;
            part.table->unpin(*part.subject);
        }
        parts.clear();
    }
};

void Limiter::Ticket::Release::operator()(Held* held) const noexcept {
    delete held;
}

namespace {

// What is taken for one call, so that it can be put back while the lock is still held.
class Taking {
public:
    struct Undo {
        Bucket* bucket = nullptr;
        MonotonicTime full_at;
        std::uint64_t* counter = nullptr;
    };

    void roll_back() {
        for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
            if (undo->bucket != nullptr) undo->bucket->full_at = undo->full_at;
            if (undo->counter != nullptr) --*undo->counter;
        }
        undo_.clear();
    }

    Result<void> token(const UseLimits& limits, Bucket& bucket, const Subject& subject, MonotonicTime now,
                       std::size_t batch) {
        if (limits.calls == 0) return {};
        const Rate rate(limits);
        // A policy that has become stricter leaves an empty bucket, not a debt.
        bucket.full_at = std::min(bucket.full_at, now + rate.capacity);
        const MonotonicTime full_at = std::max(bucket.full_at, now) + rate.interval;
        if (full_at > now + rate.capacity) {
            Error error = refused("calls", limits.calls, subject.name,
                                  std::chrono::ceil<milliseconds>(full_at - (now + rate.capacity)));
            if (batch > limits.calls) {
                error.retryable = false;
                error.message += " All calls of a batch are counted before it starts: send a smaller one.";
            }
            return tl::unexpected(std::move(error));
        }
        undo_.push_back({&bucket, bucket.full_at, nullptr});
        bucket.full_at = full_at;
        return {};
    }

    /// Counts the call once, whatever the number of limits that look at the count.
    Result<void> budget(std::initializer_list<std::uint64_t> limits, Subject& subject) {
        for (const std::uint64_t limit : limits) {
            if (limit != 0 && subject.run_calls >= limit)
                return tl::unexpected(out_of_budget(limit, subject.name));
        }
        undo_.push_back({nullptr, {}, &subject.run_calls});
        ++subject.run_calls;
        return {};
    }

private:
    std::vector<Undo> undo_;
};

Result<void> check_running(std::initializer_list<std::uint32_t> limits, const Subject& subject) {
    for (const std::uint32_t limit : limits) {
        if (limit != 0 && subject.running >= limit) {
            return tl::unexpected(refused("concurrent", limit, subject.name, kTryAgain));
        }
    }
    return {};
}

// The subjects of one call, each under its key; null where nothing limits it.
struct Subjects {
    Subject* tool = nullptr;
    Subject* principal = nullptr;
    Subject* run = nullptr;
    Subject* tool_in_run = nullptr;
    Subject* principal_in_run = nullptr;
};

}  // namespace

Limiter::Limiter() : state_(std::make_shared<State>()) {}
Limiter::~Limiter() = default;

bool Limiter::unlimited(const Compiled& policy, const Ask& ask) const noexcept {
    return !policy.limits_tools() && !policy.limits_principals() &&
           !limits_anything(ask.tool->contract().limits) &&
           (!policy.limits_runs() || ask.caller->run_id.empty());
}

namespace {

// Pins into `parts` whatever limits the call; all that was pinned goes again with the ticket.
template <class Parts>
Result<Subjects> pin_subjects(const Compiled& policy, const Limiter::Ask& ask, Table& lasting, Table& runs,
                              Parts& parts) {
    const UseLimits& contract = ask.tool->contract().limits;
    const PolicyLimits& limits = policy.config().limits;
    const Context& caller = *ask.caller;
    Subjects subjects;
    bool full = false;
    const auto pin = [&](Subject*& to, Table& table, std::string key, const auto& name) {
        to = table.pin(std::move(key), name);
        if (to == nullptr) {
            full = true;
        } else {
            parts.push_back({&table, to});
        }
    };
    const auto rate_or_places = [](const UseLimits& one) { return one.concurrent != 0 || one.calls != 0; };
    if (rate_or_places(contract) || rate_or_places(limits.per_tool)) {
        pin(subjects.tool, lasting, joined("tool", {ask.tool->name()}),
            [&] { return fmt::format("Tool '{}'", ask.tool->name()); });
    }
    if (rate_or_places(limits.per_principal)) {
        pin(subjects.principal, lasting, joined("principal", {caller.tenant, caller.principal}),
            [&] { return fmt::format("Principal '{}'", caller.principal); });
    }
    if (!caller.run_id.empty()) {
        if (policy.limits_runs()) {
            pin(subjects.run, runs, joined("run", {caller.tenant, caller.run_id}),
                [&] { return fmt::format("Run '{}'", caller.run_id); });
        }
        if (contract.per_run != 0 || limits.per_tool.per_run != 0) {
            pin(subjects.tool_in_run, runs,
                joined("tool_in_run", {caller.tenant, caller.run_id, ask.tool->name()}),
                [&] { return fmt::format("Tool '{}' in run '{}'", ask.tool->name(), caller.run_id); });
        }
        if (limits.per_principal.per_run != 0) {
            pin(subjects.principal_in_run, runs,
                joined("principal_in_run", {caller.tenant, caller.run_id, caller.principal}),
                [&] { return fmt::format("Principal '{}' in run '{}'", caller.principal, caller.run_id); });
        }
    }
    if (full) return tl::unexpected(too_many_subjects());
    return subjects;
}

template <class Parts>
void mark(Parts& parts, const Subject* subject, bool running, bool budget) {
    for (auto& part : parts) {
        if (part.subject != subject) continue;
        part.running = part.running || running;
        part.budget = part.budget || budget;
    }
}

// Rate and budget of one call.
template <class Parts>
Result<void> take_counts(const Compiled& policy, const Limiter::Ask& ask, const Subjects& of,
                         MonotonicTime now, std::size_t batch, Taking& taking, Parts& parts) {
    const UseLimits& contract = ask.tool->contract().limits;
    const PolicyLimits& limits = policy.config().limits;
    Result<void> taken;
    const auto token = [&](const UseLimits& by, Bucket Subject::* bucket, Subject* subject) {
        if (taken && subject != nullptr) taken = taking.token(by, subject->*bucket, *subject, now, batch);
    };
    const auto budget = [&](std::initializer_list<std::uint64_t> by, Subject* subject) {
        if (!taken || subject == nullptr) return;
        taken = taking.budget(by, *subject);
        if (taken) mark(parts, subject, false, true);
    };
    token(contract, &Subject::by_contract, of.tool);
    token(limits.per_tool, &Subject::by_policy, of.tool);
    token(limits.per_principal, &Subject::by_policy, of.principal);
    token(limits.per_run, &Subject::by_policy, of.run);
    budget({limits.per_run.per_run}, of.run);
    budget({contract.per_run, limits.per_tool.per_run}, of.tool_in_run);
    budget({limits.per_principal.per_run}, of.principal_in_run);
    return taken;
}

Result<void> check_places(const Compiled& policy, const Limiter::Ask& ask, const Subjects& of) {
    const PolicyLimits& limits = policy.config().limits;
    Result<void> free;
    if (of.tool != nullptr) {
        free = check_running({ask.tool->contract().limits.concurrent, limits.per_tool.concurrent}, *of.tool);
    }
    if (free && of.principal != nullptr)
        free = check_running({limits.per_principal.concurrent}, *of.principal);
    if (free && of.run != nullptr) free = check_running({limits.per_run.concurrent}, *of.run);
    return free;
}

template <class Parts>
void take_places(const Subjects& of, Parts& parts) {
    for (Subject* subject : {of.tool, of.principal, of.run}) {
        if (subject == nullptr) continue;
        ++subject->running;
        mark(parts, subject, true, false);
    }
}

}  // namespace

Result<Limiter::Ticket> Limiter::take(const Compiled& policy, const Ask& ask, MonotonicTime now) {
    // Made before the lock and so gone after it: its destructor takes the lock too.
    Ticket ticket;
    ticket.state_.reset(new Ticket::Held{state_, {}, false});
    Ticket::Held& held = *ticket.state_;
    const std::scoped_lock lock(state_->mutex);
    const auto subjects = pin_subjects(policy, ask, state_->lasting, state_->runs, held.parts);
    if (!subjects) return tl::unexpected(subjects.error());
    if (auto free = check_places(policy, ask, *subjects); !free)
        return tl::unexpected(std::move(free.error()));
    Taking taking;
    if (auto taken = take_counts(policy, ask, *subjects, now, 1, taking, held.parts); !taken) {
        taking.roll_back();
        for (Ticket::Held::Part& part : held.parts) part.budget = false;
        return tl::unexpected(std::move(taken.error()));
    }
    take_places(*subjects, held.parts);
    held.entered = true;
    return ticket;
}

Result<std::vector<Limiter::Ticket>> Limiter::reserve(const Compiled& policy, std::span<const Ask> asks,
                                                      MonotonicTime now) {
    std::vector<Ticket> tickets(asks.size());
    for (Ticket& ticket : tickets) ticket.state_.reset(new Ticket::Held{state_, {}, false});
    const std::scoped_lock lock(state_->mutex);
    Taking taking;
    for (std::size_t i = 0; i < asks.size(); ++i) {
        Ticket::Held& held = *tickets[i].state_;
        const auto subjects = pin_subjects(policy, asks[i], state_->lasting, state_->runs, held.parts);
        Result<void> taken;
        if (subjects) {
            taken = take_counts(policy, asks[i], *subjects, now, asks.size(), taking, held.parts);
        } else {
            taken = tl::unexpected(subjects.error());
        }
        if (taken) continue;
        taking.roll_back();
        for (std::size_t j = 0; j <= i; ++j) {
            for (Ticket::Held::Part& part : tickets[j].state_->parts) part.budget = false;
        }
        return tl::unexpected(std::move(taken.error()));
    }
    return tickets;
}

Result<void> Limiter::enter(const Compiled& policy, const Ask& ask, Ticket& ticket) {
    if (!ticket.held()) ticket.state_.reset(new Ticket::Held{state_, {}, false});
    Ticket::Held& held = *ticket.state_;
    if (held.entered) return {};
    const std::scoped_lock lock(state_->mutex);
    // Looked up anew: the policy may have changed since the reservation. What is pinned twice is let go
    // twice.
    std::vector<Ticket::Held::Part> parts;
    const auto subjects = pin_subjects(policy, ask, state_->lasting, state_->runs, parts);
    Result<void> free;
    if (subjects) {
        free = check_places(policy, ask, *subjects);
    } else {
        free = tl::unexpected(subjects.error());
    }
    if (!free) {
        for (const Ticket::Held::Part& part : parts) part.table->unpin(*part.subject);
        return free;
    }
    take_places(*subjects, parts);
    held.parts.insert(held.parts.end(), parts.begin(), parts.end());
    held.entered = true;
    return {};
}

}  // namespace callgate::policy
