#include "base/error_views.h"

#include <map>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json/serialize.hpp>

namespace callgate::base {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr CallFacts kSent{true, true, true};
constexpr CallFacts kRemote{false, false, true};

TEST(ErrorViews, UnknownTool) {
    const Error error(ErrorCode::not_found, "There is no tool named rm_rf.");
    EXPECT_THAT(s0_text(error, "rm_rf"), StartsWith("Tool not registered: rm_rf"));
    EXPECT_GT(s0_text(error, "rm_rf").size(), std::string("Tool not registered: rm_rf").size());
    EXPECT_EQ(error_row(error.code).s1_type, "not_found");
    EXPECT_EQ(s1_text(error, "rm_rf"), "Tool not found: rm_rf");
    EXPECT_EQ(s2_code(error.code), "tool_not_found");
    EXPECT_EQ(s2_text(error, "rm_rf"), "Tool not found: rm_rf");
    EXPECT_EQ(s3_event(error, {}), "tool_call.failed");
    EXPECT_EQ(s3_code(error), "tool.not_found");
    EXPECT_EQ(s4_text(error, "rm_rf"), "Tool rm_rf not found");
    EXPECT_FALSE(error.retryable);
}

TEST(ErrorViews, AToolNameThatLooksLikeATemplateIsNotExpanded) {
    EXPECT_EQ(s4_text(Error(ErrorCode::not_found, "m"), "{message}{"), "Tool {message}{ not found");
}

TEST(ErrorViews, ToolWithoutImplementation) {
    const Error error(ErrorCode::no_implementation, "Nothing to run.");
    EXPECT_EQ(s4_text(error, "x"), "Tool x has no execute function");
    EXPECT_EQ(s2_code(error.code), "unknown_error");
}

TEST(ErrorViews, UnavailableAndQuarantinedLookTheSameOutsideAndMayBeTriedLater) {
    for (const auto code : {ErrorCode::unavailable, ErrorCode::quarantined}) {
        const Error error(code, "Down.");
        EXPECT_EQ(error_row(code).s1_type, "execution_error");
        EXPECT_EQ(s2_code(code), "transport_error");
        EXPECT_EQ(s3_code(error), "tool.unavailable");
        EXPECT_TRUE(error.retryable);
    }
}

TEST(ErrorViews, RefusalsAreToolErrorsThatNameTheRealCode) {
    for (const auto code : {ErrorCode::scope_denied, ErrorCode::denied, ErrorCode::approval_required,
                            ErrorCode::approval_denied, ErrorCode::approval_expired,
                            ErrorCode::preview_required, ErrorCode::suppressed}) {
        const Error error(code, "No.", {{"reason", "scope_missing"}});
        EXPECT_EQ(s2_code(code), "tool_error");
        const auto details = s2_details(error);
        EXPECT_EQ(details.at("reason").as_string(), to_string(code));
        EXPECT_EQ(details.at("case").as_string(), "scope_missing");
        EXPECT_EQ(error_row(code).s1_type, "execution_error");
        EXPECT_FALSE(error.retryable);
    }
    EXPECT_EQ(s3_code(Error(ErrorCode::scope_denied, "No.")), "scope.violation");
}

TEST(ErrorViews, GateRefusalsSayWhichGateAndHaveTheirOwnAuditEvent) {
    const std::map<ErrorCode, std::pair<std::string_view, std::string_view>> expected{
        {ErrorCode::approval_required, {"confirm", "gate.required"}},
        {ErrorCode::preview_required, {"preview", "gate.preview"}},
        {ErrorCode::denied, {"deny", "gate.hard_blocked"}},
        {ErrorCode::approval_denied, {"confirm", "gate.denied"}},
        {ErrorCode::suppressed, {"suppress", "gate.antiflap_block"}}};
    for (const auto& [code, view] : expected) {
        const Error error(code, "No.");
        EXPECT_EQ(s1_details(error).at("gate").as_string(), view.first);
        EXPECT_EQ(s2_details(error).at("gate").as_string(), view.first);
        EXPECT_EQ(s3_event(error, {}), view.second);
    }
    const Error storm(ErrorCode::suppressed, "Too many notifications.", {{"reason", "storm"}});
    EXPECT_EQ(s3_event(storm, {}), "gate.storm_block");
    EXPECT_EQ(s3_code(storm), "gate.storm_block");
    EXPECT_FALSE(s2_details(Error(ErrorCode::invalid_arguments, "No.")).contains("gate"));
}

TEST(ErrorViews, TimeoutNamesItsLengthInEachSystemsUnit) {
    const Error error(ErrorCode::timed_out, "Too slow.", {{"timeout_ms", 10}});
    EXPECT_EQ(s0_text(error, "x"), "Tool execution timed out after 0.01s");
    EXPECT_EQ(s1_text(error, "x"), "Tool execution timed out after 10ms");
    EXPECT_EQ(s2_text(error, "x"), "Tool execution timed out after 0.01s");
    EXPECT_EQ(s2_code(error.code), "timeout_error");
    EXPECT_EQ(s1_details(error).at("timeout_ms").as_int64(), 10);
    EXPECT_DOUBLE_EQ(s2_details(error).at("timeout_seconds").as_double(), 0.01);
    EXPECT_EQ(s0_text(Error(ErrorCode::timed_out, "t", {{"timeout_ms", 30'000}}), "x"),
              "Tool execution timed out after 30s");
    EXPECT_EQ(s0_text(Error(ErrorCode::timed_out, "Too slow."), "x"), "Too slow.");
    EXPECT_EQ(s3_code(error), "tool.timeout");
}

TEST(ErrorViews, ExceptionsKeepTheirMessageAndNeverShowAStack) {
    const Error error(ErrorCode::exception, "boom",
                      {{"exception_type", "ArgumentError"}, {"stack", "at f"}, {"stacktrace", {"at g"}}});
    EXPECT_EQ(s0_text(error, "x"), "boom");
    EXPECT_EQ(s1_text(error, "x"), "boom");
    EXPECT_EQ(s4_text(error, "x"), "boom");
    EXPECT_EQ(s2_code(error.code), "unknown_error");
    EXPECT_EQ(s2_code(error.code, kRemote), "tool_error");
    for (const auto& details : {s1_details(error), s2_details(error)}) {
        EXPECT_EQ(boost::json::serialize(details), R"({"exception_type":"ArgumentError"})");
    }
    EXPECT_THAT(model_text(error), testing::Not(HasSubstr("at f")));
}

TEST(ErrorViews, CaughtCancelledAndSkipped) {
    const Error caught(ErrorCode::caught, "worker died", {{"kind", "signal"}});
    EXPECT_EQ(s1_text(caught, "x"), "Caught signal: worker died");
    const Error cancelled(ErrorCode::cancelled, "The user cancelled the call.");
    EXPECT_EQ(s4_text(cancelled, "x"), "Tool execution cancelled");
    const Error skipped(ErrorCode::skipped, "Not run.");
    EXPECT_EQ(s4_text(skipped, "x"), "Skipped due to queued user message.");
    for (const auto& error : {cancelled, skipped}) {
        EXPECT_EQ(error_row(error.code).s1_type, "caught");
        EXPECT_EQ(s1_details(error).at("kind").as_string(), "exit");
        EXPECT_EQ(s2_code(error.code), "unknown_error");
        EXPECT_EQ(s3_event(error, {}), "tool_call.failed");
        EXPECT_EQ(error_row(error.code).s3_outcome, "info");
    }
}

TEST(ErrorViews, TheAuditSaysUnknownWhereTheEffectMayHaveHappened) {
    for (const auto code : {ErrorCode::timed_out, ErrorCode::caught, ErrorCode::transport}) {
        const Error error(code, "Lost.");
        EXPECT_EQ(s3_event(error, kSent), "tool_call.unknown") << to_string(code);
        EXPECT_EQ(s3_event(error, {}), "tool_call.failed") << to_string(code);
    }
    const CallFacts read_only{true, true, false};
    EXPECT_EQ(s3_event(Error(ErrorCode::timed_out, "Lost."), read_only), "tool_call.failed");
    EXPECT_EQ(s3_event(Error(ErrorCode::outcome_unknown, "Lost."), {}), "tool_call.unknown");
    EXPECT_EQ(s3_event(Error(ErrorCode::tool_error, "No."), kSent), "tool_call.failed");
}

TEST(Retry, IsOfferedByDefaultOnlyWhereNothingWasDone) {
    for (const auto code : {ErrorCode::rate_limited, ErrorCode::circuit_open, ErrorCode::in_progress})
        EXPECT_TRUE(Error(code, "Later.").retryable) << to_string(code);
    for (const auto code : {ErrorCode::transport, ErrorCode::timed_out, ErrorCode::tool_error,
                            ErrorCode::invalid_arguments, ErrorCode::outcome_unknown})
        EXPECT_FALSE(Error(code, "No.").retryable) << to_string(code);
}

TEST(ModelText, IsTheMessageAndThenWhatToDo) {
    EXPECT_EQ(model_text(Error(ErrorCode::rate_limited, "Too many calls")),
              "Too many calls. Wait until the limit resets, then call again.");
    EXPECT_EQ(model_text(Error(ErrorCode::rate_limited, "Too many calls.\n")),
              "Too many calls. Wait until the limit resets, then call again.");
}

}  // namespace
}  // namespace callgate::base
