#include "pipeline/resolve.h"

#include <utility>

#include <fmt/format.h>

#include "base/guard.h"
#include "pipeline/call.h"
#include "pipeline/projection.h"
#include "tool/exposed_names.h"

namespace callgate::pipeline {
namespace {

[[gnu::cold]] Step not_found(Call& call, const Registry& registry) {
    call.core->counters.resolve.not_found.add();
    project_security_warning(call);
    std::string message = fmt::format("Tool not found: {}.", call.outcome.tool);
    Object details{{"reason", "not_registered"}};
    const auto names = registry.suggestions(call.outcome.tool, *call.request.context);
    if (!names.empty()) {
        message += fmt::format(" Did you mean: {}?", fmt::join(names, ", "));
        Array list;
        for (const auto& name : names) list.emplace_back(name);
        details.emplace("suggestions", std::move(list));
    }
    call.outcome.server = "unknown";
    return call.refuse(Error(ErrorCode::not_found, std::move(message), std::move(details)));
}

// Who may know of one of them, or of none, is answered as for a name that nobody has.
[[gnu::cold]] Step no_such_tool(Call& call, const Registry& registry) {
    const auto candidates = registry.candidates(call.outcome.tool, *call.request.context);
    if (candidates.size() < 2) return not_found(call, registry);
    call.core->counters.resolve.ambiguous_name.add();
    call.outcome.server = "unknown";
    return call.refuse(ambiguous_name(call.outcome.tool, candidates));
}

// Who may not know of the tool learns nothing of its name.
[[gnu::cold]] void go_by_canonical_name(Call& call) {
    const ToolEntry& tool = *call.tool;
    const bool hidden = tool.contract().hidden_without_scopes &&
                        tool.missing_scope(call.request.context->scopes, call.outcome.action) != nullptr;
    if (!hidden) call.outcome.tool = tool.name();
}

enum class ResolvePhase : std::uint8_t {
    begin,
    done  ///< the ledger has replied which call is to be resumed
};

// What a resumed call is to do stands in its approval. An approval of another principal is answered as one
// that does not exist.
Step become_the_approved(Call& call, Approval approval) {
    Context context = *call.request.context;
    if (approval.tenant != context.tenant || approval.requester != context.principal)
        return call.refuse(no_such_call());
    if (context.trace_id.empty()) context.trace_id = approval.trace_id;
    if (context.task_id.empty()) context.task_id = approval.task_id;
    if (context.step_id.empty()) context.step_id = approval.step_id;
    context.idempotency_key = approval.idempotency_key;
    // As it stood when a person agreed; but at A0 nothing is executed, whatever was agreed before.
    if (context.autonomy != Autonomy::a0) context.autonomy = approval.autonomy;
    call.request.context = share(std::move(context));
    call.outcome.tool = approval.tool;
    call.outcome.action = approval.action;
    call.request.arguments = approval.arguments;
    call.looks_different();
    call.request.from().key_as_it_is = true;
    call.request.from().approval = std::make_unique<Approval>(std::move(approval));
    return Step::next;
}

// `next`: the call is what was approved, and goes on as any other.
[[gnu::cold]] Step find_what_to_resume(Call& call) {
    if (call.phase.as<ResolvePhase>() == ResolvePhase::begin) {
        call.phase = ResolvePhase::done;
        call.cold().approval = {};
        const Step step = call.await_reply(
            call.core->ledger().approval_of_call(call.request.origin->resumes, call.cold().approval, call));
        if (step != Step::next) return step;
    }
    call.request.origin->resumes.clear();
    ledger::ApprovalReply& found = call.cold().approval;
    Step step = Step::next;
    if (found.error) {
        step = call.refuse(std::move(*found.error));
    } else if (!found.approval) {
        step = call.refuse(no_such_call());
    } else {
        step = become_the_approved(call, std::move(*found.approval));
    }
    project_start(call);  // only now is it known what begins
    return step;
}

// Approved, but made with a tool that was handed in: there is nothing to look up, and the same call finds its
// approval by itself.
[[gnu::cold]] Step not_in_registry(Call& call) {
    call.core->counters.resolve.not_found.add();
    call.outcome.server = "unknown";
    return call.refuse(only_handed_in(call));
}

[[gnu::cold]] Step out_of_time(Call& call) {
    return call.refuse(Error(ErrorCode::timed_out,
                             "The call had no time when it was made, and the tool did not begin.",
                             {{"timeout_ms", call.timeout.count()}, {"reason", "before_dispatch"}}));
}

// The runtime ends, or drains, and then only the tools of calls under way and batches that have begun may
// make more.
[[gnu::hot]] bool comes_too_late(const Call& call) {
    const auto ending = call.core->ending();
    if (ending == Runtime::Core::Ending::no) [[likely]]
        return false;
    if (ending == Runtime::Core::Ending::closing) return true;
    if (call.request.taken) return false;
    return call.outcome.parent_call_id == CallId{} || call.request.origin->parent_has_ended;
}

// What else there is to know of a call comes first.
[[gnu::cold]] Step begin_from_origin(Call& call) {
    Origin& origin = *call.request.origin;
    if (origin.refused) return call.refuse(std::move(*origin.refused));
    if (!origin.resumes.empty() && !comes_too_late(call)) {
        if (const Step step = find_what_to_resume(call); step != Step::next) return step;
    }
    if (origin.depth > call.core->options.max_nesting && CALLGATE_GUARD(nesting_limit)) {
        return call.refuse(
            Error(ErrorCode::denied,
                  fmt::format("Calls inside calls go at most {} deep.", call.core->options.max_nesting),
                  {{"reason", "nesting_too_deep"}}));
    }
    return Step::next;
}

[[gnu::cold]] Step runtime_ends(Call& call) {
    leave_what_to_resume(call);
    if (call.core->closing())
        return call.refuse(Error(ErrorCode::cancelled, "The runtime is ending and takes no more calls."));
    call.core->counters.resolve.draining.add();
    call.came_too_late = true;
    call.refused_with_others = call.core->refuse_late();
    return call.refuse(Error(ErrorCode::unavailable,
                             "The runtime is about to end: it finishes the calls it has and takes no more.",
                             {{"reason", "draining"}}));
}

bool is_unfit(const ToolEntry& tool) {
    const LiveState& live = tool.live();
    return live.quarantined() || live.silenced.load(std::memory_order_relaxed) ||
           live.status() == HealthStatus::unavailable || tool.body() == nullptr;
}

[[gnu::cold]] Step refuse_unfit(Call& call) {
    ResolveCounters& counters = call.core->counters.resolve;
    const ToolEntry& tool = *call.tool;
    const LiveState& live = tool.live();
    if (live.quarantined()) {
        counters.quarantined.add();
        return call.refuse(Error(ErrorCode::quarantined, fmt::format("The tool {} is quarantined: {}",
                                                                     tool.name(), live.quarantine_reason())));
    }
    if (live.silenced.load(std::memory_order_relaxed)) {
        counters.silenced.add();
        return call.refuse(
            Error(ErrorCode::silenced, fmt::format("The tool {} is switched off.", tool.name())));
    }
    if (live.status() == HealthStatus::unavailable) {
        counters.unavailable.add();
        const auto health = live.health();
        return call.refuse(
            Error(ErrorCode::unavailable,
                  fmt::format("The tool {} is unavailable{}", tool.name(),
                              health.last_error ? ": " + *health.last_error : std::string("."))));
    }
    if (tool.body() == nullptr) {
        counters.no_implementation.add();
        return call.refuse(Error(ErrorCode::no_implementation,
                                 fmt::format("The tool {} has no implementation.", tool.name())));
    }
    if (!tool.knows_action(call.outcome.action)) {
        counters.unknown_action.add();
        return call.refuse(Error(ErrorCode::unknown_action,
                                 fmt::format("The tool {} has no action '{}'; it has: {}.", tool.name(),
                                             call.outcome.action, fmt::join(tool.actions(), ", ")),
                                 {{"reason", "unknown_action"}}));
    }
    return Step::next;  // it was until a moment ago
}

}  // namespace

Error only_handed_in(const Call& call) {
    return {ErrorCode::not_found,
            fmt::format("The tool {} of the approved call is not in the registry. Register it, or, where the "
                        "call was made by call_direct, make it again with the same tool and arguments: it "
                        "finds its approval.",
                        call.outcome.tool),
            {{"reason", "not_registered"}, {"approval_id", call.request.origin->approval->id}}};
}

Error no_such_call() {
    return {ErrorCode::denied,
            "No call of yours with this id waits for an approval.",
            {{"reason", "no_such_call"}}};
}

void leave_what_to_resume(Call& call) {
    Origin* const origin = call.request.origin.get();
    if (origin != nullptr && !std::exchange(origin->resumes, {}).empty()) project_start(call);
}

Step refuse_as_unknown(Call& call) {
    return not_found(call, call.core->registry_of(call.request.context->tenant));
}

Step resolve(Call& call) {
    if (call.request.origin) [[unlikely]] {
        if (const Step step = begin_from_origin(call); step != Step::next) return step;
    }
    if (comes_too_late(call)) [[unlikely]]
        return runtime_ends(call);
    const Origin* const origin = call.request.origin.get();
    if (origin != nullptr && origin->direct) {
        call.tool = origin->direct.get();
    } else {
        const Registry& registry = call.core->registry_of(call.request.context->tenant);
        call.tool = call.core->find_tool(call.workspace(), registry, call.outcome.tool);
        if (call.tool == nullptr)
            return call.resumes() ? not_in_registry(call) : no_such_tool(call, registry);
        if (call.tool->name() != call.outcome.tool) [[unlikely]]
            go_by_canonical_name(call);
    }
    call.resumes() ? call.fix_deadline_again() : call.fix_deadline();
    if (call.deadline <= call.started) return out_of_time(call);
    const ToolEntry& tool = *call.tool;
    call.effect = tool.effect(call.outcome.action);
    if (!tool.contract().server.empty()) call.outcome.server = tool.contract().server;
    call.outcome.in_process = tool.contract().provider == ProviderType::native;
    call.outcome.effectful = call.effectful();
    if (is_unfit(tool) || !tool.knows_action(call.outcome.action)) [[unlikely]] {
        if (const Step step = refuse_unfit(call); step != Step::next) return step;
    }
    if (call.request.context->trace) call.note("resolve", "found", to_string(tool.contract().provider));
    return Step::next;
}

}  // namespace callgate::pipeline
