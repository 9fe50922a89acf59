#include "tool/live_state.h"

#include <functional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate {
namespace {

using namespace std::chrono_literals;

BreakerPolicy breaker(std::uint32_t failures, std::chrono::milliseconds rest = 30s) {
    BreakerPolicy policy;
    policy.failures = failures;
    policy.rest = rest;
    return policy;
}

RetryPolicy budget(double share) {
    RetryPolicy policy(3);
    policy.budget = share;
    return policy;
}

class LiveStateTest : public testing::Test {
protected:
    base::MonotonicTime now() const { return clock.monotonic_now(); }
    void break_it(LiveState& live, int times) {
        for (int i = 0; i < times; ++i) live.failed("connection refused", true, now());
    }

    base::ManualClock clock;
};

TEST_F(LiveStateTest, ANewToolIsHealthyAndHasNoHistory) {
    const LiveState live(3, {}, {});
    const ToolHealth health = live.health();
    EXPECT_EQ(health.status, HealthStatus::healthy);
    EXPECT_EQ(health.last_success_at, std::nullopt);
    EXPECT_EQ(health.last_error, std::nullopt);
    EXPECT_EQ(health.consecutive_errors, 0u);
    EXPECT_EQ(health.rate_limit_resets_at, std::nullopt);
}

TEST_F(LiveStateTest, ASuccessIsRememberedWithItsTime) {
    LiveState live(3, {}, {});
    EXPECT_FALSE(live.succeeded(clock.wall_now()));
    EXPECT_EQ(live.health().last_success_at, clock.wall_now());
}

TEST_F(LiveStateTest, ThreeErrorsInARowDegradeAndOneSuccessHeals) {
    LiveState live(3, {}, {});
    EXPECT_FALSE(live.failed("one", false, now()));
    EXPECT_FALSE(live.failed("two", true, now()));
    EXPECT_EQ(live.status(), HealthStatus::healthy);
    EXPECT_TRUE(live.failed("three", false, now()));
    EXPECT_FALSE(live.failed("four", false, now()));
    EXPECT_EQ(live.status(), HealthStatus::degraded);
    EXPECT_EQ(live.health().consecutive_errors, 4u);
    EXPECT_EQ(live.health().last_error, "four");
    EXPECT_TRUE(live.succeeded(clock.wall_now()));
    EXPECT_EQ(live.status(), HealthStatus::healthy);
    EXPECT_EQ(live.health().consecutive_errors, 0u);
}

TEST_F(LiveStateTest, ASuccessInBetweenBeginsTheCountAnew) {
    LiveState live(3, {}, {});
    for (int round = 0; round < 5; ++round) {
        live.failed("one", false, now());
        live.failed("two", false, now());
        live.succeeded(clock.wall_now());
    }
    EXPECT_EQ(live.status(), HealthStatus::healthy);
}

TEST_F(LiveStateTest, WhatTheHostCallsUnavailableOnlyTheHostTakesBack) {
    LiveState live(3, {}, {});
    ToolHealth down;
    down.status = HealthStatus::unavailable;
    down.last_error = "maintenance";
    live.set_health(down);
    EXPECT_FALSE(live.succeeded(clock.wall_now()));
    EXPECT_EQ(live.status(), HealthStatus::unavailable);
    EXPECT_EQ(live.health().last_error, "maintenance");
    live.set_health({});
    EXPECT_EQ(live.status(), HealthStatus::healthy);
}

TEST_F(LiveStateTest, HealthThatTheHostSetIsReadBackWhole) {
    LiveState live(3, {}, {});
    ToolHealth health;
    health.status = HealthStatus::degraded;
    health.last_success_at = base::ManualClock::kStart;
    health.last_error = "slow";
    health.consecutive_errors = 7;
    health.rate_limit_resets_at = base::ManualClock::kStart + 60s;
    live.set_health(health);
    const ToolHealth read = live.health();
    EXPECT_EQ(read.status, HealthStatus::degraded);
    EXPECT_EQ(read.last_success_at, health.last_success_at);
    EXPECT_EQ(read.last_error, "slow");
    EXPECT_EQ(read.consecutive_errors, 7u);
    EXPECT_EQ(read.rate_limit_resets_at, health.rate_limit_resets_at);
}

TEST_F(LiveStateTest, ALongErrorIsCutBetweenCharacters) {
    LiveState live(3, {}, {});
    std::string text(LiveState::kMaxErrorBytes - 1, 'x');
    text += "é and more";
    live.failed(text, false, now());
    EXPECT_EQ(live.health().last_error, std::string(LiveState::kMaxErrorBytes - 1, 'x'));
}

TEST_F(LiveStateTest, ARateLimitIsRememberedUntilItsReset) {
    LiveState live(3, {}, {});
    EXPECT_EQ(live.rate_limit_resets_at(), std::nullopt);
    live.rate_limited_until(clock.wall_now() + 90s);
    EXPECT_EQ(live.rate_limit_resets_at(), clock.wall_now() + 90s);
    EXPECT_EQ(live.health().rate_limit_resets_at, clock.wall_now() + 90s);
}

TEST_F(LiveStateTest, TheBreakerOpensAfterSoManyBrokenCallsInARow) {
    LiveState live(3, breaker(4), {});
    break_it(live, 3);
    EXPECT_TRUE(live.pass(now()).open);
    break_it(live, 1);
    const auto passage = live.pass(now());
    EXPECT_FALSE(passage.open);
    EXPECT_EQ(passage.wait, 30s);
    clock.advance(10s);
    EXPECT_EQ(live.pass(now()).wait, 20s);
}

TEST_F(LiveStateTest, ErrorsThatTheToolToldDoNotOpenTheBreaker) {
    LiveState live(3, breaker(2), {});
    for (int i = 0; i < 50; ++i) {
        live.failed("no such file", false, now());
        live.failed("timeout", true, now());
    }
    EXPECT_TRUE(live.pass(now()).open);
}

TEST_F(LiveStateTest, AfterTheRestOneCallProbesAndTheOthersWait) {
    LiveState live(3, breaker(2), {});
    break_it(live, 2);
    clock.advance(30s);
    const auto probe = live.pass(now());
    EXPECT_TRUE(probe.open);
    EXPECT_TRUE(probe.probe);
    EXPECT_FALSE(live.pass(now()).open);
    live.succeeded(clock.wall_now());
    const auto after = live.pass(now());
    EXPECT_TRUE(after.open);
    EXPECT_FALSE(after.probe);
    EXPECT_TRUE(live.pass(now()).open);
}

TEST_F(LiveStateTest, AFailedProbeBeginsAnotherRest) {
    LiveState live(3, breaker(2), {});
    break_it(live, 2);
    clock.advance(30s);
    ASSERT_TRUE(live.pass(now()).open);
    break_it(live, 1);
    EXPECT_EQ(live.pass(now()).wait, 30s);
    clock.advance(30s);
    EXPECT_TRUE(live.pass(now()).probe);
}

TEST_F(LiveStateTest, AProbeThatGotAnAnswerShutsTheBreakerEvenIfTheAnswerWasAnError) {
    LiveState live(3, breaker(2), {});
    break_it(live, 2);
    clock.advance(30s);
    ASSERT_TRUE(live.pass(now()).probe);
    live.failed("no such file", false, now());
    EXPECT_TRUE(live.pass(now()).open);
    EXPECT_FALSE(live.pass(now()).probe);
}

TEST_F(LiveStateTest, AProbeThatIsGivenBackIsTakenByTheNextCall) {
    LiveState live(3, breaker(2), {});
    break_it(live, 2);
    clock.advance(30s);
    ASSERT_TRUE(live.pass(now()).probe);
    live.give_probe_back();
    EXPECT_TRUE(live.pass(now()).probe);
}

TEST_F(LiveStateTest, AProbeThatNeverReportsHoldsTheOthersUpForOneRestOnly) {
    LiveState live(3, breaker(2), {});
    break_it(live, 2);
    clock.advance(30s);
    ASSERT_TRUE(live.pass(now()).probe);
    clock.advance(29'999ms);
    EXPECT_FALSE(live.pass(now()).open);
    clock.advance(1ms);
    EXPECT_TRUE(live.pass(now()).probe);
}

TEST_F(LiveStateTest, CallsThatBeganBeforeItOpenedDoNotLengthenTheRest) {
    LiveState live(3, breaker(2), {});
    break_it(live, 2);
    clock.advance(20s);
    break_it(live, 5);
    EXPECT_EQ(live.pass(now()).wait, 10s);
}

TEST_F(LiveStateTest, TheHostCanShutTheBreaker) {
    LiveState live(3, breaker(2), {});
    break_it(live, 2);
    ASSERT_FALSE(live.pass(now()).open);
    live.set_health({});
    EXPECT_TRUE(live.pass(now()).open);
    break_it(live, 1);
    EXPECT_TRUE(live.pass(now()).open);
}

TEST_F(LiveStateTest, ABreakerThatIsSwitchedOffNeverOpens) {
    LiveState live(3, breaker(0), {});
    break_it(live, 1'000);
    EXPECT_TRUE(live.pass(now()).open);
}

TEST_F(LiveStateTest, TenRetriesAreFreeAndThenOneForTenCalls) {
    LiveState live(3, {}, budget(0.1));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(live.take_retry());
    EXPECT_FALSE(live.take_retry());
    for (int i = 0; i < 9; ++i) live.count_first_attempt();
    EXPECT_FALSE(live.take_retry());
    live.count_first_attempt();
    EXPECT_TRUE(live.take_retry());
    EXPECT_FALSE(live.take_retry());
}

TEST_F(LiveStateTest, ALongGoodTimeDoesNotSaveUpAStormOfRetries) {
    LiveState live(3, {}, budget(0.5));
    for (int i = 0; i < 100'000; ++i) live.count_first_attempt();
    int retries = 0;
    while (live.take_retry()) ++retries;
    EXPECT_EQ(retries, LiveState::kMaxSavedRetries);
}

TEST_F(LiveStateTest, QuarantineAndSilenceEndWithRelease) {
    LiveState live(3, {}, {});
    EXPECT_FALSE(live.release());
    live.quarantine("its definition changed");
    EXPECT_TRUE(live.quarantined());
    EXPECT_EQ(live.quarantine_reason(), "its definition changed");
    live.silenced.store(true);
    EXPECT_TRUE(live.release());
    EXPECT_FALSE(live.quarantined());
    EXPECT_EQ(live.quarantine_reason(), "");
    EXPECT_FALSE(live.silenced.load());
}

RC_GTEST_PROP(LiveState, AnOpenBreakerAlwaysLetsACallThroughAfterOneMoreRest, ()) {
    const auto rest = std::chrono::milliseconds(*rc::gen::inRange(1, 1'000));
    LiveState live(3, breaker(*rc::gen::inRange<std::uint32_t>(1, 5), rest), {});
    base::ManualClock clock;
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
    for (const int step : steps) {
        switch (step) {
            case 0: live.failed("broken", true, clock.monotonic_now()); break;
            case 1: live.failed("told", false, clock.monotonic_now()); break;
            case 2: live.succeeded(clock.wall_now()); break;
            case 3: live.pass(clock.monotonic_now()); break;
            case 4: live.give_probe_back(); break;
            default: clock.advance(rest / 2); break;
        }
        const auto passage = live.pass(clock.monotonic_now());
        RC_ASSERT(passage.open || (passage.wait > 0ms && passage.wait <= rest));
        if (passage.probe) live.give_probe_back();
    }
    clock.advance(rest);
    RC_ASSERT(live.pass(clock.monotonic_now()).open);
}

RC_GTEST_PROP(LiveState, RetriesNeverExceedTheFreeOnesAndTheShare, ()) {
    const int percent = *rc::gen::inRange(0, 101);
    LiveState live(3, {}, budget(percent / 100.0));
    const auto steps = *rc::gen::container<std::vector<bool>>(rc::gen::arbitrary<bool>());
    double attempts = 0;
    double retries = 0;
    for (const bool is_retry : steps) {
        if (is_retry) {
            retries += live.take_retry() ? 1 : 0;
        } else {
            live.count_first_attempt();
            ++attempts;
        }
        RC_ASSERT(retries <= 10 + attempts * percent / 100.0 + 1e-9);
    }
}

TEST_F(LiveStateTest, IsAsNewUntilACallWouldNoticeWhatHappened) {
    const std::vector<std::pair<const char*, std::function<void(LiveState&)>>> traces{
        {"an error", [&](LiveState& live) { live.failed("no", false, now()); }},
        {"an open breaker", [&](LiveState& live) { break_it(live, 2); }},
        {"a retry taken", [](LiveState& live) { live.take_retry(); }},
        {"quarantine", [](LiveState& live) { live.quarantine(""); }},
        {"silence", [](LiveState& live) { live.silenced.store(true); }},
        {"a rate limit", [&](LiveState& live) { live.rate_limited_until(clock.wall_now()); }},
        {"a thread left behind", [](LiveState& live) { live.abandoned.fetch_add(1); }},
        {"said to be down",
         [](LiveState& live) {
             ToolHealth health;
             health.status = HealthStatus::unavailable;
             live.set_health(std::move(health));
         }},
    };
    for (const auto& [what, leave] : traces) {
        LiveState live(3, breaker(2), {});
        live.succeeded(clock.wall_now());
        EXPECT_TRUE(live.is_as_new());
        leave(live);
        EXPECT_FALSE(live.is_as_new()) << what;
    }
}

TEST_F(LiveStateTest, FollowsAnotherContractWithoutForgetting) {
    LiveState live(0, breaker(3), budget(0));
    break_it(live, 2);
    live.follow(breaker(2, 10s), budget(1));
    EXPECT_TRUE(live.breaker_shut());
    break_it(live, 1);
    EXPECT_EQ(live.pass(now()).wait, 10s);
    live.follow(breaker(5), budget(0));
    EXPECT_EQ(live.pass(now()).wait, 10s) << "another contract does not shut it";
    EXPECT_EQ(live.health().consecutive_errors, 3u);
    live.follow(breaker(0), budget(0));
    EXPECT_TRUE(live.pass(now()).open) << "it is switched off";
}

}  // namespace
}  // namespace callgate
