#include "policy/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;
using Do = Rule::Do;

constexpr Autonomy kLevels[] = {Autonomy::a0, Autonomy::a1, Autonomy::a2, Autonomy::a3, Autonomy::a4};
constexpr Risk kRisks[] = {Risk::low, Risk::medium, Risk::high, Risk::critical};

Answer ask(const Compiled& policy, Call& call, Autonomy autonomy, Risk risk) {
    call.caller.autonomy = autonomy;
    return decide(policy, call.question(), risk);
}

PolicyConfig with_rules(std::vector<Rule> rules) {
    PolicyConfig config;
    config.rules = std::move(rules);
    return config;
}

// By rank of the rule that decided, "" for the matrix.
std::string decided_by(const Answer& answer) {
    return answer.rule != nullptr ? answer.rule->id : "";
}

Contract secret_contract() {
    Contract contract;
    contract.scopes = {"secrets:mail"};
    return contract;
}

TEST(Decide, FollowsTheMatrixInAllTwentyCells) {
    const std::string_view expected[5] = {"PPPP", "CCCX", "ACCX", "AACX", "AAAC"};
    Call call(entry("tool"));
    const auto policy = compiled();
    for (std::size_t row = 0; row < 5; ++row) {
        for (std::size_t column = 0; column < 4; ++column) {
            const Gate gate = ask(*policy, call, kLevels[row], kRisks[column]).gate;
            EXPECT_EQ("APCX"[static_cast<int>(gate)], expected[row][column])
                << "A" << row << " risk " << column;
        }
    }
}

TEST(Decide, DeniesAPairThatTheMatrixDoesNotKnow) {
    Call call(entry("tool"));
    const auto policy = compiled(with_rules({Rule("open", Do::allow)}));
    EXPECT_EQ(ask(*policy, call, static_cast<Autonomy>(9), Risk::low).gate, Gate::deny);
    EXPECT_EQ(ask(*policy, call, Autonomy::a4, static_cast<Risk>(4)).gate, Gate::deny);
}

TEST(Decide, FirstMatchingRuleWins) {
    Rule first("first", Do::deny);
    first.tools = {"mail.*"};
    Rule second("second", Do::allow);
    const auto policy = compiled(with_rules({first, second}));
    Call mail(entry("mail.send"));
    EXPECT_EQ(ask(*policy, mail, Autonomy::a4, Risk::low).gate, Gate::deny);
    EXPECT_EQ(decided_by(ask(*policy, mail, Autonomy::a4, Risk::low)), "first");
    Call other(entry("files.read"));
    EXPECT_EQ(ask(*policy, other, Autonomy::a1, Risk::low).gate, Gate::allow);
    EXPECT_EQ(decided_by(ask(*policy, other, Autonomy::a1, Risk::low)), "second");
}

TEST(Decide, AllowLowersConfirmAndPreviewButNotTheMatrixsDeny) {
    PolicyConfig config = with_rules({Rule("open", Do::allow)});
    config.matrix[4][0] = Gate::preview;
    const auto policy = compiled(config);
    Call call(entry("tool"));
    EXPECT_EQ(ask(*policy, call, Autonomy::a1, Risk::high).gate, Gate::allow);
    EXPECT_EQ(ask(*policy, call, Autonomy::a4, Risk::low).gate, Gate::allow);
    const Answer critical = ask(*policy, call, Autonomy::a3, Risk::critical);
    EXPECT_EQ(critical.gate, Gate::deny);
    EXPECT_EQ(decided_by(critical), "");
}

TEST(Decide, NoRuleLiftsTheMatrixsDeny) {
    for (const Do decision : {Do::allow, Do::preview, Do::confirm}) {
        Call call(entry("tool"));
        const auto policy = compiled(with_rules({Rule("rule", decision)}));
        EXPECT_EQ(ask(*policy, call, Autonomy::a2, Risk::critical).gate, Gate::deny);
    }
}

TEST(Decide, RulesRaiseWhatTheMatrixWouldAllow) {
    for (const auto& [decision, gate] :
         {std::pair(Do::preview, Gate::preview), {Do::confirm, Gate::confirm}, {Do::deny, Gate::deny}}) {
        Call call(entry("tool"));
        const auto policy = compiled(with_rules({Rule("rule", decision)}));
        EXPECT_EQ(ask(*policy, call, Autonomy::a4, Risk::low).gate, gate);
    }
}

TEST(Decide, AtA0NothingButAPreviewEverHappens) {
    PolicyConfig config = with_rules({Rule("open", Do::allow)});
    config.quiet_hours.emplace_back(0h, 24h, "UTC");
    const auto policy = compiled(config);
    Call call(entry("vault", secret_contract()));
    for (const Risk risk : kRisks) {
        const Answer answer = ask(*policy, call, Autonomy::a0, risk);
        EXPECT_EQ(answer.gate, Gate::preview);
        EXPECT_EQ(answer.overrides, a0);
        EXPECT_FALSE(grant_may_allow(answer));
    }
    const auto strict = compiled(with_rules({Rule("never", Do::deny)}));
    EXPECT_EQ(ask(*strict, call, Autonomy::a0, Risk::low).gate, Gate::deny);
}

TEST(Decide, ASecretScopeIsAlwaysConfirmed) {
    const auto policy = compiled(with_rules({Rule("open", Do::allow)}));
    Call call(entry("vault", secret_contract()));
    const Answer answer = ask(*policy, call, Autonomy::a4, Risk::low);
    EXPECT_EQ(answer.gate, Gate::confirm);
    EXPECT_EQ(answer.overrides, secret_scope);
    EXPECT_FALSE(grant_may_allow(answer));
    EXPECT_EQ(ask(*policy, call, Autonomy::a3, Risk::critical).gate, Gate::deny);

    Contract contract;
    contract.action_scopes["rotate"] = {"secrets"};
    Call by_action(entry("keys", contract, {"list", "rotate"}));
    by_action.action = "list";
    EXPECT_EQ(ask(*policy, by_action, Autonomy::a4, Risk::low).gate, Gate::allow);
    by_action.action = "rotate";
    EXPECT_EQ(ask(*policy, by_action, Autonomy::a4, Risk::low).gate, Gate::confirm);

    Contract harmless;
    harmless.scopes = {"secretsauce"};
    Call sauce(entry("sauce", harmless));
    EXPECT_EQ(ask(*policy, sauce, Autonomy::a4, Risk::low).gate, Gate::allow);
}

TEST(Decide, QuietHoursConfirmWhatIsNotLow) {
    PolicyConfig config = with_rules({Rule("open", Do::allow)});
    config.quiet_hours.emplace_back(22h, 7h, "UTC");
    const auto policy = compiled(config);
    Call call(entry("lamp"));
    call.now = base::ManualClock::kStart + 23h;
    EXPECT_EQ(ask(*policy, call, Autonomy::a4, Risk::low).gate, Gate::allow);
    const Answer answer = ask(*policy, call, Autonomy::a4, Risk::medium);
    EXPECT_EQ(answer.gate, Gate::confirm);
    EXPECT_EQ(answer.overrides, quiet_confirm);
    EXPECT_FALSE(grant_may_allow(answer));
    call.now = kNoon;
    EXPECT_EQ(ask(*policy, call, Autonomy::a4, Risk::medium).gate, Gate::allow);
}

TEST(Decide, QuietHoursCountTwice) {
    PolicyConfig config;
    config.quiet_hours.emplace_back(22h, 7h, "UTC");
    const auto policy = compiled(config);
    Call call(entry("lamp", contract_of(Risk::medium)));
    call.caller.autonomy = Autonomy::a3;
    call.now = base::ManualClock::kStart + 23h;
    const Risk risk = classify(*policy, call.question()).risk;
    EXPECT_EQ(risk, Risk::high);
    EXPECT_EQ(decide(*policy, call.question(), risk).gate, Gate::confirm);
}

TEST(Decide, AsksForTheAssuranceThatTheRiskNeeds) {
    PolicyConfig config = with_rules({Rule("ask", Do::confirm)});
    config.rules[0].approvals = 3;
    Call call(entry("tool"));
    const auto policy = compiled(config);
    const Assurance expected[] = {Assurance::a1, Assurance::a1, Assurance::a2, Assurance::a3};
    for (std::size_t i = 0; i < 4; ++i) {
        const Answer answer = ask(*policy, call, Autonomy::a4, kRisks[i]);
        EXPECT_EQ(answer.assurance, expected[i]);
        EXPECT_EQ(answer.approvals, 3u);
    }
    EXPECT_EQ(ask(*compiled(), call, Autonomy::a4, Risk::critical).approvals, 1u);
    EXPECT_EQ(ask(*compiled(), call, Autonomy::a4, Risk::critical).assurance, Assurance::a3);
}

TEST(Decide, AGrantMayStandInForAPersonWhereNoOverrideAsks) {
    Call call(entry("tool"));
    EXPECT_TRUE(grant_may_allow(ask(*compiled(), call, Autonomy::a2, Risk::medium)));
    EXPECT_FALSE(grant_may_allow(ask(*compiled(), call, Autonomy::a2, Risk::critical)));
    EXPECT_FALSE(grant_may_allow(ask(*compiled(), call, Autonomy::a0, Risk::low)));
    EXPECT_FALSE(grant_may_allow(ask(*compiled(), call, Autonomy::a4, Risk::low)));
}

TEST(RuleMatch, LooksAtEveryCondition) {
    Contract contract = contract_of(Risk::low, EffectClass::keyed);
    Call call(entry("mail.send", contract, {"send", "draft"}), Object{{"to", "ann@example.org"}});
    call.action = "send";
    call.caller.principal = "agent-7";
    call.caller.tenant = "acme";
    const auto matches = [&](const auto& change) {
        Rule rule("rule", Do::deny);
        change(rule);
        return ask(*compiled(with_rules({rule})), call, Autonomy::a4, Risk::medium).gate == Gate::deny;
    };
    EXPECT_TRUE(matches([](Rule&) {}));
    EXPECT_TRUE(matches([](Rule& r) { r.tools = {"files.*", "mail.*"}; }));
    EXPECT_FALSE(matches([](Rule& r) { r.tools = {"files.*"}; }));
    EXPECT_TRUE(matches([](Rule& r) { r.actions = {"s?nd"}; }));
    EXPECT_FALSE(matches([](Rule& r) { r.actions = {"draft"}; }));
    EXPECT_TRUE(matches([](Rule& r) { r.principals = {"agent-*"}; }));
    EXPECT_FALSE(matches([](Rule& r) { r.principals = {"human-*"}; }));
    EXPECT_TRUE(matches([](Rule& r) { r.tenants = {"acme"}; }));
    EXPECT_FALSE(matches([](Rule& r) { r.tenants = {"umbrella"}; }));
    EXPECT_TRUE(matches([](Rule& r) { r.risk_at_least = r.risk_at_most = Risk::medium; }));
    EXPECT_FALSE(matches([](Rule& r) { r.risk_at_least = Risk::high; }));
    EXPECT_FALSE(matches([](Rule& r) { r.risk_at_most = Risk::low; }));
    EXPECT_TRUE(matches([](Rule& r) { r.effects = {EffectClass::read, EffectClass::keyed}; }));
    EXPECT_FALSE(matches([](Rule& r) { r.effects = {EffectClass::unsafe}; }));
    EXPECT_TRUE(matches([](Rule& r) { r.when = TimeWindow(11h, 13h, "UTC"); }));
    EXPECT_FALSE(matches([](Rule& r) { r.when = TimeWindow(13h, 11h, "UTC"); }));
    const auto to = [](std::string pattern) {
        return Object{{"properties", Object{{"to", Object{{"pattern", std::move(pattern)}}}}},
                      {"required", Array{"to"}}};
    };
    EXPECT_TRUE(matches([&](Rule& r) { r.arguments = to("@example[.]org$"); }));
    EXPECT_FALSE(matches([&](Rule& r) { r.arguments = to("@example[.]com$"); }));
}

TEST(RuleMatch, ASchemaTooCostlyToJudgeRestrictsAndNeverAllows) {
    // Every item is compared with every branch: past the step budget.
    Array branches;
    for (int i = 0; i < 2'000; ++i) branches.emplace_back(Object{{"const", Object{{"x", i}}}});
    const Value schema =
        Object{{"properties", Object{{"all", Object{{"items", Object{{"anyOf", branches}}}}}}}};
    Array items;
    for (int i = 0; i < 2'000; ++i) items.emplace_back(Object{{"x", 1'999}});
    Call call(entry("tool"), Object{{"all", items}});
    Rule rule("rule", Do::allow);
    rule.arguments = schema;
    const auto compiled_schema = schema::Schema::compile(schema).value();
    schema::Scratch scratch;
    ASSERT_EQ(compiled_schema.check(call.arguments, scratch), schema::Verdict::over_budget);
    EXPECT_EQ(ask(*compiled(with_rules({rule})), call, Autonomy::a1, Risk::low).gate, Gate::confirm);
    rule.decision = Do::deny;
    EXPECT_EQ(ask(*compiled(with_rules({rule})), call, Autonomy::a4, Risk::low).gate, Gate::deny);
}

}  // namespace
}  // namespace callgate::policy
