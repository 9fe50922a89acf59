// What a decision costs.
#include <benchmark/benchmark.h>

#include "policy/memory.h"
#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

void decide_once(benchmark::State& state, const Compiled& policy, const Call& call) {
    for (auto _ : state) {
        const Question question = call.question();
        const RiskAnswer risk = classify(policy, question);
        benchmark::DoNotOptimize(decide(policy, question, risk.risk));
    }
}

void BM_DefaultPolicy(benchmark::State& state) {
    decide_once(state, *compiled(),
                Call(entry("weather.current", contract_of(Risk::low)), Object{{"city", "Berlin"}}));
}
BENCHMARK(BM_DefaultPolicy);

void BM_TargetAndScopes(benchmark::State& state) {
    Contract contract = contract_of(Risk::low);
    contract.target = "/to";
    contract.scopes = {"mail:send"};
    decide_once(state, *compiled(), Call(entry("mail.send", contract), Object{{"to", "ann@example.org"}}));
}
BENCHMARK(BM_TargetAndScopes);

void BM_HundredRules(benchmark::State& state) {
    PolicyConfig config;
    for (int i = 0; i < 100; ++i) {
        config.rules.emplace_back("", Rule::Do::deny);
        config.rules.back().tools = {"server-" + std::to_string(i) + "/*"};
    }
    decide_once(state, *compiled(config), Call(entry("weather.current"), Object{{"city", "Berlin"}}));
}
BENCHMARK(BM_HundredRules);

void BM_RuleOnArguments(benchmark::State& state) {
    PolicyConfig config;
    config.rules.emplace_back("", Rule::Do::deny);
    config.rules.back().arguments = Object{{"properties", Object{{"city", Object{{"const", "Paris"}}}}}};
    decide_once(state, *compiled(config), Call(entry("weather.current"), Object{{"city", "Berlin"}}));
}
BENCHMARK(BM_RuleOnArguments);

void BM_QuietHours(benchmark::State& state) {
    PolicyConfig config;
    config.quiet_hours.emplace_back(std::chrono::hours(22), std::chrono::hours(7), "Europe/Berlin");
    decide_once(state, *compiled(config), Call(entry("weather.current"), Object{{"city", "Berlin"}}));
}
BENCHMARK(BM_QuietHours);

void BM_CurrentPolicy(benchmark::State& state) {
    const Policy policy;
    for (auto _ : state) benchmark::DoNotOptimize(policy.state().current());
}
BENCHMARK(BM_CurrentPolicy);

void BM_Unlimited(benchmark::State& state) {
    const Call call(entry("weather.current"));
    const auto policy = compiled();
    const Limiter limiter;
    for (auto _ : state)
        benchmark::DoNotOptimize(limiter.unlimited(*policy, {call.tool.get(), &call.caller}));
}
BENCHMARK(BM_Unlimited);

void BM_TakeTicket(benchmark::State& state) {
    Contract contract;
    contract.limits.concurrent = 4;
    const Call call(entry("weather.current", contract));
    const auto policy = compiled();
    Limiter limiter;
    for (auto _ : state) benchmark::DoNotOptimize(limiter.take(*policy, {call.tool.get(), &call.caller}, {}));
}
BENCHMARK(BM_TakeTicket);

}  // namespace
}  // namespace callgate::policy
