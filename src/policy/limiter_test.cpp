#include <deque>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "policy/memory.h"
#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Ticket = Limiter::Ticket;

UseLimits limits(std::uint32_t concurrent, std::uint32_t calls = 0, std::chrono::milliseconds window = 60s,
                 std::uint64_t per_run = 0) {
    UseLimits made;
    made.concurrent = concurrent;
    made.calls = calls;
    made.window = window;
    made.per_run = per_run;
    return made;
}

std::shared_ptr<const ToolEntry> limited_tool(std::string name, UseLimits use) {
    Contract contract;
    contract.limits = use;
    return entry(std::move(name), contract);
}

Context caller(std::string principal, std::string run = "", std::string tenant = "") {
    Context made;
    made.principal = std::move(principal);
    made.run_id = std::move(run);
    made.tenant = std::move(tenant);
    return made;
}

class LimiterTest : public testing::Test {
protected:
    void set(const PolicyLimits& all) {
        PolicyConfig config;
        config.limits = all;
        policy_ = compiled(config);
    }

    /// "", or the reason it was refused. What is taken is kept.
    std::string take(const ToolEntry& tool, const Context& who) {
        auto ticket = limiter_.take(*policy_, {&tool, &who}, clock_.monotonic_now());
        if (ticket) {
            kept_.push_back(std::move(*ticket));
            return "";
        }
        error_ = ticket.error();
        return reason_of(error_);
    }

    std::string reserve(const ToolEntry& tool, const Context& who, std::size_t count) {
        const std::vector<Limiter::Ask> asks(count, {&tool, &who});
        auto tickets = limiter_.reserve(*policy_, asks, clock_.monotonic_now());
        if (tickets) {
            for (Ticket& ticket : *tickets) kept_.push_back(std::move(ticket));
            return "";
        }
        error_ = tickets.error();
        return reason_of(error_);
    }

    base::ManualClock clock_;
    std::shared_ptr<const Compiled> policy_ = compiled();
    Limiter limiter_;
    std::vector<Ticket> kept_;
    Error error_;
    std::shared_ptr<const ToolEntry> plain_ = entry("plain");
    Context ann_ = caller("ann", "run-1");
};

TEST_F(LimiterTest, KnowsQuicklyThatNothingLimitsACall) {
    EXPECT_TRUE(limiter_.unlimited(*policy_, {plain_.get(), &ann_}));
    const auto tool = limited_tool("t", limits(1));
    EXPECT_FALSE(limiter_.unlimited(*policy_, {tool.get(), &ann_}));
    PolicyLimits all;
    all.per_run = limits(1);
    set(all);
    EXPECT_FALSE(limiter_.unlimited(*policy_, {plain_.get(), &ann_}));
    const Context no_run = caller("ann");
    EXPECT_TRUE(limiter_.unlimited(*policy_, {plain_.get(), &no_run}));
    all = {};
    all.per_principal = limits(1);
    set(all);
    EXPECT_FALSE(limiter_.unlimited(*policy_, {plain_.get(), &no_run}));
}

TEST_F(LimiterTest, LimitsHowManyRunAtOnce) {
    const auto tool = limited_tool("t", limits(2));
    EXPECT_EQ(take(*tool, ann_), "");
    EXPECT_EQ(take(*tool, ann_), "");
    EXPECT_EQ(take(*tool, ann_), "concurrent");
    EXPECT_EQ(error_.code, ErrorCode::rate_limited);
    EXPECT_EQ(error_.details.at("limit").to_number<int>(), 2);
    EXPECT_EQ(error_.details.at("subject").as_string(), "Tool 't'");
    EXPECT_GT(error_.details.at("retry_after_ms").to_number<int>(), 0);
    EXPECT_TRUE(error_.retryable);
    kept_.pop_back();
    EXPECT_EQ(take(*tool, ann_), "");
    EXPECT_EQ(take(*tool, ann_), "concurrent");
}

UseLimits queued(std::uint32_t concurrent) {
    UseLimits made = limits(concurrent);
    made.queue = true;
    return made;
}

struct Queue {
    Limiter& limiter;
    const Compiled& policy;
    std::vector<int> order;  // in which they got their places

    Ticket ask(int name, const ToolEntry& tool, const Context& who,
               const std::vector<std::string>* held = nullptr) {
        auto ticket = limiter.take(policy, {&tool, &who, held}, {}, [this, name] { order.push_back(name); });
        EXPECT_TRUE(ticket) << name;
        return std::move(*ticket);
    }
};

TEST_F(LimiterTest, PlacesThatAreWaitedForComeInTheOrderOfAsking) {
    const auto tool = limited_tool("t", queued(2));
    Queue queue{limiter_, *policy_, {}};
    std::vector<Ticket> held;
    for (int i = 0; i < 6; ++i) held.push_back(queue.ask(i, *tool, ann_));
    for (int i = 0; i < 6; ++i) EXPECT_EQ(held[static_cast<std::size_t>(i)].waits(), i >= 2) << i;
    held[1] = {};
    EXPECT_EQ(queue.order, std::vector{2});
    held[3] = {};  // gives up; nobody is moved by that
    EXPECT_EQ(queue.order, std::vector{2});
    held.push_back(queue.ask(6, *tool, ann_));
    EXPECT_TRUE(held[6].waits()) << "nobody gets in between";
    held[0] = {};
    held[2] = {};
    EXPECT_EQ(queue.order, (std::vector{2, 4, 5}));
    EXPECT_FALSE(held[5].waits());
    EXPECT_TRUE(held[6].waits());
    held[5] = {};
    EXPECT_EQ(queue.order, (std::vector{2, 4, 5, 6}));
}

TEST_F(LimiterTest, APlaceThatCameTooLateGoesToTheNext) {
    const auto tool = limited_tool("t", queued(1));
    Queue queue{limiter_, *policy_, {}};
    Ticket first = queue.ask(0, *tool, ann_);
    Ticket second = queue.ask(1, *tool, ann_);
    Ticket third = queue.ask(2, *tool, ann_);
    first = {};
    second = {};  // it has its place, and its call has ended meanwhile
    EXPECT_EQ(queue.order, (std::vector{1, 2}));
    EXPECT_FALSE(third.waits());
    third = {};
    EXPECT_FALSE(queue.ask(3, *tool, ann_).waits());
}

TEST_F(LimiterTest, WhoWaitsForTwoPlacesGetsBothOrNone) {
    PolicyLimits all;
    all.per_principal = queued(1);
    set(all);
    const auto tool = limited_tool("t", queued(1));
    const Context bob = caller("bob");
    Queue queue{limiter_, *policy_, {}};
    Ticket bobs = queue.ask(0, *plain_, bob);
    Ticket anns = queue.ask(1, *tool, ann_);
    Ticket both = queue.ask(2, *tool, bob);
    anns = {};
    EXPECT_TRUE(both.waits());
    Ticket between = queue.ask(3, *tool, ann_);
    EXPECT_FALSE(between.waits()) << "a place that nobody can use yet is not kept free";
    bobs = {};
    EXPECT_TRUE(both.waits());
    between = {};
    EXPECT_FALSE(both.waits());
    EXPECT_EQ(queue.order, std::vector{2});
}

TEST_F(LimiterTest, OnlyTheLimitThatQueuesIsWaitedFor) {
    PolicyLimits all;
    all.per_tool = limits(2);
    set(all);
    const auto tool = limited_tool("t", queued(1));
    Queue queue{limiter_, *policy_, {}};
    Ticket first = queue.ask(0, *tool, ann_);
    EXPECT_TRUE(queue.ask(1, *tool, ann_).waits());
    const auto strict = limited_tool("s", queued(5));
    EXPECT_EQ(take(*strict, ann_), "");
    EXPECT_EQ(take(*strict, ann_), "");
    EXPECT_EQ(take(*strict, ann_), "concurrent");
}

TEST_F(LimiterTest, ACallFromInsideRunsInThePlaceOfTheOneThatWaitsForIt) {
    const auto tool = limited_tool("t", queued(1));
    Queue queue{limiter_, *policy_, {}};
    Ticket outer = queue.ask(0, *tool, ann_);
    const auto held = outer.places();
    EXPECT_EQ(held.size(), 1u);
    Ticket inner = queue.ask(1, *tool, ann_, &held);
    EXPECT_FALSE(inner.waits());
    Ticket other = queue.ask(2, *tool, ann_);
    inner = {};
    EXPECT_TRUE(other.waits());
    outer = {};
    EXPECT_FALSE(other.waits());
}

TEST_F(LimiterTest, AReservedCallWaitsForItsPlaceToo) {
    const auto tool = limited_tool("t", queued(1));
    Queue queue{limiter_, *policy_, {}};
    const Limiter::Ask ask{tool.get(), &ann_};
    auto reserved = limiter_.reserve(*policy_, std::vector<Limiter::Ask>{ask, ask}, {});
    ASSERT_TRUE(reserved);
    int woken = 0;
    ASSERT_TRUE(limiter_.enter(*policy_, ask, (*reserved)[0], [&] { ++woken; }));
    ASSERT_TRUE(limiter_.enter(*policy_, ask, (*reserved)[1], [&] { ++woken; }));
    EXPECT_FALSE((*reserved)[0].waits());
    EXPECT_TRUE((*reserved)[1].waits());
    (*reserved)[0] = {};
    EXPECT_FALSE((*reserved)[1].waits());
    EXPECT_EQ(woken, 1);
}

TEST_F(LimiterTest, TheStricterOfContractAndPolicyHolds) {
    PolicyLimits all;
    all.per_tool = limits(1);
    set(all);
    const auto tool = limited_tool("t", limits(5));
    EXPECT_EQ(take(*tool, ann_), "");
    EXPECT_EQ(take(*tool, ann_), "concurrent");
    EXPECT_EQ(take(*plain_, ann_), "");
    EXPECT_EQ(take(*plain_, ann_), "concurrent");
}

TEST_F(LimiterTest, LimitsTheRate) {
    const auto tool = limited_tool("t", limits(0, 3, 60s));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(take(*tool, ann_), "");
    kept_.clear();
    EXPECT_EQ(take(*tool, ann_), "calls");
    EXPECT_EQ(error_.details.at("retry_after_ms").to_number<int>(), 20'000);
    clock_.advance(20s - 1ns);
    EXPECT_EQ(take(*tool, ann_), "calls");
    clock_.advance(1ns);
    EXPECT_EQ(take(*tool, ann_), "");
    EXPECT_EQ(take(*tool, ann_), "calls");
    clock_.advance(24h);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(take(*tool, ann_), "");
    EXPECT_EQ(take(*tool, ann_), "calls");
}

TEST_F(LimiterTest, CountsAPrincipalOverAllTools) {
    PolicyLimits all;
    all.per_principal = limits(0, 2);
    set(all);
    EXPECT_EQ(take(*plain_, ann_), "");
    EXPECT_EQ(take(*entry("other"), ann_), "");
    EXPECT_EQ(take(*plain_, ann_), "calls");
    EXPECT_EQ(error_.details.at("subject").as_string(), "Principal 'ann'");
    EXPECT_EQ(take(*plain_, caller("bob")), "");
    EXPECT_EQ(take(*plain_, caller("ann", "", "acme")), "");
}

TEST_F(LimiterTest, CountsARunOverAllToolsAndPrincipals) {
    PolicyLimits all;
    all.per_run = limits(2, 0, 60s, 3);
    set(all);
    EXPECT_EQ(take(*plain_, ann_), "");
    EXPECT_EQ(take(*plain_, caller("bob", "run-1")), "");
    EXPECT_EQ(take(*plain_, ann_), "concurrent");
    kept_.clear();
    EXPECT_EQ(take(*entry("other"), ann_), "");
    kept_.clear();
    EXPECT_EQ(take(*plain_, ann_), "per_run");
    EXPECT_EQ(error_.code, ErrorCode::budget_exceeded);
    EXPECT_EQ(error_.details.at("subject").as_string(), "Run 'run-1'");
    EXPECT_FALSE(error_.details.contains("retry_after_ms"));
    EXPECT_EQ(take(*plain_, caller("ann", "run-2")), "");
    EXPECT_EQ(take(*plain_, caller("ann", "run-1", "acme")), "");
    EXPECT_EQ(take(*plain_, caller("ann")), "");
}

TEST_F(LimiterTest, CountsAToolWithinARun) {
    const auto tool = limited_tool("t", limits(0, 0, 60s, 2));
    EXPECT_EQ(take(*tool, ann_), "");
    EXPECT_EQ(take(*tool, ann_), "");
    EXPECT_EQ(take(*tool, ann_), "per_run");
    EXPECT_EQ(error_.details.at("subject").as_string(), "Tool 't' in run 'run-1'");
    EXPECT_EQ(take(*tool, caller("ann", "run-2")), "");
    for (int i = 0; i < 5; ++i) EXPECT_EQ(take(*tool, caller("ann")), "");  // no run, no budget
}

TEST_F(LimiterTest, CountsAPrincipalWithinARun) {
    PolicyLimits all;
    all.per_principal = limits(0, 0, 60s, 1);
    set(all);
    EXPECT_EQ(take(*plain_, ann_), "");
    EXPECT_EQ(take(*plain_, ann_), "per_run");
    EXPECT_EQ(take(*plain_, caller("bob", "run-1")), "");
    EXPECT_EQ(take(*plain_, caller("ann", "run-2")), "");
}

TEST_F(LimiterTest, ARefusalTakesNothing) {
    PolicyLimits all;
    all.per_tool = limits(0, 2);
    all.per_run = limits(0, 0, 60s, 1);
    set(all);
    EXPECT_EQ(take(*plain_, ann_), "");
    for (int i = 0; i < 5; ++i) EXPECT_EQ(take(*plain_, ann_), "per_run");
    EXPECT_EQ(take(*plain_, caller("ann", "run-2")), "");
    for (int i = 0; i < 5; ++i) EXPECT_EQ(take(*plain_, caller("ann", "run-3")), "calls");
    clock_.advance(60s);
    EXPECT_EQ(take(*plain_, caller("ann", "run-3")), "");
}

TEST_F(LimiterTest, ABatchIsReservedAsAWholeOrNotAtAll) {
    PolicyLimits all;
    all.per_run = limits(0, 0, 60s, 10);
    set(all);
    EXPECT_EQ(reserve(*plain_, ann_, 8), "");
    EXPECT_EQ(reserve(*plain_, ann_, 3), "per_run");
    EXPECT_EQ(reserve(*plain_, ann_, 2), "");
    EXPECT_EQ(reserve(*plain_, ann_, 1), "per_run");
}

TEST_F(LimiterTest, ABatchCountsAgainstTheRateAtOnce) {
    const auto tool = limited_tool("t", limits(0, 10, 10s));
    EXPECT_EQ(reserve(*tool, ann_, 6), "");
    EXPECT_EQ(reserve(*tool, ann_, 5), "calls");
    EXPECT_TRUE(error_.retryable);
    EXPECT_EQ(error_.details.at("retry_after_ms").to_number<int>(), 1'000);
    EXPECT_EQ(reserve(*tool, ann_, 4), "");
    clock_.advance(1h);
    EXPECT_EQ(reserve(*tool, ann_, 11), "calls");
    EXPECT_FALSE(error_.retryable);
    EXPECT_THAT(error_.message, HasSubstr("send a smaller one"));
    EXPECT_EQ(reserve(*tool, ann_, 10), "");
}

TEST_F(LimiterTest, ABatchLargerThanTheConcurrencyRunsInTurns) {
    const auto tool = limited_tool("t", limits(2));
    ASSERT_EQ(reserve(*tool, ann_, 5), "");
    const Limiter::Ask ask{tool.get(), &ann_};
    EXPECT_TRUE(limiter_.enter(*policy_, ask, kept_[0]));
    EXPECT_TRUE(limiter_.enter(*policy_, ask, kept_[1]));
    EXPECT_TRUE(limiter_.enter(*policy_, ask, kept_[1]));  // once is enough
    EXPECT_FALSE(limiter_.enter(*policy_, ask, kept_[2]));
    kept_[0] = Ticket();
    EXPECT_TRUE(limiter_.enter(*policy_, ask, kept_[2]));
    EXPECT_EQ(take(*tool, ann_), "concurrent");
    kept_.clear();
    EXPECT_EQ(take(*tool, ann_), "");
    EXPECT_EQ(take(*tool, ann_), "");
}

TEST_F(LimiterTest, WhatWasReservedForACallThatNeverRanComesBack) {
    PolicyLimits all;
    all.per_run = limits(0, 0, 60s, 5);
    set(all);
    ASSERT_EQ(reserve(*plain_, ann_, 5), "");
    ASSERT_TRUE(limiter_.enter(*policy_, {plain_.get(), &ann_}, kept_[0]));
    kept_.clear();
    EXPECT_EQ(reserve(*plain_, ann_, 5), "per_run");
    EXPECT_EQ(reserve(*plain_, ann_, 4), "");
}

TEST_F(LimiterTest, ATicketMayOutliveTheLimiter) {
    Ticket ticket;
    {
        Limiter limiter;
        const auto tool = limited_tool("t", limits(1));
        ticket = std::move(*limiter.take(*policy_, {tool.get(), &ann_}, clock_.monotonic_now()));
        EXPECT_TRUE(ticket.held());
    }
    ticket = Ticket();
    EXPECT_FALSE(ticket.held());
}

TEST_F(LimiterTest, AStricterPolicyHoldsAtOnceAndLeavesNoDebt) {
    PolicyLimits all;
    all.per_tool = limits(0, 1'000, 24h);
    set(all);
    for (int i = 0; i < 1'000; ++i) ASSERT_EQ(take(*plain_, ann_), "");
    all.per_tool = limits(0, 1, 1s);
    set(all);
    EXPECT_EQ(take(*plain_, ann_), "calls");
    clock_.advance(1s);
    EXPECT_EQ(take(*plain_, ann_), "");
}

TEST_F(LimiterTest, ForgetsIdleSubjectsOfAFloodButNoneInUse) {
    PolicyLimits all;
    all.per_run = limits(1, 0, 60s, 1);
    set(all);
    ASSERT_EQ(take(*plain_, ann_), "");
    for (int i = 0; i < 120'000; ++i) {
        const Context who = caller("eve", "flood-" + std::to_string(i));
        ASSERT_TRUE(limiter_.take(*policy_, {plain_.get(), &who}, clock_.monotonic_now()));
    }
    EXPECT_EQ(take(*plain_, ann_), "concurrent");
    EXPECT_EQ(take(*plain_, caller("eve", "flood-119999")), "per_run");
    EXPECT_EQ(take(*plain_, caller("eve", "flood-0")), "");  // forgotten
}

TEST_F(LimiterTest, ARunThatIsTakenUpAgainIsNotForgottenEither) {
    PolicyLimits all;
    all.per_run = limits(1);
    set(all);
    ASSERT_EQ(take(*plain_, ann_), "");
    kept_.clear();
    ASSERT_EQ(take(*plain_, ann_), "");
    for (int i = 0; i < 100'100; ++i) {
        const Context who = caller("eve", std::to_string(i));
        ASSERT_TRUE(limiter_.take(*policy_, {plain_.get(), &who}, clock_.monotonic_now()));
    }
    EXPECT_EQ(take(*plain_, ann_), "concurrent");
}

// A run of random takes and releases against a plain count of what is held.
RC_GTEST_PROP(LimiterProperty, NeverMoreThanAllowedAtOnceAndInAll, ()) {
    const auto concurrent = *rc::gen::inRange<std::uint32_t>(1, 4);
    const auto budget = *rc::gen::inRange<std::uint64_t>(1, 20);
    PolicyConfig config;
    config.limits.per_tool.concurrent = concurrent;
    config.limits.per_run.per_run = budget;
    const auto policy = compiled(config);
    const std::shared_ptr<const ToolEntry> tools[] = {entry("a"), entry("b")};
    const Context runs[] = {caller("ann", "r1"), caller("ann", "r2")};
    Limiter limiter;
    std::vector<std::pair<std::size_t, Ticket>> held;
    std::map<std::size_t, std::uint32_t> running;
    std::map<std::size_t, std::uint64_t> used;
    for (int step = 0; step < 60; ++step) {
        const auto tool = *rc::gen::inRange<std::size_t>(0, 2);
        const auto run = *rc::gen::inRange<std::size_t>(0, 2);
        if (*rc::gen::inRange(0, 3) == 0 && !held.empty()) {
            const auto which = *rc::gen::inRange<std::size_t>(0, held.size());
            --running[held[which].first];
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
            continue;
        }
        auto ticket = limiter.take(*policy, {tools[tool].get(), &runs[run]}, {});
        RC_ASSERT(ticket.has_value() == (running[tool] < concurrent && used[run] < budget));
        if (!ticket) continue;
        held.emplace_back(tool, std::move(*ticket));
        ++running[tool];
        ++used[run];
    }
}

RC_GTEST_PROP(LimiterProperty, AReservationIsAllOrNothing, ()) {
    const auto budget = *rc::gen::inRange<std::uint64_t>(1, 30);
    const auto calls = *rc::gen::inRange<std::uint32_t>(1, 30);
    PolicyConfig config;
    config.limits.per_run.per_run = budget;
    const auto policy = compiled(config);
    const auto tool = limited_tool("t", limits(0, calls, 1h));
    const Context who = caller("ann", "run");
    Limiter limiter;
    std::vector<Ticket> kept;
    std::uint64_t taken = 0;
    for (int step = 0; step < 10; ++step) {
        const auto size = *rc::gen::inRange<std::size_t>(0, 12);
        const std::vector<Limiter::Ask> asks(size, {tool.get(), &who});
        auto tickets = limiter.reserve(*policy, asks, {});
        RC_ASSERT(tickets.has_value() == (taken + size <= std::min<std::uint64_t>(budget, calls)));
        if (!tickets) continue;
        RC_ASSERT(tickets->size() == size);
        for (Ticket& ticket : *tickets) kept.push_back(std::move(ticket));
        taken += size;
    }
}

RC_GTEST_PROP(LimiterProperty, TheRateIsNeverExceeded, ()) {
    const auto calls = *rc::gen::inRange<std::uint32_t>(1, 8);
    const auto window = std::chrono::milliseconds(*rc::gen::inRange(1, 5'000));
    const auto policy = compiled();
    const auto tool = limited_tool("t", limits(0, calls, window));
    const Context who = caller("ann");
    Limiter limiter;
    base::MonotonicTime now{};
    std::deque<base::MonotonicTime> granted;
    for (int step = 0; step < 100; ++step) {
        now += std::chrono::milliseconds(*rc::gen::inRange<std::int64_t>(0, window.count()));
        if (!limiter.take(*policy, {tool.get(), &who}, now)) continue;
        granted.push_back(now);
        // A full bucket and what flowed into it since the first of any stretch.
        for (std::size_t i = 0; i < granted.size(); ++i) {
            const double flowed = static_cast<double>((now - granted[i]).count()) * calls /
                                  static_cast<double>(std::chrono::nanoseconds(window).count());
            RC_ASSERT(static_cast<double>(granted.size() - i) <= calls + flowed + 1e-6);
        }
    }
}

}  // namespace
}  // namespace callgate::policy
