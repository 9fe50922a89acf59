// What is nested too deep to be read again: refused before it is anywhere, and never a record that cannot be
// read.
#include <gtest/gtest.h>

#include <callgate/views.h>

#include "json/size.h"
#include "os/scratch_dir.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

constexpr int kMost = static_cast<int>(json::kDeepestKept);

Value nested(int depth) {
    Value value = 1;
    for (int i = 0; i < depth; ++i) value = Array{std::move(value)};
    return value;
}

Tool answers(std::string name, std::function<ToolReturn()> what) {
    return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}),
                       [what = std::move(what)](const Object&, CallContext&) { return what(); })
        .risk(Risk::low);
}

/// Results with this value at each of their places.
std::vector<std::pair<std::string, ToolResult>> results_with(const Value& value) {
    ToolResult structured("x");
    structured.structured = value;
    ToolResult extra("x");
    extra.extra = {{"_meta", value}};
    Block beside = Block::of_text("x");
    beside.extra = {{"_meta", value}};
    return {{"value", value},
            {"block", std::vector<Block>{Block::of_json(value)}},
            {"beside_a_block", std::vector<Block>{beside}},
            {"structured", structured},
            {"extra", extra}};
}

TEST_WITH_EITHER_LEDGER(TooDeep, InAResultIsAnInvalidOutput) {
    TestRuntime node;
    for (const auto& [name, result] : results_with(nested(kMost + 1))) {
        SCOPED_TRACE(name);
        node->tools().add_or_throw(answers(name, [result] { return result; }));
        const Outcome ended = node->call(name, {}, with_key("k"));
        ASSERT_FALSE(ended.ok());
        EXPECT_EQ(ended.error()->code, ErrorCode::output_invalid);
        EXPECT_EQ(reason_of(ended), "too_deep");
        EXPECT_EQ(reason_of(node->call(name, {}, with_key("k"))), "too_deep");
    }
}

TEST_WITH_EITHER_LEDGER(TooDeep, InAFailureIsLeftOutOfIt) {
    TestRuntime node;
    node->tools().add_or_throw(answers("fails", [] {
        return ToolReturn(tl::unexpected(ToolFailure::answered("no", Object{{"why", nested(kMost + 1)}})
                                             .with_content(ToolResult(nested(kMost + 1)))));
    }));
    const Outcome ended = node->call("fails");
    EXPECT_EQ(ended.error()->message, "no");
    EXPECT_TRUE(ended.error()->details.contains("left_out"));
    EXPECT_TRUE(ended.error()->details.contains("content_left_out"));
}

TEST_WITH_EITHER_LEDGER(TooDeep, AreArgumentsWhateverAHookOrTheHostsLimitsSay) {
    RuntimeOptions options;
    options.argument_limits.max_depth = 100'000;
    TestRuntime node(options);
    bool hooked = false;
    int runs = 0;
    ActionHooks hooks;
    hooks.after_validate = [&](Object arguments) -> Result<Object> {
        if (hooked) arguments["a"] = nested(kMost + 1);
        return arguments;
    };
    node->tools().add_or_throw(action_tool(
        ToolDefinition("t", "", Object{{"type", "object"}, {"additionalProperties", true}}),
        [&](const Object&, CallContext&) {
            ++runs;
            return ToolReturn(ToolResult());
        },
        hooks));
    EXPECT_TRUE(node->call("t", Object{{"a", nested(kMost - 1)}}).ok());
    EXPECT_EQ(reason_of(node->call("t", Object{{"a", nested(kMost + 1)}})), "too_deep");
    hooked = true;
    EXPECT_EQ(reason_of(node->call("t")), "too_deep");
    EXPECT_EQ(runs, 1);
}

TEST(TooDeep, IsNothingThatAResultMayBe) {
    const os::ScratchDir scratch;
    RuntimeOptions options;
    options.ledger_dir = scratch.file("ledger");
    options.ledger_mark_dir = scratch.file("marks");
    options.log_calls = false;
    options.control_socket = false;
    const auto deepest = results_with(nested(kMost - 1));
    std::vector<std::string> first;
    for (const State expected : {State::succeeded, State::replayed}) {
        const auto runtime = must(Runtime::open(options));
        for (std::size_t i = 0; i < deepest.size(); ++i) {
            const auto& [name, result] = deepest[i];
            SCOPED_TRACE(name);
            runtime->tools().add_or_throw(answers(name, [&] { return result; }));
            const Outcome ended = runtime->call(name, {}, with_key("k"));
            EXPECT_EQ(ended.state(), expected);
            if (expected == State::succeeded) first.push_back(views::mcp(ended));
            EXPECT_TRUE(views::mcp(ended) == first.at(i));
        }
    }
}

}  // namespace
}  // namespace callgate::pipeline
