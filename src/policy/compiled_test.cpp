#include "policy/compiled.h"

#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;
using Do = Rule::Do;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string refusal(PolicyConfig config) {
    const auto made = Compiled::make(std::move(config), 1);
    if (made) return "accepted";
    EXPECT_EQ(made.error().code, ErrorCode::config_error);
    EXPECT_TRUE(made.error().message.ends_with('.')) << made.error().message;
    return reason_of(made.error()) + " | " + made.error().message;
}

template <class Change>
std::string refused_rule(const Change& change) {
    PolicyConfig config;
    config.rules.emplace_back("ok", Do::allow);
    config.rules.emplace_back("night", Do::confirm);
    change(config.rules.back());
    return refusal(config);
}

template <class Change>
std::string refused_config(const Change& change) {
    PolicyConfig config;
    change(config);
    return refusal(config);
}

TEST(Compiled, AcceptsTheDefaultPolicy) {
    EXPECT_EQ(refusal({}), "accepted");
    EXPECT_EQ(Compiled::make({}, 7).value()->revision(), 7u);
}

TEST(Compiled, NamesRulesThatHaveNoName) {
    PolicyConfig config;
    config.rules.emplace_back("", Do::allow);
    config.rules.emplace_back("mine", Do::deny);
    config.rules.emplace_back("", Do::raise_risk);
    const auto policy = compiled(config);
    EXPECT_THAT(policy->config().rules[0].id, testing::MatchesRegex("rule-[0-9a-f]+"));
    EXPECT_EQ(policy->config().rules[1].id, "mine");
    EXPECT_EQ(policy->deciding().size(), 2u);
    EXPECT_EQ(policy->raising().at(0).id, policy->config().rules[2].id);
    EXPECT_EQ(policy->raising().at(0).shown(), "Rule 3 ('" + policy->config().rules[2].id + "')");
    EXPECT_EQ(policy->deciding().at(1).shown(), "Rule 'mine'");
}

TEST(Compiled, KnowsARuleWithoutANameByItsContent) {
    Rule first("", Do::confirm);
    first.tools = {"pay*"};
    first.reason = "money";
    PolicyConfig config;
    config.rules = {first};
    const std::string name = compiled(config)->config().rules[0].id;

    config.rules.insert(config.rules.begin(), Rule("", Do::deny));
    config.rules[0].tools = {"wipe"};
    EXPECT_EQ(compiled(config)->config().rules[1].id, name) << "a rule elsewhere changes nothing";
    config.rules[1].reason = "a lot of money";
    EXPECT_EQ(compiled(config)->config().rules[1].id, name) << "what it says is not what it decides";

    // Read back, changed and set again.
    PolicyConfig read = compiled(config)->config();
    read.rules.insert(read.rules.begin(), Rule("", Do::allow));
    EXPECT_EQ(compiled(read)->config().rules[2].id, name);
    read.rules[2].approvals = 2;
    EXPECT_NE(compiled(read)->config().rules[2].id, name);
}

TEST(Compiled, GivesEqualRulesWithoutANameDifferentOnes) {
    PolicyConfig config;
    config.rules.resize(3, Rule("", Do::raise_risk));
    const PolicyConfig once = compiled(config)->config();
    EXPECT_EQ(once.rules[1].id, once.rules[0].id + "-2");
    EXPECT_EQ(once.rules[2].id, once.rules[0].id + "-3");
    EXPECT_EQ(compiled(once)->config().rules[2].id, once.rules[2].id);
}

TEST(Compiled, EveryConditionOfARuleIsPartOfItsContent) {
    std::set<std::string> names;
    const auto add = [&](const std::function<void(Rule&)>& change) {
        Rule rule("", Do::confirm);
        change(rule);
        PolicyConfig config;
        config.rules = {rule};
        names.insert(compiled(config)->config().rules[0].id);
    };
    add([](Rule&) {});
    add([](Rule& r) { r.decision = Do::deny; });
    add([](Rule& r) { r.tools = {"a"}; });
    add([](Rule& r) { r.actions = {"a"}; });
    add([](Rule& r) { r.principals = {"a"}; });
    add([](Rule& r) { r.tenants = {"a"}; });
    add([](Rule& r) { r.tools = {"a", "b"}; });
    add([](Rule& r) { r.tools = {"ab"}; });
    add([](Rule& r) { r.risk_at_least = Risk::low; });
    add([](Rule& r) { r.risk_at_most = Risk::low; });
    add([](Rule& r) { r.effects = {EffectClass::read}; });
    add([](Rule& r) { r.when.emplace(std::chrono::hours(1), std::chrono::hours(2), "UTC"); });
    add([](Rule& r) { r.when.emplace(std::chrono::hours(1), std::chrono::hours(3), "UTC"); });
    add([](Rule& r) { r.arguments = Value(true); });
    add([](Rule& r) { r.arguments = Value(false); });
    add([](Rule& r) { r.approvals = 2; });
    add([](Rule& r) { r.decision = Do::raise_risk; });
    add([](Rule& r) {
        r.decision = Do::raise_risk;
        r.raise_to = Risk::high;
    });
    EXPECT_EQ(names.size(), 18u);
}

TEST(Compiled, NamesTheRuleThatIsWrong) {
    EXPECT_THAT(refused_rule([](Rule& r) { r.id = "ok"; }), HasSubstr("Two rules have the id 'ok'"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.id = std::string(200, 'x'); }), HasSubstr("rule number 2"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.tools = {""}; }),
                AllOf(StartsWith("bad_pattern | Rule 'night':"), HasSubstr("in tools is empty")));
    EXPECT_THAT(refused_rule([](Rule& r) { r.principals = {std::string(300, '*')}; }),
                HasSubstr("in principals is too long"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.actions.assign(300, "a"); }),
                StartsWith("too_many | Rule 'night'"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.when = TimeWindow(1h, 2h, "Mars/Olympus"); }),
                StartsWith("unknown_zone | Rule 'night'"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.arguments = Object{{"type", "strnig"}}; }),
                StartsWith("not_a_schema | Rule 'night'"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.arguments = "no schema"; }), HasSubstr("Rule 'night'"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.approvals = 0; }),
                HasSubstr("Rule 'night': it asks for 0 approvals"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.approvals = 17; }), HasSubstr("give 1 to 16"));
    EXPECT_THAT(refused_rule([](Rule& r) {
                    r.decision = Do::allow;
                    r.approvals = 2;
                }),
                HasSubstr("only a rule that decides 'confirm'"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.raise_to = Risk::high; }), HasSubstr("raise_to belongs to"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.risk_at_least = static_cast<Risk>(9); }),
                HasSubstr("risk level"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.effects = {static_cast<EffectClass>(9)}; }),
                HasSubstr("effect class"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.decision = static_cast<Do>(9); }),
                HasSubstr("decision does not exist"));
    EXPECT_THAT(refused_rule([](Rule& r) { r.reason = std::string(3'000, 'x'); }),
                HasSubstr("reason is longer"));
}

TEST(Compiled, TellsTheRuleToPrograms) {
    PolicyConfig config;
    config.rules.emplace_back("night", Do::deny);
    config.rules[0].tools = {""};
    const auto made = Compiled::make(config, 1);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().details.at("rule").as_string(), "night");
}

TEST(Compiled, RefusesSettingsThatMeanNothing) {
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.rules.resize(1'001); }), StartsWith("too_many"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.quiet_hours.resize(65); }), StartsWith("too_many"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.quiet_hours.emplace_back(1h, 1h, "UTC"); }),
                StartsWith("bad_window | Quiet hours:"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.secret_scopes = {""}; }),
                HasSubstr("secret_scopes is empty"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.destructive_actions = {""}; }),
                StartsWith("bad_pattern"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.destructive_actions.assign(300, "x"); }),
                StartsWith("too_many"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.antiflap = -1ms; }), StartsWith("bad_limit"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.antiflap = 25h; }), StartsWith("bad_limit"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.approval_ttl = 25h; }), StartsWith("bad_limit"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.approval_ttl = 0ms; }), StartsWith("bad_limit"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.notifications_per_hour = 1'000'000; }),
                StartsWith("bad_limit"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.limits.per_run.calls = 2'000'000; }),
                StartsWith("bad_limit | The limits per run"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) {
                    c.limits.per_tool.calls = 1;
                    c.limits.per_tool.window = 0ms;
                }),
                StartsWith("bad_limit | The limits per tool"));
}

TEST(Compiled, RefusesAMatrixThatWouldExecuteAtA0) {
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.matrix[0][0] = Gate::allow; }),
                HasSubstr("says 'allow' at A0"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.matrix[0][3] = Gate::confirm; }),
                StartsWith("bad_matrix"));
    EXPECT_THAT(refused_config([](PolicyConfig& c) { c.matrix[2][3] = static_cast<Gate>(9); }),
                StartsWith("bad_matrix"));
    EXPECT_EQ(refused_config([](PolicyConfig& c) { c.matrix[0][3] = Gate::deny; }), "accepted");
}

}  // namespace
}  // namespace callgate::policy
