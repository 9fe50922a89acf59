#include "pipeline/attempt.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/guard.h"
#include "base/ids.h"
#include "base/utf8.h"
#include "json/size.h"
#include "pipeline/asking.h"
#include "pipeline/projection.h"
#include "pipeline/stored.h"
#include "tool/action_hooks.h"

namespace callgate::pipeline {
namespace {

template <class Run>
auto guarded(Run run) -> tl::expected<decltype(run()), ToolFailure> {
    try {
        return run();
    } catch (...) {
        return tl::unexpected(failure_from_exception());
    }
}

// Whoever waits for this call keeps the thread that its coroutine would need.
ToolFailure would_block() {
    return {Error(ErrorCode::denied,
                  "A call that blocks the executor of coroutine tools asked for one of them: await it there.",
                  {{"reason", "would_block"}}),
            Applied::no};
}

ToolFailure ended_while_queued() {
    return {Error(ErrorCode::cancelled, "The runtime ended before the tool began.", {{"reason", "queued"}}),
            Applied::no};
}

// The handle an async tool holds. When the last one goes without an answer, there will be none.
class AsyncAttempt final : public Attempt {
public:
    AsyncAttempt(std::shared_ptr<AttemptState> state, bool entered)
        : state_(std::move(state)), io_(state_->make_io()), entered_(entered) {}
    ~AsyncAttempt() override {
        if (given_up_) return;
        state_->finish(ToolReturn(tl::unexpected(why_without_answer())));
    }
    bool enter() override {
        if (!entered_) entered_ = state_->enter();
        given_up_ = !entered_;
        return entered_;
    }
    CallContext& context() override { return state_->context(); }
    const Object& arguments() const override { return state_->arguments(); }
    void finish(ToolReturn answer) override { state_->finish(std::move(answer)); }
    IoHost& io() override {
        if (!state_->keeps_lent_thread()) return *io_;
        state_->finish(ToolReturn(tl::unexpected(would_block())));  // before unwinding releases this
        throw would_block();
    }

private:
    ToolFailure why_without_answer() const {
        if (entered_) return ToolFailure::lost("The tool went away without an answer.");
        if (state_->closing()) return ended_while_queued();
        return ToolFailure::not_applied("The tool went away before it had begun.");
    }

    std::shared_ptr<AttemptState> state_;
    std::shared_ptr<IoHost> io_;
    bool entered_;           // the tool's, from start() on
    bool given_up_ = false;  // by the call, which ends by itself
};

Error no_thread(const Call& call) {
    return {ErrorCode::unavailable,
            "No thread is free to run the tool; try again later.",
            {{"reason", call.core->closing() ? "runtime_closing" : "no_thread"}}};
}

Answer run_kind(AttemptKind kind, ToolBody& body, const Object& arguments, CallContext& context,
                const std::string& probed_call, const Error& failure) {
    switch (kind) {
        case AttemptKind::run: return run_guarded(body, arguments, context);
        case AttemptKind::preview: {
            auto made = guarded([&] { return body.preview(arguments, context); });
            if (!made) return Result<Preview>(tl::unexpected(std::move(made.error().error)));
            if (!*made || !(*made)->diff) return std::move(*made);
            if (const auto fault = json::find_unwritable(*(*made)->diff)) {
                return Result<Preview>(fail(ErrorCode::output_invalid,
                                            "The preview has " + fault->what() + ".",
                                            {{"reason", fault->reason()}}));
            }
            return std::move(*made);
        }
        case AttemptKind::probe: {
            auto found = guarded([&] { return body.reconcile(probed_call, arguments, context); });
            return found ? std::move(*found) : Reconciliation();
        }
        case AttemptKind::compensate: return compensate(body.hooks(), failure, arguments, context);
    }
    return {};
}

}  // namespace

namespace {

// An answer that a thread waits for.
class AwaitedAnswer {
public:
    void set(Result<InputAnswer> answer) {
        const base::MutexLock lock(mutex_);
        answer_ = std::move(answer);
        is_there_.notify_all();
    }
    bool is_there() const {
        const base::MutexLock lock(mutex_);
        return answer_.has_value();
    }
    void wait() {
        base::MutexLock lock(mutex_);
        while (!answer_) is_there_.wait(lock);
    }
    Result<InputAnswer> take() {
        const base::MutexLock lock(mutex_);
        return std::move(*answer_);
    }

private:
    mutable base::Mutex mutex_;
    base::CondVar is_there_;
    std::optional<Result<InputAnswer>> answer_ CALLGATE_GUARDED_BY(mutex_);
};

// A thread of the pool that waits for an answer, one of so many.
class InputThread {
public:
    InputThread(Runtime::Core& core, bool counts) : core_(core), counts_(counts) {
        granted_ = !counts_ || core_.input_threads.fetch_add(1) < core_.options.max_input_threads;
    }
    ~InputThread() {
        if (counts_) core_.input_threads.fetch_sub(1);
    }
    InputThread(const InputThread&) = delete;
    InputThread& operator=(const InputThread&) = delete;
    bool granted() const noexcept { return granted_; }

private:
    Runtime::Core& core_;
    const bool counts_;
    bool granted_ = false;
};

tl::unexpected<Error> too_many_waiting(std::size_t limit) {
    return fail(
        ErrorCode::unavailable,
        fmt::format("As many threads wait for answers of callers as may ({}); try again later.", limit),
        {{"reason", "too_many_waiting"}, {"limit", limit}});
}

}  // namespace

ToolReturn run_guarded(ToolBody& body, const Object& arguments, CallContext& context) {
    try {
        return body.run(arguments, context);
    } catch (...) {
        return tl::unexpected(failure_from_exception());
    }
}

void RunContext::note_places() {
    auto places = holds_->ticket.places();
    if (!places.empty()) places_ = std::make_unique<const std::vector<std::string>>(std::move(places));
}

void RunContext::note_channel() {
    asking_ = std::make_unique<const AuditEvent>(asking_facts(call_));
}

const Context& RunContext::caller() const {
    return *call_.request.context;
}

// A call that was taken over goes on under the first one's id: it is the key that a provider was sent.
std::string RunContext::call_id() const {
    return base::Uuid{call_.claim_id == CallId{} ? call_.id : call_.claim_id}.to_string();
}

const std::string& RunContext::action() const {
    return call_.outcome.action;
}

std::chrono::nanoseconds RunContext::time_left() const {
    return call_.time_left();
}

std::stop_token RunContext::cancel() const {
    if (watch_) call_.watch_inline();  // an inline tool's deadline is watched only if the tool looks
    return call_.stop_token();
}

void RunContext::progress(std::string_view message, std::optional<double> done, std::optional<double> total) {
    const auto finite = [](std::optional<double> number) {
        return number && std::isfinite(*number) ? number : std::nullopt;
    };
    Progress progress;
    progress.message = std::string(message);
    progress.done = finite(done);
    progress.total = finite(total);
    project_progress(call_, std::move(progress), runner_ == std::this_thread::get_id());
}

void RunContext::partial(Value content) {
    Progress progress;
    progress.partial = std::move(content);
    project_progress(call_, std::move(progress), runner_ == std::this_thread::get_id());
}

void RunContext::partial_more(Value piece) {
    Progress progress;
    progress.partial = std::move(piece);
    progress.appends = true;
    project_progress(call_, std::move(progress), runner_ == std::this_thread::get_id());
}

Result<void> RunContext::with_secret(std::string_view key, const std::function<void(const Secret&)>& use) {
    const auto& store = call_.core->options.secrets;
    if (!store) {
        return fail(ErrorCode::config_error,
                    "This runtime has no secrets store; give it one in RuntimeOptions.",
                    {{"reason", "no_secrets_store"}});
    }
    {
        const base::MutexLock lock(call_.shared.mutex);
        if (call_.shared.ended) {
            return fail(ErrorCode::cancelled, "The call has ended; it gets no secrets any more.");
        }
    }
    Result<void> known;
    auto used = store->with_secret(call_.tool->contract().connector_id, key, [&](const Secret& secret) {
        known = call_.secrets().add(secret.expose());
        if (known) use(secret);
    });
    return known ? used : known;
}

Outcome RunContext::call(std::string_view tool, Args args) {
    return call_.core->run(nested(tool, std::move(args)));
}

void RunContext::start(std::string_view tool, Args args, std::function<void(Outcome)> done,
                       std::stop_token also) {
    Request request = nested(tool, std::move(args));
    call_.core->start(std::move(request), std::move(done), also);
}

bool RunContext::can_ask(InputRequest::Kind kind) const {
    return asking_ != nullptr && pipeline::can_ask(call_, kind) && !call_.cancel_wanted() &&
           !call_.has_ended();
}

void RunContext::ask(InputRequest request, std::function<void(Result<InputAnswer>)> answered) {
    if (asking_ == nullptr) {
        CallContext::ask(std::move(request), std::move(answered));
        return;
    }
    if (watch_) call_.watch_inline();  // so that others find it, and its deadline stands still
    pipeline::ask(call_.self(), *asking_, std::move(request), std::move(answered));
}

Result<InputAnswer> RunContext::ask(InputRequest request) {
    if (asking_ == nullptr) return CallContext::ask(std::move(request));
    Runtime::Core& core = *call_.core;
    const LentThread blocked(core);
    if (blocked.was_last()) {
        return fail(ErrorCode::denied,
                    "Waiting here would block the executor of coroutine tools: await async_ask() instead.",
                    {{"reason", "would_block"}});
    }
    const auto waits = std::make_shared<AwaitedAnswer>();
    const WorkerPool::Waiting waiting;
    const InputThread thread(core, waiting.holds_thread());
    if (!thread.granted()) {
        core.counters.dispatch.not_asked.add();
        return too_many_waiting(core.options.max_input_threads);
    }
    ask(std::move(request), [waits, weak = core.weak_from_this()](Result<InputAnswer> answer) {
        waits->set(std::move(answer));
        if (const auto alive = weak.lock()) alive->wake_io();
    });
    if (!waits->is_there() && !core.work_on_io_thread([&] { return waits->is_there(); })) waits->wait();
    return waits->take();
}

Request RunContext::nested(std::string_view tool, Args args) {
    Request request;
    request.tool = std::string(tool);
    request.arguments = std::move(args);
    Context context = *call_.request.context;
    context.idempotency_key.clear();
    context.timeout.reset();
    context.on_progress = nullptr;
    context.external_id.clear();
    context.progress_token = nullptr;
    context.cancel = cancel();
    if (context.trace_id.empty()) context.trace_id = base::Uuid{call_.id}.to_string();
    request.context = share(std::move(context));
    Origin& from = request.from();
    adopt(from);
    from.latest = call_.deadline_now();
    const base::MutexLock lock(call_.shared.mutex);
    if (call_.shared.ended) {
        from.refused = Error(ErrorCode::cancelled, "The call that asked for this one has ended.");
    }
    return request;
}

void RunContext::adopt(Origin& from) const {
    if (watch_) call_.watch_inline();  // it may have to stand still while a call inside it asks somebody
    from.parent = call_.id;
    from.depth = 1;
    const Origin* const own = call_.request.origin.get();
    if (own != nullptr) {
        from.depth += own->depth;
        from.keeps_lent_thread = from.keeps_lent_thread || own->keeps_lent_thread;
    }
    const base::MutexLock lock(call_.shared.mutex);
    from.secrets = call_.shared.secrets;
    from.parent_has_ended = call_.shared.ended;
    if (call_.shared.ended) return;  // and has given back what it held
    if (own != nullptr) {
        from.held_resources = own->held_resources;
        from.held_places = own->held_places;
    }
    if (places_) from.held_places.insert(from.held_places.end(), places_->begin(), places_->end());
    if (holds_ != nullptr && !holds_->waits_for_resource.empty())
        from.held_resources.push_back(holds_->waits_for_resource);
}

std::weak_ptr<Call> RunContext::call_for_later() const {
    call_.hand_out();
    return call_.weak_self();
}

AttemptState::AttemptState(std::shared_ptr<Call> call, AttemptKind kind, std::uint32_t number,
                           std::string probed_call)
    : call_(std::move(call)),
      tool_(call_->tool->shared_from_this()),
      arguments_(call_->outcome.arguments),
      kind_(kind),
      number_(number),
      probed_call_(std::move(probed_call)),
      failure_(kind == AttemptKind::compensate ? call_->cold().last_failure.error : Error()),
      context_(*call_, number) {
    if (arguments_) bytes_ = json::text_size_up_to(*arguments_, call_->core->options.max_queued_bytes);
}

bool AttemptState::enter() {
    const base::MutexLock lock(mutex_);
    if (phase_ != Phase::waiting) return false;
    // Out of time or called off already, or with the runtime about to be: the call is giving it up.
    const bool stopped = call_->expired() || call_->cancel_wanted() || call_->core->closing();
    if (kind_ == AttemptKind::run && stopped && CALLGATE_GUARD(enter_or_never)) return false;
    phase_ = Phase::running;
    began_ = true;
    return true;
}

bool AttemptState::began() const {
    const base::MutexLock lock(mutex_);
    return began_;
}

void AttemptState::run() {
    if (!enter()) return;
    Answer answer;
    {
        const Inside body(&context_);
        answer = run_kind(kind_, *tool_->body(), arguments(), context_, probed_call_, failure_);
    }
    finish(std::move(answer));
}

void AttemptState::drop() {
    finish(ToolReturn(tl::unexpected(ended_while_queued())));
}

void AttemptState::finish(Answer answer) {
    {
        const base::MutexLock lock(mutex_);
        if (phase_ == Phase::running || phase_ == Phase::waiting) {
            phase_ = Phase::answered;
            answer_ = std::exchange(answer, Answer());
        } else {
            if (phase_ != Phase::abandoned) return;
            phase_ = Phase::taken;
            let_go();
        }
    }
    if (std::holds_alternative<std::monostate>(answer)) {
        call_->go_on_here();
    } else {
        late(std::move(answer));
    }
}

std::optional<Answer> AttemptState::take() {
    const base::MutexLock lock(mutex_);
    if (phase_ != Phase::answered) return std::nullopt;
    phase_ = Phase::taken;
    return std::move(answer_);
}

AttemptState::GivenUp AttemptState::abandon() {
    const base::MutexLock lock(mutex_);
    if (phase_ == Phase::waiting && CALLGATE_GUARD(enter_or_never)) {
        phase_ = Phase::taken;
        return GivenUp::never_began;
    }
    if (phase_ != Phase::running && phase_ != Phase::waiting) return GivenUp::answered;
    phase_ = Phase::abandoned;
    if (tool_->mode() != RunMode::async || kind_ != AttemptKind::run) {
        holds_thread_.store(true);
        tool_->live().abandoned.fetch_add(1);
    }
    return GivenUp::runs_on;
}

void AttemptState::let_go() noexcept {
    if (holds_thread_.exchange(false)) tool_->live().abandoned.fetch_sub(1);
}

void AttemptState::late(Answer answer) {
    auto* returned = std::get_if<ToolReturn>(&answer);
    if (kind_ != AttemptKind::run || returned == nullptr) return;
    call_->core->counters.dispatch.late_answers.add();
    {
        // The call's own end goes on the record first.
        const base::MutexLock lock(call_->shared.mutex);
        if (!call_->shared.recorded) {
            call_->shared.late.emplace(number_, std::move(*returned));
            return;
        }
    }
    settle_late(call_, number_, std::move(*returned));
}

std::shared_ptr<IoHost> AttemptState::make_io() {
    return call_->core->io_for(weak_from_this());
}

bool AttemptState::closing() const noexcept {
    return call_->core->closing();
}

bool AttemptState::keeps_lent_thread() const noexcept {
    return call_->request.origin && call_->request.origin->keeps_lent_thread;
}

std::optional<Error> begin(Call& call, AttemptKind kind, std::uint32_t number, std::string probed_call) {
    ToolBody& body = *call.tool->body();
    call.fix_deadline();
    call.hand_out();
    auto state = std::make_shared<AttemptState>(call.self(), kind, number, std::move(probed_call));
    call.attempt = state;
    const RunMode mode = call.tool->mode();
    if (mode == RunMode::inlined) {
        state->run();
        return std::nullopt;
    }
    if (call.core->closing()) {
        call.attempt = nullptr;
        return no_thread(call);
    }
    call.arm();
    if (mode == RunMode::async && kind == AttemptKind::run) {
        const bool now = !body.enters_later();
        if (now && !state->enter()) return std::nullopt;
        // What it throws instead of starting counts as its answer.
        auto started = guarded([&] {
            const Inside mark(&state->run_context());
            body.start(std::make_shared<AsyncAttempt>(state, now));
            return true;
        });
        if (!started) state->finish(ToolReturn(tl::unexpected(std::move(started.error()))));
        return std::nullopt;
    }
    const WorkerPool::Submitted submitted = call.core->pool.submit(state);
    if (submitted == WorkerPool::Submitted::taken) return std::nullopt;
    call.attempt = nullptr;
    return submitted == WorkerPool::Submitted::queue_full ? queue_full(call) : no_thread(call);
}

bool give_up(Call& call) {
    if (!call.attempt) return false;
    const auto attempt = std::move(call.attempt);
    call.attempt = nullptr;
    switch (attempt->abandon()) {
        case AttemptState::GivenUp::answered: return attempt->began();
        case AttemptState::GivenUp::never_began: call.core->pool.abandon(attempt); return false;
        case AttemptState::GivenUp::runs_on: break;
    }
    call.core->counters.dispatch.abandoned.add();
    if (!call.core->pool.abandon(attempt)) attempt->let_go();
    Call::stop_elsewhere(call.self());
    return true;
}

Error queue_full(const Call& call) {
    Error error(ErrorCode::unavailable,
                "Too many calls wait for a thread to run their tool; nothing was run. Try again later.",
                {{"reason", "queue_full"},
                 {"max_queued_calls", call.core->options.max_queued_calls},
                 {"max_queued_bytes", call.core->options.max_queued_bytes}});
    error.retryable = true;
    return error;
}

}  // namespace callgate::pipeline
