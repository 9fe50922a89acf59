// Every counter of every stage is exported, and there is a call that raises it: one that nobody can raise, or
// that is not listed here, fails. So it is with the states in which calls end.
#include "pipeline/counters.h"

#include <future>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "base/must.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

Context in_run() {
    Context context;
    context.run_id = "r";
    return context;
}

ToolDefinition any(std::string name) {
    return {std::move(name), "", Object{{"type", "object"}}};
}

Tool answers(std::string name, ToolFunction run) {
    return schema_tool(any(std::move(name)), std::move(run)).open_arguments().run_inline();
}
Tool writes(std::string name = "t") {
    return answers(std::move(name), [](const Object&, CallContext&) { return ToolReturn(Value(1)); });
}
Tool reads(std::string name = "t") {
    return writes(std::move(name)).read_only();
}
Tool typed() {
    return tool("t", "", [](std::int64_t a) { return a; }, param("a")).read_only().run_inline();
}

/// One runtime with one tool.
struct Node : TestRuntime {
    explicit Node(RuntimeOptions options = {}, std::optional<Answers> how = std::nullopt)
        : TestRuntime(std::move(options), nullptr, nullptr, how) {}
    explicit Node(Tool tool, RuntimeOptions options = {}, std::optional<Answers> how = std::nullopt)
        : Node(std::move(options), how) {
        EXPECT_TRUE(runtime->tools().add(std::move(tool)));
    }
    RuntimeStats call(Args args = {}, Context context = {}) const {
        (void)runtime->call("t", std::move(args), std::move(context));
        return runtime->stats();
    }
    RuntimeStats stats() const { return runtime->stats(); }
};

/// A tool that keeps its thread until it is released.
struct HeldTool {
    std::promise<void> entered;
    std::promise<void> release;
    Tool tool() {
        return callgate::tool("t", "",
                              [this] {
                                  entered.set_value();
                                  release.get_future().wait();
                                  return 1;
                              })
            .read_only();
    }
};

RuntimeStats predicate_that_throws(Rule::Do what) {
    const Node node(reads());
    PolicyConfig config;
    config.rules.emplace_back("", what).when_true(
        "p", "1", [](const CallView&) -> bool { throw std::runtime_error("x"); });
    EXPECT_TRUE(node.runtime->policy().set(config));
    return node.call();
}

RuntimeStats abandon(std::string_view until) {
    HeldTool held;
    RuntimeOptions options;
    options.max_abandoned = 1;
    const Node node(held.tool().timeout(50ms), options);
    auto first = std::async(std::launch::async, [&] { return node.runtime->call("t"); });
    held.entered.get_future().wait();
    node.advance(50ms);
    (void)first.get();
    RuntimeStats stats = node.call();
    held.release.set_value();
    while (node.stats().counters.at("dispatch.late_answers") == 0) std::this_thread::yield();
    return until == "late" ? node.stats() : stats;
}

RuntimeStats fill_the_queue() {
    HeldTool held;
    RuntimeOptions options;
    options.pool_threads = 1;
    options.max_queued_calls = 1;
    const Node node(held.tool(), options);
    EXPECT_TRUE(node.runtime->tools().add(tool("other", "", [] { return 1; }).read_only()));
    std::promise<void> ended;
    node.runtime->start(CallRequest("t"), {}, [&](Outcome) { ended.set_value(); });
    held.entered.get_future().wait();
    const Ended queued = node.start("other");
    const Ended refused = node.start("other");
    RuntimeStats stats = node.stats();
    held.release.set_value();
    ended.get_future().wait();
    return stats;
}

/// A caller that lets each question go.
class Silent final : public InputChannel {
public:
    explicit Silent(InputAbilities what) : able_(what) {}
    InputAbilities abilities() const override { return able_; }
    void ask(std::shared_ptr<PendingInput> question) override { question.reset(); }

private:
    InputAbilities able_;
};

RuntimeStats ask_its_caller(InputAbilities able) {
    const Node node(answers("t", [](const Object&, CallContext& from) {
        return ToolReturn(Value(from.ask(InputRequest::roots()).has_value()));
    }));
    Context context;
    context.input = std::make_shared<Silent>(able);
    return node.call({}, context);
}

// Two calls with one key that both found it free.
RuntimeStats claim_at_once() {
    auto [slow, body] = deferred("t");
    const Node node(slow.timeout(60s), {}, Answers::when_told);
    Context brief = with_key("k");
    brief.timeout = 1s;
    node.runtime->start(CallRequest("t"), with_key("k"), [](const Outcome&) {});
    node.later->wait_until_open(1);
    std::promise<void> ended;
    node.runtime->start(CallRequest("t"), brief, [&](const Outcome&) { ended.set_value(); });
    node.later->wait_until_open(2);
    node.answer("peek");
    node.answer("peek");
    node.later->wait_until_open(2);
    node.later->answer_soon();
    while (node.stats().counters.at("claim.waited") == 0) std::this_thread::yield();
    node.calm();
    node.advance(1s);
    ended.get_future().wait();
    RuntimeStats stats = node.stats();
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    return stats;
}

// The approval is taken back between the gate and the claim.
RuntimeStats revoke_before_the_claim() {
    const Node node(writes().risk(Risk::high), {}, Answers::when_told);
    auto asked = std::async(std::launch::async, [&] { return node.runtime->call("t"); });
    node.answer("open_approval_for");
    node.answer("open_approval");
    const Outcome first = asked.get();
    EXPECT_TRUE(node.runtime->approvals().approve(first.approval_id(), "olga"));
    auto second = std::async(std::launch::async, [&] { return node.runtime->call("t"); });
    node.answer("open_approval_for");
    node.later->wait_until_open(1);
    EXPECT_TRUE(node.runtime->approvals().revoke(first.approval_id(), "olga"));
    node.later->answer_soon();
    (void)second.get();
    node.calm();
    return node.stats();
}

// A ledger that does not answer.
RuntimeStats leave() {
    const Node node(writes(), {}, Answers::when_told);
    Context brief = with_key("k");
    brief.timeout = 1s;
    auto call = std::async(std::launch::async, [&] { return node.runtime->call("t", {}, brief); });
    node.later->wait_until_open(1);
    node.timers->advance(1s);
    while (call.wait_for(0s) != std::future_status::ready) node.timers->advance(100ms);
    (void)call.get();
    node.later->answer_soon();
    node.calm();
    return node.stats();
}

/// Two programs on one ledger; the first, whose tool does not answer, dies.
struct CountedSuccessors {
    TestRuntime first;
    TestRuntime second{{}, first.ledger, first.clock};
    std::shared_ptr<DeferredBody> body = std::make_shared<DeferredBody>();

    explicit CountedSuccessors(EffectClass effect) {
        const auto unknown = [](std::string_view, const Object&, CallContext&) { return Reconciliation(); };
        Tool slow(any("t"), body);
        Tool quick = writes();
        if (effect == EffectClass::verify) {
            slow.probe(unknown);
            quick = schema_tool(any("t"), [](const Object&, CallContext&) { return ToolReturn(Value(1)); });
            quick.probe(unknown);
        }
        EXPECT_TRUE(first->tools().add(slow.effect(effect)));
        EXPECT_TRUE(second->tools().add(effect == EffectClass::verify ? quick.effect(effect) : slow));
        (void)second->call("nobody");  // so that its ids differ from the first one's
        call = first.start("t", {}, with_key("k"));
        sent = body->take();
        first.ledger->owner_gone(first->core()->owner);
        first.calm();
    }
    Ended call;
    std::shared_ptr<Attempt> sent;
};

RuntimeStats take_over() {
    CountedSuccessors successors(EffectClass::keyed);
    const Ended again = successors.second.start("t", {}, with_key("k"));
    successors.body->take()->finish(ToolResult(Value(1)));
    successors.second.calm();
    successors.sent->finish(ToolResult(Value(2)));
    successors.first.calm();
    return successors.first->stats();
}

RuntimeStats probe() {
    CountedSuccessors successors(EffectClass::verify);
    (void)successors.second->call("t", {}, with_key("k"));
    RuntimeStats stats = successors.second->stats();
    successors.sent->finish(ToolResult(Value(2)));
    return stats;
}

RuntimeStats approved() {
    const Node node(writes().risk(Risk::high));
    const Outcome asked = node.runtime->call("t");
    EXPECT_TRUE(node.runtime->approvals().approve(asked.approval_id(), "olga"));
    EXPECT_TRUE(node.runtime->resume(asked.call_id()).ok());
    return node.stats();
}

RuntimeStats granted() {
    const Node node(writes().risk(Risk::high));
    Grant grant;
    grant.tool = "t";
    grant.expires_at = node.clock->wall_now() + 1h;
    grant.granted_by = "olga";
    EXPECT_TRUE(node.runtime->policy().add_grant(grant));
    return node.call();
}

RuntimeStats wait_for_resource() {
    auto [slow, body] = deferred("t");
    slow.definition.input_schema =
        Object{{"type", "object"}, {"properties", {{"path", {{"type", "string"}}}}}};
    const Node node(slow.resource_key("/path"));
    const Ended first = node.start("t", {{"path", "a"}});
    const Ended second = node.start("t", {{"path", "a"}});
    RuntimeStats stats = node.stats();
    for (int i = 0; i < 2; ++i) {
        body->take()->finish(ToolResult(Value(1)));
        node.calm();
    }
    return stats;
}

RuntimeStats wait_for_place() {
    auto [slow, body] = deferred("t");
    UseLimits limits;
    limits.concurrent = 1;
    limits.queue = true;
    const Node node(slow.limits(limits));
    const Ended first = node.start("t");
    const Ended second = node.start("t");
    RuntimeStats stats = node.stats();
    for (int i = 0; i < 2; ++i) {
        body->take()->finish(ToolResult(Value(1)));
        node.calm();
    }
    return stats;
}

RuntimeStats wait_for_key(bool in_vain) {
    auto [slow, body] = deferred("t");
    const Node node(slow.timeout(60s));
    Context brief = with_key("k");
    brief.timeout = 1s;
    const Ended first = node.start("t", {}, with_key("k"));
    const Ended second = node.start("t", {}, brief);
    if (in_vain) node.advance(1s);
    RuntimeStats stats = node.stats();
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    return stats;
}

RuntimeStats twice_with_key(Tool tool, Args second = {}, std::chrono::hours between = 0h) {
    const Node node(std::move(tool));
    (void)node.call({}, with_key("k"));
    node.advance(between);
    return node.call(std::move(second), with_key("k"));
}

RuntimeStats retry() {
    int tries = 0;
    const Node node(answers("t", [&](const Object&, CallContext&) -> ToolReturn {
                        if (++tries == 1) return tl::unexpected(ToolFailure::unreachable("no route"));
                        return ToolResult(Value(1));
                    }).retries(RetryPolicy(1)));
    const Ended call = node.start("t");
    node.advance(10s);
    return node.stats();
}

// Nothing, where failpoints are not compiled in.
std::optional<RuntimeStats> without_ledger([[maybe_unused]] const char* operation) {
#ifdef CALLGATE_FAILPOINTS
    const Node node(writes());
    base::failpoints().arm(operation, base::FailAction::error);
    RuntimeStats stats = node.call();
    base::failpoints().clear();
    return stats;
#else
    return std::nullopt;
#endif
}

using Scenario = std::function<std::optional<RuntimeStats>()>;

std::map<std::string, Scenario> scenarios() {
    const auto lost = [] {
        return answers("t", [](const Object&, CallContext&) -> ToolReturn {
            return tl::unexpected(ToolFailure::lost("gone"));
        });
    };
    return {
        {"resolve.not_found", [] { return Node().call(); }},
        {"resolve.draining",
         [] {
             const Node node(reads());
             EXPECT_EQ(node.runtime->drain(0ms), 0u);
             return node.call();
         }},
        {"resolve.ambiguous_name",
         [] {
             const Node node(reads("a/t"));
             EXPECT_TRUE(node.runtime->tools().add(reads("b/t")));
             return node.call();
         }},
        {"resolve.unavailable",
         [] {
             const Node node(reads());
             ToolHealth down;
             down.status = HealthStatus::unavailable;
             node.runtime->tools().update_health("t", down);
             return node.call();
         }},
        {"resolve.quarantined",
         [] {
             const Node node(reads());
             node.runtime->tools().quarantine("t", "changed");
             return node.call();
         }},
        {"resolve.silenced",
         [] {
             const Node node(reads());
             node.runtime->tools().silence("t");
             return node.call();
         }},
        {"resolve.unknown_action",
         [] {
             return Node(adapter_tool(any("t"),
                                      {AdapterAction(
                                          "get", [](const Object&, CallContext&) { return ToolReturn(); })}))
                 .call();
         }},
        {"resolve.no_implementation", [] { return Node(Tool(any("t"), nullptr)).call(); }},
        {"authorize.scope_denied", [] { return Node(reads().scopes({"mail"})).call(); }},
        {"authorize.hidden",
         [] {
             Tool hidden = reads().scopes({"mail"});
             hidden.contract.hidden_without_scopes = true;
             return Node(hidden).call();
         }},
        {"validate.unparsable", [] { return Node(typed()).call("{bad"); }},
        {"validate.invalid", [] { return Node(typed()).call(); }},
        {"validate.coerced", [] { return Node(typed()).call({{"a", "1"}}); }},
        {"classify.raised",
         [] {
             const Node node(writes("delete_file"));
             (void)node.runtime->call("delete_file");
             return node.stats();
         }},
        {"replay.replayed", [] { return twice_with_key(writes()); }},
        {"replay.waited", [] { return wait_for_key(false); }},
        {"replay.in_progress", [] { return wait_for_key(true); }},
        {"replay.key_reused", [] { return twice_with_key(writes(), {{"other", 1}}); }},
        {"replay.key_expired", [] { return twice_with_key(writes(), {}, 25h); }},
        {"replay.unknown", [lost] { return twice_with_key(lost()); }},
        {"gate.denied", [] { return Node(reads().risk(Risk::critical)).call(); }},
        {"gate.needs_approval", [] { return Node(writes().risk(Risk::high)).call(); }},
        {"gate.previewed",
         [] {
             Context watching;
             watching.autonomy = Autonomy::a0;
             return Node(reads()).call({}, watching);
         }},
        {"gate.by_approval", approved},
        {"gate.by_grant", granted},
        {"gate.suppressed",
         [] {
             const Node node(writes().target("/to"));
             (void)node.call();
             return node.call();
         }},
        {"gate.looped",
         [] {
             const Node node(reads());
             for (int i = 0; i < 5; ++i) (void)node.call({}, in_run());
             return node.call({}, in_run());
         }},
        {"gate.limited",
         [] {
             UseLimits limits;
             limits.per_run = 1;
             const Node node(reads().limits(limits));
             (void)node.call({}, in_run());
             return node.call({}, in_run());
         }},
        {"gate.circuit_open",
         [] {
             Tool broken = answers(
                 "t", [](const Object&, CallContext&) -> ToolReturn { throw std::runtime_error("x"); });
             broken.contract.breaker.failures = 1;
             const Node node(broken);
             (void)node.call();
             return node.call();
         }},
        {"gate.predicate_faults", [] { return predicate_that_throws(Rule::Do::deny); }},
        {"classify.predicate_faults", [] { return predicate_that_throws(Rule::Do::raise_risk); }},
        {"gate.abandoned_calls", [] { return abandon("refused"); }},
        {"gate.queue_full", fill_the_queue},
        {"gate.waited_for_resource", wait_for_resource},
        {"gate.waited_for_place", wait_for_place},
        {"claim.claimed", [] { return Node(writes()).call(); }},
        {"claim.waited", claim_at_once},
        {"claim.lost", claim_at_once},
        {"claim.approval_refused", revoke_before_the_claim},
        {"claim.reconciled", probe},
        {"claim.ledger_down", [] { return without_ledger("ledger.claim"); }},
        {"dispatch.retries", retry},
        {"dispatch.asked", [] { return ask_its_caller(InputAbilities{true, true, true, true}); }},
        {"dispatch.not_asked", [] { return ask_its_caller({}); }},
        {"dispatch.abandoned", [] { return abandon("refused"); }},
        {"dispatch.late_answers", [] { return abandon("late"); }},
        {"dispatch.fenced", take_over},
        {"shape.output_invalid",
         [] {
             return Node(answers("t",
                                 [](const Object&, CallContext&) {
                                     return ToolReturn(Value(std::numeric_limits<double>::infinity()));
                                 }))
                 .call();
         }},
        {"shape.cut",
         [] {
             RuntimeOptions options;
             options.max_result_bytes = 1'000;
             return Node(answers("t",
                                 [](const Object&, CallContext&) {
                                     return ToolReturn(Value(std::string(10'000, 'x')));
                                 }),
                         options)
                 .call();
         }},
        {"settle.audit_failures", [] { return without_ledger("ledger.settle"); }},
        {"settle.left", leave},
    };
}

TEST(Counters, AreAllExportedUnderTheirStagesNameAndBeginAtNothing) {
    const Node node;
    const auto counters = node.stats().counters;
    const auto known = scenarios();
    EXPECT_EQ(counters.size(), known.size());
    for (const auto& [name, value] : counters) {
        EXPECT_EQ(value, 0u) << name;
        EXPECT_TRUE(known.contains(name)) << name << " is not raised by any test";
    }
    for (const auto& [name, scenario] : known)
        EXPECT_TRUE(counters.contains(name)) << name << " is no counter";
}

TEST(Counters, EachIsRaisedByTheCallItIsMeantFor) {
    for (const auto& [name, scenario] : scenarios()) {
        SCOPED_TRACE(name);
        const auto stats = scenario();
        if (!stats) continue;
        const auto found = stats->counters.find(name);
        EXPECT_TRUE(found != stats->counters.end() && found->second > 0) << name;
    }
}

RuntimeStats lose() {
    return Node(answers("t",
                        [](const Object&, CallContext&) -> ToolReturn {
                            return tl::unexpected(ToolFailure::lost("gone"));
                        }))
        .call();
}

RuntimeStats fail_in_its_body() {
    return Node(answers("t",
                        [](const Object&, CallContext&) -> ToolReturn {
                            return tl::unexpected(ToolFailure::not_applied("not today"));
                        }))
        .call();
}

RuntimeStats have_no_time() {
    Context none;
    none.timeout = -1ms;
    return Node(reads()).call({}, none);
}

RuntimeStats call_off() {
    std::stop_source off;
    off.request_stop();
    Context called_off;
    called_off.cancel = off.get_token();
    return Node(reads()).call({}, called_off);
}

// State → calls of which one ended in it, and the others succeeded or are still under way.
std::map<State, Scenario> ends() {
    auto known = scenarios();
    return {
        {State::succeeded, known.at("claim.claimed")},
        {State::failed, fail_in_its_body},
        {State::timed_out, have_no_time},
        {State::cancelled, call_off},
        {State::unknown, lose},
        {State::not_found, known.at("resolve.not_found")},
        {State::unavailable, known.at("resolve.quarantined")},
        {State::scope_denied, known.at("authorize.scope_denied")},
        {State::invalid, known.at("validate.invalid")},
        {State::denied, known.at("gate.denied")},
        {State::needs_approval, known.at("gate.needs_approval")},
        {State::previewed, known.at("gate.previewed")},
        {State::suppressed, known.at("gate.suppressed")},
        {State::limited, known.at("gate.limited")},
        {State::replayed, known.at("replay.replayed")},
        {State::in_progress, known.at("replay.in_progress")},
        {State::key_conflict, known.at("replay.key_reused")},
    };
}

TEST(Stats, CountCallsByTheStateTheyEndedIn) {
    const auto all = ends();
    ASSERT_EQ(all.size(), kStateCount);
    for (const auto& [state, scenario] : all) {
        SCOPED_TRACE(to_string(state));
        const auto stats = scenario();
        ASSERT_TRUE(stats);
        const auto ended = [&](State one) { return stats->ended[static_cast<std::size_t>(one)]; };
        const std::uint64_t succeeded = state == State::succeeded ? 0 : ended(State::succeeded);
        std::uint64_t sum = 0;
        for (const std::uint64_t one : stats->ended) sum += one;
        EXPECT_EQ(ended(state), 1u);
        EXPECT_EQ(sum, 1 + succeeded);
        // Who waits for a key waits for a call that is under way.
        EXPECT_EQ(stats->calls, sum + (state == State::in_progress ? 1 : 0));
    }
}

TEST(Stats, CountTheEventsOfTheAudit) {
    const Node node(writes());
    EXPECT_EQ(node.stats().audit_events, 0u);
    const RuntimeStats first = node.call();
    EXPECT_EQ(first.audit_events, must(node.runtime->audit()).size());
    EXPECT_GT(first.audit_events, 0u);
    EXPECT_EQ(node.call().audit_events, 2 * first.audit_events);
}

TEST(Stats, SayWhyNothingCanBeRecorded) {
    const Node node(writes(), {}, Answers::soon);
    EXPECT_EQ(node.stats().ledger_trouble, "");
    node.later->refuse_records(Error(ErrorCode::ledger_unavailable, "full", {{"reason", "disk_full"}}));
    EXPECT_EQ(node.stats().ledger_trouble, "disk_full");
    node.later->refuse_records(Error(ErrorCode::ledger_unavailable, "nobody knows"));
    EXPECT_EQ(node.stats().ledger_trouble, "trouble");
    node.later->refuse_records(std::nullopt);
    EXPECT_EQ(node.stats().ledger_trouble, "");
}

}  // namespace
}  // namespace callgate::pipeline
