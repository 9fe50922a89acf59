// Deciding about a call under a policy without rules, and under one with rules once it is warm, needs no
// heap.
#include <gtest/gtest.h>

#include "counting_new.h"
#include "policy/memory.h"
#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

std::size_t allocations_of(const Compiled& policy, const Call& call) {
    const Limiter limiter;
    const auto once = [&] {
        const Question question = call.question();
        const RiskAnswer risk = classify(policy, question);
        const Answer answer = decide(policy, question, risk.risk);
        return answer.gate == Gate::allow && limiter.unlimited(policy, {call.tool.get(), &call.caller});
    };
    EXPECT_TRUE(once());
    const std::size_t before = allocation_count();
    for (int i = 0; i < 100; ++i) static_cast<void>(once());
    return allocation_count() - before;
}

TEST(PolicyAllocations, TheDefaultPolicyNeedsNoHeap) {
    Contract contract = contract_of(Risk::low);
    contract.target = "/to";
    contract.blast_radius = "/count";
    contract.scopes = {"mail:send"};
    const Call call(entry("mail.send", contract), Object{{"to", "ann@example.org"}, {"count", 3}});
    EXPECT_EQ(allocations_of(*compiled(), call), 0u);
}

TEST(PolicyAllocations, RulesNeedNoHeapOnceTheyAreWarm) {
    PolicyConfig config;
    config.rules.emplace_back("", Rule::Do::deny);
    config.rules.back().tools = {"files.*", "*.delete"};
    config.rules.emplace_back("", Rule::Do::deny);
    config.rules.back().arguments =
        Object{{"properties", Object{{"to", Object{{"pattern", "@example[.]com$"}}}}}};
    config.rules.emplace_back("", Rule::Do::raise_risk);
    config.rules.back().when = TimeWindow(std::chrono::hours(22), std::chrono::hours(7), "Europe/Berlin");
    const Call call(entry("mail.send", contract_of(Risk::low)), Object{{"to", "ann@example.org"}});
    EXPECT_EQ(allocations_of(*compiled(config), call), 0u);
}

}  // namespace
}  // namespace callgate::policy
