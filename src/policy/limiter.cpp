#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "policy/limiter_places.h"

namespace callgate::policy {

namespace {

using base::MonotonicTime;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// A contract's window, whatever it says, is counted within these.
constexpr milliseconds kShortest{1};
constexpr milliseconds kLongestWindow = std::chrono::hours(24 * 365);
constexpr milliseconds kTryAgain{50};  // a place becomes free when a call ends, nobody knows when

struct Rate {
    nanoseconds interval;  // one token
    nanoseconds capacity;  // an empty bucket is full after this

    explicit Rate(const UseLimits& limits)
        : interval(
              (nanoseconds(std::clamp(limits.window, kShortest, kLongestWindow)).count() + limits.calls - 1) /
              limits.calls),
          capacity(interval * limits.calls) {}
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

struct Limiter::Ticket::Held {
    struct Part {
        Table* table;
        Subject* subject;
        bool running = false;
        bool budget = false;
    };

    std::shared_ptr<Limiter::State> owner;
    std::vector<Part> parts CALLGATE_GUARDED_BY(owner->mutex);
    bool entered CALLGATE_GUARDED_BY(owner->mutex) = false;  // by its places, if it needs any
    std::unique_ptr<Waiting> queued CALLGATE_GUARDED_BY(owner->mutex);

    explicit Held(std::shared_ptr<Limiter::State> state) : owner(std::move(state)) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    ~Held() {
        std::vector<std::function<void()>> ready;
        {
            const base::MutexLock lock(owner->mutex);
            if (queued) owner->leave(*queued);
            release(ready);
        }
        for (const auto& wake : ready) {
            if (wake) wake();
        }
    }

    void release(std::vector<std::function<void()>>& ready) CALLGATE_REQUIRES(owner->mutex) {
        for (const Part& part : parts) {
            if (part.running && entered) --part.subject->running;
            if (part.budget && !entered) --part.subject->run_calls;
        }
        for (const Part& part : parts) {
            if (part.running && entered) owner->pass_on(*part.subject, ready);
        }
        for (const Part& part : parts) part.table->unpin(*part.subject);
        parts.clear();
    }

    // Takes the places that are needed, or waits for them. `parts` has a pin on each.
    Result<void> place(std::vector<Need> needs, Ready wake) CALLGATE_REQUIRES(owner->mutex);
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
        if (full_at > now + rate.capacity && CALLGATE_GUARD(limit_rate)) {
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

// The places one call needs. Those that the calls it is made from hold are its own, too, where it would have
// to wait for them.
std::vector<Need> needs_of(const Compiled& policy, const Limiter::Ask& ask, const Subjects& of) {
    const PolicyLimits& limits = policy.config().limits;
    std::vector<Need> needs;
    const auto add = [&](Subject* subject, std::initializer_list<const UseLimits*> by) {
        if (subject == nullptr) return;
        Need need{subject};
        for (const UseLimits* one : by) need.limit(*one);
        if (need.waits_at != 0 && ask.held != nullptr &&
            std::ranges::find(*ask.held, *subject->key) != ask.held->end()) {
            need.waits_at = 0;
            if (need.refused_at == 0) return;
        }
        needs.push_back(need);
    };
    add(of.tool, {&ask.tool->contract().limits, &limits.per_tool});
    add(of.principal, {&limits.per_principal});
    add(of.run, {&limits.per_run});
    return needs;
}

// Before anything is taken: whether the call would be refused a place.
Result<void> check_places(const std::vector<Need>& needs, std::size_t waiting) {
    for (const Need& need : needs) {
        if (need.free() || (!need.refused() && waiting < kMostWaiting)) continue;
        return tl::unexpected(refused("concurrent", need.refused() ? need.refused_at : need.waits_at,
                                      need.subject->name, kTryAgain));
    }
    return {};
}

}  // namespace

Result<void> Limiter::Ticket::Held::place(std::vector<Need> needs, Ready wake) {
    CALLGATE_TRY(check_places(needs, owner->waiting));
    for (const Need& need : needs) mark(parts, need.subject, true, false);
    if (std::ranges::all_of(needs, &Need::free)) {
        for (const Need& need : needs) ++need.subject->running;
        entered = true;
        return {};
    }
    queued = std::make_unique<Waiting>();
    queued->number = ++owner->asked;
    queued->needs = std::move(needs);
    queued->ready = std::move(wake);
    queued->granted = &entered;
    ++owner->waiting;
    State::queue(*queued);
    return {};
}

bool Limiter::Ticket::waits() const {
    if (!state_) return false;
    const base::MutexLock lock(state_->owner->mutex);
    return state_->queued && !state_->entered;
}

std::vector<std::string> Limiter::Ticket::places() const {
    std::vector<std::string> held;
    if (!state_) return held;
    const base::MutexLock lock(state_->owner->mutex);
    if (!state_->entered) return held;
    for (const Held::Part& part : state_->parts) {
        if (part.running) held.push_back(*part.subject->key);
    }
    return held;
}

Result<Limiter::Ticket> Limiter::take(const Compiled& policy, const Ask& ask, MonotonicTime now,
                                      Ready ready) {
    // Made before the lock and so gone after it: its destructor takes the lock too.
    Ticket ticket;
    ticket.state_.reset(new Ticket::Held(state_));
    Ticket::Held& held = *ticket.state_;
    const base::MutexLock lock(state_->mutex);
    held.owner->mutex.assert_held();  // the same one
    CALLGATE_TRY_ASSIGN(const auto subjects,
                        pin_subjects(policy, ask, state_->lasting, state_->runs, held.parts));
    std::vector<Need> needs = needs_of(policy, ask, subjects);
    CALLGATE_TRY(check_places(needs, state_->waiting));
    Taking taking;
    if (auto taken = take_counts(policy, ask, subjects, now, 1, taking, held.parts); !taken) {
        taking.roll_back();
        for (Ticket::Held::Part& part : held.parts) part.budget = false;
        return tl::unexpected(std::move(taken.error()));
    }
    (void)held.place(std::move(needs), std::move(ready));  // checked before
    return ticket;
}

Result<std::vector<Limiter::Ticket>> Limiter::reserve(const Compiled& policy, std::span<const Ask> asks,
                                                      MonotonicTime now) {
    std::vector<Ticket> tickets(asks.size());
    for (Ticket& ticket : tickets) ticket.state_.reset(new Ticket::Held(state_));
    const base::MutexLock lock(state_->mutex);
    Taking taking;
    for (std::size_t i = 0; i < asks.size(); ++i) {
        Ticket::Held& held = *tickets[i].state_;
        held.owner->mutex.assert_held();  // the same one
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
            Ticket::Held& before = *tickets[j].state_;
            before.owner->mutex.assert_held();
            for (Ticket::Held::Part& part : before.parts) part.budget = false;
        }
        return tl::unexpected(std::move(taken.error()));
    }
    return tickets;
}

Result<void> Limiter::enter(const Compiled& policy, const Ask& ask, Ticket& ticket, Ready ready) {
    if (!ticket.held()) ticket.state_.reset(new Ticket::Held(state_));
    Ticket::Held& held = *ticket.state_;
    const base::MutexLock lock(state_->mutex);
    held.owner->mutex.assert_held();  // the same one
    if (held.entered || held.queued) return {};
    // Looked up again: the policy may have changed since the reservation. What is pinned twice is released
    // twice.
    std::vector<Ticket::Held::Part> parts;
    const auto subjects = pin_subjects(policy, ask, state_->lasting, state_->runs, parts);
    std::vector<Need> needs;
    Result<void> free;
    if (subjects) {
        needs = needs_of(policy, ask, *subjects);
        free = check_places(needs, state_->waiting);
    } else {
        free = tl::unexpected(subjects.error());
    }
    if (!free) {
        for (const Ticket::Held::Part& part : parts) part.table->unpin(*part.subject);
        return free;
    }
    // Marked as running is one of the two pins only: the place is given back once.
    std::vector<Ticket::Held::Part> reserved = std::exchange(held.parts, std::move(parts));
    (void)held.place(std::move(needs), std::move(ready));
    held.parts.insert(held.parts.end(), reserved.begin(), reserved.end());
    return {};
}

}  // namespace callgate::policy
