// A call under way: one object that carries everything the stages know about it.
//
// run() goes through the stages until the call has ended or has to wait. Whoever it waits for wakes it, and
// the call is handed to the thread that waits for its end or, where none does, to core->turns: a thread that
// serves others (timers, ledger, another call's) never runs it. A call that never waits never leaves its
// thread. It ends exactly once, in settle; until then nobody is given an outcome. Which thread may run it is
// run_state.h's; the call says what that thread does.
//
// While the ledger owes it a reply, nothing else moves the call: the reply is written into the call, so the
// deadline and a cancel only leave a note. A moment after the deadline the call leaves: it goes on without
// the reply (leave.h), and lives, for the reply's sake, until that has come.
//
// Foreign code of this call (observers, its progress function, `done`) runs on its caller's own thread, or on
// core->host, in order; see notify().
//
// Its parts: call.cpp (the way through the stages), call_turns.cpp (from thread to thread), call_watch.cpp
// (deadline, cancel, stop tokens), call_notices.cpp (foreign code).
//
// Threads: wake(), go_on(), cancel() and expire() may come from any thread; everything else is touched only
// by the thread that runs the call at the moment (run_ hands it over), except what `shared` holds, which has
// its own lock, and the notices.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/outcome.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/recycling.h"
#include "base/sha256.h"
#include "base/thread_role.h"
#include "ledger/ledger.h"
#include "pipeline/call_spec.h"
#include "pipeline/cold_state.h"
#include "pipeline/core.h"
#include "pipeline/notices.h"
#include "pipeline/run_state.h"
#include "pipeline/step.h"
#include "pipeline/timers.h"
#include "policy/decide.h"
#include "redact/redactor.h"
#include "redact/secret_set.h"
#include "tool/tool_entry.h"

namespace callgate::pipeline {

class AttemptState;
class Question;

class Call final : public ledger::Waiter {
public:
    using Done = std::function<void(Call&)>;

    /// The outcome's names and `request` are filled in before the call begins.
    [[gnu::hot]] explicit Call(std::shared_ptr<Runtime::Core> owner);
    [[gnu::hot]] ~Call() override;

    void prepare(Request what);

    // Driving.

    /// A host's own code, or ours, which is quick and may run where the call is.
    enum class CodeIs : std::uint8_t { foreign, ours };
    /// How the end of a call that nobody waits for is reported.
    struct Reports {
        Done done;      ///< once, perhaps before start() returns, after all else that the host is notified of
        Done recorded;  ///< at most once, before it; may be absent
        CodeIs whose = CodeIs::foreign;
    };
    static void start(const std::shared_ptr<Call>& call, Reports reports);
    /// Begins the call and waits for its end.
    [[gnu::hot]] static Outcome run_to_end(const std::shared_ptr<Call>& call);
    /// Of a call that is over; once.
    [[gnu::hot]] Outcome take_outcome() noexcept;
    /// From the ledger: the reply is there. The call may be gone when this returns.
    void wake() override;
    /// What it waits for may have come: the thread that waits for its end goes on with it, or a thread of
    /// core->turns. A time too many does no harm.
    void go_on();
    /// As go_on(), by a thread that has just run the call's own tool and has nothing else to do: where nobody
    /// waits for the end, it goes on here.
    void go_on_here();
    bool over() const noexcept { return run_.over(); }
    enum class Woken : std::uint8_t {
        over,
        turn,    ///< it is this thread's to run_turn()
        notices  ///< there is something to deliver()
    };
    /// Blocks until one of them is so.
    Woken wait();
    /// On the thread that wait() gave the turn.
    void run_turn() { run(); }
    /// The host is notified, on this thread, of what has come up meanwhile.
    void deliver();
    /// On a thread of core->turns.
    void take_turn();
    /// The caller lost interest, or the runtime ends.
    void cancel();
    /// The deadline passed.
    void expire();

    // For the stages.

    /// Somebody else is to have a hold of this call from now on: self().
    void hand_out();
    /// Null when it is gone. Only of a call that was handed out.
    std::shared_ptr<Call> self() const { return others_->self.lock(); }
    const std::weak_ptr<Call>& weak_self() const noexcept { return others_->self; }

    /// The call is over, and this is why. `state` follows from the error's code.
    [[gnu::cold]] Step refuse(Error why);
    [[gnu::cold]] Step end(State state, Error why);
    /// While waiting for anything but the ledger: goes on waiting, or gives up because the time is over or
    /// the call was called off. Nothing has been dispatched then.
    [[gnu::cold]] Step pending_or_give_up();
    /// What a stage returns when it has sent the ledger a request: go on, or wait for the reply.
    Step await_reply(ledger::Io io, Awaited what = Awaited::look) {
        if (io == ledger::Io::done) [[likely]]
            return Step::next;
        begin_await(what);
        return Step::awaits_reply;
    }
    Awaited awaited() const noexcept { return awaited_; }
    /// It went on without the ledger's reply: what that is written into is the ledger's until it comes.
    bool has_left() const noexcept { return run_.left(); }
    /// Why nothing may begin any more.
    Error out_of_time() const;
    /// After the ledger has replied: why nothing may begin any more, if the time ran out meanwhile or the
    /// call was called off.
    std::optional<Error> stopped_meanwhile() {
        if (!has_awaited_) [[likely]]
            return std::nullopt;
        return check_stopped();
    }
    /// Kept only where the caller wants a trace.
    void note(std::string_view stage, std::string_view decision, std::string_view reason = {}) {
        if (request.context->trace) [[unlikely]]
            add_note(stage, decision, reason);
    }
    /// The deadline is fixed, from now on: by the call, the tool or the runtime, and the parent's.
    [[gnu::hot]] void fix_deadline();
    /// Now that the tool of a resumed call is known; until then its caller's limit or the runtime's held.
    void fix_deadline_again();
    /// Watches the deadline and the caller's cancel signal from now on: before anything is waited for.
    void arm();
    std::stop_token stop_token();
    /// Its tool runs inline and looks at the deadline and the cancel signal: they reach it at once. A tool
    /// that runs elsewhere is stopped when the call has given it up, so that the call's own end comes first.
    void watch_inline();
    void request_stop();
    /// As request_stop(), on a host thread: the stop callbacks that tools register are foreign code.
    static void stop_elsewhere(const std::shared_ptr<Call>& call);

    // Foreign code.

    /// Whether it may run here and now: on the caller's own thread, with nothing before it.
    bool may_notify_here() {
        if (!callers_thread_) return false;
        if (!notices_pending()) [[likely]]
            return true;
        return deliver_before();
    }
    /// There is something that the host is still to be notified of.
    bool notices_pending() const noexcept { return others_ && others_->notices.pending(); }
    /// Later, in order, where it may. `notice` must own what it needs, except this call, which outlives it.
    [[gnu::cold]] void notify_later(Notices::Notice notice);
    /// Here or later.
    template <class Notice>
    void notify(Notice notice) {
        if (may_notify_here()) {
            notify_safely(notice);
        } else {
            notify_later(std::move(notice));
        }
    }
    /// A hook has to run, or much has to be done, and must not on this thread: what a stage returns then; it
    /// is run again on a thread where that may be. Nothing: it may be here.
    std::optional<Step> go_elsewhere();
    /// The ledger has the call, or its end: who started it is notified, once.
    void on_the_record() {
        if (others_ && others_->reports.recorded) [[unlikely]]
            report_recorded();
    }
    /// The id under which the ledger has it.
    std::string recorded_id() const;
    /// What others see of it has changed.
    void looks_different();
    bool cancel_wanted() const noexcept { return cancel_wanted_.load(std::memory_order_acquire); }
    bool expired() const noexcept { return expired_.load(std::memory_order_acquire); }
    std::chrono::nanoseconds time_left() const;
    /// Its deadline, later by the time for which it has stood still.
    base::MonotonicTime deadline_now() const;
    bool is_past_deadline() const { return core->clock().monotonic_now() >= deadline_now(); }
    // Its tool, or that of a call inside it, has asked somebody: its time stands still until the last of them
    // has an answer. From any thread; only of a call that is watched.
    void stand_still();
    void go_on_counting();
    /// What others see of it: whether it asks.
    void seems_to_ask(Asks asks) { core->waiting_calls.change(others_->place, asks); }
    /// Masks what must not be seen; its secrets are those this call has used so far.
    [[gnu::hot]] redact::Redactor redactor() const;
    redact::SecretSet& secrets();
    bool has_secrets() const noexcept { return uses_secrets_.load(std::memory_order_acquire); }
    void mask_preview();
    std::shared_ptr<const Value> arguments_as_they_came() const;
    void wake_at(base::MonotonicTime when);
    std::uint64_t ticket_number() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
    [[gnu::hot]] policy::Question question();
    /// Under which loops are counted; "" where the caller names no run. Two tenants never share one.
    std::string run_key() const;
    ColdState& cold() {
        if (!cold_) cold_ = std::make_unique<ColdState>();
        return *cold_;
    }
    /// Null: it has nothing cold.
    const ColdState* cold_if() const noexcept { return cold_.get(); }
    bool resumes() const noexcept { return request.origin && request.origin->approval; }
    bool uses_approval() const noexcept { return cold_ && cold_->approval_use; }
    /// Memory for the stage that runs now; not kept while the call waits.
    Runtime::Core::Workspace& workspace() {
        if (!workspace_) workspace_ = core->lend();
        return *workspace_;
    }
    /// No tool of it may make calls or use secrets any more. From any thread.
    bool has_ended() const {
        const base::MutexLock lock(shared.mutex);
        return shared.ended;
    }
    bool effectful() const noexcept { return effect != EffectClass::read; }

    std::shared_ptr<Runtime::Core> core;
    const Runtime::Core::Observers* observers = nullptr;  ///< when it began; null: nobody watched
    CallSpec request;
    CallId id{};
    base::MonotonicTime started{};
    base::WallTime started_wall{};
    base::MonotonicTime deadline{};
    std::chrono::milliseconds timeout{};
    std::shared_ptr<OutcomeData> outcome_data =
        std::allocate_shared_for_overwrite<OutcomeData>(base::RecyclingAllocator<OutcomeData>());
    OutcomeData& outcome = *outcome_data;
    bool handed_out = false;  ///< somebody else may have a hold of this call

    // resolve
    const ToolEntry* tool = nullptr;
    EffectClass effect = EffectClass::unsafe;
    // validate
    const Value* arguments = nullptr;  ///< the outcome's, once they were found valid
    // classify
    const policy::Compiled* rules = nullptr;  ///< the version this call is decided under
    policy::RiskAnswer risk;
    // replay, claim
    bool has_fingerprint = false;
    base::Sha256Digest fingerprint{};
    bool has_claim = false;
    /// By the ledger's own answer to this call: its key is free, or it was not applied. For safe_new_key.
    bool shown_not_applied = false;
    CallId claim_id{};  ///< under which the ledger has it: ours, or the first call's with this key
    Reconciliation::Verdict probed = Reconciliation::Verdict::cannot_tell;
    std::uint32_t epoch = 1;
    // gate
    policy::Answer answer;
    std::uint64_t loop_hash = 0;
    bool admitted = false;
    bool probes_breaker = false;  ///< the one call that a resting breaker lets through to see
    // dispatch
    std::shared_ptr<AttemptState>
        attempt;                  ///< what runs for this call now: the tool, its preview or its probe
    std::uint32_t attempts = 0;   ///< as the ledger counts: over all owners of the key
    std::uint32_t tries = 0;      ///< of this call alone
    bool needs_dispatch = false;  ///< the next attempt has to pass the ledger's fence first
    ledger::AttemptEnd attempt_end = ledger::AttemptEnd::failed;
    // settle
    ledger::SettleReply settled;
    std::optional<AuditEvent> terminal;  ///< of a call without a claim; what is being recorded alone
    base::MonotonicTime ended{};
    bool terminal_recorded = false;    ///< the ledger has the terminal event already
    bool came_too_late = false;        ///< the runtime drains
    bool refused_with_others = false;  ///< for that: the record has one event for many
    bool call_logged = false;
    bool entered = false;  ///< the tool's own code was entered

    /// Where the stage that runs now goes on.
    StagePhase phase;

    struct HeldProgress {
        Progress progress;
        std::size_t bytes = 0;  ///< of its content
    };
    /// Text that arrives in pieces, and what its masking knows.
    struct TextStream {
        redact::StreamRedactor redactor;
        std::shared_ptr<const redact::SecretIndex> index;
    };

    /// What a running tool may touch while others run the call.
    struct Shared {
        mutable base::Mutex mutex;
        bool ended CALLGATE_GUARDED_BY(mutex) = false;
        /// Its end is on the record, or could not be put there.
        bool recorded CALLGATE_GUARDED_BY(mutex) = false;
        /// An answer that came after the call had given it up and before its end was recorded.
        std::optional<std::pair<std::uint32_t, ToolReturn>> late CALLGATE_GUARDED_BY(mutex);
        std::uint64_t progress CALLGATE_GUARDED_BY(mutex) = 0;
        /// That the host is still to be notified of.
        std::list<HeldProgress> held CALLGATE_GUARDED_BY(mutex);
        std::size_t held_bytes CALLGATE_GUARDED_BY(mutex) = 0;
        /// Text that was added to it is masked when the call ends: a secret may be in two pieces.
        std::optional<Partial> partial CALLGATE_GUARDED_BY(mutex);
        /// For the pieces that the host is notified of.
        std::unique_ptr<TextStream> stream CALLGATE_GUARDED_BY(mutex);
        bool pieces_left_out CALLGATE_GUARDED_BY(mutex) = false;
        std::shared_ptr<redact::SecretSet> secrets CALLGATE_GUARDED_BY(mutex);
        // Questions that its tool has asked its caller.
        std::uint32_t rounds CALLGATE_GUARDED_BY(mutex) = 0;
        std::uint32_t open_questions CALLGATE_GUARDED_BY(mutex) = 0;
        std::vector<std::weak_ptr<Question>> questions CALLGATE_GUARDED_BY(mutex);
        std::uint32_t stand_stills CALLGATE_GUARDED_BY(mutex) = 0;  // of it and of calls inside it
        base::MonotonicTime stands_since CALLGATE_GUARDED_BY(mutex){};
        std::chrono::nanoseconds stood CALLGATE_GUARDED_BY(mutex){0};
    } shared;

private:
    friend class Runtime::Core;
    [[gnu::hot]] void begin(const std::shared_ptr<Call>& self);
    [[gnu::cold]] void made_inside();
    [[gnu::hot]] void run();
    [[gnu::cold]] void add_note(std::string_view stage, std::string_view decision, std::string_view reason);
    [[gnu::hot]] void finish();
    void finish_before_others();
    void disarm();
    void return_loans();
    void keep_loans();
    bool rest_until_reply();
    bool takes(Then then) noexcept;
    void go_on_as(Turn turn);
    void give_turn();
    void begin_await(Awaited what);
    void watch_deadline();
    void leave_soon();
    void leave(std::uint32_t wait);
    void look_after_reply();
    void run_here();
    [[gnu::cold]] bool deliver_before();
    void end_delivery();
    [[gnu::cold]] void report(Done report, CodeIs whose);
    [[gnu::cold]] void report_recorded();
    template <class Notice>
    void notify_safely(Notice& notice) {
        CALLGATE_FOREIGN_CODE("what a host is notified of");
        try {
            notice();
        } catch (...) {
            core->counters.observer_faults.add();
        }
    }
    [[gnu::cold]] std::optional<Error> check_stopped();

    RunState run_;
    bool has_awaited_ = false;
    bool leaving_ = false;  // this turn is to go on without the reply
    Awaited awaited_ = Awaited::look;
    bool callers_thread_ = false;      // the caller's own, a host's, runs it now
    bool host_pool_notifies_ = false;  // nobody waits who could deliver notices
    std::size_t stage_ = 0;

    std::atomic<bool> cancel_wanted_{false};
    std::atomic<bool> expired_{false};
    std::atomic<bool> stop_at_once_{false};
    std::atomic<bool> uses_secrets_{false};
    std::atomic<bool> has_stood_still_{false};
    const std::shared_ptr<Call>* holder_ = nullptr;  // who began it, until it is handed out
    std::unique_ptr<ColdState> cold_;
    std::unique_ptr<Runtime::Core::Workspace> workspace_;
    bool armed_ = false;
    bool has_deadline_ = false;
    base::Mutex stop_mutex_;
    std::optional<std::stop_source> stop_ CALLGATE_GUARDED_BY(stop_mutex_);

    // What a call has only once it waits, or once somebody else is to know of its end or has a hold of it.
    struct Others {
        std::weak_ptr<Call> self;
        std::shared_ptr<Call> kept;  // a call that waits keeps itself: its caller need not
        Notices notices;             // what the host is still to be notified of
        Reports reports;
        std::shared_ptr<Call> left_self;  // until what it left has come
        bool left_turn = false;           // that is expected as a turn
        // Of a call that outlives its loan: what it has from the workspace.
        std::shared_ptr<const policy::Compiled> rules;
        std::shared_ptr<const Runtime::Core::Observers> observers;
        std::shared_ptr<const ToolEntry> tool;
        TimerId timer;
        TimerId second_timer;
        std::optional<std::stop_callback<std::function<void()>>> on_cancel;
        WaitingPlace place;
    };
    [[gnu::cold]] void make_others() { others_ = std::make_unique<Others>(); }
    Others& others() {
        if (!others_) make_others();
        return *others_;
    }
    std::unique_ptr<Others> others_;
};

}  // namespace callgate::pipeline
