#include <callgate/callgate.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> stages_of(const CallExplanation& explanation) {
    std::vector<std::string> stages;
    for (const StageNote& note : explanation.stages) stages.push_back(note.stage + " " + note.decision);
    return stages;
}

TEST(Explain, SaysWhatEachStageWouldDecideAndRunsNothing) {
    TestRuntime node;
    int ran = 0;
    ASSERT_TRUE(node->tools().add(tool("wipe", "", [&](int disk) { return ran += disk; }, param("disk"))));
    const CallExplanation explanation = node->explain(CallRequest("wipe", {{"disk", "1"}}));
    EXPECT_THAT(stages_of(explanation), ElementsAre("resolve found", "authorize granted", "validate valid",
                                                    "classify medium", "gate confirm"));
    ASSERT_TRUE(explanation.decision);
    EXPECT_EQ(explanation.decision->gate, Gate::confirm);
    EXPECT_EQ(explanation.decision->base_risk, Risk::low);
    EXPECT_EQ(explanation.arguments, (Value{{"disk", 1}}));
    EXPECT_FALSE(explanation.refused);

    EXPECT_EQ(ran, 0);
    EXPECT_TRUE(must(node->audit()).empty());
    EXPECT_TRUE(must(node->approvals().list()).empty());
    EXPECT_TRUE(node.recorder->audit().empty());
    EXPECT_TRUE(node.recorder->log().empty());
    EXPECT_TRUE(node.recorder->telemetry().empty());
    EXPECT_EQ(node->stats().calls, 0u);
}

TEST(Explain, EndsWhereTheCallWould) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("add", "", [](int a) { return a; }, param("a")).scopes({"sums"})));
    Context granted;
    granted.scopes = {"sums"};
    const auto end_of = [&](const char* name, Args arguments, const Context& context) {
        const CallExplanation explanation = node->explain(CallRequest(name, std::move(arguments)), context);
        EXPECT_FALSE(explanation.decision);
        EXPECT_TRUE(explanation.refused);
        return stages_of(explanation).back();
    };
    EXPECT_EQ(end_of("ad", {}, granted), "resolve not_found");
    EXPECT_EQ(end_of("add", {{"a", 1}}, Context()), "authorize scope_denied");
    EXPECT_EQ(end_of("add", "{", granted), "validate invalid_arguments");
    EXPECT_TRUE(node.recorder->log().empty()) << "nobody is warned of a call that was only thought of";
}

TEST(Explain, IsAskedForAnyPointInTime) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("ping", "", [] { return 1; })));
    PolicyConfig config;
    config.quiet_hours.emplace_back(22h, 6h, "UTC");
    ASSERT_TRUE(node->policy().set(config));
    const auto risk_at = [&](std::optional<std::chrono::system_clock::time_point> at) {
        return node->explain(CallRequest("ping"), Context(), at).decision->risk;
    };
    const std::chrono::sys_days day{std::chrono::May / 14 / 2026};
    EXPECT_EQ(risk_at(day + 12h), Risk::low);
    EXPECT_EQ(risk_at(day + 23h), Risk::medium);
    EXPECT_EQ(risk_at(std::nullopt), Risk::medium) << "the clock stands at midnight";
}

}  // namespace
}  // namespace callgate::pipeline
