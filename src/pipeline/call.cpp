#include "pipeline/call.h"

#include <fmt/format.h>

#include "base/ids.h"
#include "base/utf8.h"
#include "pipeline/attempt.h"
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

}  // namespace

SharedContext usual_context() noexcept {
    static const Context& usual = *new Context;  // never goes: a call may still run when the program ends
    return {SharedContext(), &usual};
}

SharedContext share(Context context) {
    if (context.principal.empty()) context.principal = "local";
    return std::make_shared<const Context>(std::move(context));
}

Call::Call(std::shared_ptr<Runtime::Core> owner) : core(std::move(owner)) {
    const base::Moment now = core->clock().now();
    started = now.monotonic;
    started_wall = now.wall;
    id = core->ids.next(started_wall).bytes;
    timeout = core->options.default_timeout;
    outcome.action = "call";
    observers = core->observers();
}

void Call::prepare(Request what) {
    outcome.tool = std::move(what.tool);
    outcome.action = std::move(what.action);
    request = std::move(what);
}

void Call::begin(const std::shared_ptr<Call>& self) {
    holder_ = &self;
    outcome.call_id = id;
    outcome.timestamp = started_wall;
    if (request.origin) {
        outcome.parent_call_id = request.origin->parent;
        if (request.origin->secrets) {
            shared.secrets = std::move(request.origin->secrets);
            uses_secrets_.store(true, std::memory_order_release);
        }
    }
    project_start(*this);
    run();
}

Call::~Call() {
    if (armed_) disarm();
}

void Call::start(const std::shared_ptr<Call>& call, Done done) {
    call->done_ = std::move(done);
    call->begin(call);
}

Outcome Call::run_to_end(const std::shared_ptr<Call>& call) {
    call->begin(call);
    if (!call->over()) call->core->wait_for(*call);
    // The caller's progress function may still be running on the tool's thread; it must not outlive the call.
    if (call->request.context->on_progress) const std::lock_guard lock(call->shared.mutex);
    return call->take_outcome();
}

void Call::hand_out() {
    if (handed_out) return;
    handed_out = true;
    self_ = *holder_;
}

// Who still runs for this call may look at its outcome later than its caller.
Outcome Call::take_outcome() noexcept {
    return handed_out ? Outcome(told) : Outcome(std::move(told));
}

void Call::run() {
    for (;;) {
        Step step = Step::next;
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
        rest();
        auto expected = Run::running;
        if (run_.compare_exchange_strong(expected, Run::waiting, std::memory_order_acq_rel)) return;
        run_.store(Run::running, std::memory_order_release);  // woken in the meantime
    }
}

// Nothing is on loan to a call that waits.
void Call::rest() {
    hand_out();
    if (!kept_) kept_ = self();
    if (!workspace_) return;
    keep();
    core->give_back(std::move(workspace_));
}

void Call::keep() {
    if (rules != nullptr && !kept_rules_) kept_rules_ = workspace_->rules;
    if (tool != nullptr && !kept_tool_) kept_tool_ = tool->shared_from_this();
}

void Call::finish() {
    const auto self = std::move(kept_);  // until this function is done
    if (armed_) disarm();
    attempt = nullptr;
    if (workspace_) {
        if (handed_out) keep();
        core->give_back(std::move(workspace_));
    }
    run_.store(Run::over, std::memory_order_release);
    if (handed_out) run_.notify_all();  // or nobody else can be waiting
    if (done_) {
        const Done done = std::move(done_);
        if (request.context->on_progress) const std::lock_guard lock(shared.mutex);
        done(*this);
    }
}

void Call::wait() const {
    for (;;) {
        const Run now = run_.load(std::memory_order_acquire);
        if (now == Run::over) return;
        run_.wait(now, std::memory_order_acquire);
    }
}

void Call::wake() {
    auto now = run_.load(std::memory_order_acquire);
    for (;;) {
        switch (now) {
            case Run::over:
            case Run::woken: return;
            case Run::running:
                if (run_.compare_exchange_weak(now, Run::woken, std::memory_order_acq_rel)) return;
                break;
            case Run::waiting:
                if (run_.compare_exchange_weak(now, Run::running, std::memory_order_acq_rel)) {
                    const auto alive = self();  // it may end, and go, while it runs
                    run();
                    if (over()) core->wake_io();
                    return;
                }
                break;
        }
    }
}

void Call::cancel() {
    cancel_wanted_.store(true, std::memory_order_release);
    wake();
    request_stop();
}

void Call::expire() {
    expired_.store(true, std::memory_order_release);
    wake();
    // The stop callbacks that tools register are foreign code, and the timers' thread has others to serve.
    if (!core->pool.submit(std::make_shared<StopTask>(self()))) request_stop();
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
    if (cancel_wanted()) {
        give_up(*this);
        return refuse(Error(ErrorCode::cancelled, "The call was called off before the tool began."));
    }
    if (expired()) {
        give_up(*this);
        return refuse(
            Error(ErrorCode::timed_out,
                  fmt::format("The call ran out of time ({} ms) before the tool began.", timeout.count()),
                  {{"timeout_ms", timeout.count()}, {"reason", "before_dispatch"}}));
    }
    return Step::pending;
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
    kept_ = self();
    timer_ = core->timers().at(deadline, [weak = self_] {
        if (const auto alive = weak.lock()) alive->expire();
    });
    const std::stop_token& token = request.context->cancel;
    if (token.stop_possible()) {
        on_cancel_.emplace(token, [weak = self_] {
            if (const auto alive = weak.lock()) alive->cancel();
        });
    }
}

void Call::disarm() {
    armed_ = false;
    core->not_waiting(*this);
    core->timers().cancel(timer_);
    if (second_timer_ != 0) core->timers().cancel(second_timer_);
    on_cancel_.reset();
}

void Call::wake_at(base::MonotonicTime when) {
    if (second_timer_ != 0) core->timers().cancel(second_timer_);
    second_timer_ = core->timers().at(when, [weak = self_] {
        if (const auto alive = weak.lock()) alive->wake();
    });
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
    deadline = started + timeout;
    if (request.origin && request.origin->latest && *request.origin->latest < deadline) {
        deadline = *request.origin->latest;
        timeout = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - started);
    }
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

void Call::record_allowed() {
    AuditEvent event = make_event(*this, "gate.allowed", "success", "gate");
    ledger::Reply reply;
    if (core->ledger().record(event, reply, *this) == ledger::Io::done && !reply.error)
        project_audit(*core, event);
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
