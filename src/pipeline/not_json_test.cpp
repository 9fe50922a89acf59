// NaN and infinities: no JSON, on the way in and on the way out.
#include <limits>

#include <gtest/gtest.h>

#include <callgate/views.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tool answers(std::string name, ToolResult result) {
    return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}),
                       [result](const Object&, CallContext&) -> ToolReturn { return result; });
}

TEST(NotJson, InArgumentsIsRefusedWithItsPlace) {
    TestRuntime node;
    int runs = 0;
    node->tools().add_or_throw(
        schema_tool(ToolDefinition("t", "", Object{{"type", "object"}}), [&](const Object&, CallContext&) {
            ++runs;
            return ToolReturn(ToolResult());
        }).open_arguments());
    for (const double number : {kNaN, kInfinity, -kInfinity}) {
        const Outcome refused =
            node->call("t", Object{{"ok", 1.5}, {"a/b", Array{0, Object{{"x", number}}}}});
        EXPECT_EQ(refused.state(), State::invalid);
        EXPECT_EQ(refused.error()->details.at("reason"), "not_finite");
        EXPECT_EQ(refused.error()->details.at("path"), "/a~1b/1/x");
    }
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(node->call("t", Object{{"most", std::numeric_limits<double>::max()}}).ok());
}

TEST(NotJson, ThatAHookPutsInIsRefusedToo) {
    TestRuntime node;
    ActionHooks hooks;
    hooks.after_validate = [](Object arguments) -> Result<Object> {
        arguments["n"] = kNaN;
        return arguments;
    };
    int runs = 0;
    node->tools().add_or_throw(action_tool(
        ToolDefinition("t", "", Object{{"type", "object"}}),
        [&](const Object&, CallContext&) {
            ++runs;
            return ToolReturn(ToolResult());
        },
        hooks));
    EXPECT_EQ(node->call("t").error()->details.at("path"), "/n");
    EXPECT_EQ(runs, 0);
}

TEST_WITH_EITHER_LEDGER(NotJson, InAnAnswerIsAFailureThatIsOnTheRecordAndNeverNull) {
    TestRuntime node;
    ToolResult structured(Value("fine"));
    structured.structured = Object{{"n", kInfinity}};
    node->tools()
        .add_or_throw(answers("plain", Value(kNaN)))
        .add_or_throw(answers("deep", Value(Object{{"a", Array{1, -kInfinity}}})))
        .add_or_throw(answers("structured", structured))
        .add_or_throw(answers("blocks", std::vector<Block>{Block::of_text("x"), Block::of_json(Array{kNaN})}))
        .add_or_throw(tool("typed", "", [] { return kNaN; }));
    const std::vector<std::vector<std::string>> expected{{"plain", "value", ""},
                                                         {"deep", "value", "/a/1"},
                                                         {"structured", "structured", "/n"},
                                                         {"blocks", "blocks/1", "/0"},
                                                         {"typed", "value", ""}};
    for (const auto& one : expected) {
        const Outcome ended = node->call(one[0], {}, with_key("k"));
        EXPECT_EQ(ended.state(), State::failed) << one[0];
        ASSERT_EQ(ended.error()->code, ErrorCode::output_invalid) << one[0];
        EXPECT_EQ(std::string(ended.error()->details.at("part").as_string()), one[1]);
        EXPECT_EQ(std::string(ended.error()->details.at("path").as_string()), one[2]);
        EXPECT_EQ(views::mcp(ended).find("null"), std::string::npos);
        const Outcome again = node->call(one[0], {}, with_key("k"));
        EXPECT_EQ(again.state(), State::replayed) << one[0];
        EXPECT_EQ(again.error()->code, ErrorCode::output_invalid) << one[0];
    }
}

TEST_WITH_EITHER_LEDGER(NotJson, InALateAnswerIsKeptAsAFailure) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.timeout(1s));
    const Ended first = node.start("slow", {}, with_key("k"));
    node.advance(2s);
    ASSERT_EQ((*first)->state(), State::unknown);
    body->take()->finish(ToolResult(Value(kNaN)));
    node.calm();
    const Outcome told = node->call("slow", {}, with_key("k"));
    EXPECT_EQ(told.state(), State::replayed);
    EXPECT_EQ(told.error()->code, ErrorCode::output_invalid);
}

TEST(NotJson, InProgressIsLeftOutAndThatIsSaid) {
    TestRuntime node;
    node->tools().add_or_throw(tool("work", "", [](CallContext& context) -> Result<int> {
        context.partial(Object{{"rows", 1}});
        context.partial(Object{{"rows", kNaN}});
        context.progress("going", kNaN, 10.0);
        return tl::unexpected(Error(ErrorCode::tool_error, "broken"));
    }));
    const Outcome ended = node->call("work");
    EXPECT_EQ(ended.partial()->content, (Object{{"rows", 1}}));
    const auto told = node.recorder->progress();
    ASSERT_EQ(told.size(), 3u);
    EXPECT_FALSE(told[1].partial);
    EXPECT_NE(told[1].message.find("/rows"), std::string::npos);
    EXPECT_FALSE(told[2].done);
    EXPECT_EQ(told[2].total, 10.0);
}

TEST(NotJson, InAPreviewIsNoPreview) {
    TestRuntime node;
    node->tools().add_or_throw(tool("pay", "", [] { return 1; }).preview([](const Object&, CallContext&) {
        return Result<Preview>(Preview("pays", Object{{"n", kNaN}}));
    }));
    const Outcome shown = node->preview("pay");
    EXPECT_EQ(shown.error()->code, ErrorCode::output_invalid);
}

TEST(NotJson, InTheDetailsOfAFailureIsNamedAndNotToldAsNull) {
    TestRuntime node;
    node->tools().add_or_throw(schema_tool(
        ToolDefinition("t", "", Object{{"type", "object"}}), [](const Object&, CallContext&) -> ToolReturn {
            return tl::unexpected(ToolFailure(Error(ErrorCode::tool_error, "No.", {{"load", Array{1, kNaN}}}),
                                              Applied::answered));
        }));
    const Outcome failed = node->call("t");
    EXPECT_EQ(failed.state(), State::failed);
    EXPECT_EQ(failed.error()->message, "No.");
    EXPECT_FALSE(failed.error()->details.contains("load"));
    EXPECT_NE(failed.error()->details.at("left_out").as_string().find("/load/1"), std::string::npos);
}

TEST(NotJson, InADefinitionIsRefused) {
    TestRuntime node;
    const auto added = node->tools().add(schema_tool(
        ToolDefinition("t", "",
                       Object{{"type", "object"},
                              {"properties", Object{{"n", Object{{"type", "number"}, {"default", kNaN}}}}}}),
        [](const Object&, CallContext&) { return ToolReturn(ToolResult()); }));
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().details.at("reason"), "not_finite");
    EXPECT_EQ(added.error().code, ErrorCode::config_error);
}

}  // namespace
}  // namespace callgate::pipeline
