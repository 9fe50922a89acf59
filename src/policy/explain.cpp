// Decisions in words.
#include <utility>

#include <fmt/format.h>

#include "policy/decide.h"
#include "policy/memory.h"

namespace callgate::policy {

namespace {

std::string_view asks_for(Gate gate) noexcept {
    switch (gate) {
        case Gate::allow: return "allows the call";
        case Gate::preview: return "allows only a preview";
        case Gate::confirm: return "asks for a person's approval";
        case Gate::deny: break;
    }
    return "does not allow the call";
}

std::string_view sentence(RiskReason why) noexcept {
    switch (why) {
        case broadcast: return "broadcast: the target is a group or several receivers";
        case destructive: return "destructive: the action destroys something";
        case blast_radius: return "blast_radius: it touches more than the policy's threshold";
        case quiet_hours: return "quiet_hours: it is a quiet hour";
        case by_rule: break;
    }
    return "rule: a rule raises the risk";
}

std::string_view level(Autonomy autonomy) noexcept {
    return autonomy <= Autonomy::a4 ? to_string(autonomy) : std::string_view("an unknown autonomy level");
}
std::string_view level(Risk risk) noexcept {
    return risk <= Risk::critical ? to_string(risk) : std::string_view("unknown");
}

}  // namespace

std::string predicate_record(const PredicateLog& log, const CompiledRule* but) {
    constexpr std::size_t kMostNamed = 8;
    std::string text;
    std::size_t named = 0;
    std::size_t left = 0;
    for (const PredicateUse& use : log) {
        if (but != nullptr && use.rule == but && !use.failed) continue;
        if (named == kMostNamed) {
            ++left;
            continue;
        }
        if (named++ != 0) text += ' ';
        text += use.rule->shown();
        if (!use.failed) {
            text += " matched.";
        } else {
            text +=
                use.matched ? " failed, which counts as matching." : " failed, which counts as not matching.";
        }
    }
    if (left != 0) text += fmt::format(" So it was with {} more.", left);
    return text;
}

namespace {

std::string reason_of_gate(const Answer& answer, const Question& question, Risk risk) {
    if ((answer.overrides & a0) != 0) return "At autonomy level A0 a call is only previewed, never executed.";
    std::string text;
    const bool raised =
        answer.overrides != 0 && (answer.rule == nullptr || answer.rule->decision != Rule::Do::confirm);
    if (raised) {
        text = fmt::format("The call to '{}' needs a person's approval because ", question.tool.name());
        if ((answer.overrides & secret_scope) != 0) text += "the tool may use secrets";
        if ((answer.overrides & secret_scope) != 0 && (answer.overrides & quiet_confirm) != 0)
            text += " and ";
        if ((answer.overrides & quiet_confirm) != 0)
            text += fmt::format("its risk is {} in a quiet hour", level(risk));
        return text + '.';
    }
    if (answer.rule == nullptr) {
        return fmt::format("At autonomy level {} the policy {} when the risk is {}.",
                           level(question.caller.autonomy), asks_for(answer.gate), level(risk));
    }
    text = fmt::format("{} {}", answer.rule->shown(), asks_for(answer.gate));
    if (!answer.rule->reason.empty()) text += ": " + answer.rule->reason;
    if (!text.ends_with('.')) text += '.';
    return text;
}

}  // namespace

std::string reason(const Answer& answer, const Question& question, Risk risk) {
    std::string text = reason_of_gate(answer, question, risk);
    if (question.log == nullptr || question.log->empty()) return text;
    const std::string others = predicate_record(*question.log, answer.rule);
    if (!others.empty()) text.append(" ").append(others);
    return text;
}

PolicyDecision explain(const Policy& policy, const Question& question) {
    Policy::State& state = policy.state();
    const std::shared_ptr<const Compiled> compiled = state.current();
    PredicateLog log;
    Question logged = question;
    logged.log = &log;
    const RiskAnswer risk = classify(*compiled, logged);
    const Answer answer = decide(*compiled, logged, risk.risk);

    PolicyDecision decision;
    decision.gate = answer.gate;
    decision.base_risk = risk.base;
    decision.risk = risk.risk;
    decision.policy_rev = compiled->revision();
    for (const RiskReason why : {broadcast, destructive, blast_radius, quiet_hours, by_rule}) {
        if ((risk.reasons & why) != 0) decision.risk_reasons.emplace_back(sentence(why));
    }
    if (answer.rule != nullptr) decision.rule_id = answer.rule->id;
    if ((answer.overrides & secret_scope) != 0) decision.overrides.emplace_back("secret_scope");
    if ((answer.overrides & quiet_confirm) != 0) decision.overrides.emplace_back("quiet_hours");
    for (const PredicateUse& use : log) {
        const Predicate& predicate = *use.rule->predicate;
        decision.predicates.push_back(
            {use.rule->id, predicate.name, predicate.version, use.matched, use.failed});
    }
    decision.reason = reason(answer, logged, risk.risk);
    if (grant_may_allow(answer)) {
        if (auto grant = state.grants.covers(question)) {
            decision.gate = Gate::allow;
            decision.reason = fmt::format("Grant '{}' allows the call.", *grant);
            decision.grant_id = std::move(*grant);
        }
    }
    if (decision.gate == Gate::allow || decision.gate == Gate::confirm) {
        if (const auto block = state.suppression.would_block(*compiled, question, state.monotonic_now())) {
            decision.gate = Gate::deny;
            decision.overrides.emplace_back(block->kind);
            decision.reason = block->message;
        }
    }
    if (decision.gate == Gate::confirm) decision.approvals = answer.approvals;
    return decision;
}

}  // namespace callgate::policy

namespace callgate {

Value to_json(const PolicyDecision& decision) {
    const auto texts = [](const std::vector<std::string>& all) { return Array(all.begin(), all.end()); };
    Object json{{"gate", to_string(decision.gate)},
                {"base_risk", to_string(decision.base_risk)},
                {"risk", to_string(decision.risk)},
                {"risk_reasons", texts(decision.risk_reasons)}};
    json["rule"] = decision.rule_id.empty() ? Value(nullptr) : Value(decision.rule_id);
    json["grant"] = decision.grant_id.empty() ? Value(nullptr) : Value(decision.grant_id);
    json["overrides"] = texts(decision.overrides);
    if (!decision.predicates.empty()) {
        Array said;
        for (const PredicateVerdict& one : decision.predicates) {
            said.push_back(Object{{"rule", one.rule_id},
                                  {"name", one.name},
                                  {"version", one.version},
                                  {"matched", one.matched},
                                  {"failed", one.failed}});
        }
        json["predicates"] = std::move(said);
    }
    json["reason"] = decision.reason;
    json["approvals"] = decision.approvals;
    json["policy_rev"] = decision.policy_rev;
    return json;
}

}  // namespace callgate
