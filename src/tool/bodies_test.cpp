#include <stdexcept>

#include <gtest/gtest.h>

#include "tool/tool_entry.h"
#include "tool/tool_testing.h"

namespace callgate {
namespace {

using namespace std::chrono_literals;

ToolReturn said(std::string_view text) {
    return ToolResult(Value(text));
}

ToolFunction saying(std::string text) {
    return [text = std::move(text)](const Object&, CallContext&) { return said(text); };
}

ToolReturn run(const Tool& tool, const std::string& action = "call", const Object& arguments = {}) {
    FakeCallContext context(action);
    return tool.body->run(arguments, context);
}

ToolDefinition named(std::string name) {
    return {std::move(name), "", Object{{"type", "object"}}};
}

class LaterBody final : public ToolBody {
public:
    RunMode mode() const noexcept override { return RunMode::async; }
};

class FakeAttempt final : public Attempt {
public:
    CallContext& context() override { return context_; }
    const Object& arguments() const override { return arguments_; }
    void finish(ToolReturn answer) override { answers.push_back(std::move(answer)); }
    IoHost& io() override { throw std::logic_error("nothing runs here"); }

    std::vector<ToolReturn> answers;

private:
    FakeCallContext context_;
    Object arguments_;
};

TEST(SchemaTool, RunsItsFunctionWithTheArguments) {
    const Tool tool = echo_tool("echo");
    EXPECT_EQ(tool.kind, ToolKind::function);
    EXPECT_EQ(tool.body->mode(), RunMode::pooled);
    EXPECT_EQ(run(tool, "call", {{"a", 1}})->value, Value(Object{{"a", 1}}));
}

TEST(SchemaTool, WithoutAFunctionHasNoBody) {
    EXPECT_EQ(schema_tool(named("nothing"), nullptr).body, nullptr);
}

TEST(Body, ThatRunsNothingSaysSoAndThatNothingWasChanged) {
    ToolBody body;
    FakeCallContext context;
    const ToolReturn answer = body.run({}, context);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().error.code, ErrorCode::no_implementation);
    EXPECT_EQ(answer.error().applied, Applied::no);
}

TEST(Body, ThatStartsNothingFinishesTheAttemptOnce) {
    LaterBody body;
    const auto attempt = std::make_shared<FakeAttempt>();
    body.start(attempt);
    ASSERT_EQ(attempt->answers.size(), 1u);
    ASSERT_FALSE(attempt->answers[0]);
    EXPECT_EQ(attempt->answers[0].error().error.code, ErrorCode::no_implementation);
}

TEST(Body, WithoutPreviewProbeActionsScopesOrHooksSaysSo) {
    ToolBody body;
    FakeCallContext context;
    EXPECT_FALSE(body.has_preview());
    EXPECT_FALSE(body.preview({}, context)->supported);
    EXPECT_FALSE(body.has_probe());
    EXPECT_EQ(body.reconcile("id", {}, context).verdict, Reconciliation::Verdict::cannot_tell);
    EXPECT_TRUE(body.actions().empty());
    EXPECT_TRUE(body.scopes_required("call").empty());
    EXPECT_EQ(body.hooks(), nullptr);
}

TEST(RunInline, MakesTheBodyRunWhereItIsCalled) {
    const Tool tool = echo_tool("echo").run_inline();
    EXPECT_EQ(tool.body->mode(), RunMode::inlined);
    EXPECT_EQ(run(tool, "call", {{"a", 1}})->value, Value(Object{{"a", 1}}));
}

TEST(RunInline, LeavesCopiesOfTheToolAlone) {
    Tool tool = echo_tool("echo");
    const Tool copy = tool;
    tool.run_inline();
    EXPECT_EQ(tool.body->mode(), RunMode::inlined);
    EXPECT_EQ(copy.body->mode(), RunMode::pooled);
}

TEST(RunInline, IsRefusedForABodyThatCompletesLater) {
    Tool tool(named("later"), std::make_shared<LaterBody>());
    ASSERT_TRUE(ToolEntry::make(tool));
    const auto entry = ToolEntry::make(tool.run_inline());
    ASSERT_FALSE(entry);
    EXPECT_EQ(entry.error().details.at("reason"), "bad_contract");
}

TEST(RunInline, IsRefusedForAToolWithNothingToRun) {
    const auto entry = ToolEntry::make(schema_tool(named("nothing"), nullptr).run_inline());
    ASSERT_FALSE(entry);
    EXPECT_EQ(entry.error().details.at("reason"), "bad_contract");
}

TEST(Tool, PreviewProbeAndRunModeAreSetOneAfterTheOther) {
    Tool tool = echo_tool("echo");
    tool.preview([](const Object&, CallContext&) -> Result<Preview> { return Preview("would echo"); })
        .run_inline()
        .probe([](std::string_view id, const Object&, CallContext&) {
            return Reconciliation(id == "7" ? Reconciliation::Verdict::applied
                                            : Reconciliation::Verdict::not_applied);
        });
    FakeCallContext context;
    EXPECT_EQ(tool.body->mode(), RunMode::inlined);
    EXPECT_TRUE(tool.body->has_preview());
    EXPECT_EQ(tool.body->preview({}, context)->summary, "would echo");
    EXPECT_TRUE(tool.body->has_probe());
    EXPECT_EQ(tool.body->reconcile("7", {}, context).verdict, Reconciliation::Verdict::applied);
    EXPECT_EQ(tool.body->reconcile("8", {}, context).verdict, Reconciliation::Verdict::not_applied);
}

TEST(Tool, ContractIsWrittenAsAChain) {
    UseLimits limits;
    limits.concurrent = 2;
    const Tool tool = echo_tool("echo")
                          .scopes({"b", "a"})
                          .risk(Risk::medium)
                          .risk("delete", Risk::critical)
                          .read_only()
                          .timeout(2s)
                          .retries(RetryPolicy(3))
                          .limits(limits)
                          .connector("mail")
                          .target("/to")
                          .resource_key("/id")
                          .capability("notification")
                          .output(Object{{"type", "string"}})
                          .open_arguments();
    EXPECT_EQ(tool.contract.scopes, (ScopeSet{"a", "b"}));
    EXPECT_EQ(tool.contract.risk, Risk::medium);
    EXPECT_EQ(tool.contract.risk_map.at("delete"), Risk::critical);
    EXPECT_EQ(tool.contract.effect, EffectClass::read);
    EXPECT_EQ(tool.contract.timeout, 2s);
    EXPECT_EQ(tool.contract.retry.max_retries, 3u);
    EXPECT_EQ(tool.contract.limits.concurrent, 2u);
    EXPECT_EQ(tool.contract.connector_id, "mail");
    EXPECT_EQ(tool.contract.target, "/to");
    EXPECT_EQ(tool.contract.resource_key, "/id");
    EXPECT_EQ(tool.contract.capabilities, std::vector<std::string>{"notification"});
    EXPECT_EQ(tool.definition.output_schema, Value(Object{{"type", "string"}}));
    EXPECT_TRUE(tool.contract.open_arguments);
}

TEST(ActionTool, IsNotRetriedUnlessTheContractSaysSo) {
    const Tool tool = action_tool(named("act"), saying("done"));
    EXPECT_EQ(tool.kind, ToolKind::action);
    EXPECT_EQ(tool.contract.retry.max_retries, 0u);
    EXPECT_EQ(run(tool)->value, "done");
}

TEST(ActionTool, CallsAfterRunAndThenBeforeOutput) {
    std::string order;
    ActionHooks hooks;
    hooks.after_run = [&](const ToolResult& result) {
        order += "after_run(" + json::write(result.value) + ")";
    };
    hooks.before_output = [&](ToolResult result) -> Result<ToolResult> {
        order += " before_output";
        result.value = "changed";
        return result;
    };
    const Tool tool = action_tool(named("act"), saying("done"), hooks);
    EXPECT_EQ(run(tool)->value, "changed");
    EXPECT_EQ(order, "after_run(\"done\") before_output");
}

TEST(ActionTool, CallsNoneOfThemAfterAFailure) {
    ActionHooks hooks;
    hooks.after_run = [](const ToolResult&) { FAIL(); };
    hooks.before_output = [](ToolResult result) -> Result<ToolResult> {
        ADD_FAILURE();
        return result;
    };
    const Tool tool = action_tool(
        named("act"),
        [](const Object&, CallContext&) -> ToolReturn {
            return tl::unexpected(ToolFailure(Error(ErrorCode::tool_error, "no"), Applied::no));
        },
        hooks);
    const ToolReturn answer = run(tool);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().applied, Applied::no);
}

TEST(ActionTool, ARefusalBeforeTheOutputIsDefiniteAndNotRepeated) {
    ActionHooks hooks;
    hooks.before_output = [](ToolResult) -> Result<ToolResult> {
        return fail(ErrorCode::output_invalid, "too large");
    };
    const ToolReturn answer = run(action_tool(named("act"), saying("done"), hooks));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().error.message, "too large");
    EXPECT_EQ(answer.error().applied, Applied::answered);
}

TEST(ActionTool, ShowsItsHooksAlsoWhenItRunsInline) {
    ActionHooks hooks;
    hooks.compensate = [](const Error&, const Object&, CallContext&) -> Result<void> { return {}; };
    const Tool tool = action_tool(named("act"), saying("done"), hooks).run_inline();
    ASSERT_NE(tool.body->hooks(), nullptr);
    EXPECT_TRUE(tool.body->hooks()->compensate);
    EXPECT_EQ(tool.body->hooks()->compensation_timeout, 5s);
}

std::vector<AdapterAction> mail_actions() {
    AdapterAction list("list", saying("listed"));
    list.effect = EffectClass::read;
    AdapterAction send("send", saying("sent"));
    send.preview = [](const Object&, CallContext&) -> Result<Preview> { return Preview("would send"); };
    send.scopes = {"mail:send"};
    send.risk = Risk::high;
    return {send, list};
}

TEST(AdapterTool, RunsTheActionThatWasAskedFor) {
    const Tool tool = adapter_tool(named("mail"), mail_actions());
    EXPECT_EQ(tool.kind, ToolKind::adapter);
    EXPECT_EQ(run(tool, "send")->value, "sent");
    EXPECT_EQ(run(tool, "list")->value, "listed");
}

TEST(AdapterTool, RefusesAnActionItDoesNotHave) {
    const ToolReturn answer = run(adapter_tool(named("mail"), mail_actions()), "burn");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().error.code, ErrorCode::unknown_action);
    EXPECT_EQ(answer.error().applied, Applied::no);
}

TEST(AdapterTool, SaysWhichActionHasNoImplementation) {
    const ToolReturn answer = run(adapter_tool(named("mail"), {AdapterAction("send", nullptr)}), "send");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().error.code, ErrorCode::no_implementation);
    EXPECT_NE(answer.error().error.message.find("send"), std::string::npos);
}

TEST(AdapterTool, PreviewsActionByAction) {
    const Tool tool = adapter_tool(named("mail"), mail_actions());
    EXPECT_TRUE(tool.body->has_preview());
    FakeCallContext send("send");
    EXPECT_EQ(tool.body->preview({}, send)->summary, "would send");
    FakeCallContext list("list");
    EXPECT_FALSE(tool.body->preview({}, list)->supported);
}

TEST(AdapterTool, PutsScopesRiskAndEffectOfEachActionIntoTheContract) {
    const auto entry = ToolEntry::make(adapter_tool(named("mail"), mail_actions())).value();
    EXPECT_EQ(entry->actions(), (std::vector<std::string>{"list", "send"}));
    EXPECT_EQ(entry->risk("send"), Risk::high);
    EXPECT_EQ(entry->risk("list"), Risk::low);
    EXPECT_EQ(entry->effect("send"), EffectClass::unsafe);
    EXPECT_EQ(entry->effect("list"), EffectClass::read);
    ASSERT_NE(entry->missing_scope({}, "send"), nullptr);
    EXPECT_EQ(*entry->missing_scope({}, "send"), "mail:send");
    EXPECT_EQ(entry->missing_scope({}, "list"), nullptr);
}

TEST(AdapterTool, KeepsItsOwnScopesWhenTheOperatorWritesAnotherContract) {
    Tool tool = adapter_tool(named("mail"), mail_actions());
    tool.contract = Contract();
    const auto entry = ToolEntry::make(tool).value();
    ASSERT_NE(entry->missing_scope({}, "send"), nullptr);
    EXPECT_EQ(entry->missing_scope({"mail:send"}, "send"), nullptr);
}

}  // namespace
}  // namespace callgate
