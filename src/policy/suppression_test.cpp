#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/memory.h"
#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class SuppressionTest : public testing::Test {
protected:
    std::string admit(const Call& call) {
        const auto would = suppression_.would_block(*policy_, call.question(), clock_.monotonic_now());
        const auto block = suppression_.admit(*policy_, call.question(), clock_.monotonic_now());
        EXPECT_EQ(would.has_value(), block.has_value());
        wait_ = block ? block->wait : 0ms;
        return block ? std::string(block->kind) : "admitted";
    }

    static Call lamp(Value target, EffectClass effect = EffectClass::unsafe) {
        Contract contract = contract_of(Risk::low, effect);
        contract.target = "/lamp";
        return Call(entry("switch", contract), Object{{"lamp", std::move(target)}});
    }

    static Call pager(std::string tenant = "") {
        Contract contract;
        contract.capabilities = {"other", "notification"};
        Call call(entry("page", contract));
        call.caller.tenant = std::move(tenant);
        return call;
    }

    base::ManualClock clock_;
    std::shared_ptr<const Compiled> policy_ = compiled();
    Suppression suppression_;
    std::chrono::milliseconds wait_{0};
};

TEST_F(SuppressionTest, TheSameOnTheSameTargetHasToWait) {
    EXPECT_EQ(admit(lamp("kitchen")), "admitted");
    clock_.advance(4s);
    EXPECT_EQ(admit(lamp("kitchen")), "antiflap");
    EXPECT_EQ(wait_, 6s);
    clock_.advance(6s - 1ns);
    EXPECT_EQ(admit(lamp("kitchen")), "antiflap");
    EXPECT_EQ(wait_, 1ms);
    clock_.advance(1ns);
    EXPECT_EQ(admit(lamp("kitchen")), "admitted");
    EXPECT_EQ(admit(lamp("kitchen")), "antiflap");
}

TEST_F(SuppressionTest, AnotherToolActionTargetOrTenantDoesNot) {
    EXPECT_EQ(admit(lamp("kitchen")), "admitted");
    EXPECT_EQ(admit(lamp("hall")), "admitted");
    EXPECT_EQ(admit(lamp(Array{"kitchen"})), "admitted");
    Call action = lamp("kitchen");
    action.action = "off";
    EXPECT_EQ(admit(action), "admitted");
    Call tenant = lamp("kitchen");
    tenant.caller.tenant = "acme";
    EXPECT_EQ(admit(tenant), "admitted");
    Call principal = lamp("kitchen");
    principal.caller.principal = "another agent";
    EXPECT_EQ(admit(principal), "antiflap");
    Contract contract;
    contract.target = "/lamp";
    EXPECT_EQ(admit(Call(entry("dim", contract), Object{{"lamp", "kitchen"}})), "admitted");
}

TEST_F(SuppressionTest, OtherArgumentsDoNotMakeItAnotherTarget) {
    Call on = lamp("kitchen");
    on.arguments.as_object()["state"] = "on";
    Call off = lamp("kitchen");
    off.arguments.as_object()["state"] = "off";
    EXPECT_EQ(admit(on), "admitted");
    EXPECT_EQ(admit(off), "antiflap");
}

TEST_F(SuppressionTest, ACallWithoutItsTargetActsOnTheUsualOne) {
    Call call = lamp("kitchen");
    call.arguments = Object{};
    EXPECT_EQ(admit(call), "admitted");
    EXPECT_EQ(admit(call), "antiflap");
    EXPECT_EQ(admit(lamp(nullptr)), "admitted");
}

TEST_F(SuppressionTest, ReadsAndToolsWithoutATargetNeverFlap) {
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(admit(lamp("kitchen", EffectClass::read)), "admitted");
        EXPECT_EQ(admit(Call(entry("switch"), Object{{"lamp", "kitchen"}})), "admitted");
    }
}

TEST_F(SuppressionTest, CanBeSwitchedOff) {
    PolicyConfig config;
    config.antiflap = 0ms;
    config.notifications_per_hour = 0;
    policy_ = compiled(config);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(admit(lamp("kitchen")), "admitted");
        EXPECT_EQ(admit(pager()), "admitted");
    }
}

TEST_F(SuppressionTest, NotificationsStopAtTheHoursLimit) {
    for (int i = 0; i < 60; ++i) {
        EXPECT_EQ(admit(pager()), "admitted");
        clock_.advance(1s);
    }
    EXPECT_EQ(admit(pager()), "storm");
    EXPECT_EQ(wait_, 1h - 60s);
    EXPECT_EQ(admit(Call(entry("lamp"))), "admitted");
    EXPECT_EQ(admit(pager("acme")), "admitted");
    clock_.advance(1h - 60s);
    EXPECT_EQ(admit(pager()), "admitted");
    EXPECT_EQ(admit(pager()), "storm");
    EXPECT_EQ(wait_, 1s);
}

TEST_F(SuppressionTest, WhatIsBlockedCountsForNothing) {
    Contract contract;
    contract.capabilities = {"notification"};
    contract.target = "/to";
    const auto tool = entry("page", contract);
    PolicyConfig config;
    config.notifications_per_hour = 2;
    policy_ = compiled(config);
    EXPECT_EQ(admit(Call(tool, Object{{"to", "ann"}})), "admitted");
    for (int i = 0; i < 5; ++i) EXPECT_EQ(admit(Call(tool, Object{{"to", "ann"}})), "antiflap");
    EXPECT_EQ(admit(Call(tool, Object{{"to", "bob"}})), "admitted");
    EXPECT_EQ(admit(Call(tool, Object{{"to", "eve"}})), "storm");
    clock_.advance(1h);
    EXPECT_EQ(admit(Call(tool, Object{{"to", "eve"}})), "admitted");
}

TEST_F(SuppressionTest, AFloodOfTargetsOrTenantsForgetsTheOldestFirst) {
    const auto tool = lamp("x").tool;
    for (int i = 0; i < 30'000; ++i) {
        ASSERT_EQ(admit(Call(tool, Object{{"lamp", i}})), "admitted");
    }
    EXPECT_EQ(admit(Call(tool, Object{{"lamp", 29'999}})), "antiflap");
    EXPECT_EQ(admit(Call(tool, Object{{"lamp", 15'000}})), "antiflap");
    EXPECT_EQ(admit(Call(tool, Object{{"lamp", 0}})), "admitted");
    PolicyConfig config;
    config.notifications_per_hour = 1;
    policy_ = compiled(config);
    Call call = pager();
    for (int i = 0; i < 2'000; ++i) {
        call.caller.tenant = std::to_string(i);
        ASSERT_EQ(admit(call), "admitted");
    }
    EXPECT_EQ(admit(call), "storm");
}

TEST_F(SuppressionTest, SaysWhatToDo) {
    EXPECT_EQ(admit(lamp("kitchen")), "admitted");
    const auto block = suppression_.admit(*policy_, lamp("kitchen").question(), clock_.monotonic_now());
    ASSERT_TRUE(block);
    EXPECT_EQ(
        block->message,
        "'switch' did the same to this target a moment ago; if it is really meant, call again in 10000 ms.");
}

}  // namespace
}  // namespace callgate::policy
