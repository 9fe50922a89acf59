// What a call keeps at hand may never be seen to be kept: a tool that was removed is gone, one that was
// replaced is the new one, and a policy that was changed holds for the next call.
#include "pipeline/tool_cache.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <callgate/callgate.h>

namespace callgate::pipeline {
namespace {

Tool answering(std::string name, std::int64_t answer, std::shared_ptr<int> held = nullptr) {
    Tool tool =
        schema_tool({std::move(name), "Answers", Object{{"type", "object"}}},
                    [answer, held](const Object&, CallContext&) { return ToolResult(Value(answer)); });
    tool.read_only().run_inline();
    return tool;
}

std::int64_t answer_of(Runtime& runtime, std::string_view tool) {
    const Outcome outcome = runtime.call(tool);
    return outcome.ok() ? outcome.content().as_int64() : -1;
}

TEST(ToolCache, ARemovedToolIsGoneForTheNextCallAndGoesItself) {
    Runtime runtime;
    auto held = std::make_shared<int>(7);
    const std::weak_ptr<int> alive = held;
    ASSERT_TRUE(runtime.tools().add(answering("t", 1, std::move(held))));
    EXPECT_EQ(answer_of(runtime, "t"), 1);
    EXPECT_FALSE(alive.expired());
    runtime.tools().remove("t");
    EXPECT_TRUE(alive.expired()) << "nothing may hold on to a tool that nobody can call";
    EXPECT_EQ(runtime.call("t").state(), State::not_found);
}

TEST(ToolCache, AReplacedToolIsTheNewOneForTheNextCall) {
    Runtime runtime;
    for (std::int64_t i = 0; i < 5; ++i) {
        ASSERT_TRUE(runtime.tools().add(answering("t", i), IfPresent::replace));
        EXPECT_EQ(answer_of(runtime, "t"), i);
        EXPECT_EQ(answer_of(runtime, "t"), i);
    }
    runtime.tools().clear();
    EXPECT_EQ(runtime.call("t").state(), State::not_found);
}

TEST(ToolCache, ManyToolsAreToldApart) {
    Runtime runtime;
    for (std::int64_t i = 0; i < 200; ++i) {
        ASSERT_TRUE(runtime.tools().add(answering("tool" + std::to_string(i), i)));
    }
    for (int round = 0; round < 3; ++round) {
        for (std::int64_t i = 0; i < 200; ++i) EXPECT_EQ(answer_of(runtime, "tool" + std::to_string(i)), i);
    }
}

TEST(ToolCache, TheSameNameInTwoTenantsIsTwoTools) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools("one").add(answering("t", 1)));
    ASSERT_TRUE(runtime.tools("two").add(answering("t", 2)));
    for (int i = 0; i < 3; ++i) {
        Context one;
        one.tenant = "one";
        Context two;
        two.tenant = "two";
        EXPECT_EQ(runtime.call("t", {}, one).content(), Value(1));
        EXPECT_EQ(runtime.call("t", {}, two).content(), Value(2));
        EXPECT_EQ(runtime.call("t").state(), State::not_found);
    }
    runtime.tools("one").remove("t");
    Context one;
    one.tenant = "one";
    EXPECT_EQ(runtime.call("t", {}, one).state(), State::not_found);
}

TEST(ToolCache, ACallUnderWayKeepsTheToolItBeganWith) {
    Runtime runtime;
    auto held = std::make_shared<int>(7);
    const std::weak_ptr<int> alive = held;
    Tool tool = schema_tool({"t", "Removes itself", Object{{"type", "object"}}},
                            [&runtime, held = std::move(held)](const Object&, CallContext&) {
                                runtime.tools().remove("t");
                                return ToolResult(Value(*held));
                            });
    tool.read_only().run_inline();
    ASSERT_TRUE(runtime.tools().add(std::move(tool)));
    EXPECT_EQ(answer_of(runtime, "t"), 7);
    EXPECT_TRUE(alive.expired());
}

TEST(ToolCache, ASyncReachesTheNextCallAndKeepsWhatWasCounted) {
    Runtime runtime;
    UseLimits twice;
    twice.calls = 2;
    const auto sync = [&](std::int64_t answer) {
        std::vector<Tool> tools;
        tools.push_back(answering("files/t", answer).limits(twice).version(std::to_string(answer)));
        return runtime.tools().sync("files", std::move(tools)).has_value();
    };
    ASSERT_TRUE(sync(1));
    EXPECT_EQ(answer_of(runtime, "t"), 1);
    ASSERT_TRUE(sync(2));
    EXPECT_EQ(answer_of(runtime, "t"), 2);
    ASSERT_TRUE(sync(3));
    EXPECT_EQ(runtime.call("t").state(), State::limited) << "another version is not another allowance";
    ASSERT_TRUE(runtime.tools().sync("files", {}));
    EXPECT_EQ(runtime.call("t").state(), State::not_found);
    ASSERT_TRUE(sync(4));
    EXPECT_EQ(runtime.call("t").state(), State::limited);
}

TEST(ToolCache, AChangedContractHoldsForTheNextCall) {
    Runtime runtime;
    Tool tool = schema_tool({"t", "Changes its own contract", Object{{"type", "object"}}},
                            [&runtime](const Object&, CallContext& context) -> ToolReturn {
                                Contract contract;
                                contract.effect = EffectClass::read;
                                contract.scopes = {"admin"};
                                if (!runtime.tools().change_contract("t", std::move(contract)))
                                    return ToolResult(Value("refused"));
                                return ToolResult(Value(context.time_left() > std::chrono::minutes(10)));
                            });
    tool.read_only().run_inline().timeout(std::chrono::minutes(20));
    ASSERT_TRUE(runtime.tools().add(std::move(tool)));
    EXPECT_EQ(runtime.call("t").content(), Value(true)) << "a call under way keeps the one it began with";
    EXPECT_EQ(runtime.call("t").state(), State::scope_denied);
}

TEST(ToolCache, AChangedPolicyHoldsForTheNextCall) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(answering("t", 1)));
    EXPECT_EQ(answer_of(runtime, "t"), 1);
    for (int i = 0; i < 3; ++i) {
        PolicyConfig config;
        Rule rule;
        rule.id = "no";
        rule.decision = Rule::Do::deny;
        config.rules.push_back(rule);
        ASSERT_TRUE(runtime.policy().set(config));
        EXPECT_EQ(runtime.call("t").state(), State::denied);
        ASSERT_TRUE(runtime.policy().set(PolicyConfig()));
        EXPECT_EQ(answer_of(runtime, "t"), 1);
    }
}

}  // namespace
}  // namespace callgate::pipeline
