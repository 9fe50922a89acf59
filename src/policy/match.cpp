#include "policy/match.h"

namespace callgate::policy {

namespace {

// Foreign code, which has promised not to block (callgate/policy.h): it runs wherever calls are decided.
[[gnu::cold]] bool ask_predicate(const CompiledRule& rule, const Question& question, Risk risk) {
    const Context& caller = question.caller;
    const CallView call{.tool = question.tool.name(),
                        .action = question.action,
                        .arguments = question.arguments,
                        .risk = risk,
                        .effect = question.effect,
                        .tenant = caller.tenant,
                        .principal = caller.principal,
                        .trace_id = caller.trace_id.empty() ? question.trace_id : caller.trace_id,
                        .run_id = caller.run_id,
                        .task_id = caller.task_id,
                        .step_id = caller.step_id,
                        .scopes = caller.scopes,
                        .autonomy = caller.autonomy,
                        .at = question.now};
    PredicateUse use{&rule, false, false};
    try {
        use.matched = rule.predicate->function(call);
    } catch (...) {
        use.failed = true;
        use.matched = rule.decision != Rule::Do::allow;
    }
    if (question.log != nullptr && (use.matched || use.failed)) question.log->push_back(use);
    return use.matched;
}

}  // namespace

bool matches(const Compiled& policy, const CompiledRule& rule, const Question& question, Risk risk) {
    if (risk < rule.at_least || risk > rule.at_most) return false;
    if ((rule.effects >> static_cast<unsigned>(question.effect) & 1U) == 0) return false;
    if (!any_matches(rule.tools, question.tool.name()) || !any_matches(rule.actions, question.action) ||
        !any_matches(rule.principals, question.caller.principal) ||
        !any_matches(rule.tenants, question.caller.tenant)) {
        return false;
    }
    if (rule.when && !rule.when->contains(question.now)) return false;
    if (rule.arguments) {
        switch (policy.scratch().check(*rule.arguments, question.arguments)) {
            case schema::Verdict::valid: break;
            case schema::Verdict::invalid: return false;
            case schema::Verdict::over_budget:
                if (rule.decision == Rule::Do::allow) return false;
                break;
        }
    }
    return !rule.predicate || ask_predicate(rule, question, risk);
}

}  // namespace callgate::policy
