#include <callgate/exceptions.h>

#include <gtest/gtest.h>

namespace callgate {
namespace {

Outcome ended(State state, ErrorCode code = ErrorCode::tool_error, std::string message = "no") {
    OutcomeData data;
    data.state = state;
    data.tool = "rm";
    data.error = Error(code, std::move(message));
    return Outcome(std::move(data));
}

TEST(Exceptions, ASuccessThrowsNothing) {
    OutcomeData data;
    data.succeeded = true;
    data.state = State::replayed;
    EXPECT_NO_THROW(throw_if_failed(Outcome(data)));
}

TEST(Exceptions, EachRefusalHasItsOwn) {
    EXPECT_THROW(throw_if_failed(ended(State::not_found)), ToolNotFound);
    EXPECT_THROW(throw_if_failed(ended(State::unavailable)), ToolUnavailable);
    EXPECT_THROW(throw_if_failed(ended(State::scope_denied)), ScopeViolation);
    EXPECT_THROW(throw_if_failed(ended(State::invalid)), InvalidArguments);
    EXPECT_THROW(throw_if_failed(ended(State::needs_approval)), ApprovalRequired);
    EXPECT_THROW(throw_if_failed(ended(State::previewed)), PreviewRequired);
    EXPECT_THROW(throw_if_failed(ended(State::denied)), HardBlocked);
    EXPECT_THROW(throw_if_failed(ended(State::unknown)), OutcomeUnknown);
    EXPECT_THROW(throw_if_failed(ended(State::replayed, ErrorCode::outcome_unknown)), OutcomeUnknown);
    EXPECT_THROW(throw_if_failed(ended(State::failed, ErrorCode::audit_failure)), AuditWriteError);
    EXPECT_THROW(throw_if_failed(ended(State::failed, ErrorCode::ledger_unavailable)), AuditWriteError);
}

TEST(Exceptions, EverythingElseIsAToolExecutionError) {
    for (const State state : {State::failed, State::timed_out, State::cancelled, State::suppressed,
                              State::limited, State::replayed, State::in_progress, State::key_conflict}) {
        try {
            throw_if_failed(ended(state));
            FAIL() << to_string(state);
        } catch (const ToolExecutionError& error) {
            EXPECT_EQ(typeid(error), typeid(ToolExecutionError)) << to_string(state);
        }
    }
}

TEST(Exceptions, AllAreCaughtAsOneAndCarryTheOutcome) {
    try {
        throw_if_failed(ended(State::denied, ErrorCode::denied, "A rule forbids it."));
        FAIL();
    } catch (const ToolExecutionError& error) {
        EXPECT_STREQ(error.what(), "Tool 'rm' failed: A rule forbids it.");
        EXPECT_EQ(error.outcome().state(), State::denied);
    }
}

TEST(Exceptions, WithoutAMessageTheTextStillSaysThatItFailed) {
    OutcomeData data;
    data.tool = "rm";
    EXPECT_STREQ(ToolExecutionError(Outcome(data)).what(), "Tool 'rm' failed");
}

}  // namespace
}  // namespace callgate
