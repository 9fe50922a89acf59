#include <gtest/gtest.h>

#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;

Contract with_target(Risk risk = Risk::low) {
    Contract contract = contract_of(risk);
    contract.target = "/to";
    contract.blast_radius = "/count";
    return contract;
}

PolicyConfig at_night() {
    PolicyConfig config;
    config.quiet_hours.emplace_back(22h, 7h, "UTC");
    return config;
}

TEST(Risk, IsTheContractsUnlessTheActionHasItsOwn) {
    Contract contract = contract_of(Risk::medium);
    contract.risk_map["read"] = Risk::low;
    contract.risk_map["transfer"] = Risk::high;
    Call call(entry("bank", contract, {"read", "list", "transfer"}));
    const auto risk = [&](const char* action) {
        call.action = action;
        return classify(*compiled(), call.question()).risk;
    };
    EXPECT_EQ(risk("read"), Risk::low);
    EXPECT_EQ(risk("list"), Risk::medium);
    EXPECT_EQ(risk("transfer"), Risk::high);
}

TEST(Risk, RisesForAGroupOrBroadcastTarget) {
    const auto tool = entry("mail", with_target());
    const auto is_broadcast = [&](Value to) {
        const RiskAnswer answer = classify(*compiled(), Call(tool, Object{{"to", std::move(to)}}).question());
        EXPECT_EQ(answer.risk, answer.reasons == broadcast ? Risk::medium : Risk::low);
        return answer.reasons == broadcast;
    };
    EXPECT_TRUE(is_broadcast(Array{"ann", "bob"}));
    EXPECT_TRUE(is_broadcast(Array{"@channel"}));
    for (const char* to :
         {"all", "*", "everyone", "@channel", "@here", "@all", "@everyone", " ALL ", "Everyone"}) {
        EXPECT_TRUE(is_broadcast(to)) << to;
    }
    EXPECT_TRUE(is_broadcast("ann@example.org, bob@example.org"));
    EXPECT_TRUE(is_broadcast("ann;bob"));

    EXPECT_FALSE(is_broadcast("ann@example.org"));
    EXPECT_FALSE(is_broadcast("ann@example.org,"));
    EXPECT_FALSE(is_broadcast(";; "));
    EXPECT_FALSE(is_broadcast("allan"));
    EXPECT_FALSE(is_broadcast(Array{"ann"}));
    EXPECT_FALSE(is_broadcast(Array{}));
    EXPECT_FALSE(is_broadcast(7));
    EXPECT_FALSE(is_broadcast(nullptr));
    EXPECT_EQ(classify(*compiled(), Call(tool).question()).risk, Risk::low);
    EXPECT_EQ(classify(*compiled(), Call(entry("mail"), Object{{"to", "all"}}).question()).risk, Risk::low);
}

TEST(Risk, RisesForADestructiveAction) {
    const auto adapter =
        entry("disk", contract_of(Risk::low), {"read", "delete", "wipe", "deleteAll", "undelete", "call"});
    Call call(adapter);
    const auto is_destructive = [&](const char* action) {
        call.action = action;
        return classify(*compiled(), call.question()).reasons == destructive;
    };
    EXPECT_TRUE(is_destructive("delete"));
    EXPECT_TRUE(is_destructive("wipe"));
    EXPECT_TRUE(is_destructive("DELETE"));
    EXPECT_TRUE(is_destructive("deleteAll"));
    EXPECT_FALSE(is_destructive("read"));
    EXPECT_FALSE(is_destructive("undelete"));
    EXPECT_FALSE(is_destructive("call"));
    EXPECT_FALSE(is_destructive(""));
}

TEST(Risk, SeesADestructiveToolByItsNameWhereThereAreNoActions) {
    const auto is_destructive = [](const char* name, const char* action = "call") {
        Call call(entry(name, contract_of(Risk::low)));
        call.action = action;
        return classify(*compiled(), call.question()).reasons == destructive;
    };
    EXPECT_TRUE(is_destructive("delete_file"));
    EXPECT_TRUE(is_destructive("files.delete"));
    EXPECT_TRUE(is_destructive("github/delete_branch"));
    EXPECT_TRUE(is_destructive("factory-reset"));
    EXPECT_TRUE(is_destructive("removeUser"));
    EXPECT_TRUE(is_destructive("files", "delete"));
    EXPECT_FALSE(is_destructive("delete_file", "read"));
    EXPECT_FALSE(is_destructive("undelete_file"));
    EXPECT_FALSE(is_destructive("list_deleted"));
    EXPECT_FALSE(is_destructive("drop/list"));
}

TEST(Risk, TakesTheOperatorsOwnWordsForDestructive) {
    PolicyConfig config;
    config.destructive_actions = {"Format", "hard_stop"};
    const auto policy = compiled(config);
    EXPECT_TRUE(policy->destructive("disk_format"));
    EXPECT_TRUE(policy->destructive("hard_stop"));
    EXPECT_FALSE(policy->destructive("delete"));
    EXPECT_FALSE(policy->destructive("hard_start"));
}

TEST(Risk, RisesAboveTheBlastRadius) {
    const auto tool = entry("mail", with_target());
    const auto is_wide = [&](Value count) {
        return classify(*compiled(), Call(tool, Object{{"count", std::move(count)}}).question()).reasons ==
               blast_radius;
    };
    EXPECT_FALSE(is_wide(10));
    EXPECT_TRUE(is_wide(11));
    EXPECT_TRUE(is_wide(10.5));
    EXPECT_TRUE(is_wide(std::uint64_t(11)));
    EXPECT_FALSE(is_wide(-11));
    EXPECT_FALSE(is_wide(Array(10)));
    EXPECT_TRUE(is_wide(Array(11)));
    EXPECT_FALSE(is_wide("many"));
}

TEST(Risk, RisesInQuietHours) {
    const auto policy = compiled(at_night());
    Call call(entry("lamp"));
    EXPECT_EQ(classify(*policy, call.question()).risk, Risk::low);
    call.now = base::ManualClock::kStart + 23h;
    EXPECT_EQ(classify(*policy, call.question()).risk, Risk::medium);
    EXPECT_EQ(classify(*policy, call.question()).reasons, quiet_hours);
}

TEST(Risk, AdjustersStackUpToCriticalAndNeverLower) {
    const auto policy = compiled(at_night());
    Call call(entry("delete_mail", with_target()), Object{{"to", "all"}});
    EXPECT_EQ(classify(*policy, call.question()).risk, Risk::high);  // low, broadcast, destructive
    EXPECT_EQ(classify(*policy, call.question()).base, Risk::low);

    Call worse(entry("delete_mail", with_target(Risk::high)), Object{{"to", "all"}, {"count", 11}});
    worse.now = base::ManualClock::kStart + 23h;
    const RiskAnswer answer = classify(*policy, worse.question());
    EXPECT_EQ(answer.risk, Risk::critical);
    EXPECT_EQ(answer.reasons, broadcast | destructive | blast_radius | quiet_hours);
}

TEST(Risk, RulesRaiseByOneOrToALevelInAnyOrder) {
    Rule by_one("one", Rule::Do::raise_risk);
    Rule another("two", Rule::Do::raise_risk);
    Rule to_high("high", Rule::Do::raise_risk);
    to_high.raise_to = Risk::high;
    Rule elsewhere("other", Rule::Do::raise_risk);
    elsewhere.tools = {"other"};
    const auto risk = [](std::vector<Rule> rules, Risk base) {
        PolicyConfig config;
        config.rules = std::move(rules);
        return classify(*compiled(config), Call(entry("tool", contract_of(base))).question());
    };
    EXPECT_EQ(risk({by_one}, Risk::low).risk, Risk::medium);
    EXPECT_EQ(risk({by_one}, Risk::low).reasons, by_rule);
    EXPECT_EQ(risk({by_one, another}, Risk::low).risk, Risk::high);
    EXPECT_EQ(risk({by_one, another}, Risk::high).risk, Risk::critical);
    EXPECT_EQ(risk({to_high}, Risk::low).risk, Risk::high);
    EXPECT_EQ(risk({to_high}, Risk::critical).risk, Risk::critical);
    EXPECT_EQ(risk({to_high}, Risk::critical).reasons, 0);
    EXPECT_EQ(risk({elsewhere}, Risk::low).risk, Risk::low);
    // Each looks at the risk that the call has by itself.
    Rule when_low("when_low", Rule::Do::raise_risk);
    when_low.risk_at_most = Risk::low;
    EXPECT_EQ(risk({by_one, when_low}, Risk::low).risk, Risk::high);
    EXPECT_EQ(risk({when_low, by_one}, Risk::low).risk, Risk::high);
    EXPECT_EQ(risk({to_high, by_one}, Risk::low).risk, Risk::high);
}

}  // namespace
}  // namespace callgate::policy
