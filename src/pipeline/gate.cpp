#include "pipeline/gate.h"

#include <fmt/format.h>

#include "base/guard.h"
#include "pipeline/admission.h"
#include "pipeline/approval_gate.h"
#include "pipeline/attempt.h"
#include "pipeline/call.h"
#include "pipeline/projection.h"

namespace callgate::pipeline {
namespace {

enum class GatePhase : std::uint8_t {
    decide,
    looked_up,  ///< the ledger has replied which approval was given
    previewing,
    ask,     ///< a person is to be asked
    opened,  ///< the ledger has the request for an approval
    done     ///< decided: only to be admitted
};

[[gnu::cold]] Step deny(Call& call) {
    call.core->counters.gate.denied.add();
    Object details{{"reason", call.answer.rule != nullptr ? "rule" : "matrix"},
                   {"risk", to_string(call.risk.risk)}};
    if (call.answer.rule != nullptr) {
        details["rule"] = call.answer.rule->id;
        if (const auto& predicate = call.answer.rule->predicate) {
            details["predicate"] = predicate->name;
            details["predicate_version"] = predicate->version;
        }
    }
    return call.refuse(Error(ErrorCode::denied, policy::reason(call.answer, call.question(), call.risk.risk),
                             std::move(details)));
}

// The call only shows what would happen, and ends with that.
bool only_preview(const Call& call) {
    return call.request.purpose == Purpose::preview || call.request.context->autonomy == Autonomy::a0;
}

Step previewed(Call& call) {
    call.core->counters.gate.previewed.add();
    std::string message = call.outcome.preview->supported
                              ? "Only a preview was made; nothing was run."
                              : std::string("This tool does not support dry-run preview.");
    return call.end(State::previewed,
                    Error(ErrorCode::preview_required, std::move(message),
                          {{"gate", "preview"}, {"supported", call.outcome.preview->supported}}));
}

[[gnu::cold]] Step needs_approval(Call& call) {
    call.core->counters.gate.needs_approval.add();
    call.outcome.approval_id = call.cold().opened.approval.id;
    if (call.answer.gate == Gate::preview) return previewed(call);
    return call.refuse(
        Error(ErrorCode::approval_required,
              fmt::format("This call needs a person's approval: {}", call.cold().opened.approval.why),
              {{"approval_id", call.cold().opened.approval.id},
               {"assurance_needed", to_string(call.cold().opened.approval.assurance_needed)},
               {"approvals_needed", call.cold().opened.approval.approvals_needed},
               {"joined", call.cold().opened.joined},
               {"how_to_approve", call.cold().opened.approval.how_to_approve}}));
}

bool may_ask(const Call& call) {
    return CALLGATE_GUARD(a0_previews) || call.request.context->autonomy != Autonomy::a0;
}

void no_preview(Call& call) {
    call.outcome.preview.emplace("This tool does not support dry-run preview.");
    call.outcome.preview->supported = false;
}

// What predicates had a part in the decision goes on the record with it, whatever it is.
[[gnu::cold]] void note_predicates(Call& call) {
    ColdState& cold = call.cold();
    cold.predicate_record = policy::predicate_record(cold.predicates);
    for (const policy::PredicateUse& use : cold.predicates) {
        if (use.failed && use.rule->decision != Rule::Do::raise_risk)
            call.core->counters.gate.predicate_faults.add();
    }
}

[[gnu::hot]] Step decide(Call& call) {
    call.answer = policy::decide(*call.rules, call.question(), call.risk.risk);
    if (call.rules->has_predicates()) [[unlikely]]
        note_predicates(call);
    if (call.request.context->trace) {
        call.note("gate", to_string(call.answer.gate),
                  policy::reason(call.answer, call.question(), call.risk.risk));
    }
    if (call.answer.gate == Gate::deny) return deny(call);
    const bool asks =
        (call.answer.gate != Gate::allow && may_ask(call)) || call.request.purpose == Purpose::ask;
    if (!asks && call.request.purpose == Purpose::execute && !call.resumes()) {
        call.phase = GatePhase::done;
        return Step::next;
    }
    if (only_preview(call)) {
        call.phase = GatePhase::previewing;
        return Step::next;
    }
    if (call.request.purpose == Purpose::execute) {
        call.phase = GatePhase::looked_up;
        return call.await_reply(look_for_approval(call));
    }
    call.phase = GatePhase::previewing;
    return Step::next;
}

// A person's approval first, then a grant.
[[gnu::cold]] Step use_what_was_given(Call& call) {
    call.phase = GatePhase::done;
    if (const auto step = use_given_approval(call)) return *step;
    if (policy::grant_may_allow(call.answer)) {
        if (const auto grant = call.core->policy.state().grants.covers(call.question())) {
            call.cold().grant_id = *grant;
            return Step::next;
        }
    }
    call.phase = GatePhase::previewing;
    return Step::next;
}

// Runs the tool's preview, if it has one.
[[gnu::cold]] Step preview(Call& call) {
    if (!call.attempt) {
        if (!call.tool->body()->has_preview()) {
            no_preview(call);
        } else if (auto error = begin(call, AttemptKind::preview, 0)) {
            return call.refuse(std::move(*error));
        }
    }
    if (call.attempt) {
        auto answer = call.attempt->take();
        if (!answer) return call.pending_or_give_up();
        call.attempt = nullptr;
        auto* made = std::get_if<Result<Preview>>(&*answer);
        if (made != nullptr && *made) {
            call.outcome.preview = std::move(**made);
        } else if (only_preview(call) && made != nullptr) {
            return call.refuse(std::move(made->error()));
        } else {
            no_preview(call);
            call.outcome.preview->summary = "The preview failed.";
        }
    }
    if (call.has_secrets()) call.mask_preview();
    if (only_preview(call)) return previewed(call);
    call.phase = GatePhase::ask;
    return Step::next;
}

[[gnu::cold]] Step ask(Call& call) {
    // An approval shows people the exact arguments and outlives the call that knows what is secret in them.
    if (call.has_secrets() && call.redactor().finds_secret(json::write(*call.arguments))) {
        call.core->counters.gate.denied.add();
        return call.refuse(
            Error(ErrorCode::denied,
                  "This call needs a person's approval, and its arguments hold a secret that the "
                  "approval would show. Let the tool take the secret itself.",
                  {{"reason", "secret_in_arguments"}}));
    }
    ledger::OpenApprovalRequest request = approval_request(call);
    // The event that ends this call goes on the record with the approval: both or neither.
    AuditEvent event = make_event(call, "gate.required", "info", "gate");
    event.approval_id = request.approval.id;
    event.detail = request.approval.why;
    if (call.answer.gate == Gate::preview) event.type = "gate.preview";
    event.error_code = event.type;
    call.cold().opened_event = event;
    request.events.push_back(std::move(event));
    call.phase = GatePhase::opened;
    return call.await_reply(call.core->ledger().open_approval(std::move(request), call.cold().opened, call),
                            Awaited::approval);
}

// However long it took: what is on the record says that a person is asked.
[[gnu::cold]] Step opened(Call& call) {
    if (call.cold().opened.error) return call.refuse(std::move(*call.cold().opened.error));
    call.terminal_recorded = !call.cold().opened.joined;
    if (call.terminal_recorded) {
        AuditEvent& event = call.cold().opened_event;
        event.sequence = call.cold().opened.first_event;
        project_audit(call, event);
    }
    return needs_approval(call);
}

}  // namespace

Step gate(Call& call) {
    for (;;) {
        Step step = Step::next;
        switch (call.phase.as<GatePhase>()) {
            case GatePhase::decide: step = decide(call); break;
            case GatePhase::looked_up: step = use_what_was_given(call); break;
            case GatePhase::previewing: step = preview(call); break;
            case GatePhase::ask: step = ask(call); break;
            case GatePhase::opened: step = opened(call); break;
            case GatePhase::done: return admit(call);
        }
        if (step != Step::next) return step;
    }
}

}  // namespace callgate::pipeline
