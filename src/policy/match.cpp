#include "policy/match.h"

namespace callgate::policy {

bool matches(const Compiled& policy, const CompiledRule& rule, const Question& question, Risk risk) {
    if (risk < rule.at_least || risk > rule.at_most) return false;
    if ((rule.effects >> static_cast<unsigned>(question.effect) & 1U) == 0) return false;
    if (!any_matches(rule.tools, question.tool.name()) || !any_matches(rule.actions, question.action) ||
        !any_matches(rule.principals, question.caller.principal) ||
        !any_matches(rule.tenants, question.caller.tenant)) {
        return false;
    }
    if (rule.when && !rule.when->contains(question.now)) return false;
    if (!rule.arguments) return true;
    switch (policy.scratch().check(*rule.arguments, question.arguments)) {
        case schema::Verdict::valid: return true;
        case schema::Verdict::invalid: return false;
        case schema::Verdict::over_budget: break;
    }
    return rule.decision != Rule::Do::allow;
}

}  // namespace callgate::policy
