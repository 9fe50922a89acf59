#include "pipeline/call.h"

#include <fmt/format.h>

#include "base/guard.h"
#include "base/ids.h"
#include "base/utf8.h"
#include "pipeline/attempt.h"
#include "pipeline/leave.h"
#include "pipeline/pipeline.h"
#include "pipeline/projection.h"
#include "pipeline/refusal_state.h"

namespace callgate::pipeline {

Call::Call(std::shared_ptr<Runtime::Core> owner) : core(std::move(owner)) {
    const base::Moment now = core->clock().now();
    started = now.monotonic;
    started_wall = now.wall;
    id = core->ids.next(started_wall).bytes;
    timeout = core->options.default_timeout;
    outcome.action = std::string("call");  // moved: nothing looks whether there is room
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
        host_pool_notifies_ = true;
        run_.begin_alone();
    }
    if (core->watching() != nullptr) observers = core->observers(workspace());
    outcome.call_id = id;
    outcome.timestamp = started_wall;
    if (request.origin) {
        outcome.parent_call_id = request.origin->parent;
        if (request.origin->secrets) {
            shared.mutex.assert_held();  // nobody else has the call yet
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

void Call::start(const std::shared_ptr<Call>& call, Reports reports) {
    call->others().reports = std::move(reports);
    call->host_pool_notifies_ = true;
    call->run_.begin_alone();
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
    return handed_out ? Outcome(outcome_data) : Outcome(std::move(outcome_data));
}

void Call::run() {
    const Inside no_body(nullptr, inside::lent);
    for (;;) {
        Step step = Step::next;
        if (leaving_) [[unlikely]] {
            leaving_ = false;
            step = stage_ == kSettle ? leave_settle(*this) : go_on_without_reply(*this);
        }
        while (step == Step::next) {
            step = kStages[stage_].run(*this);
            if (step == Step::next) {
                ++stage_;
                phase.reset();
            }
        }
        if (step == Step::end) {
            if (stage_ == kSettle) {
                finish();
                return;
            }
            stage_ = kSettle;
            phase.reset();
            continue;
        }
        if (step == Step::pending) shown_not_applied = false;  // others may have had the key meanwhile
        return_loans();
        // Once it rests it is another thread's, and may be gone.
        if (step == Step::awaits_reply ? rest_until_reply() : run_.rest() == Then::nothing) return;
    }
}

// Nothing is on loan to a call that waits.
void Call::return_loans() {
    hand_out();
    if (!others_->kept) others_->kept = self();
    if (!workspace_) return;
    keep_loans();
    core->give_back(std::move(workspace_));
}

void Call::keep_loans() {
    if (rules != nullptr && !others_->rules) others_->rules = workspace_->rules;
    if (observers != nullptr && !others_->observers) others_->observers = workspace_->observers;
    if (tool != nullptr && !others_->tool) others_->tool = tool->shared_from_this();
}

void Call::finish() {
    if (others_) {
        finish_before_others();
        return;
    }
    attempt = nullptr;
    if (workspace_) core->give_back(std::move(workspace_));
    run_.end_unshared();
}

void Call::finish_before_others() {
    const auto self = std::move(others_->kept);  // until this function is done
    if (armed_) disarm();
    attempt = nullptr;
    if (workspace_) {
        if (handed_out) keep_loans();
        core->give_back(std::move(workspace_));
    }
    // Before it is over: whoever waits for its end may take the call with it.
    std::optional<Done> done;
    if (others_->reports.done) done = std::exchange(others_->reports.done, nullptr);
    if (run_.end() == Then::look_after_reply) [[unlikely]]
        look_after_reply();
    if (handed_out) run_.wake_waiter();  // or nobody else can be waiting
    if (done) report(std::move(*done), others_->reports.whose);
}

Step Call::refuse(Error why) {
    const State state = refusal_state(why.code);
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

void Call::add_note(std::string_view stage, std::string_view decision, std::string_view reason) {
    outcome.trace.push_back({std::string(stage), std::string(decision), redactor().redact_text(reason)});
}

redact::SecretSet& Call::secrets() {
    const base::MutexLock lock(shared.mutex);
    if (!shared.secrets) shared.secrets = std::make_shared<redact::SecretSet>();
    uses_secrets_.store(true, std::memory_order_release);
    return *shared.secrets;
}

redact::Redactor Call::redactor() const {
    if (!has_secrets()) return redact::Redactor();
    const base::MutexLock lock(shared.mutex);
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

policy::Question Call::question() {
    policy::Question asked{*tool, outcome.action, *arguments, *request.context, effect, started_wall};
    if (rules != nullptr && rules->has_predicates()) [[unlikely]] {
        asked.log = &cold().predicates;
        if (request.context->trace_id.empty()) {
            cold().trace_for_predicates = base::Uuid{id}.to_string();
            asked.trace_id = cold().trace_for_predicates;
        }
    }
    return asked;
}

std::shared_ptr<const Value> Call::arguments_as_they_came() const {
    constexpr std::size_t kShown = 1'000;
    const Args& args = request.arguments;
    if (const Value* value = args.value()) return std::make_shared<const Value>(*value);
    if (const auto text = args.text())
        return std::make_shared<const Value>(base::truncate_to_bytes(*text, kShown));
    return std::make_shared<const Value>(Object());
}

}  // namespace callgate::pipeline
