#include <atomic>
#include <barrier>
#include <thread>

#include <gtest/gtest.h>

#include "policy/memory.h"
#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 400;

template <class Work>
void in_parallel(const Work& work) {
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            start.arrive_and_wait();
            work(t);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST(LimiterThreads, NeverMoreAtOnceThanAllowed) {
    Contract contract;
    contract.limits.concurrent = 3;
    const auto tool = entry("t", contract);
    const auto policy = compiled();
    const Context who;
    Limiter limiter;
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> entered{0};
    in_parallel([&](int) {
        for (int i = 0; i < kRounds; ++i) {
            const auto ticket = limiter.take(*policy, {tool.get(), &who}, {});
            if (!ticket) {
                std::this_thread::yield();
                continue;
            }
            const int now = ++inside;
            int seen = most.load();
            while (now > seen && !most.compare_exchange_weak(seen, now)) {
            }
            ++entered;
            std::this_thread::yield();
            --inside;
        }
    });
    EXPECT_LE(most.load(), 3);
    EXPECT_GE(entered.load(), kRounds);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.take(*policy, {tool.get(), &who}, {}));
}

TEST(LimiterThreads, ABudgetIsSpentExactlyOnce) {
    PolicyConfig config;
    config.limits.per_run.per_run = 1'000;
    const auto policy = compiled(config);
    const auto tool = entry("t");
    Context who;
    who.run_id = "run";
    Limiter limiter;
    std::atomic<int> taken{0};
    in_parallel([&](int) {
        for (int i = 0; i < kRounds; ++i) taken += limiter.take(*policy, {tool.get(), &who}, {}).has_value();
    });
    EXPECT_EQ(taken.load(), 1'000);
}

TEST(LimiterThreads, BatchesAreReservedWholeAndWhatNeverRanComesBack) {
    PolicyConfig config;
    config.limits.per_run.per_run = 20;
    const auto policy = compiled(config);
    const auto tool = entry("t");
    Context who;
    who.run_id = "run";
    const std::vector<Limiter::Ask> asks(7, {tool.get(), &who});
    Limiter limiter;
    std::atomic<int> reserved{0};
    std::atomic<bool> too_many{false};
    in_parallel([&](int) {
        for (int i = 0; i < kRounds; ++i) {
            auto tickets = limiter.reserve(*policy, asks, {});
            if (!tickets) continue;
            if (++reserved > 2) too_many = true;
            --reserved;
        }
    });
    EXPECT_FALSE(too_many);
    EXPECT_TRUE(limiter.reserve(*policy, asks, {}));
}

TEST(PolicyThreads, CallsAreDecidedWhileThePolicyIsReplaced) {
    Policy policy;
    const Call call(entry("t"));
    std::atomic<int> wrong{0};
    in_parallel([&](int t) {
        for (int i = 0; i < 50; ++i) {
            if (t == 0) {
                PolicyConfig config;
                config.rules.emplace_back("r", i % 2 == 0 ? Rule::Do::deny : Rule::Do::allow);
                config.rules[0].arguments = Object{{"type", "object"}};
                wrong += !policy.set(config).has_value();
            } else {
                const auto current = policy.state().current();
                const Gate gate = decide(*current, call.question(), Risk::low).gate;
                const bool denies =
                    !current->deciding().empty() && current->deciding()[0].decision == Rule::Do::deny;
                wrong += (gate == Gate::deny) != denies;
            }
        }
    });
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(policy.revision(), 51u);
}

TEST(PolicyThreads, AGrantIsUsedAsOftenAsItSays) {
    Grants grants;
    Grant grant;
    grant.tool = "t";
    grant.uses = 100;
    grant.expires_at = kNoon + std::chrono::hours(1);
    const std::string id = grants.add(grant, kNoon).value();
    const Call call(entry("t"));
    std::atomic<int> used{0};
    in_parallel([&](int) {
        for (int i = 0; i < kRounds; ++i) {
            const auto found = grants.covers(call.question());
            used += found && grants.use(*found, kNoon);
        }
    });
    EXPECT_EQ(used.load(), 100);
    EXPECT_FALSE(grants.use(id, kNoon));
}

TEST(PolicyThreads, OneOfManyIsAdmittedToATarget) {
    Contract contract;
    contract.target = "/lamp";
    const Call call(entry("switch", contract), Object{{"lamp", "kitchen"}});
    const auto policy = compiled();
    Suppression suppression;
    std::atomic<int> admitted{0};
    in_parallel(
        [&](int) { admitted += !suppression.admit(*policy, call.question(), base::MonotonicTime{}); });
    EXPECT_EQ(admitted.load(), 1);
}

TEST(PolicyThreads, LoopsAreCountedByManyThreads) {
    LoopDetector loops;
    in_parallel([&](int) {
        for (int i = 0; i < kRounds; ++i) {
            loops.ended("run", 1, 100);
            static_cast<void>(loops.looping("run", 1, 5));
        }
    });
    EXPECT_TRUE(loops.looping("run", 1, kThreads * kRounds));
    EXPECT_FALSE(loops.looping("run", 1, kThreads * kRounds + 1));
}

}  // namespace
}  // namespace callgate::policy
