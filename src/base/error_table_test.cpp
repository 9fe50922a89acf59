#include "base/error_table.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace callgate::base {
namespace {

TEST(ErrorTable, KnowsEveryCodeUnderItsOwnName) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < kErrorCodeCount; ++i) {
        const auto code = static_cast<ErrorCode>(i);
        EXPECT_EQ(error_row(code).code, code);
        EXPECT_EQ(to_string(code), error_row(code).name);
        EXPECT_EQ(error_code_from_string(to_string(code)), code);
        EXPECT_TRUE(names.insert(to_string(code)).second) << to_string(code);
    }
    EXPECT_EQ(names.size(), 36u);
    EXPECT_EQ(error_code_from_string("no_such_code"), std::nullopt);
}

TEST(ErrorTable, UsesOnlyTheWordsOfEachSystem) {
    const std::set<std::string_view> s1{"not_found", "execution_error", "exception", "timeout", "caught"};
    const std::set<std::string_view> s2{"validation_error", "tool_not_found", "transport_error",
                                        "tool_error",       "timeout_error",  "unknown_error"};
    const std::set<std::string_view> outcomes{"failure", "info", "suppressed"};
    for (const auto& row : error_table()) {
        SCOPED_TRACE(row.name);
        EXPECT_TRUE(s1.contains(row.s1_type));
        EXPECT_TRUE(s2.contains(row.s2_code));
        EXPECT_TRUE(outcomes.contains(row.s3_outcome));
        EXPECT_NE(row.s3_code.find('.'), std::string_view::npos);
        EXPECT_TRUE(row.s3_event.starts_with("tool_call.") || row.s3_event.starts_with("gate."));
        EXPECT_GE(row.http, 200);
        EXPECT_LT(row.http, 600);
        EXPECT_TRUE(row.next_step.ends_with('.'));
    }
}

TEST(ErrorTable, JsonRpcCodesAreStandardOrOursAloneAndNeverInTheRangeThatMcpReserves) {
    std::set<int> ours;
    for (const auto& row : error_table()) {
        SCOPED_TRACE(row.name);
        if (row.json_rpc == -32602 || row.json_rpc == -32603) {
            continue;
        }
        EXPECT_GT(row.json_rpc, -32000);
        EXPECT_TRUE(ours.insert(row.json_rpc).second);
    }
    EXPECT_EQ(error_row(ErrorCode::not_found).json_rpc, -32602);
    EXPECT_EQ(error_row(ErrorCode::invalid_arguments).json_rpc, -32602);
    EXPECT_EQ(error_row(ErrorCode::internal).json_rpc, -32603);
}

TEST(ErrorTable, HttpStatusesThatClientsActOn) {
    const std::map<ErrorCode, int> expected{
        {ErrorCode::not_found, 404},         {ErrorCode::invalid_arguments, 400},
        {ErrorCode::scope_denied, 403},      {ErrorCode::denied, 403},
        {ErrorCode::approval_required, 202}, {ErrorCode::rate_limited, 429},
        {ErrorCode::in_progress, 409},       {ErrorCode::key_reused, 422},
        {ErrorCode::timed_out, 504},         {ErrorCode::unavailable, 503},
        {ErrorCode::cancelled, 499},         {ErrorCode::internal, 500},
        {ErrorCode::ledger_unavailable, 503}};
    for (const auto& [code, status] : expected) {
        EXPECT_EQ(error_row(code).http, status) << to_string(code);
    }
}

TEST(ErrorTable, ExecutionThatBeganAndDidNotCompleteEndsWithAnExceptionEvent) {
    const std::set<ErrorCode> exceptions{ErrorCode::timed_out, ErrorCode::exception,
                                         ErrorCode::caught,    ErrorCode::cancelled,
                                         ErrorCode::transport, ErrorCode::outcome_unknown};
    for (const auto& row : error_table()) {
        EXPECT_EQ(row.telemetry, exceptions.contains(row.code) ? TelemetryEnd::exception : TelemetryEnd::stop)
            << row.name;
    }
}

TEST(Errors, AnErrorWithoutACodeOfTheTableIsInternal) {
    EXPECT_EQ(to_string(static_cast<ErrorCode>(250)), "internal");
}

}  // namespace
}  // namespace callgate::base
