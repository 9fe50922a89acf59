// S3, the SYRIS tool runtime: one enforcement point with scopes, risk, gates, keys, audit and secrets.
#include <callgate/callgate.h>
#include <callgate/exceptions.h>
#include <callgate/views.h>

#include <set>
#include <sstream>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/failpoint.h"
#include "pipeline/runtime_testing.h"
#include "seeds_testing.h"

namespace callgate {
namespace {

using namespace std::chrono_literals;
using pipeline::deferred;
using pipeline::DeferredBody;
using pipeline::Ended;
using pipeline::TestRuntime;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// A tool with an effect that runs where it is called.
Tool acting(std::string name, std::function<ToolReturn(CallContext&)> act) {
    return schema_tool(ToolDefinition(std::move(name), "", kAnyObject),
                       [act = std::move(act)](const Object&, CallContext& context) { return act(context); })
        .run_inline();
}

Tool counting(std::string name, int& runs) {
    return acting(std::move(name), [&runs](CallContext&) { return ToolReturn(ToolResult(Value(++runs))); });
}

Tool failing(std::string name, ToolFailure failure, int* runs = nullptr) {
    return acting(std::move(name), [failure, runs](CallContext&) -> ToolReturn {
        if (runs != nullptr) ++*runs;
        return tl::unexpected(failure);
    });
}

Context at(Autonomy level) {
    Context context;
    context.autonomy = level;
    return context;
}

Context keyed(std::string key, std::string principal = "local") {
    Context context;
    context.idempotency_key = std::move(key);
    context.principal = std::move(principal);
    return context;
}

CallRequest acted(std::string tool, std::string action, Args args = {}) {
    CallRequest request(std::move(tool), std::move(args));
    request.action = std::move(action);
    return request;
}

void set_policy(TestRuntime& node, const std::function<void(PolicyConfig&)>& change) {
    PolicyConfig config = node->policy().get();
    change(config);
    ASSERT_TRUE(node->policy().set(config));
}

AuditEvent last_event(TestRuntime& node) {
    const auto events = must(node->audit());
    return events.empty() ? AuditEvent() : events.back();
}

ToolHealth health(HealthStatus status) {
    ToolHealth health;
    health.status = status;
    return health;
}

// ---- the runtime and its registry

TEST(S3, R1_NoWayIntoTheRuntimeGoesAroundItsChecks) {
    TestRuntime node;
    int runs = 0;
    const Tool guarded = counting("guarded", runs).scopes({"admin"});
    ASSERT_TRUE(node->tools().add(guarded));
    ASSERT_TRUE(node->tools().add(acting("outer", [](CallContext& context) -> ToolReturn {
        return ToolResult(Value(to_string(context.call("guarded", {}).state())));
    })));
    std::vector<Outcome> refused{node->call("guarded"),
                                 node->call(acted("guarded", "call")),
                                 node->call_json(R"({"name":"guarded","arguments":{}})"),
                                 node->call_json(R"({"function":{"name":"guarded","arguments":"{}"}})"),
                                 node->call_direct(guarded),
                                 node->preview("guarded")};
    for (const Outcome& outcome : node->call_batch({CallRequest("guarded"), CallRequest("guarded")}))
        refused.push_back(outcome);
    refused.push_back(**node.start(CallRequest("guarded")));
    for (const Outcome& outcome : refused) EXPECT_EQ(outcome.state(), State::scope_denied);
    EXPECT_THROW(node->call_or_throw("guarded"), ScopeViolation);
    EXPECT_EQ(node->call("outer").text(), "scope_denied") << "a tool has no more rights than its caller";
    EXPECT_EQ(runs, 0);
}

TEST(S3, R2_TheRegistryRegistersFindsListsAndKeepsHealth) {
    TestRuntime node;
    int runs = 0;
    Registry& tools = node->tools();
    for (const char* name : {"one", "two", "three"}) ASSERT_TRUE(tools.add(counting(name, runs)));
    EXPECT_FALSE(tools.add(counting("one", runs))) << "a name is not taken over by accident";
    ASSERT_TRUE(tools.get("two"));
    EXPECT_EQ(tools.get("two")->definition.name, "two");
    EXPECT_FALSE(tools.get("four"));
    EXPECT_EQ(tools.list_healthy().size(), 3u);
    EXPECT_TRUE(tools.update_health("two", health(HealthStatus::unavailable)));
    EXPECT_TRUE(tools.update_health("three", health(HealthStatus::degraded)));
    EXPECT_FALSE(tools.update_health("four", health(HealthStatus::healthy)));
    ASSERT_EQ(tools.list_healthy().size(), 1u);
    EXPECT_EQ(tools.list_healthy()[0].definition.name, "one");
    EXPECT_EQ(tools.get("three")->health.status, HealthStatus::degraded);
    EXPECT_TRUE(tools.remove("one"));
    EXPECT_FALSE(tools.get("one"));
}

TEST(S3, R3_ARegisteredToolCarriesItsContract) {
    TestRuntime node;
    int runs = 0;
    Tool tool = counting("mail", runs)
                    .scopes({"mail:send"})
                    .connector("gmail")
                    .capability("notification")
                    .risk(Risk::medium)
                    .risk("delete", Risk::high)
                    .preview([](const Object&, CallContext&) { return Result<Preview>(Preview("?")); });
    tool.contract.config_ref = "db:connectors/17";
    ASSERT_TRUE(node->tools().add(tool));
    const RegisteredTool found = *node->tools().get("mail");
    EXPECT_EQ(found.definition.name, "mail");
    EXPECT_EQ(found.contract.connector_id, "gmail");
    EXPECT_THAT(found.contract.capabilities, ElementsAre("notification"));
    EXPECT_THAT(found.contract.scopes.all(), ElementsAre("mail:send"));
    EXPECT_EQ(found.contract.risk, Risk::medium);
    EXPECT_EQ(found.contract.risk_map.at("delete"), Risk::high);
    EXPECT_TRUE(found.supports_preview);
    EXPECT_EQ(found.contract.provider, ProviderType::native);
    EXPECT_EQ(found.health.status, HealthStatus::healthy);
    EXPECT_EQ(found.contract.config_ref, "db:connectors/17");
}

TEST(S3, R3_NoSecretStandsInAContract) {
    TestRuntime node;
    int runs = 0;
    for (const char* reference :
         {"{\"password\":\"hunter22\"}", "https://ann:hunter22@db.example/x",
          "postgres://u:s3cretpass@host/db", "ghp_0123456789abcdefghij0123456789abcdef"}) {
        Tool tool = counting("mail", runs);
        tool.contract.config_ref = reference;
        const auto added = node->tools().add(tool);
        ASSERT_FALSE(added) << reference;
        EXPECT_THAT(added.error().message, Not(HasSubstr("hunter22")));
    }
}

TEST(S3, R4_HealthFollowsTheCalls) {
    TestRuntime node;
    bool broken = true;
    ASSERT_TRUE(node->tools().add(acting("shaky", [&](CallContext&) -> ToolReturn {
        if (broken) return tl::unexpected(ToolFailure::unreachable("connection refused"));
        return ToolResult(Value(1));
    })));
    const auto now = [&] { return node->tools().get("shaky")->health; };
    EXPECT_EQ(now().status, HealthStatus::healthy);
    EXPECT_FALSE(now().last_success_at || now().last_error || now().rate_limit_resets_at);
    EXPECT_EQ(now().consecutive_errors, 0u);
    for (int i = 0; i < 3; ++i) node->call("shaky");
    EXPECT_EQ(now().status, HealthStatus::degraded);
    EXPECT_EQ(now().consecutive_errors, 3u);
    EXPECT_EQ(now().last_error, "connection refused");
    broken = false;
    EXPECT_TRUE(node->call("shaky").ok()) << "degraded is still callable (D3)";
    EXPECT_EQ(now().status, HealthStatus::healthy);
    EXPECT_EQ(now().consecutive_errors, 0u);
    EXPECT_EQ(now().last_success_at, std::chrono::system_clock::time_point(node.clock->wall_now()));
}

TEST(S3, R4_ARateLimitIsKeptWithItsEnd) {  // S3-24
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(failing("busy", ToolFailure::rate_limited("429", 90s))));
    const Outcome limited = node->call("busy");
    EXPECT_TRUE(limited.error()->retryable);
    EXPECT_EQ(last_event(node).type, "tool_call.failed");
    EXPECT_EQ(node->tools().get("busy")->health.rate_limit_resets_at,
              std::chrono::system_clock::time_point(node.clock->wall_now() + 90s));
}

// An adapter as its author writes it.
class Lights final : public ToolBody {
public:
    ToolReturn run(const Object& request, CallContext& context) override {
        executed.push_back(context.action() + json::write(request));
        seen = context.caller();
        return ToolResult(Value("done"));
    }
    bool has_preview() const noexcept override { return true; }
    Result<Preview> preview(const Object& request, CallContext& context) override {
        previewed.push_back(context.action() + json::write(request));
        preview_key = context.caller().idempotency_key;
        return Preview("would do " + context.action(), Value(Object{{"on", true}}));
    }
    std::vector<std::string> actions() const override { return {"switch", "reset"}; }
    ScopeSet scopes_required(std::string_view action) const override {
        return action == "reset" ? ScopeSet{"lights", "lights:admin"} : ScopeSet{"lights"};
    }

    std::vector<std::string> executed;
    std::vector<std::string> previewed;
    std::string preview_key;
    Context seen;
};

Context with_lights() {
    Context context;
    context.scopes = {"lights"};
    return context;
}

TEST(S3, R5_AToolExecutesAnActionWithARequest) {
    TestRuntime node;
    auto lights = std::make_shared<Lights>();
    ASSERT_TRUE(node->tools().add(Tool(ToolDefinition("lights", "", kAnyObject), lights)));
    EXPECT_EQ(node->call(acted("lights", "switch", {{"room", 1}}), with_lights()).text(), "done");
    EXPECT_THAT(lights->executed, ElementsAre(R"(switch{"room":1})"));
    EXPECT_EQ(node->call(acted("lights", "explode"), with_lights()).error()->code, ErrorCode::unknown_action);
}

TEST(S3, R5_WhatAToolNeedsOfItselfIsAddedToItsContract) {  // D4
    TestRuntime node;
    auto lights = std::make_shared<Lights>();
    ASSERT_TRUE(node->tools().add(Tool(ToolDefinition("lights", "", kAnyObject), lights)));
    EXPECT_EQ(node->call(acted("lights", "switch")).state(), State::scope_denied);
    EXPECT_EQ(node->call(acted("lights", "reset"), with_lights()).error()->details.at("scope"),
              "lights:admin");
    EXPECT_THAT(lights->executed, IsEmpty());
}

TEST(S3, R5_APreviewShowsAndDoesNothing) {
    TestRuntime node;
    int runs = 0;
    auto lights = std::make_shared<Lights>();
    ASSERT_TRUE(node->tools().add(Tool(ToolDefinition("lights", "", kAnyObject), lights)));
    ASSERT_TRUE(node->tools().add(counting("blind", runs)));
    const Outcome shown = node->preview("lights", {{"room", 1}}, with_lights(), "switch");
    EXPECT_EQ(shown.state(), State::previewed);
    EXPECT_TRUE(shown.preview()->supported);
    EXPECT_EQ(shown.preview()->summary, "would do switch");
    EXPECT_EQ(shown.preview()->diff, Value(Object{{"on", true}}));
    EXPECT_THAT(lights->executed, IsEmpty());
    const Outcome blind = node->preview("blind");
    EXPECT_FALSE(blind.preview()->supported);
    EXPECT_EQ(blind.preview()->summary, "This tool does not support dry-run preview.");
    EXPECT_EQ(runs, 0);
}

TEST(S3, R6_TheContextBringsEverythingAToolMayKnow) {
    TestRuntime node;
    auto lights = std::make_shared<Lights>();
    ASSERT_TRUE(node->tools().add(Tool(ToolDefinition("lights", "", kAnyObject), lights)));
    Context context = with_lights();
    context.trace_id = "trace-1";
    context.task_id = "task-2";
    context.step_id = "step-3";
    context.idempotency_key = "key-4";
    context.autonomy = Autonomy::a3;
    const Outcome done = node->call(acted("lights", "switch"), context);
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(lights->seen.trace_id, "trace-1");
    EXPECT_EQ(lights->seen.task_id, "task-2");
    EXPECT_EQ(lights->seen.step_id, "step-3");
    EXPECT_EQ(lights->seen.idempotency_key, "key-4");
    EXPECT_EQ(lights->seen.autonomy, Autonomy::a3);
    EXPECT_TRUE(lights->seen.scopes.contains("lights"));
    for (const AuditEvent& event : must(node->audit("trace-1"))) {
        EXPECT_EQ(event.task_id, "task-2");
        EXPECT_EQ(event.step_id, "step-3");
        EXPECT_EQ(event.autonomy, Autonomy::a3);
    }
    EXPECT_EQ(Context().autonomy, Autonomy::a2) << "the default level";
}

// ---- the flow

// Notes what is reported, and when.
class EventSequence final : public Observer {
public:
    void on_audit(const AuditEvent& event) override { said.emplace_back(event.type); }
    std::vector<std::string> said;
};

template <class Exception>
void expect_audited_then_thrown(const std::function<void(Runtime&)>& prepare, CallRequest request,
                                Context context, const std::string& event) {
    TestRuntime node;
    prepare(*node.runtime);
    auto sequence = std::make_shared<EventSequence>();
    node->observe(sequence);
    context.trace_id = "the-trace";
    bool on_record = false;
    try {
        node->call_or_throw(std::move(request), std::move(context));
    } catch (const Exception& error) {
        const auto record = must(node->audit("the-trace"));
        on_record = record.size() == 1 && record[0].type == event && record[0].trace_id == "the-trace";
        sequence->said.emplace_back("thrown");
        EXPECT_NE(error.outcome().error(), nullptr);
    }
    EXPECT_TRUE(on_record) << event;
    EXPECT_THAT(sequence->said, ElementsAre(event, "thrown"));
}

TEST(S3, R7_EveryStepThatFailsIsAuditedBeforeItRaises) {  // U-2, V89
    static int runs = 0;
    const auto with = [](std::function<void(Tool&)> change) {
        return [change = std::move(change)](Runtime& runtime) {
            Tool tool = counting("t", runs);
            change(tool);
            EXPECT_TRUE(runtime.tools().add(tool));
        };
    };
    const auto plain = with([](Tool&) {});
    runs = 0;
    expect_audited_then_thrown<ToolNotFound>([](Runtime&) {}, CallRequest("t"), {}, "tool_call.failed");
    expect_audited_then_thrown<ToolUnavailable>(
        [&](Runtime& runtime) {
            plain(runtime);
            runtime.tools().update_health("t", health(HealthStatus::unavailable));
        },
        CallRequest("t"), {}, "tool_call.failed");
    expect_audited_then_thrown<ScopeViolation>(with([](Tool& tool) { tool.scopes({"admin"}); }),
                                               CallRequest("t"), {}, "tool_call.failed");
    expect_audited_then_thrown<InvalidArguments>(plain, CallRequest("t", "[]"), {}, "tool_call.failed");
    expect_audited_then_thrown<HardBlocked>(with([](Tool& tool) { tool.risk(Risk::critical); }),
                                            CallRequest("t"), {}, "gate.hard_blocked");
    expect_audited_then_thrown<ApprovalRequired>(with([](Tool& tool) { tool.risk(Risk::high); }),
                                                 CallRequest("t"), {}, "gate.required");
    expect_audited_then_thrown<PreviewRequired>(plain, CallRequest("t"), at(Autonomy::a0), "gate.preview");
    EXPECT_EQ(runs, 0);
}

TEST(S3, R7_TheStepsAreInTheirOrder) {
    // A call with everything wrong learns the first thing; mended, the next one.
    TestRuntime node;
    int runs = 0;
    Tool tool = counting("t", runs).scopes({"admin"}).risk(Risk::high);
    tool.definition.input_schema = Object{{"type", "object"}, {"required", {"x"}}};
    const auto told = [&](Args args, Context context) {
        context.idempotency_key = "k";
        return node->call("t", std::move(args), context).state();
    };
    Context admin;
    admin.scopes = {"admin"};
    EXPECT_EQ(told("{bad", {}), State::not_found);
    ASSERT_TRUE(node->tools().add(tool));
    node->tools().update_health("t", health(HealthStatus::unavailable));
    EXPECT_EQ(told("{bad", {}), State::unavailable);
    node->tools().update_health("t", health(HealthStatus::healthy));
    EXPECT_EQ(told("{bad", {}), State::scope_denied) << "who may not call learns nothing of the schema (U-1)";
    EXPECT_EQ(told("{bad", admin), State::invalid);
    EXPECT_EQ(told({}, admin), State::invalid);
    EXPECT_EQ(told({{"x", 1}}, admin), State::needs_approval);
    EXPECT_EQ(runs, 0);
    ASSERT_TRUE(node->approvals().approve(must(node->approvals().list())[0].id, "olga"));
    EXPECT_EQ(told({{"x", 1}}, admin), State::succeeded);
    EXPECT_EQ(told({{"x", 1}}, admin), State::replayed) << "a replay asks nobody again (D1)";
    EXPECT_EQ(told({{"x", 1}}, {}), State::scope_denied) << "and is no way round the scopes (D1)";
    EXPECT_EQ(runs, 1);
}

TEST(S3, R7_WhatIsRaisedHasTheWholeOutcome) {  // U-2
    TestRuntime node;
    auto lights = std::make_shared<Lights>();
    Tool tool(ToolDefinition("lights", "", kAnyObject), lights);
    ASSERT_TRUE(node->tools().add(tool.risk(Risk::high)));
    Context context = with_lights();
    try {
        node->call_or_throw(acted("lights", "switch"), context);
        FAIL();
    } catch (const ApprovalRequired& raised) {
        const auto approval = node->approvals().get(raised.outcome().approval_id());
        ASSERT_TRUE(approval);
        EXPECT_EQ(approval->state, ApprovalState::pending);
    }
    context.autonomy = Autonomy::a0;
    try {
        node->call_or_throw(acted("lights", "switch"), context);
        FAIL();
    } catch (const PreviewRequired& raised) {
        EXPECT_EQ(raised.outcome().preview()->summary, "would do switch");
    }
}

TEST(S3, R7_WhatTheToolDidWrongIsRaisedToo) {  // U-2
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(failing("told", ToolFailure::answered("no"))));
    ASSERT_TRUE(node->tools().add(failing("lost", ToolFailure::lost("pipe broken"))));
    EXPECT_THROW(node->call_or_throw("told"), ToolExecutionError);
    EXPECT_THROW(node->call_or_throw("lost"), OutcomeUnknown);
#ifdef CALLGATE_FAILPOINTS
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("act", runs)));
    base::failpoints().arm("ledger.claim", base::FailAction::error);
    EXPECT_THROW(node->call_or_throw("act"), AuditWriteError);
    EXPECT_EQ(runs, 0) << "without its record a tool does not run";
    base::failpoints().arm("ledger.settle", base::FailAction::error);
    EXPECT_THROW(node->call_or_throw("act"), AuditWriteError);
    base::failpoints().arm("ledger.record", base::FailAction::error);
    EXPECT_THROW(node->call_or_throw("nobody"), AuditWriteError);
    base::failpoints().clear();
#endif
}

TEST(S3, R8_AToolThatIsUnknownOrDownFailsAtOnce) {  // V90
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs)));
    node->tools().update_health("t", health(HealthStatus::unavailable));
    for (const char* name : {"t", "nobody"}) {
        const Outcome refused = node->call(name);
        EXPECT_EQ(refused.attempts(), 0u);
        EXPECT_EQ(last_event(node).type, "tool_call.failed");
        EXPECT_EQ(last_event(node).outcome, "failure");
    }
    EXPECT_EQ(node->call("t").error()->code, ErrorCode::unavailable);
    EXPECT_EQ(runs, 0);
}

TEST(S3, R9_AMissingScopeIsAViolationAndNeverRetried) {  // V89
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(
        node->tools().add(counting("t", runs).scopes({"mail:read", "mail:send"}).retries(RetryPolicy(5))));
    Context context;
    context.scopes = {"mail:read"};
    context.trace_id = "t-1";
    const Outcome refused = node->call("t", {}, context);
    EXPECT_EQ(refused.error()->code, ErrorCode::scope_denied);
    EXPECT_FALSE(refused.error()->retryable);
    EXPECT_EQ(refused.error()->details.at("scope"), "mail:send");
    const auto audit = must(node->audit("t-1"));
    ASSERT_EQ(audit.size(), 1u);
    EXPECT_EQ(audit[0].error_code, "scope.violation");
    EXPECT_EQ(runs, 0);
    context.scopes.add("mail:send");
    EXPECT_TRUE(node->call("t", {}, context).ok());
}

// ---- risk

// The risk the audit has of a call of this tool.
Risk risk_of(TestRuntime& node, CallRequest request) {
    Context context;
    context.autonomy = Autonomy::a4;
    node->call(std::move(request), context);
    return last_event(node).risk;
}

TEST(S3, R10_AnActionsRiskBeatsTheDefault) {  // V88
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(
        counting("t", runs).risk(Risk::medium).risk("peek", Risk::low).risk("push", Risk::high)));
    EXPECT_EQ(risk_of(node, CallRequest("t")), Risk::medium);
    EXPECT_EQ(risk_of(node, acted("t", "peek")), Risk::low);
    EXPECT_EQ(risk_of(node, acted("t", "push")), Risk::high);
}

TEST(S3, R10_AdjustersAddUpAndNeverLower) {  // V87
    TestRuntime node;
    int runs = 0;
    const auto tool = [&](Risk risk) {
        Tool made = counting("t", runs).risk(risk).target("/to");
        made.contract.blast_radius = "/items";
        EXPECT_TRUE(node->tools().add(made, IfPresent::replace));
    };
    set_policy(node, [](PolicyConfig& config) {
        config.antiflap = 0ms;
        config.blast_radius_above = 2;
    });
    const Args everybody({{"to", {"ann", "bob"}}});
    const Args everything({{"to", "@everyone"}, {"items", {1, 2, 3}}});
    tool(Risk::low);
    EXPECT_EQ(risk_of(node, CallRequest("t", {{"to", "ann"}, {"items", {1, 2}}})), Risk::low);
    EXPECT_EQ(risk_of(node, CallRequest("t", everybody)), Risk::medium);
    EXPECT_EQ(risk_of(node, acted("t", "delete", {{"to", "ann"}})), Risk::medium);
    EXPECT_EQ(risk_of(node, CallRequest("t", {{"items", {1, 2, 3}}})), Risk::medium);
    EXPECT_EQ(risk_of(node, acted("t", "delete", everybody)), Risk::high);
    EXPECT_EQ(risk_of(node, acted("t", "wipe_disk", everything)), Risk::critical);
    tool(Risk::high);
    EXPECT_EQ(risk_of(node, acted("t", "reset", everything)), Risk::critical) << "and no further";
    EXPECT_EQ(risk_of(node, CallRequest("t", {{"to", "ann"}})), Risk::high);
    tool(Risk::low);
    set_policy(node,
               [](PolicyConfig& config) { config.quiet_hours = {TimeWindow(0min, 0min + 23h, "UTC")}; });
    EXPECT_EQ(risk_of(node, CallRequest("t", {{"to", "ann"}})), Risk::medium);
    EXPECT_EQ(risk_of(node, acted("t", "delete", everything)), Risk::critical);
}

TEST(S3, R10_WhatIsNotOursIsHighRiskUntilTheOperatorSaysOtherwise) {  // V110, S3-23
    TestRuntime node;
    int runs = 0;
    Tool remote = counting("server/read", runs);
    remote.contract.provider = ProviderType::mcp;
    remote.contract.server = "server";
    remote.definition.annotations = {{"readOnlyHint", true}};
    ASSERT_TRUE(node->tools().add(remote));
    EXPECT_EQ(node->call("server/read").state(), State::needs_approval);
    EXPECT_EQ(last_event(node).risk, Risk::high);
    EXPECT_EQ(runs, 0);
    ASSERT_TRUE(node->tools().add(remote.risk(Risk::low), IfPresent::replace));
    EXPECT_TRUE(node->call("server/read").ok());
}

// ---- the gate

TEST(S3, R11_ConfirmMakesAnApprovalAndRunsNothing) {  // V91
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs).risk(Risk::medium)));
    Context context = at(Autonomy::a1);
    context.trace_id = "t-1";
    context.task_id = "task";
    context.step_id = "step";
    const Outcome asked = node->call("t", {{"n", 1}}, context);
    EXPECT_EQ(asked.state(), State::needs_approval);
    EXPECT_EQ(runs, 0);
    ASSERT_EQ(must(node->audit("t-1")).size(), 1u);
    EXPECT_EQ(last_event(node).type, "gate.required");
    EXPECT_EQ(last_event(node).approval_id, asked.approval_id());

    ASSERT_EQ(must(node->approvals().list()).size(), 1u);
    const Approval approval = must(node->approvals().list())[0];
    EXPECT_EQ(approval.id, asked.approval_id());
    EXPECT_EQ(approval.tool, "t");
    EXPECT_EQ(approval.arguments, Value(Object{{"n", 1}}));
    EXPECT_THAT(approval.why, AllOf(HasSubstr("A1"), HasSubstr("medium")));
    EXPECT_THAT(approval.how_to_approve, HasSubstr(approval.id));
    EXPECT_EQ(approval.risk, Risk::medium);
    EXPECT_EQ(approval.autonomy, Autonomy::a1);
    EXPECT_EQ(approval.trace_id, "t-1");
    EXPECT_EQ(approval.task_id, "task");
    EXPECT_EQ(approval.step_id, "step");

    ASSERT_TRUE(node->approvals().approve(approval.id, "olga", Assurance::a2, "fine"));
    EXPECT_EQ(runs, 0) << "deciding executes nothing";
    node.recorder->clear();
    const Outcome done = node->resume(asked.call_id());
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(runs, 1);
    EXPECT_THAT(node.recorder->audit_types(),
                ElementsAre("gate.approved", "tool_call.attempted", "tool_call.succeeded"));
    EXPECT_EQ(done.approval_id(), approval.id) << "a new call, linked by the approval (D17)";
    EXPECT_NE(done.call_id(), asked.call_id());
    const Approval used = *node->approvals().get(approval.id);
    EXPECT_EQ(used.state, ApprovalState::consumed);
    EXPECT_EQ(used.consumed_by, done.call_id());
    ASSERT_EQ(used.votes.size(), 1u);
    EXPECT_EQ(used.votes[0].approver, "olga");
    EXPECT_EQ(used.votes[0].reason, "fine");
}

TEST(S3, R11_ADeniedCallNeverRuns) {  // V92
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs).risk(Risk::high)));
    const Outcome asked = node->call("t");
    node.recorder->clear();
    ASSERT_TRUE(node->approvals().deny(asked.approval_id(), "olga", "too much"));
    EXPECT_THAT(node.recorder->audit_types(), ElementsAre("gate.denied"));
    EXPECT_FALSE(node->approvals().approve(asked.approval_id(), "otto")) << "one denial is final";
    EXPECT_EQ(node->resume(asked.call_id()).error()->code, ErrorCode::approval_denied);
    EXPECT_EQ(runs, 0);
}

TEST(S3, R11_PreviewRunsThePreviewAndNothingElse) {  // V94
    for (const Risk risk : {Risk::low, Risk::medium, Risk::high, Risk::critical}) {
        TestRuntime node;
        int runs = 0;
        auto lights = std::make_shared<Lights>();
        Tool tool(ToolDefinition("lights", "", kAnyObject), lights);
        ASSERT_TRUE(node->tools().add(tool.risk(risk)));
        ASSERT_TRUE(node->tools().add(counting("blind", runs).risk(risk)));
        Context context = with_lights();
        context.autonomy = Autonomy::a0;
        EXPECT_THROW(node->call_or_throw(acted("lights", "switch"), context), PreviewRequired);
        EXPECT_EQ(lights->previewed.size(), 1u);
        EXPECT_THAT(lights->executed, IsEmpty());
        EXPECT_EQ(last_event(node).type, "gate.preview");
        const Outcome blind = node->call("blind", {}, context);
        EXPECT_FALSE(blind.preview()->supported);
        EXPECT_EQ(blind.error()->details.at("supported"), false);
        EXPECT_EQ(runs, 0);
    }
}

TEST(S3, R12_TheMatrixCellByCell) {  // V86
    // A allow, P preview, C confirm, X hard block; columns low, medium, high, critical.
    constexpr std::string_view kMatrix[]{"PPPP", "CCCX", "ACCX", "AACX", "AAAC"};
    for (std::size_t level = 0; level < 5; ++level) {
        for (std::size_t risk = 0; risk < 4; ++risk) {
            TestRuntime node;
            int runs = 0;
            ASSERT_TRUE(node->tools().add(counting("t", runs).risk(static_cast<Risk>(risk))));
            const Outcome outcome = node->call("t", {}, at(static_cast<Autonomy>(level)));
            const char expected = kMatrix[level][risk];
            const State state = expected == 'A'   ? State::succeeded
                                : expected == 'P' ? State::previewed
                                : expected == 'C' ? State::needs_approval
                                                  : State::denied;
            EXPECT_EQ(outcome.state(), state) << "A" << level << ", risk " << risk;
            EXPECT_EQ(runs, expected == 'A' ? 1 : 0);
        }
    }
}

TEST(S3, R12_AnUnknownLevelIsBlocked) {  // V86
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs).risk(Risk::low)));
    EXPECT_EQ(node->call("t", {}, at(static_cast<Autonomy>(9))).state(), State::denied);
    EXPECT_EQ(last_event(node).type, "gate.hard_blocked");
    EXPECT_FALSE(autonomy_from_string("A9"));
    EXPECT_EQ(runs, 0);
}

TEST(S3, R12_NothingLiftsAHardBlock) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs).risk(Risk::critical)));
    set_policy(node, [](PolicyConfig& config) { config.rules = {Rule("yes", Rule::Do::allow)}; });
    Grant grant;
    grant.tool = "*";
    grant.granted_by = "olga";
    grant.expires_at = node.clock->wall_now() + 1h;
    ASSERT_TRUE(node->policy().add_grant(grant));
    const Outcome blocked = node->call("t");
    EXPECT_EQ(blocked.state(), State::denied);
    EXPECT_TRUE(blocked.approval_id().empty()) << "there is nothing to approve";
    EXPECT_THAT(must(node->approvals().list()), IsEmpty());
    EXPECT_EQ(runs, 0);
}

TEST(S3, R13_ASecretScopeAlwaysAsks) {  // V96
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs).scopes({"secrets:read"})));
    Context context = at(Autonomy::a4);
    context.scopes = {"secrets:read"};
    EXPECT_EQ(node->call("t", {}, context).state(), State::needs_approval);
    set_policy(node, [](PolicyConfig& config) { config.rules = {Rule("yes", Rule::Do::allow)}; });
    EXPECT_EQ(node->call("t", {}, context).state(), State::needs_approval) << "no rule lifts it";
    Grant grant;
    grant.tool = "*";
    grant.granted_by = "olga";
    grant.expires_at = node.clock->wall_now() + 1h;
    ASSERT_TRUE(node->policy().add_grant(grant));
    EXPECT_EQ(node->call("t", {}, context).state(), State::needs_approval) << "and no grant";
    context.autonomy = Autonomy::a0;
    EXPECT_EQ(node->call("t", {}, context).state(), State::previewed) << "A0 stays a preview (D5)";
    EXPECT_EQ(runs, 0);
}

TEST(S3, R13_QuietHoursRaiseAndAsk) {  // V97
    // It is 2026-01-01, midnight in UTC: 01:00 in Berlin, 19:00 of the day before in New York.
    const auto asked = [](Risk risk, const char* zone) {
        TestRuntime node;
        static int runs;
        EXPECT_TRUE(node->tools().add(counting("t", runs).risk(risk)));
        set_policy(node, [&](PolicyConfig& config) {
            config.quiet_hours = {TimeWindow(22h, 23h + 30min, "UTC"), TimeWindow(22h, 7h, zone)};
        });
        const State state = node->call("t", {}, at(Autonomy::a3)).state();
        return std::pair(state, last_event(node).risk);
    };
    EXPECT_EQ(asked(Risk::medium, "Europe/Berlin"), std::pair(State::needs_approval, Risk::high));
    EXPECT_EQ(asked(Risk::low, "Europe/Berlin"), std::pair(State::needs_approval, Risk::medium));
    EXPECT_EQ(asked(Risk::medium, "America/New_York"), std::pair(State::succeeded, Risk::medium));
    EXPECT_EQ(asked(Risk::high, "Europe/Berlin"), std::pair(State::denied, Risk::critical));
}

TEST(S3, R13_TheSameThingAgainWithinTheCooldownIsSuppressed) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs).target("/to")));
    const auto to = [&](const char* target, Context context = {}) {
        return node->call("t", {{"to", target}}, std::move(context)).state();
    };
    EXPECT_EQ(to("ann", keyed("k")), State::succeeded);
    EXPECT_EQ(to("ann"), State::suppressed);
    EXPECT_EQ(last_event(node).type, "gate.antiflap_block");
    EXPECT_EQ(last_event(node).outcome, "suppressed");
    EXPECT_EQ(to("bob"), State::succeeded);
    EXPECT_EQ(to("ann", keyed("k")), State::replayed) << "a replay does not flap (U-8)";
    node.advance(9'999ms);
    EXPECT_EQ(to("ann"), State::suppressed);
    node.advance(1ms);
    EXPECT_EQ(to("ann"), State::succeeded);
    EXPECT_EQ(runs, 3);
}

TEST(S3, R13_AStormOfNotificationsIsStopped) {
    TestRuntime node;
    int runs = 0;
    set_policy(node, [](PolicyConfig& config) { config.notifications_per_hour = 2; });
    ASSERT_TRUE(node->tools().add(counting("mail", runs).capability("notification")));
    ASSERT_TRUE(node->tools().add(counting("chat", runs).capability("notification")));
    ASSERT_TRUE(node->tools().add(counting("other", runs)));
    EXPECT_TRUE(node->call("mail").ok());
    node.advance(30min);
    EXPECT_TRUE(node->call("chat").ok());
    EXPECT_EQ(node->call("mail").state(), State::suppressed);
    EXPECT_EQ(last_event(node).type, "gate.storm_block");
    EXPECT_EQ(last_event(node).outcome, "suppressed");
    EXPECT_TRUE(node->call("other").ok()) << "only what notifies";
    node.advance(30min);
    EXPECT_TRUE(node->call("mail").ok());
    EXPECT_EQ(node->call("chat").state(), State::suppressed);
}

TEST(S3, R14_AnApprovalExpires) {  // D17
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs).risk(Risk::high)));
    const auto lifetime = [&](const Outcome& asked) {
        const Approval approval = *node->approvals().get(asked.approval_id());
        return approval.expires_at - approval.created_at;
    };
    const Outcome asked = node->call("t");
    EXPECT_EQ(lifetime(asked), 15min);
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    node.advance(15min);
    EXPECT_EQ(node->resume(asked.call_id()).error()->code, ErrorCode::approval_expired)
        << "checked at its use";
    set_policy(node, [](PolicyConfig& config) { config.approval_ttl = 3600s; });
    EXPECT_EQ(lifetime(node->call("t")), 1h);
    PolicyConfig config;
    config.approval_ttl = 24h + 1ms;
    EXPECT_FALSE(node->policy().set(config));
    EXPECT_EQ(runs, 0);
}

TEST(S3, R14_AnApprovalIsForOneCallAndOneUse) {  // U-8, D12, D17
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs).risk(Risk::high)));
    const Outcome asked = node->call("t", {{"password", "one"}}, keyed("k"));
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    EXPECT_EQ(node->call("t", {{"password", "two"}}, keyed("k")).state(), State::needs_approval)
        << "even if they differ only where nobody sees it";
    EXPECT_EQ(node->call("t", {{"password", "one"}}, keyed("other")).state(), State::needs_approval);
    EXPECT_EQ(node->call("t", {{"password", "one"}}, keyed("k", "mallory")).state(), State::needs_approval);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(node->call("t", {{"password", "one"}}, keyed("k")).state(), State::succeeded);
    EXPECT_EQ(node->call("t", {{"password", "one"}}, keyed("k")).state(), State::replayed) << "asks nobody";
    EXPECT_EQ(node->resume(asked.call_id()).state(), State::replayed);
    EXPECT_EQ(node->call("t", {{"password", "one"}}).state(), State::needs_approval) << "another call";
    EXPECT_EQ(runs, 1);
}

TEST(S3, R14_NobodyApprovesTheirOwnCall) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs).risk(Risk::high)));
    const Outcome asked = node->call("t", {}, keyed("k", "ann"));
    EXPECT_EQ(node->approvals().approve(asked.approval_id(), " ANN ").error().details.at("reason"),
              "self_approval");
    EXPECT_EQ(node->approvals().get(asked.approval_id())->state, ApprovalState::pending);
}

// ---- keys

TEST(S3, R15_TheSameKeyAgainGivesTheStoredResult) {  // V100
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs)));
    const Outcome first = node->call("t", {{"n", 1}}, keyed("k"));
    const Outcome second = node->call("t", {{"n", 1}}, keyed("k"));
    EXPECT_TRUE(second.ok() && second.replayed());
    EXPECT_EQ(second.content(), first.content());
    EXPECT_EQ(runs, 1);
    EXPECT_THAT(node.recorder->audit_types(),
                ElementsAre("tool_call.attempted", "tool_call.succeeded", "tool_call.deduped"));
    EXPECT_EQ(last_event(node).outcome, "suppressed");
}

TEST(S3, R15_AStoredFailureIsReplayedToo) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(failing("t", ToolFailure::answered("no"), &runs)));
    EXPECT_FALSE(node->call("t", {}, keyed("k")).ok());
    const Outcome again = node->call("t", {}, keyed("k"));
    EXPECT_TRUE(again.replayed());
    EXPECT_FALSE(again.ok());
    EXPECT_EQ(again.error()->message, "no");
    EXPECT_EQ(runs, 1);
}

TEST(S3, R15_TwoAtOnceRunOnce) {  // V101, D16
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("t", body)));
    const Ended first = node.start(CallRequest("t"), keyed("k"));
    const Ended second = node.start(CallRequest("t"), keyed("k"));
    CallRequest hasty("t");
    hasty.timeout = 1s;
    const Ended third = node.start(hasty, keyed("k"));
    EXPECT_EQ(body->entered(), 1);
    node.advance(1s);
    ASSERT_TRUE(*third) << "waits no longer than its own deadline";
    EXPECT_EQ((*third)->error()->code, ErrorCode::in_progress);
    EXPECT_FALSE(*second);
    body->take()->finish(ToolResult(Value("once")));
    node.calm();
    ASSERT_TRUE(*first && *second);
    EXPECT_EQ((*first)->state(), State::succeeded);
    EXPECT_EQ((*second)->state(), State::replayed);
    EXPECT_EQ((*second)->text(), "once");
    EXPECT_EQ(body->entered(), 1);
}

TEST(S3, R15_AKeyBelongsToOneRequest) {  // V102
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs)));
    EXPECT_TRUE(node->call("t", {{"n", 1}}, keyed("k")).ok());
    const Outcome reused = node->call("t", {{"n", 2}}, keyed("k"));
    EXPECT_EQ(reused.error()->code, ErrorCode::key_reused);
    EXPECT_TRUE(reused.safe_new_key());
    EXPECT_EQ(runs, 1);
}

TEST(S3, R15_KeysAreScopedByTenantPrincipalAndTool) {  // D16
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs)));
    ASSERT_TRUE(node->tools().add(counting("u", runs)));
    Context tenant = keyed("k");
    tenant.tenant = "acme";
    EXPECT_EQ(node->call("t", {}, keyed("k")).state(), State::succeeded);
    EXPECT_EQ(node->call("u", {}, keyed("k")).state(), State::succeeded);
    EXPECT_EQ(node->call("t", {}, keyed("k", "bob")).state(), State::succeeded);
    EXPECT_EQ(node->call("t", {}, tenant).state(), State::succeeded);
    EXPECT_EQ(runs, 4);
}

// ---- executing

TEST(S3, R17_AnAllowedCallIsAttemptedThenSucceeds) {  // V106, D19
    TestRuntime node;
    std::vector<std::string> before;
    ASSERT_TRUE(node->tools().add(acting("t", [&](CallContext&) {
        before = node.recorder->audit_types();
        return ToolReturn(ToolResult(Value(1)));
    })));
    Context context;
    context.trace_id = "t-1";
    ASSERT_TRUE(node->call("t", {}, context).ok());
    EXPECT_THAT(before, ElementsAre("tool_call.attempted")) << "on the record before the effect";
    const auto audit = must(node->audit("t-1"));
    ASSERT_EQ(audit.size(), 2u);
    EXPECT_EQ(audit[0].type, "tool_call.attempted");
    EXPECT_EQ(audit[1].type, "tool_call.succeeded");
    EXPECT_EQ(audit[0].call_id, audit[1].call_id);
    EXPECT_EQ(audit[1].sequence, audit[0].sequence + 1);
}

TEST(S3, R17_SuccessIsNeverAssumed) {  // V103
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(failing("t", ToolFailure::lost("connection reset"), &runs)));
    const Outcome lost = node->call("t", {}, keyed("k"));
    EXPECT_EQ(lost.state(), State::unknown);
    EXPECT_FALSE(lost.ok());
    EXPECT_FALSE(lost.safe_new_key());
    EXPECT_THAT(node.recorder->audit_types(), ElementsAre("tool_call.attempted", "tool_call.unknown"));
    const Outcome again = node->call("t", {}, keyed("k"));
    EXPECT_EQ(again.error()->code, ErrorCode::outcome_unknown)
        << "an unknown outcome is stored, not repeated";
    EXPECT_EQ(runs, 1);
    EXPECT_THAT(views::model_text(lost), StartsWith("Outcome unknown"));
}

TEST(S3, R17_ARetryableErrorIsAFailureThatMayBeTriedAgain) {  // V105, D16
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(acting("t", [&](CallContext&) -> ToolReturn {
        if (++runs == 1) return tl::unexpected(ToolFailure::unreachable("connection refused"));
        return ToolResult(Value("there"));
    })));
    const Outcome failed = node->call("t", {}, keyed("k"));
    EXPECT_EQ(failed.state(), State::failed) << "nothing was sent, so nothing is unknown (D7)";
    EXPECT_THAT(node.recorder->audit_types(), ElementsAre("tool_call.attempted", "tool_call.failed"));
    const Outcome again = node->call("t", {}, keyed("k"));
    EXPECT_EQ(again.state(), State::succeeded) << "no outcome was stored";
    EXPECT_EQ(runs, 2);
}

TEST(S3, R17_AnUnknownOutcomeIsResolvedAndThenKnown) {  // D16, D17
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(failing("t", ToolFailure::lost("x"), &runs)));
    const Outcome lost = node->call("t", {}, keyed("k"));
    node.recorder->clear();
    ASSERT_TRUE(node->resolve(lost.call_id(), true, "olga", "seen at the bank"));
    EXPECT_THAT(node.recorder->audit_types(), ElementsAre("tool_call.resolved"));
    EXPECT_EQ(last_event(node).outcome, "info") << "no terminal event";
    EXPECT_TRUE(node->call("t", {}, keyed("k")).replayed());
    EXPECT_EQ(runs, 1);
    EXPECT_FALSE(node->resolve(lost.call_id(), false, "olga", ""));
}

TEST(S3, V104_WhatACrashLeftOpenIsUnknownAndNotRepeated) {  // D16
    for (const EffectClass effect : {EffectClass::unsafe, EffectClass::read, EffectClass::keyed}) {
        TestRuntime before;
        auto body = std::make_shared<DeferredBody>();
        ASSERT_TRUE(before->tools().add(deferred("t", body).effect(effect)));
        const Ended lost = before.start(CallRequest("t"), keyed("k"));
        ASSERT_EQ(body->entered(), 1);
        before.ledger->owner_gone(before->core()->owner);

        TestRuntime after({}, before.ledger, before.clock);
        int runs = 0;
        ASSERT_TRUE(after->tools().add(counting("t", runs).effect(effect)));
        const Outcome again = after->call("t", {}, keyed("k"));
        if (effect == EffectClass::unsafe) {
            EXPECT_EQ(again.error()->code, ErrorCode::outcome_unknown);
            EXPECT_EQ(runs, 0);
        } else {
            EXPECT_TRUE(again.ok()) << to_string(effect);
            EXPECT_EQ(runs, 1) << to_string(effect);
        }
    }
}

TEST(S3, D18_NoRetryUnlessTheContractSaysSo) {
    for (const ToolFailure& failure :
         {ToolFailure::unreachable("x"), ToolFailure::lost("x"), ToolFailure::answered("x"),
          ToolFailure::rate_limited("x", 1ms), ToolFailure::not_applied("x")}) {
        TestRuntime node;
        int runs = 0;
        ASSERT_TRUE(node->tools().add(failing("t", failure, &runs).read_only()));
        EXPECT_FALSE(node->call("t").ok());
        EXPECT_EQ(runs, 1);
    }
}

TEST(S3, D18_RetriesOnlyWhereNothingCanHaveHappened) {  // U-8
    struct Case {
        EffectClass effect;
        ToolFailure failure;
        int runs;
    };
    const std::vector<Case> cases{{EffectClass::unsafe, ToolFailure::unreachable("x"), 3},
                                  {EffectClass::unsafe, ToolFailure::not_applied("x"), 3},
                                  {EffectClass::unsafe, ToolFailure::lost("x"), 1},
                                  {EffectClass::unsafe, ToolFailure::answered("x"), 1},
                                  {EffectClass::keyed, ToolFailure::lost("x"), 3},
                                  {EffectClass::read, ToolFailure::lost("x"), 3},
                                  {EffectClass::read, ToolFailure::answered("x"), 1}};
    for (const Case& one : cases) {
        TestRuntime node;
        int runs = 0;
        ASSERT_TRUE(
            node->tools().add(failing("t", one.failure, &runs).effect(one.effect).retries(RetryPolicy(2))));
        const Ended call = node.start(CallRequest("t"), keyed("k"));
        for (int i = 0; i < 10 && !*call; ++i) node.advance(1s);
        ASSERT_TRUE(*call);
        EXPECT_EQ(runs, one.runs) << to_string(one.effect) << " " << to_string(one.failure.error.code);
        std::size_t terminal = 0;
        for (const auto& type : node.recorder->audit_types()) terminal += type != "tool_call.attempted";
        EXPECT_EQ(terminal, 1u) << "one terminal event, however often it was tried";
        int retries = 0;
        for (const auto& told : node.recorder->telemetry())
            retries += told.name == TelemetryEvent::Name::retry ? 1 : 0;
        EXPECT_EQ(retries, one.runs - 1);
    }
}

TEST(S3, D18_OneDeadlineCoversAllAttempts) {
    TestRuntime node;
    int runs = 0;
    RetryPolicy eager(10);
    eager.base_delay = 1s;
    ASSERT_TRUE(
        node->tools().add(failing("t", ToolFailure::unreachable("x"), &runs).retries(eager).timeout(5s)));
    const Ended call = node.start(CallRequest("t"));
    for (int i = 0; i < 50 && !*call; ++i) node.advance(100ms);
    ASSERT_TRUE(*call);
    EXPECT_LE((*call)->duration(), 5s);
    EXPECT_LT(runs, 11);
}

TEST(S3, D18_ARateLimitIsWaitedForWithinTheDeadline) {  // U-8
    for (const auto reset : {2s, 40s}) {
        TestRuntime node;
        int runs = 0;
        ASSERT_TRUE(node->tools().add(acting("t", [&](CallContext&) -> ToolReturn {
                                          if (++runs == 1)
                                              return tl::unexpected(ToolFailure::rate_limited("429", reset));
                                          return ToolResult(Value(1));
                                      }).retries(RetryPolicy(1))));
        const Ended call = node.start(CallRequest("t"));
        if (reset == 2s) {
            node.advance(1'999ms);
            EXPECT_FALSE(*call);
            node.advance(1s);
            ASSERT_TRUE(*call);
            EXPECT_TRUE((*call)->ok());
        } else {
            ASSERT_TRUE(*call) << "it would come too late, so it is told at once";
            EXPECT_EQ((*call)->error()->code, ErrorCode::rate_limited);
        }
    }
}

TEST(S3, D19_AllowedCallsAreRecordedAsSuchOnlyOnWish) {
    RuntimeOptions options;
    options.audit_allowed = true;
    TestRuntime node(options);
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs)));
    ASSERT_TRUE(node->call("t").ok());
    EXPECT_THAT(node.recorder->audit_types(),
                ElementsAre("gate.allowed", "tool_call.attempted", "tool_call.succeeded"));
    EXPECT_EQ(must(node->audit())[0].outcome, "success");
}

// ---- audit

TEST(S3, R18_AnEventSaysWhatWentWrongInCodes) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("t", body).connector("gmail")));
    const Ended call = node.start(acted("t", "send", {{"to", "ann"}}), keyed("k"));
    node.advance(30s);
    const AuditEvent event = last_event(node);
    EXPECT_EQ(event.error_code, "tool.timeout");
    EXPECT_EQ(event.connector_id, "gmail");
    EXPECT_EQ(event.tool, "t");
    EXPECT_EQ(event.action, "send");
    EXPECT_EQ(event.latency, 30s);
    EXPECT_TRUE(event.has_key);
    EXPECT_EQ(event.request_hash.size(), 64u);
    EXPECT_THAT(json::write(event.to_json()), Not(HasSubstr("ann"))) << "payloads are never in the event";
}

TEST(S3, R19_EveryEventHasItsPlaceTimeAndTrace) {  // V106
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs)));
    ASSERT_TRUE(node->tools().add(counting("asks", runs).risk(Risk::high)));
    node->call("t", {}, keyed("k"));
    node.advance(5s);
    node->call("t", {}, keyed("k"));
    const Outcome asked = node->call("asks");
    ASSERT_TRUE(node->approvals().deny(asked.approval_id(), "olga"));
    node->call("nobody");
    const auto earlier = must(node->audit());
    ASSERT_EQ(earlier.size(), 6u);
    for (std::size_t i = 0; i < earlier.size(); ++i) {
        EXPECT_EQ(earlier[i].sequence, i + 1);
        EXPECT_FALSE(earlier[i].trace().empty());
        EXPECT_FALSE(earlier[i].summary().empty());
        EXPECT_EQ(earlier[i].at,
                  std::chrono::system_clock::time_point(base::ManualClock::kStart + (i < 2 ? 0s : 5s)));
    }
    EXPECT_THAT(must(node->audit(asked.call_id())).size(), 2u) << "asking and denying are on one trace";
    node->call("t");
    const auto later = must(node->audit());
    for (std::size_t i = 0; i < earlier.size(); ++i)
        EXPECT_EQ(json::write(later[i].to_json()), json::write(earlier[i].to_json())) << "nothing is changed";
}

TEST(S3, R19_WithoutItsRecordAnOperationFails) {
#ifdef CALLGATE_FAILPOINTS
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("t", runs)));
    ASSERT_TRUE(node->tools().add(counting("asks", runs).risk(Risk::high)));
    base::failpoints().arm("ledger.claim", base::FailAction::error);
    EXPECT_FALSE(node->call("t").ok());
    base::failpoints().arm("ledger.open_approval", base::FailAction::error);
    EXPECT_EQ(node->call("asks").error()->code, ErrorCode::ledger_unavailable);
    EXPECT_EQ(runs, 0);
    base::failpoints().arm("ledger.settle", base::FailAction::error);
    const Outcome lost = node->call("t");
    base::failpoints().clear();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(lost.error()->code, ErrorCode::audit_failure);
    EXPECT_EQ(lost.state(), State::unknown);
    EXPECT_EQ(lost.text(), "");
#else
    GTEST_SKIP() << "not in this build: it has no failpoints";
#endif
}

TEST(S3, R20_EachTypeOfEventHasItsOutcome) {
    RuntimeOptions options;
    options.audit_allowed = true;
    TestRuntime node(options);
    int runs = 0;
    set_policy(node, [](PolicyConfig& config) { config.notifications_per_hour = 1; });
    Registry& tools = node->tools();
    ASSERT_TRUE(tools.add(counting("good", runs).target("/to")));
    ASSERT_TRUE(tools.add(failing("bad", ToolFailure::answered("no"))));
    ASSERT_TRUE(tools.add(failing("lost", ToolFailure::lost("x"))));
    ASSERT_TRUE(tools.add(counting("asks", runs).risk(Risk::high)));
    ASSERT_TRUE(tools.add(counting("never", runs).risk(Risk::critical)));
    ASSERT_TRUE(tools.add(counting("mail", runs).capability("notification")));
    for (const char* name : {"good", "good", "bad", "lost", "never", "mail", "mail"}) {
        node->call(name, {}, std::string_view(name) == "good" ? keyed("k") : Context());
    }
    node->call("good");  // the same again, too soon
    node->call("good", {}, at(Autonomy::a0));
    const Outcome yes = node->call("asks", {{"n", 1}});
    const Outcome no = node->call("asks", {{"n", 2}});
    ASSERT_TRUE(node->approvals().approve(yes.approval_id(), "olga"));
    ASSERT_TRUE(node->approvals().deny(no.approval_id(), "olga"));
    node->resume(yes.call_id());
    std::map<std::string, std::set<std::string>> outcomes;
    for (const AuditEvent& event : must(node->audit()))
        outcomes[std::string(event.type)].insert(std::string(event.outcome));
    outcomes.erase("approval.vote");
    const std::map<std::string, std::set<std::string>> expected{
        {"tool_call.attempted", {"info"}},       {"tool_call.succeeded", {"success"}},
        {"tool_call.failed", {"failure"}},       {"tool_call.deduped", {"suppressed"}},
        {"tool_call.unknown", {"failure"}},      {"gate.required", {"info"}},
        {"gate.approved", {"success"}},          {"gate.denied", {"info"}},
        {"gate.antiflap_block", {"suppressed"}}, {"gate.storm_block", {"suppressed"}},
        {"gate.allowed", {"success"}},           {"gate.preview", {"info"}},
        {"gate.hard_blocked", {"failure"}}};
    EXPECT_EQ(outcomes, expected);
}

// ---- secrets

constexpr std::string_view kSecret = "s3cr3t-value-of-the-test";

RuntimeOptions with_secrets() {
    auto store = std::make_shared<MemorySecrets>();
    EXPECT_TRUE(store->set("gmail", "token", kSecret));
    EXPECT_TRUE(store->set("other", "token", "somebody-elses-secret"));
    RuntimeOptions options;
    options.secrets = store;
    return options;
}

std::string take_secret(CallContext& context) {
    std::string taken;
    EXPECT_TRUE(context.with_secret("token", [&](const Secret& secret) { taken = secret.expose(); }));
    return taken;
}

TEST(S3, R21_ASecretIsFetchedInsideTheCallByConnectorAndKey) {
    TestRuntime node(with_secrets());
    std::string seen;
    std::string missing;
    ASSERT_TRUE(node->tools().add(acting("mail", [&](CallContext& context) {
                                      seen = take_secret(context);
                                      missing =
                                          std::string(context.with_secret("nothing", [](const Secret&) {})
                                                          .error()
                                                          .details.at("reason")
                                                          .as_string());
                                      return ToolReturn(ToolResult(Value("sent")));
                                  }).connector("gmail")));
    EXPECT_EQ(node->call("mail").text(), "sent");
    EXPECT_EQ(seen, kSecret);
    EXPECT_EQ(missing, "no_such_secret");
}

TEST(S3, R21_AfterTheCallThereAreNoMoreSecrets) {
    TestRuntime node(with_secrets());
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("mail", body).connector("gmail").read_only()));
    const Ended call = node.start(CallRequest("mail"));
    const auto attempt = body->take();
    EXPECT_EQ(take_secret(attempt->context()), kSecret);
    node.advance(30s);
    ASSERT_TRUE(*call);
    EXPECT_FALSE(attempt->context().with_secret("token", [](const Secret&) { FAIL(); }));
}

TEST(S3, R21_AToolGetsTheSecretsOfItsOwnConnectorAlone) {
    TestRuntime node(with_secrets());
    std::string seen;
    ASSERT_TRUE(node->tools().add(acting("mail", [&](CallContext& context) {
                                      seen = take_secret(context);
                                      return ToolReturn();
                                  }).connector("other")));
    EXPECT_TRUE(node->call("mail").ok());
    EXPECT_EQ(seen, "somebody-elses-secret");
}

template <class T>
concept CanBeListed =
    requires(const T& store) { store.list(); } || requires(const T& store) { store.keys(); } ||
    requires(const T& store) { store.begin(); } || requires(const T& store) { store.size(); } ||
    requires(const T& store) { store.all(); } || requires(const T& store) { store.dump(); } ||
    requires(const T& store) { store.load("", ""); } || requires(const T& store) { store.get("", ""); };
template <class T>
concept CanBePrinted = requires(std::ostream& out, const T& value) { out << value; };

TEST(S3, R22_AStoreTellsNothingOfWhatItHolds) {  // V109
    static_assert(!CanBeListed<SecretsStore>);
    static_assert(!CanBeListed<MemorySecrets>);
    static_assert(!CanBePrinted<Secret>);
    static_assert(!std::is_copy_constructible_v<Secret> && !std::is_copy_assignable_v<Secret>);
    static_assert(!std::is_convertible_v<Secret, std::string> &&
                  !std::is_convertible_v<Secret, std::string_view>);
    MemorySecrets store;
    EXPECT_FALSE(store.set("c", "k", "short")) << "masking it would shred everything else (D11)";
    const auto none = store.with_secret("c", "k", [](const Secret&) { FAIL(); });
    EXPECT_THAT(none.error().message, Not(HasSubstr("short")));
}

// Everything that a runtime tells anybody, in one text.
class Everything final : public Observer {
public:
    void on_audit(const AuditEvent& event) override { add(json::write(event.to_json()) + event.summary()); }
    void on_telemetry(const TelemetryEvent& event) override {
        std::string text(event.tool);
        text += event.reason;
        if (event.params != nullptr) text += json::write(event.params->get());
        if (event.result != nullptr) text += json::write(event.result->get());
        add(text);
    }
    void on_log(LogLevel, std::string_view line) override { add(std::string(line)); }
    void on_progress(const Progress& progress) override {
        add(progress.message + (progress.partial ? json::write(*progress.partial) : std::string()));
    }
    void add(const std::string& text) { told += text + '\n'; }
    void add(const Outcome& outcome) {
        add(json::write(views::s0(outcome)) + json::write(views::s1(outcome)) +
            json::write(views::s2(outcome)));
        add(views::mcp(outcome) + views::model_text(outcome) + outcome.text() + outcome.raw());
        if (outcome.error() != nullptr) add(outcome.error()->message + json::write(outcome.error()->details));
        if (outcome.structured()) add(json::write(*outcome.structured()));
        for (const StageNote& note : outcome.trace()) add(note.reason);
    }
    std::string told;
};

// A tool that tells its secret in every way it can.
std::vector<std::pair<std::string, std::function<ToolReturn(CallContext&)>>> leaks() {
    return {
        {"text", [](CallContext& c) { return ToolReturn(ToolResult(Value("it is " + take_secret(c)))); }},
        {"base64",
         [](CallContext& c) { return ToolReturn(ToolResult(Value(base::base64_encode(take_secret(c))))); }},
        {"member",
         [](CallContext& c) {
             const std::string secret = take_secret(c);
             return ToolReturn(ToolResult(Value(Object{{secret, Array{secret, Object{{"x", secret}}}}})));
         }},
        {"blocks",
         [](CallContext& c) {
             const std::string secret = take_secret(c);
             ToolResult result(std::vector<Block>{
                 Block::of_text(secret), Block::of_resource("u:" + secret, secret),
                 Block::of_image(secret, "image/png"), Block::of_custom(Object{{"a", secret}})});
             result.structured = Object{{"a", secret}};
             result.raw = secret;
             return ToolReturn(std::move(result));
         }},
        {"progress",
         [](CallContext& c) {
             const std::string secret = take_secret(c);
             c.progress("using " + secret);
             c.partial(Value(Object{{"so far", secret}}));
             return ToolReturn(tl::unexpected(ToolFailure::answered("gave up")));
         }},
        {"failure",
         [](CallContext& c) {
             const std::string secret = take_secret(c);
             return ToolReturn(tl::unexpected(ToolFailure::answered("bad " + secret, {{"key", secret}})));
         }},
        {"exception",
         [](CallContext& c) -> ToolReturn { throw std::runtime_error("with " + take_secret(c)); }},
        {"traced", [](CallContext& c) -> ToolReturn { throw TracedError("with " + take_secret(c)); }},
        {"lost",
         [](CallContext& c) {
             return ToolReturn(tl::unexpected(ToolFailure::lost("sent " + take_secret(c))));
         }},
        {"nested",
         [](CallContext& c) {
             const std::string secret = take_secret(c);
             for (const char* inner : {"echo", "asks", "nobody"}) (void)c.call(inner, {{"value", secret}});
             return ToolReturn(ToolResult(Value("done")));
         }},
    };
}

TEST(S3, V108_ASecretLeavesTheCallInNoProjection) {
    for (const auto& [name, leak] : leaks()) {
        auto everything = std::make_shared<Everything>();
        TestRuntime node(with_secrets());
        node->observe(everything);
        int runs = 0;
        ASSERT_TRUE(node->tools().add(acting(name, leak).connector("gmail")));
        ASSERT_TRUE(node->tools().add(schema_tool(
            ToolDefinition("echo", "", kAnyObject),
            [](const Object& args, CallContext&) -> ToolReturn { return ToolResult(Value(args)); })));
        ASSERT_TRUE(node->tools().add(counting("asks", runs).risk(Risk::high)));
        Context context = keyed("k");
        context.trace = true;
        context.on_progress = [&](const Progress& progress) { everything->on_progress(progress); };
        const Outcome first = node->call(name, {}, context);
        everything->add(first);
        everything->add(node->call(name, {}, context));  // what was stored
        for (const auto& row : must(node.ledger->list(std::nullopt))) {
            if (row.outcome) {
                everything->add(json::write(row.outcome->result.value) + row.outcome->result.raw);
                if (row.outcome->error) everything->add(row.outcome->error->message);
            }
        }
        for (const AuditEvent& event : must(node->audit())) everything->add(json::write(event.to_json()));
        for (const Approval& approval : must(node->approvals().list(std::nullopt)))
            everything->add(json::write(approval.arguments) + approval.why);
        for (const RegisteredTool& tool : node->tools().list())
            everything->add(tool.health.last_error.value_or(""));
        EXPECT_THAT(everything->told, Not(HasSubstr(kSecret))) << name;
        EXPECT_THAT(everything->told, Not(HasSubstr(base::base64_encode(kSecret)))) << name;
        EXPECT_THAT(everything->told, HasSubstr("[REDACTED]")) << name;
    }
}

TEST(S3, V108_ASecretIsMaskedInPreviewsAndApprovals) {
    TestRuntime node(with_secrets());
    int runs = 0;
    ASSERT_TRUE(node->tools().add(counting("mail", runs)
                                      .connector("gmail")
                                      .risk(Risk::high)
                                      .preview([](const Object&, CallContext& context) -> Result<Preview> {
                                          const std::string secret = take_secret(context);
                                          return Preview("with " + secret, Value(Object{{"x", secret}}));
                                      })));
    const Outcome asked = node->call("mail");
    ASSERT_EQ(asked.state(), State::needs_approval);
    const auto preview = node->approvals().get(asked.approval_id())->preview;
    ASSERT_TRUE(preview);
    EXPECT_EQ(preview->summary, "with [REDACTED]");
    EXPECT_EQ(*preview->diff, Value(Object{{"x", "[REDACTED]"}}));
    EXPECT_EQ(asked.preview()->summary, "with [REDACTED]");
}

// ---- previews

TEST(S3, R25_APreviewAndItsExecutionShareOneKey) {  // V95
    TestRuntime node;
    auto lights = std::make_shared<Lights>();
    ASSERT_TRUE(node->tools().add(Tool(ToolDefinition("lights", "", kAnyObject), lights)));
    set_policy(node, [](PolicyConfig& config) { config.rules = {Rule("look", Rule::Do::preview)}; });
    Context context = with_lights();
    context.idempotency_key = "k";
    const CallRequest request = acted("lights", "switch", {{"room", 1}});
    const Outcome shown = node->call(request, context);
    ASSERT_EQ(shown.state(), State::previewed);
    EXPECT_EQ(shown.preview()->summary, "would do switch");
    EXPECT_EQ(lights->preview_key, "k");
    EXPECT_THAT(lights->executed, IsEmpty());
    ASSERT_TRUE(node->approvals().approve(shown.approval_id(), "olga"));
    const Outcome done = node->resume(shown.call_id(), with_lights());
    ASSERT_TRUE(done.ok()) << done.error()->message;
    EXPECT_EQ(lights->seen.idempotency_key, "k");
    EXPECT_EQ(lights->executed, lights->previewed) << "what was shown is what was done";
    EXPECT_EQ(node->call(request, context).state(), State::replayed);
    EXPECT_EQ(lights->executed.size(), 1u);
}

TEST(S3, D5_AtA0NothingTurnsAPreviewIntoAnExecution) {
    TestRuntime node;
    int runs = 0;
    PolicyConfig bold;
    bold.matrix[0][0] = Gate::allow;
    EXPECT_FALSE(node->policy().set(bold)) << "not even the matrix can say otherwise";
    ASSERT_TRUE(node->tools().add(counting("t", runs).scopes({"secrets"})));
    set_policy(node, [](PolicyConfig& config) {
        config.rules = {Rule("yes", Rule::Do::allow)};
        config.quiet_hours = {TimeWindow(0min, 23h, "UTC")};
    });
    Grant grant;
    grant.tool = "*";
    grant.granted_by = "olga";
    grant.expires_at = node.clock->wall_now() + 1h;
    ASSERT_TRUE(node->policy().add_grant(grant));
    Context context = at(Autonomy::a0);
    context.scopes = {"secrets"};
    const Outcome shown = node->call("t", {}, context);
    EXPECT_EQ(shown.state(), State::previewed);
    EXPECT_TRUE(shown.approval_id().empty());
    EXPECT_FALSE(node->resume(shown.call_id(), context).ok());
    EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace callgate
