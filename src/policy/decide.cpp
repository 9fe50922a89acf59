#include "policy/decide.h"

#include <algorithm>

#include "policy/match.h"

namespace callgate::policy {

namespace {

Gate gate_of(Rule::Do decision) noexcept {
    switch (decision) {
        case Rule::Do::allow: return Gate::allow;
        case Rule::Do::preview: return Gate::preview;
        case Rule::Do::confirm: return Gate::confirm;
        case Rule::Do::deny:
        case Rule::Do::raise_risk: break;
    }
    return Gate::deny;
}

bool needs_secret_scope(const Compiled& policy, const Question& question) noexcept {
    const auto secret = [&](const ScopeSet& scopes) {
        return std::ranges::any_of(scopes.all(),
                                   [&](const std::string& scope) { return policy.secret(scope); });
    };
    const Contract& contract = question.tool.contract();
    if (secret(contract.scopes)) return true;
    if (contract.action_scopes.empty()) return false;
    const auto of_action = contract.action_scopes.find(question.action);
    return of_action != contract.action_scopes.end() && secret(of_action->second);
}

Assurance assurance_for(Risk risk) noexcept {
    switch (risk) {
        case Risk::low:
        case Risk::medium: return Assurance::a1;
        case Risk::high: return Assurance::a2;
        case Risk::critical: break;
    }
    return Assurance::a3;
}

}  // namespace

Answer decide(const Compiled& policy, const Question& question, Risk risk) {
    Answer answer;
    answer.assurance = assurance_for(risk);
    const auto row = static_cast<std::size_t>(question.caller.autonomy);
    const auto column = static_cast<std::size_t>(risk);
    if (row >= 5 || column >= 4) return answer;

    const Gate matrix = policy.config().matrix[row][column];
    answer.gate = matrix;
    for (const CompiledRule& rule : policy.deciding()) {
        if (!matches(policy, rule, question, risk)) continue;
        const Gate gate = gate_of(rule.decision);
        if (matrix != Gate::deny || gate == Gate::deny) {
            answer.gate = gate;
            answer.rule = &rule;
        }
        break;
    }
    if (answer.gate == Gate::deny) return answer;
    if (question.caller.autonomy == Autonomy::a0) {
        answer.gate = Gate::preview;
        answer.overrides = a0;
        return answer;
    }
    if (needs_secret_scope(policy, question)) answer.overrides |= secret_scope;
    if (risk >= Risk::medium && policy.quiet(question.now)) answer.overrides |= quiet_confirm;
    if (answer.overrides != 0) answer.gate = std::max(answer.gate, Gate::confirm);
    if (answer.rule != nullptr && answer.rule->decision == Rule::Do::confirm)
        answer.approvals = answer.rule->approvals;
    return answer;
}

bool grant_may_allow(const Answer& answer) noexcept {
    return answer.gate == Gate::confirm && answer.overrides == 0;
}

}  // namespace callgate::policy
