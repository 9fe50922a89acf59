#include <callgate/policy.h>

#include <gtest/gtest.h>

#include "policy/memory.h"
#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;

TEST(Policy, StartsWithTheDefaults) {
    const Policy policy;
    EXPECT_EQ(policy.revision(), 1u);
    EXPECT_TRUE(policy.get().rules.empty());
    EXPECT_TRUE(policy.grants().empty());
}

TEST(Policy, IsReplacedAsAWholeUnderANewRevision) {
    Policy policy;
    const auto before = policy.state().current();
    PolicyConfig config;
    config.rules.emplace_back("", Rule::Do::deny);
    ASSERT_TRUE(policy.set(config));
    EXPECT_EQ(policy.revision(), 2u);
    EXPECT_EQ(policy.state().current()->revision(), 2u);
    EXPECT_EQ(policy.get().rules.at(0).id, policy.state().current()->deciding().at(0).id);
    // A call that began before is decided under what it began with.
    EXPECT_TRUE(before->deciding().empty());
}

TEST(Policy, StaysAsItWasWhenTheNewOneIsWrong) {
    Policy policy;
    PolicyConfig config;
    config.rules.emplace_back("deny-all", Rule::Do::deny);
    ASSERT_TRUE(policy.set(config));
    config.rules[0].tools = {""};
    EXPECT_FALSE(policy.set(config));
    EXPECT_EQ(policy.revision(), 2u);
    EXPECT_EQ(policy.get().rules.at(0).id, "deny-all");
    EXPECT_TRUE(policy.get().rules.at(0).tools.empty());
}

TEST(Policy, KeepsGrantsOverAReload) {
    base::ManualClock clock;
    Policy policy;
    policy.state().clock = &clock;
    Grant grant;
    grant.tool = "mail";
    grant.expires_at = clock.wall_now() + 1h;
    const auto id = policy.add_grant(grant);
    ASSERT_TRUE(id);
    ASSERT_TRUE(policy.set({}));
    EXPECT_EQ(policy.grants().at(0).id, *id);
    clock.advance(1h);
    EXPECT_TRUE(policy.grants().empty());
    EXPECT_TRUE(policy.revoke_grant(*id));
    EXPECT_FALSE(policy.revoke_grant(*id));
}

TEST(Gate, HasNames) {
    EXPECT_EQ(to_string(Gate::allow), "allow");
    EXPECT_EQ(to_string(Gate::preview), "preview");
    EXPECT_EQ(to_string(Gate::confirm), "confirm");
    EXPECT_EQ(to_string(Gate::deny), "deny");
}

}  // namespace
}  // namespace callgate::policy
