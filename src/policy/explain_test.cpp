#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/memory.h"
#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;
using Do = Rule::Do;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Explain, SaysThatTheMatrixDecided) {
    const Policy policy;
    Call call(entry("mail", contract_of(Risk::medium)));
    const PolicyDecision decision = explain(policy, call.question());
    EXPECT_EQ(decision.gate, Gate::confirm);
    EXPECT_EQ(decision.rule_id, "");
    EXPECT_EQ(decision.approvals, 1u);
    EXPECT_EQ(decision.policy_rev, policy.revision());
    EXPECT_EQ(decision.reason,
              "At autonomy level A2 the policy asks for a person's approval when the risk is medium.");
    EXPECT_THAT(decision.overrides, IsEmpty());
}

TEST(Explain, SaysWhichRuleDecidedAndWhy) {
    Policy policy;
    PolicyConfig config;
    config.rules.emplace_back("no-mail", Do::deny);
    config.rules[0].reason = "mail is off during the move";
    ASSERT_TRUE(policy.set(config));
    const PolicyDecision decision = explain(policy, Call(entry("mail")).question());
    EXPECT_EQ(decision.gate, Gate::deny);
    EXPECT_EQ(decision.rule_id, "no-mail");
    EXPECT_EQ(decision.reason, "Rule 'no-mail' does not allow the call: mail is off during the move.");
    EXPECT_EQ(decision.approvals, 0u);
}

TEST(Explain, NamesWhatRaisedTheRisk) {
    Policy policy;
    PolicyConfig config;
    config.rules.emplace_back("careful", Do::raise_risk);
    config.quiet_hours.emplace_back(0h, 24h, "UTC");
    ASSERT_TRUE(policy.set(config));
    Contract contract = contract_of(Risk::low);
    contract.target = "/to";
    const PolicyDecision decision =
        explain(policy, Call(entry("delete_mail", contract), Object{{"to", "all"}}).question());
    EXPECT_EQ(decision.base_risk, Risk::low);
    EXPECT_EQ(decision.risk, Risk::critical);
    EXPECT_THAT(decision.risk_reasons,
                ElementsAre(HasSubstr("broadcast"), HasSubstr("destructive"), HasSubstr("quiet_hours")));
}

TEST(Explain, NamesHardOverrides) {
    Policy policy;
    PolicyConfig config;
    config.quiet_hours.emplace_back(0h, 24h, "UTC");
    config.rules.emplace_back("open", Do::allow);
    ASSERT_TRUE(policy.set(config));
    Contract contract = contract_of(Risk::low);
    contract.scopes = {"secrets"};
    const PolicyDecision decision = explain(policy, Call(entry("vault", contract)).question());
    EXPECT_EQ(decision.gate, Gate::confirm);
    EXPECT_THAT(decision.overrides, ElementsAre("secret_scope", "quiet_hours"));
    EXPECT_THAT(decision.reason, HasSubstr("may use secrets and its risk is medium in a quiet hour"));
}

TEST(Explain, SaysThatA0OnlyPreviews) {
    Call call(entry("mail"));
    call.caller.autonomy = Autonomy::a0;
    const PolicyDecision decision = explain(Policy(), call.question());
    EXPECT_EQ(decision.gate, Gate::preview);
    EXPECT_THAT(decision.reason, HasSubstr("never executed"));
}

TEST(Explain, SaysThatAnUnknownLevelIsDenied) {
    Call call(entry("mail"));
    call.caller.autonomy = static_cast<Autonomy>(9);
    const PolicyDecision decision = explain(Policy(), call.question());
    EXPECT_EQ(decision.gate, Gate::deny);
    EXPECT_THAT(decision.reason, HasSubstr("an unknown autonomy level"));
}

TEST(Explain, TellsTheGrantThatWouldBeUsedAndLeavesIt) {
    base::ManualClock clock;
    Policy policy;
    policy.state().clock = &clock;
    Grant grant;
    grant.tool = "mail";
    grant.granted_by = "alice";
    grant.expires_at = clock.wall_now() + 1h;
    const std::string id = policy.add_grant(grant).value();
    Call call(entry("mail", contract_of(Risk::medium)));
    call.now = clock.wall_now();
    for (int i = 0; i < 3; ++i) {
        const PolicyDecision decision = explain(policy, call.question());
        EXPECT_EQ(decision.gate, Gate::allow);
        EXPECT_EQ(decision.grant_id, id);
    }
    EXPECT_EQ(policy.grants().size(), 1u);
}

TEST(Explain, TellsThatTheCallWouldBeSuppressedAndLeavesIt) {
    base::ManualClock clock;
    Policy policy;
    policy.state().clock = &clock;
    Contract contract;
    contract.target = "/lamp";
    Call call(entry("switch", contract), Object{{"lamp", "kitchen"}});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(explain(policy, call.question()).gate, Gate::allow);
    const auto compiled = policy.state().current();
    EXPECT_FALSE(policy.state().suppression.admit(*compiled, call.question(), clock.monotonic_now()));
    const PolicyDecision decision = explain(policy, call.question());
    EXPECT_EQ(decision.gate, Gate::deny);
    EXPECT_THAT(decision.overrides, ElementsAre("antiflap"));
    EXPECT_THAT(decision.reason, HasSubstr("a moment ago"));
}

TEST(Explain, IsTheSameInJson) {
    Policy policy;
    const Value json = to_json(explain(policy, Call(entry("mail", contract_of(Risk::medium))).question()));
    EXPECT_EQ(
        json::write(json),
        R"({"gate":"confirm","base_risk":"medium","risk":"medium","risk_reasons":[],"rule":null,"grant":null,)"
        R"("overrides":[],"reason":"At autonomy level A2 the policy asks for a person's approval when the risk is )"
        R"(medium.","approvals":1,"policy_rev":1})");
}

}  // namespace
}  // namespace callgate::policy
