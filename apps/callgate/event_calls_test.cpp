#include "event_calls.h"

#include <string>

#include <gtest/gtest.h>

namespace callgate::cli {
namespace {

Value event(const char* type, const char* stage, int attempt = 0, const char* code = "",
            const char* detail = "") {
    return {{"type", type},
            {"stage", stage},
            {"attempt", attempt},
            {"error_code", code},
            {"detail", detail},
            {"call_id", "01975f2e-0000-7000-8000-000000000001"},
            {"timestamp", "2026-01-01T00:00:00.000000Z"}};
}

std::string state_of(Array events) {
    return text_at(Value(call_from_events(events)), "state");
}

TEST(EventCalls, ACallThatNeverRanIsRefusedWhateverRefusedIt) {
    for (const Value& end : {event("gate.expired", "settle", 0, "gate.expired"),
                             event("gate.antiflap_block", "settle", 0, "gate.antiflap_block"),
                             event("gate.hard_blocked", "settle", 0, "gate.hard_blocked"),
                             event("tool.invalid_request", "settle", 0, "tool.invalid_request"),
                             event("tool_call.failed", "settle", 0, "tool.not_found"),
                             event("tool_call.unknown", "settle", 0, "call.outcome_unknown")})
        EXPECT_EQ(state_of({end}), "refused") << json::write(end);
    EXPECT_EQ(state_of({event("gate.required", "gate"), event("gate.denied", "approval")}), "refused");
}

TEST(EventCalls, ACallThatRanIsWhatItsOutcomeSaid) {
    EXPECT_EQ(state_of({event("tool_call.succeeded", "settle", 1)}), "succeeded");
    EXPECT_EQ(state_of({event("tool_call.failed", "settle", 1, "tool.exception")}), "failed");
    EXPECT_EQ(state_of({event("tool_call.failed", "settle", 1, "tool.timeout")}), "timed_out");
    EXPECT_EQ(state_of({event("tool_call.failed", "settle", 1, "tool.cancelled")}), "cancelled");
    EXPECT_EQ(state_of({event("tool_call.unknown", "settle", 1, "tool.transport")}), "unknown");
    EXPECT_EQ(state_of({event("gate.allowed", "gate")}), "dispatched");
}

TEST(EventCalls, WhatAPersonSaidLaterCounts) {
    const Value lost = event("tool_call.unknown", "settle", 1, "tool.transport");
    EXPECT_EQ(state_of({lost, event("tool_call.resolved", "operator", 0, "", "applied: seen")}), "succeeded");
    EXPECT_EQ(state_of({lost, event("tool_call.resolved", "operator", 0, "", "not applied: not there")}),
              "not_applied");
    EXPECT_EQ(state_of({event("gate.required", "gate"), event("approval.vote", "approval")}), "waiting");
    EXPECT_EQ(state_of({event("gate.required", "gate"), event("approval.revoked", "approval")}), "revoked");
}

}  // namespace
}  // namespace callgate::cli
