#include "pipeline/call.h"

#include <fmt/format.h>

#include "base/futex.h"
#include "base/guard.h"
#include "base/ids.h"
#include "base/utf8.h"
#include "pipeline/attempt.h"
#include "pipeline/leave.h"
#include "pipeline/pipeline.h"
#include "pipeline/projection.h"

namespace callgate::pipeline {
namespace {

class StopTask final : public PoolTask {
public:
    explicit StopTask(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    void run() override { call_->request_stop(); }
    void drop() override { call_->request_stop(); }

private:
    std::shared_ptr<Call> call_;
};

// Delivers what a call's host is to be notified of.
class Delivery final : public PoolTask {
public:
    explicit Delivery(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    void run() override { call_->deliver(); }
    // The runtime has gone.
    void drop() override {
        const base::FreedThread freed;
        call_->deliver();
    }

private:
    std::shared_ptr<Call> call_;
};

// Goes on with a call where its hooks may run.
class HookTurn final : public PoolTask {
public:
    explicit HookTurn(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    void run() override { call_->go_on_here(); }
    void drop() override { call_->go_on_here(); }

private:
    std::shared_ptr<Call> call_;
};

// A call that nobody waits for goes on, on a thread that may run calls.
class Turn final : public PoolTask {
public:
    explicit Turn(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    void run() override { call_->take_turn(); }
    void drop() override { call_->take_turn(); }

private:
    std::shared_ptr<Call> call_;
};

State state_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::not_found:
        case ErrorCode::ambiguous_name: return State::not_found;
        case ErrorCode::unavailable:
        case ErrorCode::quarantined:
        case ErrorCode::silenced:
        case ErrorCode::circuit_open: return State::unavailable;
        case ErrorCode::scope_denied: return State::scope_denied;
        case ErrorCode::invalid_arguments:
        case ErrorCode::unknown_action: return State::invalid;
        case ErrorCode::denied:
        case ErrorCode::approval_denied:
        case ErrorCode::approval_expired: return State::denied;
        case ErrorCode::approval_required: return State::needs_approval;
        case ErrorCode::preview_required: return State::previewed;
        case ErrorCode::suppressed: return State::suppressed;
        case ErrorCode::rate_limited:
        case ErrorCode::budget_exceeded:
        case ErrorCode::loop_detected: return State::limited;
        case ErrorCode::in_progress: return State::in_progress;
        case ErrorCode::key_reused:
        case ErrorCode::key_expired: return State::key_conflict;
        case ErrorCode::outcome_unknown: return State::unknown;
        case ErrorCode::timed_out: return State::timed_out;
        case ErrorCode::cancelled: return State::cancelled;
        default: return State::failed;
    }
}

Error called_off() {
    return {ErrorCode::cancelled, "The call was called off before the tool began."};
}

// How long after its deadline a call still waits for the ledger.
constexpr std::chrono::milliseconds kLedgerGrace{100};

// What a call had asked for when it left has come, on a thread that may run calls.
class LeftReply final : public PoolTask {
public:
    LeftReply(std::shared_ptr<Call> call, bool turn) : call_(std::move(call)), turn_(turn) {}
    void run() override {
        after_leaving(call_);
        if (turn_) call_->core->turn_came();
    }
    void drop() override { run(); }

private:
    std::shared_ptr<Call> call_;
    bool turn_;
};

}  // namespace

SharedContext usual_context() noexcept {
    static const Context& usual = *new Context;  // never goes: a call may still run when the program ends
    return {SharedContext(), &usual};
}

SharedContext share(Context context) {
    if (context.principal.empty() && CALLGATE_GUARD(one_local_principal)) context.principal = kLocalPrincipal;
    return std::make_shared<const Context>(std::move(context));
}

Call::Call(std::shared_ptr<Runtime::Core> owner) : core(std::move(owner)) {
    const base::Moment now = core->clock().now();
    started = now.monotonic;
    started_wall = now.wall;
    id = core->ids.next(started_wall).bytes;
    timeout = core->options.default_timeout;
    outcome.action = std::string("call");  // moved: nothing looks whether there is room
    observers = core->observers();
}

void Call::prepare(Request what) {
    outcome.tool = std::move(what.tool);
    outcome.action = std::move(what.action);
    request = std::move(what);
}

void Call::begin(const std::shared_ptr<Call>& self) {
    holder_ = &self;
    if (inside::body != nullptr && CALLGATE_GUARD(nested_whichever_way)) [[unlikely]]
        made_inside();
    callers_thread_ = !base::on_our_thread();
    // A thread of ours that waits for a call neither delivers its notices nor runs its hooks.
    if (!callers_thread_) [[unlikely]] {
        host_pool_tells_ = true;
        run_.store(kRunning | kAlone, std::memory_order_relaxed);
    }
    outcome.call_id = id;
    outcome.timestamp = started_wall;
    if (request.origin) {
        outcome.parent_call_id = request.origin->parent;
        if (request.origin->secrets) {
            shared.secrets = std::move(request.origin->secrets);
            uses_secrets_.store(true, std::memory_order_release);
        }
    }
    if (!request.origin || request.origin->resumes.empty()) project_start(*this);
    run();
}

// The body calls the runtime itself rather than its context.
void Call::made_inside() {
    const RunContext& body = *inside::body;
    if (body.core() != core) return;
    if (request.origin && request.origin->parent != CallId{}) return;
    body.adopt(request.from());
}

Call::~Call() {
    if (armed_) disarm();
}

void Call::start(const std::shared_ptr<Call>& call, Done done, DoneIs whose) {
    call->others().done = std::move(done);
    call->others().whose_done = whose;
    call->host_pool_tells_ = true;
    call->run_.store(kRunning | kAlone, std::memory_order_relaxed);
    call->begin(call);
}

Outcome Call::run_to_end(const std::shared_ptr<Call>& call) {
    const LentThread blocked(*call->core);
    if (blocked.was_last()) [[unlikely]]
        call->request.from().keeps_lent_thread = true;
    call->begin(call);
    if (!call->over()) call->core->wait_for(*call);
    // The caller's progress function must not outlive the call.
    if (call->handed_out) call->end_delivery();
    return call->take_outcome();
}

void Call::hand_out() {
    if (handed_out) return;
    handed_out = true;
    others().self = *holder_;
}

// Who still runs for this call may look at its outcome later than its caller.
Outcome Call::take_outcome() noexcept {
    return handed_out ? Outcome(told) : Outcome(std::move(told));
}

void Call::run() {
    const Inside no_body(nullptr, inside::lent);
    for (;;) {
        Step step = Step::next;
        if (leaving_) [[unlikely]] {
            leaving_ = false;
            step = stage_ == kSettle ? leave_settle(*this) : go_on_without_answer(*this);
        }
        while (step == Step::next) {
            step = kStages[stage_].run(*this);
            if (step == Step::next) {
                ++stage_;
                phase = 0;
            }
        }
        if (step == Step::end) {
            if (stage_ == kSettle) {
                finish();
                return;
            }
            stage_ = kSettle;
            phase = 0;
            continue;
        }
        if (step == Step::pending) shown_not_applied = false;  // others may have had the key meanwhile
        rest();
        // Once it lies down it is another thread's, and may be gone.
        if (step == Step::pending ? lie_down() : lie_down_until_reply()) return;
    }
}

// False: it was woken in the meantime.
bool Call::lie_down() {
    auto now = run_.load(std::memory_order_acquire);
    for (;;) {
        const bool woken = (now & kWoken) != 0;
        const auto next = now & ~(woken ? kWoken : kRunning);
        if (run_.compare_exchange_weak(now, next, std::memory_order_acq_rel)) return !woken;
    }
}

// False: the ledger has answered in the meantime.
bool Call::lie_down_until_reply() {
    const auto alive = self();  // once it lies down it may end, and go
    bool turn_expected = false;
    bool stay = false;
    auto now = run_.load(std::memory_order_acquire);
    for (;;) {
        if ((now & kReplied) != 0) {
            // What else woke it is looked at as well when it goes on.
            if (!run_.compare_exchange_weak(now, now & ~(kReplied | kWoken), std::memory_order_acq_rel))
                continue;
            if (turn_expected) core->turn_came();
            return false;
        }
        if ((now & kAlone) != 0 && !turn_expected) {
            turn_expected = core->expect_turn();
            stay = !turn_expected;  // the runtime has gone, and its threads with it: this one waits
        }
        const auto asking = (now & ~(kRunning | kWoken | (stay ? kAlone : 0))) | kAsking;
        if (run_.compare_exchange_weak(now, asking, std::memory_order_acq_rel)) break;
    }
    if (alive->expired()) alive->leave_soon();
    if (!stay) return true;
    if (wait() == Woken::over) return true;
    run_.fetch_or(kAlone, std::memory_order_acq_rel);
    return false;
}

// Nothing is on loan to a call that waits.
void Call::rest() {
    hand_out();
    if (!others_->kept) others_->kept = self();
    if (!workspace_) return;
    keep();
    core->give_back(std::move(workspace_));
}

void Call::keep() {
    if (rules != nullptr && !others_->rules) others_->rules = workspace_->rules;
    if (tool != nullptr && !others_->tool) others_->tool = tool->shared_from_this();
}

void Call::finish() {
    if (others_) {
        finish_before_others();
        return;
    }
    attempt = nullptr;
    if (workspace_) core->give_back(std::move(workspace_));
    run_.store(kOver, std::memory_order_release);
}

void Call::finish_before_others() {
    const auto self = std::move(others_->kept);  // until this function is done
    if (armed_) disarm();
    attempt = nullptr;
    if (workspace_) {
        if (handed_out) keep();
        core->give_back(std::move(workspace_));
    }
    // Before it is over: whoever waits for its end may take the call with it.
    std::optional<Done> done;
    if (others_->done) done = std::exchange(others_->done, nullptr);
    if (has_left()) [[unlikely]] {
        if ((run_.exchange(kOver | kLeft, std::memory_order_acq_rel) & kBack) != 0) look_after_reply();
    } else {
        run_.store(kOver, std::memory_order_release);
    }
    if (handed_out) base::wake_all(run_);  // or nobody else can be waiting
    if (!done) return;
    if (others_->whose_done == DoneIs::ours && !others_->notices.pending()) {
        (*done)(*this);
    } else {
        tell([this, done = std::move(*done)] { done(*this); });
    }
}

Call::Woken Call::wait() {
    for (;;) {
        const auto now = run_.load(std::memory_order_acquire);
        if ((now & kOver) != 0) return Woken::over;
        if (take(false)) return Woken::turn;
        if ((now & kNotices) != 0) {
            run_.fetch_and(~kNotices, std::memory_order_acq_rel);
            return Woken::notices;
        }
        base::sleep_while(run_, now);
    }
}

void Call::deliver() {
    others_->notices.drain(core->counters.observer_faults);
    core->wake_io();
}

// On the caller's own thread: what came up before. False: others are at it, so it goes behind them.
bool Call::deliver_before() {
    if (host_pool_tells_) return false;
    deliver();
    return true;
}

void Call::tell_later(Notices::Notice notice) {
    hand_out();
    auto alive = self();
    const Notices::Pushed pushed = others_->notices.push(notice);
    if (pushed == Notices::Pushed::closed) {
        core->tell([alive = std::move(alive), notice = std::move(notice)] { notice(); });
        return;
    }
    if (!host_pool_tells_) {
        run_.fetch_or(kNotices, std::memory_order_acq_rel);
        base::wake_all(run_);
        return;
    }
    if (pushed != Notices::Pushed::first) return;
    auto delivery = std::make_shared<Delivery>(std::move(alive));
    if (core->host.submit(delivery) != WorkerPool::Submitted::taken) delivery->drop();
}

void Call::end_delivery() {
    if (!host_pool_tells_) {
        others_->notices.drain_and_close(core->counters.observer_faults);
        return;
    }
    const WorkerPool::Waiting waiting;
    others_->notices.wait_until_delivered();
}

std::optional<Step> Call::hooks_elsewhere() {
    if (!base::on_our_thread()) return std::nullopt;
    rest();
    if (core->host.submit(std::make_shared<HookTurn>(self())) != WorkerPool::Submitted::taken)
        return std::nullopt;
    return Step::pending;
}

// The ledger has answered: it is this thread that goes on. What was left alone is never taken by who waits,
// and the other way round.
bool Call::take(bool left_alone) {
    auto now = run_.load(std::memory_order_acquire);
    while ((now & kDue) == kDue && ((now & kAlone) != 0) == left_alone) {
        const auto taken = (now & ~(kDue | kLeaving)) | kRunning;
        if (!run_.compare_exchange_weak(now, taken, std::memory_order_acq_rel)) continue;
        leaving_ = (now & kLeaving) != 0;
        return true;
    }
    return false;
}

// It is watched from now on, so that it can leave.
void Call::begin_asking(Asking what) {
    was_asked_ = true;
    asking_ = what;
    asks_.fetch_add(1, std::memory_order_relaxed);
    arm();
}

void Call::leave_soon() {
    const auto now = run_.load(std::memory_order_acquire);
    if ((now & (kOver | kRunning)) != 0 || (now & kDue) != kAsking) return;
    core->timers().at(core->clock().monotonic_now() + kLedgerGrace,
                      [weak = others_->self, ask = asks_.load(std::memory_order_relaxed)] {
                          if (const auto alive = weak.lock()) alive->leave(ask);
                      });
}

// On the timers' thread. Either the answer comes first, or the call goes on without it: run_ decides.
void Call::leave(std::uint32_t ask) {
    auto now = run_.load(std::memory_order_acquire);
    const auto waits = [&] {
        return (now & (kOver | kRunning | kLeft)) == 0 && (now & kDue) == kAsking &&
               asks_.load(std::memory_order_relaxed) == ask;
    };
    if (!waits()) return;
    others_->left_self = self();
    others_->left_turn = core->expect_turn();
    while (waits()) {
        if (!run_.compare_exchange_weak(now, now | kReplied | kLeft | kLeaving, std::memory_order_acq_rel))
            continue;
        if ((now & kAlone) != 0) {
            give_turn();
        } else {
            base::wake_all(run_);
        }
        return;
    }
    if (others_->left_turn) core->turn_came();
    others_->left_self = nullptr;
}

// Looked after once the call is over: until then its own thread has it.
void Call::came_back() {
    if ((run_.fetch_or(kBack, std::memory_order_acq_rel) & kOver) != 0) look_after_reply();
}

void Call::look_after_reply() {
    Runtime::Core& of = *core;
    const bool turn = others_->left_turn;
    auto reply = std::make_shared<LeftReply>(std::move(others_->left_self), turn);
    if (turn) {
        of.turns.submit(std::move(reply));
    } else {
        reply->run();
    }
}

void Call::wake() {
    auto before = run_.load(std::memory_order_acquire);
    do {
        if ((before & kLeft) != 0) [[unlikely]] {
            came_back();
            return;
        }
    } while (!run_.compare_exchange_weak(before, before | kReplied, std::memory_order_acq_rel));
    if ((before & kRunning) != 0) return;  // it has not lain down yet, and sees it when it does
    if ((before & kAlone) != 0) {
        give_turn();
    } else {
        // Who waits may have seen it already, and the call may be gone: only its address is used here.
        base::wake_all(run_);
    }
}

// Nobody else touches the call until the turn is given.
void Call::give_turn() {
    auto turn = std::make_shared<Turn>(self());
    if (core->turns.submit(turn) != WorkerPool::Submitted::taken) turn->drop();
}

void Call::take_turn() {
    core->turn_came();
    if (take(true)) run_here();
}

void Call::run_here() {
    const auto alive = self();  // it may end, and go, while it runs
    callers_thread_ = !CALLGATE_GUARD(callbacks_elsewhere);
    run();
    if (over()) core->wake_io();
}

// What it is told of must be seen by the thread that runs the call, even where that has been woken already:
// hence no mere look at run_.
void Call::go_on() {
    auto now = run_.fetch_or(0, std::memory_order_acq_rel);
    for (;;) {
        if ((now & (kOver | kWoken | kDue)) != 0) return;
        if ((now & kRunning) != 0) {
            if (run_.compare_exchange_weak(now, now | kWoken, std::memory_order_acq_rel)) return;
            continue;
        }
        const bool alone = (now & kAlone) != 0;
        if (alone && !core->expect_turn()) {  // the runtime has gone, and nobody else needs this thread
            go_on_here();
            return;
        }
        if (run_.compare_exchange_weak(now, now | kDue, std::memory_order_acq_rel)) {
            if (alone) {
                give_turn();
            } else {
                base::wake_all(run_);
            }
            return;
        }
        if (alone) core->turn_came();
    }
}

void Call::go_on_here() {
    auto now = run_.fetch_or(0, std::memory_order_acq_rel);
    for (;;) {
        if ((now & (kOver | kWoken | kDue)) != 0) return;
        if ((now & kRunning) != 0) {
            if (run_.compare_exchange_weak(now, now | kWoken, std::memory_order_acq_rel)) return;
        } else if ((now & kAlone) == 0) {
            go_on();
            return;
        } else if (run_.compare_exchange_weak(now, now | kRunning, std::memory_order_acq_rel)) {
            run_here();
            return;
        }
    }
}

void Call::cancel() {
    cancel_wanted_.store(true, std::memory_order_release);
    go_on();
    if (stop_at_once_.load(std::memory_order_acquire)) request_stop();
}

void Call::expire() {
    expired_.store(true, std::memory_order_release);
    go_on();
    leave_soon();
    if (stop_at_once_.load(std::memory_order_acquire)) stop_elsewhere(self());
}

void Call::stop_elsewhere(const std::shared_ptr<Call>& call) {
    {
        const std::lock_guard lock(call->stop_mutex_);
        if (!call->stop_) return;  // who asks for its stop token from now on gets one that has stopped
    }
    if (call->core->stops.submit(std::make_shared<StopTask>(call)) != WorkerPool::Submitted::taken)
        call->request_stop();
}

Step Call::refuse(Error why) {
    const State state = state_of(why.code);
    return end(state, std::move(why));
}

Step Call::end(State state, Error why) {
    outcome.state = state;
    outcome.succeeded = false;
    if (request.context->trace) {
        note(kStages[stage_].name, to_string(why.code), why.message);
    }
    outcome.error = std::move(why);
    return Step::end;
}

Step Call::pending_or_give_up() {
    if (!cancel_wanted() && !expired()) return Step::pending;
    give_up(*this);
    return refuse(cancel_wanted() ? called_off() : out_of_time());
}

Error Call::out_of_time() const {
    return {ErrorCode::timed_out,
            fmt::format("The call ran out of time ({} ms) before the tool began.", timeout.count()),
            {{"timeout_ms", timeout.count()}, {"reason", "before_dispatch"}}};
}

std::optional<Error> Call::look_whether_stopped() {
    was_asked_ = false;
    settle_deadline();
    if (cancel_wanted() || request.context->cancel.stop_requested() || core->closing()) return called_off();
    if (expired() || core->clock().monotonic_now() >= deadline) return out_of_time();
    return std::nullopt;
}

void Call::add_note(std::string_view stage, std::string_view decision, std::string_view reason) {
    outcome.trace.push_back({std::string(stage), std::string(decision), redactor().redact_text(reason)});
}

void Call::arm() {
    if (armed_) return;
    armed_ = true;
    hand_out();
    settle_deadline();
    core->waiting(*this);
    others_->kept = self();
    watch_deadline();
    const std::stop_token& token = request.context->cancel;
    if (token.stop_possible()) {
        others_->on_cancel.emplace(token, [weak = others_->self] {
            if (const auto alive = weak.lock()) alive->cancel();
        });
    }
    if (core->closing()) cancel();  // it came too late to be cancelled with the others
}

void Call::watch_deadline() {
    others_->timer = core->timers().at(deadline, [weak = others_->self] {
        if (const auto alive = weak.lock()) alive->expire();
    });
}

void Call::disarm() {
    armed_ = false;
    core->not_waiting(*this);
    core->timers().cancel(others_->timer);
    if (others_->second_timer) core->timers().cancel(others_->second_timer);
    others_->on_cancel.reset();
}

void Call::wake_at(base::MonotonicTime when) {
    if (others_->second_timer) core->timers().cancel(others_->second_timer);
    others_->second_timer = core->timers().at(when, [weak = others_->self] {
        if (const auto alive = weak.lock()) alive->go_on();
    });
}

void Call::settle_deadline_anew() {
    has_deadline_ = false;
    settle_deadline();
    if (!armed_) return;
    core->timers().cancel(others_->timer);
    watch_deadline();
}

void Call::settle_deadline() {
    if (has_deadline_) return;
    has_deadline_ = true;
    if (request.timeout) {
        timeout = *request.timeout;
    } else if (request.context->timeout) {
        timeout = *request.context->timeout;
    } else if (tool && tool->contract().timeout) {
        timeout = *tool->contract().timeout;
    }
    const bool counts = CALLGATE_GUARD(longest_is_no_limit) || timeout != std::chrono::milliseconds::max();
    deadline = counts ? base::later(started, timeout) : started;
    if (request.origin && request.origin->latest && *request.origin->latest < deadline &&
        CALLGATE_GUARD(parent_deadline)) {
        deadline = *request.origin->latest;
        timeout = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - started);
    }
}

void Call::watch_inline() {
    stop_at_once_.store(true, std::memory_order_release);
    arm();
}

std::stop_token Call::stop_token() {
    const std::lock_guard lock(stop_mutex_);
    if (!stop_) {
        stop_.emplace();
        if (cancel_wanted() || expired() || request.context->cancel.stop_requested()) stop_->request_stop();
    }
    return stop_->get_token();
}

void Call::request_stop() {
    std::optional<std::stop_source> source;
    {
        const std::lock_guard lock(stop_mutex_);
        if (!stop_) stop_.emplace();
        source = *stop_;
    }
    source->request_stop();
}

std::chrono::nanoseconds Call::time_left() const {
    const auto left = deadline - core->clock().monotonic_now();
    return std::max(left, std::chrono::nanoseconds(0));
}

redact::SecretSet& Call::secrets() {
    const std::lock_guard lock(shared.mutex);
    if (!shared.secrets) shared.secrets = std::make_shared<redact::SecretSet>();
    uses_secrets_.store(true, std::memory_order_release);
    return *shared.secrets;
}

redact::Redactor Call::redactor() const {
    if (!has_secrets()) return redact::Redactor();
    const std::lock_guard lock(shared.mutex);
    return redact::Redactor(shared.secrets ? shared.secrets->index() : nullptr);
}

void Call::mask_preview() {
    const redact::Redactor redactor_now = redactor();
    if (!outcome.preview) return;
    outcome.preview->summary = redactor_now.redact_text(outcome.preview->summary);
    if (outcome.preview->diff)
        redactor_now.redact_in_place(*outcome.preview->diff, redact::Rules::values_only);
}

std::string Call::run_key() const {
    const Context& context = *request.context;
    return context.run_id.empty() ? std::string() : context.tenant + '\n' + context.run_id;
}

policy::Question Call::question() const {
    return {*tool, outcome.action, *arguments, *request.context, effect, started_wall};
}

std::shared_ptr<const Value> Call::arguments_as_they_came() const {
    constexpr std::size_t kShown = 1'000;
    const Args& args = request.arguments;
    if (const Value* value = args.value()) return std::make_shared<const Value>(*value);
    if (const auto* view = args.view())
        return std::make_shared<const Value>(base::truncate_to_bytes(*view, kShown));
    if (const auto* text = args.text())
        return std::make_shared<const Value>(base::truncate_to_bytes(*text, kShown));
    return std::make_shared<const Value>(Object());
}

}  // namespace callgate::pipeline
