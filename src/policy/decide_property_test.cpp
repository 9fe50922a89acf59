// decide() and classify() against a second evaluator, written from the rules' description and sharing no code
// with them, over random policies and calls.
#include <cstdio>
#include <map>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

constexpr int kPolicies = 100'000;
constexpr int kCallsPerPolicy = 2;

class Dice {
public:
    explicit Dice(std::uint64_t seed) : rng_(seed) {}
    std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[below(from.size())];
    }
    template <class Enum>
    Enum level(std::uint64_t count) {
        return static_cast<Enum>(below(count));
    }

private:
    base::SeededRng rng_;
};

// A rule on arguments in two forms: the schema that the policy gets, and what it means.
struct Condition {
    std::string member;
    std::int64_t at_least;

    Value schema() const {
        return Object{{"required", Array{member}},
                      {"properties", Object{{member, Object{{"type", "integer"}, {"minimum", at_least}}}}}};
    }
    bool holds(const Value& arguments) const {
        const Value* value = arguments.as_object().if_contains(member);
        return value != nullptr && value->is_int64() && value->get_int64() >= at_least;
    }
};

// A predicate in two forms.
enum class Says : std::uint8_t { small_or_none, nothing };

bool is_small(const Value& arguments) {
    const Value* value = arguments.as_object().if_contains("n");
    return value == nullptr || value->as_int64() < 3;
}

struct ReferenceRule {
    Rule rule;
    std::optional<Condition> condition;
    std::optional<Says> says;
};

bool glob(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] == '*')
        return glob(pattern.substr(1), text) || (!text.empty() && glob(pattern, text.substr(1)));
    return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
           glob(pattern.substr(1), text.substr(1));
}

bool listed(const std::vector<std::string>& patterns, std::string_view text) {
    for (const std::string& pattern : patterns) {
        if (glob(pattern, text)) return true;
    }
    return patterns.empty();
}

// Only windows in UTC on every day, hour by hour.
bool inside(const TimeWindow& window, base::WallTime now) {
    const auto hour = (now.time_since_epoch() % std::chrono::days(1)) / std::chrono::hours(1);
    for (auto h = window.from / std::chrono::hours(1); h != window.until / std::chrono::hours(1);
         h = (h + 1) % 24) {
        if (h == hour) return true;
    }
    return false;
}

class Reference {
public:
    Reference(const PolicyConfig& config, const std::vector<ReferenceRule>& rules)
        : config_(config), rules_(rules) {}

    int risk(const Call& call) const {
        const Contract& contract = call.tool->contract();
        const auto by_action = contract.risk_map.find(call.action);
        int level =
            static_cast<int>(by_action != contract.risk_map.end() ? by_action->second : *contract.risk);
        const Object& arguments = call.arguments.as_object();
        const Value* to = arguments.if_contains("to");
        if (!contract.target.empty() && to != nullptr)
            level += to->is_array() ? to->as_array().size() > 1 : *to == Value("all");
        level += call.action == "delete";
        const Value* count = arguments.if_contains("n");
        if (!contract.blast_radius.empty() && count != nullptr) {
            level += count->as_int64() > static_cast<std::int64_t>(config_.blast_radius_above);
        }
        level += quiet(call);
        level = std::min(level, 3);
        int raised = level;
        int floor = 0;
        for (const ReferenceRule& one : rules_) {
            if (one.rule.decision != Rule::Do::raise_risk || !matches(one, call, level)) continue;
            if (one.rule.raise_to)
                floor = std::max(floor, static_cast<int>(*one.rule.raise_to));
            else
                ++raised;
        }
        return std::max(std::min(raised, 3), floor);
    }

    // The gate and the rule that decided.
    std::pair<Gate, std::string> gate(const Call& call, int risk) const {
        const Gate matrix = config_.matrix[static_cast<int>(call.caller.autonomy)][risk];
        const ReferenceRule* rule = nullptr;
        for (const ReferenceRule& one : rules_) {
            if (rule == nullptr && one.rule.decision != Rule::Do::raise_risk && matches(one, call, risk))
                rule = &one;
        }
        static const std::map<Rule::Do, Gate> kGates{{Rule::Do::allow, Gate::allow},
                                                     {Rule::Do::preview, Gate::preview},
                                                     {Rule::Do::confirm, Gate::confirm},
                                                     {Rule::Do::deny, Gate::deny}};
        if (rule != nullptr && rule->rule.decision == Rule::Do::deny) return {Gate::deny, rule->rule.id};
        if (matrix == Gate::deny) return {Gate::deny, ""};
        const std::string id = rule != nullptr ? rule->rule.id : "";
        if (call.caller.autonomy == Autonomy::a0) return {Gate::preview, id};
        Gate gate = rule != nullptr ? kGates.at(rule->rule.decision) : matrix;
        bool hard = risk >= 1 && quiet(call);
        for (const std::string& scope : call.tool->contract().scopes.all()) {
            for (const std::string& secret : config_.secret_scopes) hard = hard || glob(secret, scope);
        }
        if (hard && gate != Gate::deny) gate = Gate::confirm;
        return {gate, id};
    }

private:
    bool quiet(const Call& call) const {
        for (const TimeWindow& window : config_.quiet_hours) {
            if (inside(window, call.now)) return true;
        }
        return false;
    }

    static bool matches(const ReferenceRule& one, const Call& call, int risk) {
        const Rule& rule = one.rule;
        const EffectClass effect = call.tool->contract().effect;
        return listed(rule.tools, call.tool->name()) && listed(rule.actions, call.action) &&
               listed(rule.principals, call.caller.principal) && listed(rule.tenants, call.caller.tenant) &&
               (!rule.risk_at_least || static_cast<int>(*rule.risk_at_least) <= risk) &&
               (!rule.risk_at_most || static_cast<int>(*rule.risk_at_most) >= risk) &&
               (rule.effects.empty() || std::ranges::count(rule.effects, effect) > 0) &&
               (!rule.when || inside(*rule.when, call.now)) &&
               (!one.condition || one.condition->holds(call.arguments)) && predicate_holds(one, call);
    }

    static bool predicate_holds(const ReferenceRule& one, const Call& call) {
        if (!one.says) return true;
        return *one.says == Says::small_or_none ? is_small(call.arguments)
                                                : one.rule.decision != Rule::Do::allow;
    }

    const PolicyConfig& config_;
    const std::vector<ReferenceRule>& rules_;
};

const std::vector<std::string> kToolNames{"a", "ab", "b/a", "b/ab", "mail.send", "mail.read"};
const std::vector<std::string> kToolGlobs{"*", "a*", "b/*", "?", "*.send", "mail.*", "none", "*a*"};
const std::vector<std::string> kActions{"call", "read", "delete"};
const std::vector<std::string> kPrincipals{"ann", "bob"};
const std::vector<std::string> kTenants{"", "acme"};

TimeWindow any_window(Dice& dice) {
    const auto from = dice.below(24);
    return {std::chrono::hours(from), std::chrono::hours((from + 1 + dice.below(22)) % 24), "UTC"};
}

ReferenceRule any_rule(Dice& dice, int number) {
    ReferenceRule made{Rule("r" + std::to_string(number), dice.level<Rule::Do>(5)), {}, {}};
    Rule& rule = made.rule;
    if (!dice.one_in(3)) rule.tools.push_back(dice.pick(kToolGlobs));
    if (dice.one_in(4)) rule.tools.push_back(dice.pick(kToolGlobs));
    if (dice.one_in(4)) rule.actions.push_back(dice.pick(kActions));
    if (dice.one_in(4)) rule.principals.push_back(dice.pick(kPrincipals));
    if (dice.one_in(4)) rule.tenants.push_back(dice.one_in(2) ? "?*" : "acme");
    if (dice.one_in(4)) rule.risk_at_least = dice.level<Risk>(4);
    if (dice.one_in(4)) rule.risk_at_most = dice.level<Risk>(4);
    if (dice.one_in(4)) rule.effects.push_back(dice.level<EffectClass>(5));
    if (dice.one_in(6)) rule.effects.push_back(dice.level<EffectClass>(5));
    if (dice.one_in(5)) rule.when = any_window(dice);
    if (dice.one_in(8)) {
        made.condition = Condition{dice.one_in(2) ? "n" : "m", static_cast<std::int64_t>(dice.below(5))};
        rule.arguments = made.condition->schema();
    }
    if (dice.one_in(8)) {
        made.says = dice.level<Says>(2);
        rule.when_true("says", "1", [says = *made.says](const CallView& call) {
            if (says == Says::nothing) throw 7;
            return is_small(call.arguments);
        });
    }
    if (rule.decision == Rule::Do::raise_risk && dice.one_in(2)) rule.raise_to = dice.level<Risk>(4);
    if (rule.decision == Rule::Do::confirm) rule.approvals = 1 + static_cast<std::uint32_t>(dice.below(3));
    return made;
}

PolicyConfig any_policy(Dice& dice, std::vector<ReferenceRule>& rules) {
    PolicyConfig config;
    const int count = static_cast<int>(dice.below(6));
    for (int i = 0; i < count; ++i) rules.push_back(any_rule(dice, i));
    for (const ReferenceRule& one : rules) config.rules.push_back(one.rule);
    if (dice.one_in(3)) config.quiet_hours.push_back(any_window(dice));
    if (dice.one_in(4)) config.secret_scopes = {"s?", "vault"};
    config.blast_radius_above = dice.below(5);
    if (dice.one_in(3)) {
        for (std::size_t row = 1; row < 5; ++row) {
            for (Gate& gate : config.matrix[row]) gate = dice.level<Gate>(4);
        }
        if (dice.one_in(2)) config.matrix[0][dice.below(4)] = Gate::deny;
    }
    return config;
}

std::vector<std::shared_ptr<const ToolEntry>> many_tools(Dice& dice) {
    std::vector<std::shared_ptr<const ToolEntry>> tools;
    for (int i = 0; i < 60; ++i) {
        Contract contract = contract_of(dice.level<Risk>(4), dice.level<EffectClass>(5));
        if (dice.one_in(3)) contract.risk_map["read"] = dice.level<Risk>(4);
        if (dice.one_in(2)) contract.target = "/to";
        if (dice.one_in(2)) contract.blast_radius = "/n";
        if (dice.one_in(3)) contract.scopes = {dice.one_in(2) ? "secrets:x" : "vault"};
        tools.push_back(entry(dice.pick(kToolNames), contract, kActions));
    }
    return tools;
}

Call any_call(Dice& dice, const std::vector<std::shared_ptr<const ToolEntry>>& tools) {
    Object arguments;
    if (dice.one_in(2)) arguments["n"] = static_cast<std::int64_t>(dice.below(8));
    if (dice.one_in(3)) arguments["m"] = static_cast<std::int64_t>(dice.below(8));
    const Value targets[] = {"ann", "all", Array{"ann"}, Array{"ann", "bob"}};
    if (dice.one_in(2)) arguments["to"] = targets[dice.below(4)];
    Call call(dice.pick(tools), std::move(arguments));
    call.action = dice.pick(kActions);
    call.caller.autonomy = dice.level<Autonomy>(5);
    call.caller.principal = dice.pick(kPrincipals);
    call.caller.tenant = dice.pick(kTenants);
    call.now = base::ManualClock::kStart + std::chrono::minutes(dice.below(3 * 24 * 60));
    return call;
}

TEST(DecideProperty, AgreesWithAnIndependentEvaluator) {
    const std::uint64_t seed = base::SystemRng().next_u64();
    std::printf("seed %llu, %d policies, %d questions\n", static_cast<unsigned long long>(seed), kPolicies,
                kPolicies * kCallsPerPolicy);
    Dice dice(seed);
    const auto tools = many_tools(dice);
    std::map<Gate, int> gates;
    int by_rule_count = 0;
    for (int p = 0; p < kPolicies; ++p) {
        std::vector<ReferenceRule> rules;
        const PolicyConfig config = any_policy(dice, rules);
        const auto policy = compiled(config);
        const Reference reference(config, rules);
        for (int q = 0; q < kCallsPerPolicy; ++q) {
            const Call call = any_call(dice, tools);
            const RiskAnswer risk = classify(*policy, call.question());
            ASSERT_EQ(static_cast<int>(risk.risk), reference.risk(call))
                << "seed " << seed << " policy " << p;
            ASSERT_GE(risk.risk, risk.base);
            const Answer answer = decide(*policy, call.question(), risk.risk);
            const auto [gate, rule] = reference.gate(call, static_cast<int>(risk.risk));
            ASSERT_EQ(to_string(answer.gate), to_string(gate))
                << "seed " << seed << " policy " << p << " call " << q;
            ASSERT_EQ(answer.rule != nullptr ? answer.rule->id : "", rule)
                << "seed " << seed << " policy " << p;
            // What must hold whatever the operator wrote.
            if (call.caller.autonomy == Autonomy::a0) {
                ASSERT_TRUE(gate == Gate::preview || gate == Gate::deny);
            }
            ASSERT_FALSE(reason(answer, call.question(), risk.risk).empty());
            ++gates[gate];
            by_rule_count += answer.rule != nullptr;
        }
    }
    std::printf("allow %d, preview %d, confirm %d, deny %d; decided by a rule: %d\n", gates[Gate::allow],
                gates[Gate::preview], gates[Gate::confirm], gates[Gate::deny], by_rule_count);
    for (const Gate gate : {Gate::allow, Gate::preview, Gate::confirm, Gate::deny})
        EXPECT_GT(gates[gate], 5'000);
    EXPECT_GT(by_rule_count, 20'000);
}

}  // namespace
}  // namespace callgate::policy
