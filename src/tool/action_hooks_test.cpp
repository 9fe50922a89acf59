#include "tool/action_hooks.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "tool/tool_testing.h"

namespace callgate {
namespace {

TEST(ActionHooks, ThatAreNotThereChangeNothing) {
    const ActionHooks empty;
    FakeCallContext context;
    for (const ActionHooks* hooks : {static_cast<const ActionHooks*>(nullptr), &empty}) {
        EXPECT_EQ(before_validate(hooks, {{"a", 1}}).value(), (Object{{"a", 1}}));
        EXPECT_EQ(after_validate(hooks, {{"a", 1}}).value(), (Object{{"a", 1}}));
        EXPECT_EQ(after_output(hooks, ToolResult(Value(7)))->value, 7);
        EXPECT_FALSE(can_compensate(hooks));
        EXPECT_TRUE(compensate(hooks, Error(), {}, context));
    }
}

TEST(ActionHooks, MayChangeArgumentsAndResult) {
    ActionHooks hooks;
    hooks.before_validate = [](Object arguments) -> Result<Object> {
        arguments["before"] = true;
        return arguments;
    };
    hooks.after_validate = [](Object arguments) -> Result<Object> {
        arguments["after"] = true;
        return arguments;
    };
    hooks.after_output = [](ToolResult) -> Result<ToolResult> { return ToolResult(Value("other")); };
    EXPECT_EQ(before_validate(&hooks, {}).value(), (Object{{"before", true}}));
    EXPECT_EQ(after_validate(&hooks, {}).value(), (Object{{"after", true}}));
    EXPECT_EQ(after_output(&hooks, ToolResult(Value("one")))->value, "other");
}

TEST(ActionHooks, ThatRefuseEndWithTheirOwnError) {
    ActionHooks hooks;
    hooks.before_validate = [](Object) -> Result<Object> {
        return fail(ErrorCode::invalid_arguments, "not on a Sunday");
    };
    const auto refused = before_validate(&hooks, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_arguments);
    EXPECT_EQ(refused.error().message, "not on a Sunday");
}

TEST(ActionHooks, ThatThrowBecomeAnErrorThatNamesTheHook) {
    ActionHooks hooks;
    hooks.after_validate = [](Object) -> Result<Object> { throw std::runtime_error("boom"); };
    hooks.after_output = [](ToolResult) -> Result<ToolResult> { throw 42; };
    const auto thrown = after_validate(&hooks, {});
    ASSERT_FALSE(thrown);
    EXPECT_EQ(thrown.error().code, ErrorCode::exception);
    EXPECT_EQ(thrown.error().message, "The tool's after_validate hook failed: boom");
    const auto caught = after_output(&hooks, ToolResult());
    ASSERT_FALSE(caught);
    EXPECT_EQ(caught.error().code, ErrorCode::caught);
    EXPECT_EQ(caught.error().details.at("hook"), "after_output");
}

TEST(ActionHooks, CompensationLearnsWhatFailed) {
    ActionHooks hooks;
    std::string undone;
    hooks.compensate = [&](const Error& error, const Object& arguments, CallContext&) -> Result<void> {
        undone = error.message + " " + json::write(arguments);
        return {};
    };
    FakeCallContext context;
    EXPECT_TRUE(can_compensate(&hooks));
    EXPECT_TRUE(compensate(&hooks, Error(ErrorCode::tool_error, "half done"), {{"id", 1}}, context));
    EXPECT_EQ(undone, R"(half done {"id":1})");
    hooks.compensate = [](const Error&, const Object&, CallContext&) -> Result<void> {
        throw std::runtime_error("cannot undo");
    };
    EXPECT_EQ(compensate(&hooks, Error(), {}, context).error().code, ErrorCode::exception);
}

}  // namespace
}  // namespace callgate
