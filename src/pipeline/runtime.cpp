#include <callgate/runtime.h>

#include <future>

#include <callgate/exceptions.h>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/try.h"
#include "ledger/decisions.h"
#include "pipeline/call.h"
#include "pipeline/call_status.h"
#include "pipeline/core.h"
#include "pipeline/host_events.h"
#include "pipeline/projection.h"
#include "pipeline/reconcile.h"
#include "pipeline/resolve.h"
#include "pipeline/runtime_approvals.h"
#include "pipeline/tool_call.h"

namespace callgate {
namespace {

using pipeline::Purpose;
using pipeline::Request;

Request make_request(std::string_view tool, Args arguments, Context&& context, std::string action = "call") {
    Request request;
    request.tool = std::string(tool);
    request.action = std::move(action);
    request.arguments = std::move(arguments);
    request.context = pipeline::share(std::move(context));
    return request;
}

Request make_request(CallRequest&& call, Context&& context) {
    pipeline::use_context_of(call, context);
    Request request;
    request.tool = std::move(call.tool);
    request.action = std::move(call.action);
    request.arguments = std::move(call.arguments);
    request.context = pipeline::share(std::move(context));
    request.timeout = call.timeout;
    return request;
}

Request resumption(std::string_view call_id, Context&& context) {
    Request request = make_request("", nullptr, std::move(context));
    if (call_id.empty()) request.from().refused = pipeline::no_such_call();
    request.from().resumes = std::string(call_id);
    return request;
}

// Under the tool's own name, whatever the request says.
void hand_in(Request& request, const Tool& tool) {
    request.tool = tool.definition.name;
    auto entry = ToolEntry::make(tool);
    if (entry) {
        request.from().direct = std::move(*entry);
    } else {
        request.from().refused = std::move(entry.error());
    }
}

std::string text_of(const CallId& id) {
    return base::Uuid{id}.to_string();
}

}  // namespace

Registry& Runtime::tools() {
    return core_->registry;
}

Registry& Runtime::tools(std::string_view tenant) {
    return core_->make_registry(tenant);
}

Policy& Runtime::policy() {
    return core_->policy;
}

Approvals& Runtime::approvals() {
    return *approvals_;
}

[[gnu::hot]] Outcome Runtime::call(std::string_view tool, Args arguments) {
    const auto call = core_->make_call();
    call->outcome.tool = tool;
    call->request.arguments = std::move(arguments);
    return pipeline::Call::run_to_end(call);
}

[[gnu::hot]] Outcome Runtime::call(std::string_view tool, Args arguments, Context context) {
    const auto call = core_->make_call();
    call->outcome.tool = tool;
    call->request.arguments = std::move(arguments);
    call->request.context = pipeline::share(std::move(context));
    return pipeline::Call::run_to_end(call);
}

Outcome Runtime::call_request(CallRequest request, Context context) {
    return core_->run(make_request(std::move(request), std::move(context)));
}

Outcome Runtime::call_json(const Value& tool_call, Context context) {
    return core_->run(pipeline::request_from_tool_call(tool_call, std::move(context)));
}

Outcome Runtime::call_json(std::string_view tool_call, Context context) {
    auto parsed = json::parse(tool_call, core_->options.argument_limits);
    if (!parsed) {
        Request request = make_request("", nullptr, std::move(context));
        parsed.error().message = "The tool call is not usable JSON: " + parsed.error().message;
        request.from().refused = std::move(parsed.error());
        return core_->run(std::move(request));
    }
    return call_json(*parsed, std::move(context));
}

std::vector<Outcome> Runtime::call_batch(std::vector<CallRequest> calls, Context context) {
    return core_->run_batch(std::move(calls), std::move(context));
}

Outcome Runtime::call_direct(const Tool& tool, Args arguments, Context context, std::string action) {
    Request request =
        make_request(tool.definition.name, std::move(arguments), std::move(context), std::move(action));
    hand_in(request, tool);
    return core_->run(std::move(request));
}

Outcome Runtime::call_or_throw(std::string_view tool, Args arguments, Context context) {
    Outcome outcome = call(tool, std::move(arguments), std::move(context));
    throw_if_failed(outcome);
    return outcome;
}

Outcome Runtime::call_request_or_throw(CallRequest request, Context context) {
    Outcome outcome = call_request(std::move(request), std::move(context));
    throw_if_failed(outcome);
    return outcome;
}

Outcome Runtime::preview(std::string_view tool, Args arguments, Context context, std::string action) {
    Request request = make_request(tool, std::move(arguments), std::move(context), std::move(action));
    request.purpose = Purpose::preview;
    return core_->run(std::move(request));
}

Outcome Runtime::resume(std::string_view call_id, Context context) {
    return core_->run(resumption(call_id, std::move(context)));
}

std::string Runtime::start(CallRequest request, Context context, Completion completion,
                           const std::stop_token& also) {
    return text_of(
        core_->start(make_request(std::move(request), std::move(context)), std::move(completion), also));
}

std::string Runtime::start_preview(CallRequest request, Context context, Completion completion,
                                   const std::stop_token& also) {
    Request preview = make_request(std::move(request), std::move(context));
    preview.purpose = Purpose::preview;
    return text_of(core_->start(std::move(preview), std::move(completion), also));
}

std::string Runtime::start_direct(const Tool& tool, CallRequest request, Context context,
                                  Completion completion, const std::stop_token& also) {
    Request direct = make_request(std::move(request), std::move(context));
    hand_in(direct, tool);
    return text_of(core_->start(std::move(direct), std::move(completion), also));
}

std::string Runtime::start_direct(std::shared_ptr<const ToolEntry> tool, CallRequest request, Context context,
                                  Completion completion, const std::stop_token& also) {
    Request direct = make_request(std::move(request), std::move(context));
    direct.tool = tool->name();
    direct.from().direct = std::move(tool);
    return text_of(core_->start(std::move(direct), std::move(completion), also));
}

std::string Runtime::start_resume(std::string_view call_id, Context context, Completion completion,
                                  const std::stop_token& also) {
    return text_of(core_->start(resumption(call_id, std::move(context)), std::move(completion), also));
}

void Runtime::start_batch(std::vector<CallRequest> calls, Context context,
                          std::function<void(std::vector<Outcome>)> done, Executor executor,
                          const std::stop_token& also) {
    core_->start_batch(std::move(calls), std::move(context), std::move(done), std::move(executor), also);
}

std::vector<RunningCall> Runtime::running() const {
    return core_->waiting_calls.list();
}

bool Runtime::cancel(std::string_view call_id) {
    const auto id = base::parse_uuid(call_id);
    const auto call = id ? core_->waiting_calls.find(id->bytes) : nullptr;
    if (call) call->cancel();
    return call != nullptr;
}

bool Runtime::cancel(std::string_view call_id, const Context& caller) {
    const auto id = base::parse_uuid(call_id);
    const auto call = id ? core_->waiting_calls.find(id->bytes, *pipeline::share(Context(caller))) : nullptr;
    if (call) call->cancel();
    return call != nullptr;
}

Result<CallStatus> Runtime::outcome(std::string_view call_id, const Context& caller) {
    return pipeline::status_of(*core_, call_id, *pipeline::share(Context(caller)));
}

void Runtime::start_outcome(std::string call_id, Context caller, std::function<void(Result<CallStatus>)> done,
                            Executor executor) {
    core_->answer_later<Result<CallStatus>>(
        [id = std::move(call_id), who = pipeline::share(std::move(caller))](
            const std::shared_ptr<Core>& core) { return pipeline::status_of(*core, id, *who); },
        std::move(done), std::move(executor));
}

std::size_t Runtime::drain(std::chrono::milliseconds at_most) {
    return core_->drain(at_most);
}

Result<void> Runtime::resolve(std::string_view call_id, bool applied, std::string_view by,
                              std::string_view evidence) {
    CALLGATE_TRY(
        ledger::resolve_unknown(core_->ledger(), call_id, applied, by, evidence,
                                [this](const AuditEvent& event) { pipeline::project_audit(*core_, event); }));
    return {};
}

Result<ReconcileReport> Runtime::reconcile() {
    return pipeline::reconcile(*core_);
}

Result<std::vector<AuditEvent>> Runtime::audit(std::string_view trace_id) const {
    return core_->ledger().audit(trace_id);
}

Result<std::uint64_t> Runtime::record(HostEvent event) {
    const auto there = std::make_shared<std::promise<Result<std::uint64_t>>>();
    // Where it is answered, whoever may wait for this thread.
    const Executor here = [](const std::function<void()>& work) { work(); };
    start_record(
        std::move(event), [there](Result<std::uint64_t> number) { there->set_value(std::move(number)); },
        here);
    const pipeline::LentThread blocked(*core_);
    const pipeline::WorkerPool::Waiting waiting;
    return there->get_future().get();
}

void Runtime::start_record(HostEvent event, std::function<void(Result<std::uint64_t>)> done,
                           Executor executor) {
    pipeline::record_host_event(core_, std::move(event), std::move(done), std::move(executor));
}

void Runtime::observe(std::shared_ptr<Observer> observer) {
    core_->observe(std::move(observer));
}

bool Runtime::unobserve(const std::shared_ptr<Observer>& observer) {
    return observer != nullptr && core_->unobserve(*observer);
}

std::array<std::uint8_t, 32> Runtime::keyed_digest(std::string_view purpose, std::string_view text) const {
    return core_->ledger().keyed_digest(purpose, text);
}

RuntimeStats Runtime::stats() const {
    const auto& counters = core_->counters;
    RuntimeStats stats;
    stats.calls = counters.calls.get();
    for (std::size_t i = 0; i < kStateCount; ++i) stats.ended[i] = counters.ended[i].get();
    stats.abandoned_now = core_->pool.counts().abandoned_now;
    stats.suspended_now = core_->suspended.load();
    stats.observer_faults = counters.observer_faults.get();
    counters.each([&](std::string_view stage, std::string_view name, const pipeline::Counter& counter) {
        stats.counters.emplace(fmt::format("{}.{}", stage, name), counter.get());
    });
    stats.audit_events = core_->ledger().audit_count();
    if (const auto trouble = core_->ledger().ready_to_record()) {
        const auto* reason = trouble->details.if_contains("reason");
        const bool has_reason = reason != nullptr && reason->is_string();
        stats.ledger_trouble = has_reason ? std::string(reason->get_string()) : std::string("trouble");
    }
    return stats;
}

}  // namespace callgate
