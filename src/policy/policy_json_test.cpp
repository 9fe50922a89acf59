#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <callgate/policy.h>

#include "json/test_value.h"
#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Result<PolicyConfig> read(std::string_view text) {
    return policy_from_json(json::parse(text).value());
}

std::string refusal(std::string_view text) {
    const auto config = read(text);
    if (config) return "accepted";
    EXPECT_EQ(config.error().code, ErrorCode::config_error);
    return reason_of(config.error()) + " | " + config.error().message;
}

TEST(PolicyJson, AnEmptyDocumentIsTheDefaultPolicy) {
    const auto config = read("{}").value();
    const PolicyConfig defaults;
    EXPECT_TRUE(config.rules.empty());
    EXPECT_EQ(config.antiflap, defaults.antiflap);
    EXPECT_EQ(config.secret_scopes, defaults.secret_scopes);
    EXPECT_EQ(config.matrix[2][1], Gate::confirm);
}

TEST(PolicyJson, ReadsEveryMemberOfARule) {
    const auto config = read(R"({"rules": [{"id": "night", "decision": "confirm", "reason": "people sleep",
        "tools": ["mail.*"], "actions": ["send"], "principals": ["agent-*"], "tenants": ["acme"],
        "risk_at_least": "medium", "risk_at_most": "high", "effects": ["unsafe", "keyed"],
        "when": {"from": "22:00", "until": "07:30", "zone": "Europe/Berlin", "weekdays": [1, 7]},
        "arguments": {"required": ["to"]}, "approvals": 2},
        {"decision": "raise_risk", "raise_to": "critical"}]})")
                            .value();
    ASSERT_EQ(config.rules.size(), 2u);
    const Rule& rule = config.rules[0];
    EXPECT_EQ(rule.id, "night");
    EXPECT_EQ(rule.decision, Rule::Do::confirm);
    EXPECT_EQ(rule.reason, "people sleep");
    EXPECT_THAT(rule.tools, ElementsAre("mail.*"));
    EXPECT_THAT(rule.actions, ElementsAre("send"));
    EXPECT_THAT(rule.principals, ElementsAre("agent-*"));
    EXPECT_THAT(rule.tenants, ElementsAre("acme"));
    EXPECT_EQ(rule.risk_at_least, Risk::medium);
    EXPECT_EQ(rule.risk_at_most, Risk::high);
    EXPECT_THAT(rule.effects, ElementsAre(EffectClass::unsafe, EffectClass::keyed));
    ASSERT_TRUE(rule.when);
    EXPECT_EQ(rule.when->from, 22h);
    EXPECT_EQ(rule.when->until, 7h + 30min);
    EXPECT_EQ(rule.when->zone, "Europe/Berlin");
    EXPECT_THAT(rule.when->weekdays, ElementsAre(1, 7));
    EXPECT_EQ(json::write(rule.arguments.value()), R"({"required":["to"]})");
    EXPECT_EQ(rule.approvals, 2u);
    EXPECT_EQ(config.rules[1].decision, Rule::Do::raise_risk);
    EXPECT_EQ(config.rules[1].raise_to, Risk::critical);
    EXPECT_TRUE(Compiled::make(config, 1));
}

TEST(PolicyJson, ReadsEverythingElse) {
    const auto config =
        read(R"({"limits": {"per_tool": {"concurrent": 2, "calls": 10, "window_ms": 1000, "per_run": 5},
        "per_principal": {"calls": 3}, "per_run": {"per_run": 50}, "loop_repeats": 4},
        "quiet_hours": [{"from": "00:00", "until": "24:00"}], "secret_scopes": ["vault:*"],
        "destructive_actions": ["format"], "blast_radius_above": 3, "antiflap_ms": 0, "notifications_per_hour": 5,
        "approval_ttl_ms": 60000, "matrix": {"A2": {"medium": "allow", "critical": "confirm"}}})")
            .value();
    EXPECT_EQ(config.limits.per_tool.concurrent, 2u);
    EXPECT_EQ(config.limits.per_tool.calls, 10u);
    EXPECT_EQ(config.limits.per_tool.window, 1s);
    EXPECT_EQ(config.limits.per_tool.per_run, 5u);
    EXPECT_EQ(config.limits.per_principal.calls, 3u);
    EXPECT_EQ(config.limits.per_run.per_run, 50u);
    EXPECT_EQ(config.limits.loop_repeats, 4u);
    ASSERT_EQ(config.quiet_hours.size(), 1u);
    EXPECT_EQ(config.quiet_hours[0].until, 24h);
    EXPECT_EQ(config.quiet_hours[0].zone, "UTC");
    EXPECT_THAT(config.secret_scopes, ElementsAre("vault:*"));
    EXPECT_THAT(config.destructive_actions, ElementsAre("format"));
    EXPECT_EQ(config.blast_radius_above, 3u);
    EXPECT_EQ(config.antiflap, 0ms);
    EXPECT_EQ(config.notifications_per_hour, 5u);
    EXPECT_EQ(config.approval_ttl, 60s);
    EXPECT_EQ(config.matrix[2][1], Gate::allow);
    EXPECT_EQ(config.matrix[2][3], Gate::confirm);
    EXPECT_EQ(config.matrix[2][2], Gate::confirm);
    EXPECT_EQ(config.matrix[3][3], Gate::deny);
}

TEST(PolicyJson, RefusesMembersNobodyKnows) {
    EXPECT_THAT(refusal(R"({"rule": []})"),
                AllOf(HasSubstr("unknown_member"), HasSubstr("did you mean 'rules'?")));
    EXPECT_THAT(refusal(R"({"rules": [{"decision": "deny", "tool": ["a"]}]})"),
                AllOf(HasSubstr("'/rules/0/tool'"), HasSubstr("did you mean 'tools'?")));
    EXPECT_THAT(refusal(R"({"rules": [{"decision": "deny", "when": {"form": "22:00"}}]})"),
                HasSubstr("'from'"));
    EXPECT_THAT(refusal(R"({"limits": {"per_user": {}}})"), HasSubstr("unknown_member"));
    EXPECT_THAT(refusal(R"({"limits": {"per_tool": {"window": 1}}})"),
                HasSubstr("did you mean 'window_ms'?"));
    EXPECT_THAT(refusal(R"({"matrix": {"A5": {}}})"), HasSubstr("unknown_member"));
    EXPECT_THAT(refusal(R"({"matrix": {"A2": {"huge": "allow"}}})"), HasSubstr("'/matrix/A2/huge'"));
    EXPECT_THAT(refusal("{\"" + std::string(100'000, 'x') + "\": 1}"), HasSubstr("unknown_member"));
}

TEST(PolicyJson, SaysWhereAValueIsWrong) {
    EXPECT_THAT(refusal("[]"), HasSubstr("wrong_type | The policy at '/': an object"));
    EXPECT_THAT(refusal(R"({"rules": {}})"), HasSubstr("'/rules': a list"));
    EXPECT_THAT(refusal(R"({"rules": [{"id": "x"}]})"),
                HasSubstr("missing_member | The policy at '/rules/0'"));
    EXPECT_THAT(refusal(R"({"rules": [{"decision": "maybe"}]})"),
                HasSubstr("'maybe' is not possible; give one of allow, preview, confirm, deny, raise_risk"));
    EXPECT_THAT(refusal(R"({"rules": [{"decision": "deny", "tools": "mail"}]})"),
                HasSubstr("'/rules/0/tools': a list"));
    EXPECT_THAT(refusal(R"({"rules": [{"decision": "deny", "tools": []}]})"), HasSubstr("empty_list"));
    EXPECT_THAT(refusal(R"({"rules": [{"decision": "deny", "effects": []}]})"), HasSubstr("empty_list"));
    EXPECT_THAT(refusal(R"({"rules": [{"decision": "deny", "tools": [7]}]})"),
                HasSubstr("'/rules/0/tools/0': a text"));
    EXPECT_THAT(refusal(R"({"rules": [{"decision": "deny", "arguments": "x"}]})"),
                HasSubstr("a JSON Schema"));
    EXPECT_THAT(refusal(R"({"rules": [{"decision": "deny", "when": {"from": "22:00"}}]})"),
                HasSubstr("'until'"));
    EXPECT_THAT(refusal(R"({"quiet_hours": [{"from": "24:01", "until": "07:00"}]})"), HasSubstr("bad_time"));
    EXPECT_THAT(refusal(R"({"quiet_hours": [{"from": "7:00", "until": "08:00"}]})"),
                HasSubstr("'7:00' is no time"));
    EXPECT_THAT(refusal(R"({"quiet_hours": [{"from": "07:60", "until": "08:00"}]})"), HasSubstr("bad_time"));
    EXPECT_THAT(refusal(R"({"quiet_hours": [{"from": "07:00", "until": "08:00", "weekdays": []}]})"),
                HasSubstr("empty_list"));
    EXPECT_THAT(refusal(R"({"quiet_hours": [{"from": "07:00", "until": "08:00", "weekdays": [8]}]})"),
                HasSubstr("too_large"));
    EXPECT_THAT(refusal(R"({"antiflap_ms": -1})"), HasSubstr("wrong_type"));
    EXPECT_THAT(refusal(R"({"antiflap_ms": 1.5})"), HasSubstr("wrong_type"));
    EXPECT_THAT(refusal(R"({"antiflap_ms": 18446744073709551615})"), HasSubstr("too_large"));
    EXPECT_THAT(refusal(R"({"notifications_per_hour": 4294967296})"), HasSubstr("too_large"));
    EXPECT_THAT(refusal(R"({"matrix": {"A2": {"low": "raise_risk"}}})"), HasSubstr("unknown_word"));
}

TEST(PolicyJson, LeavesWhatOnlyTheWholeCanTellToSet) {
    Policy policy;
    const auto config =
        read(R"({"quiet_hours": [{"from": "22:00", "until": "07:00", "zone": "Europe/Atlantis"}]})");
    ASSERT_TRUE(config);
    const auto set = policy.set(*config);
    ASSERT_FALSE(set);
    EXPECT_EQ(reason_of(set.error()), "unknown_zone");
}

RC_GTEST_PROP(PolicyJsonProperty, AnyDocumentIsReadOrRefused, ()) {
    Object document;
    for (const char* name : {"rules", "limits", "quiet_hours", "matrix", "antiflap_ms", "secret_scopes"}) {
        if (*rc::gen::inRange(0, 3) == 0) document[name] = *json::any_value(3);
    }
    const auto config = policy_from_json(document);
    if (config) {
        static_cast<void>(Compiled::make(*config, 1));
    } else {
        RC_ASSERT(config.error().code == ErrorCode::config_error);
        RC_ASSERT(config.error().details.contains("path"));
    }
}

}  // namespace
}  // namespace callgate::policy
