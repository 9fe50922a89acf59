// What became of a call, asked by its id.
#include <future>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "os/scratch_dir.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using Is = CallStatus::Is;

Context of(std::string principal, std::string key = {}) {
    Context context;
    context.principal = std::move(principal);
    context.idempotency_key = std::move(key);
    return context;
}

std::string reason_of_fault(const Result<CallStatus>& status) {
    if (status) return "there is one";
    return std::string(status.error().details.at("reason").as_string());
}

TEST_WITH_EITHER_LEDGER(CallStatusOf, ACallIsFoundWhileItRunsAndWhenItHasEnded) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.open_arguments());
    const Ended ended = node.start("slow", {{"n", 1}}, of("ada", "k"));
    const std::string id = node->running().at(0).call_id;
    CallStatus status = must(node->outcome(id, of("ada")));
    EXPECT_EQ(status.is, Is::running);
    EXPECT_EQ(status.call_id, id);
    EXPECT_FALSE(status.outcome);
    body->take()->finish(ToolResult(Value("done")));
    node.calm();
    status = must(node->outcome(id, of("ada")));
    ASSERT_EQ(status.is, Is::ended);
    EXPECT_EQ(status.call_id, id);
    EXPECT_EQ(status.outcome->state(), State::succeeded);
    EXPECT_EQ(status.outcome->text(), "done");
    EXPECT_EQ(status.outcome->tool(), "slow");
    EXPECT_EQ(status.outcome->call_id(), id);
    EXPECT_EQ(status.outcome->arguments(), Value(Object{{"n", 1}}));
    EXPECT_EQ((*ended)->text(), status.outcome->text());
}

TEST_WITH_EITHER_LEDGER(CallStatusOf, NobodyElseLearnsThatThereIsOne) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow);
    const Ended ended = node.start("slow", {}, of("ada", "k"));
    const std::string id = node->running().at(0).call_id;
    Context other_tenant = of("ada");
    other_tenant.tenant = "acme";
    for (const Context& stranger : {of("bob"), of(""), other_tenant})
        EXPECT_EQ(reason_of_fault(node->outcome(id, stranger)), "no_such_call");
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    for (const Context& stranger : {of("bob"), of(""), other_tenant})
        EXPECT_EQ(reason_of_fault(node->outcome(id, stranger)), "no_such_call");
    EXPECT_EQ(reason_of_fault(node->outcome("no id", of("ada"))), "no_such_call");
    EXPECT_EQ(reason_of_fault(node->outcome(base::Uuid{}.to_string(), of("ada"))), "no_such_call");
}

TEST_WITH_EITHER_LEDGER(CallStatusOf, FailuresAreToldAsTheyWere) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow);
    const Ended ended = node.start("slow", {}, of("ada", "k"));
    body->take()->finish(tl::unexpected(ToolFailure::answered("no such account")));
    node.calm();
    const CallStatus status = must(node->outcome((*ended)->call_id(), of("ada")));
    ASSERT_EQ(status.is, Is::ended);
    EXPECT_EQ(status.outcome->state(), State::failed);
    EXPECT_EQ(status.outcome->error()->message, (*ended)->error()->message);
}

TEST_WITH_EITHER_LEDGER(CallStatusOf, AnUnknownOutcomeIsFoundWithoutAKeyAndAsAPersonResolvedIt) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.timeout(1s));
    const Ended ended = node.start("slow", {}, of("ada"));
    const auto attempt = body->take();
    node.advance(1s);
    ASSERT_EQ((*ended)->state(), State::unknown);
    const std::string id = (*ended)->call_id();
    CallStatus status = must(node->outcome(id, of("ada")));
    EXPECT_EQ(status.outcome->state(), State::unknown);
    ASSERT_TRUE(node->resolve(id, true, "olga", "seen in the books"));
    status = must(node->outcome(id, of("ada")));
    ASSERT_EQ(status.is, Is::ended);
    EXPECT_NE(status.outcome->state(), State::unknown);
}

TEST_WITH_EITHER_LEDGER(CallStatusOf, WhatWaitsForAPersonIsFollowedThroughItsResumption) {
    TestRuntime node;
    node->tools().add_or_throw(tool("pay", "", [] { return "paid"; }).risk(Risk::high).run_inline());
    const Outcome asked = node->call("pay", {}, of("ada", "k"));
    ASSERT_EQ(asked.state(), State::needs_approval);
    CallStatus status = must(node->outcome(asked.call_id(), of("ada")));
    EXPECT_EQ(status.is, Is::waits_for_approval);
    EXPECT_EQ(status.approval_id, asked.approval_id());
    EXPECT_FALSE(status.approved);
    EXPECT_EQ(reason_of_fault(node->outcome(asked.call_id(), of("bob"))), "no_such_call");
    must(node->approvals().approve(asked.approval_id(), "olga"));
    EXPECT_TRUE(must(node->outcome(asked.call_id(), of("ada"))).approved);
    const Outcome resumed = node->resume(asked.call_id(), of("ada"));
    ASSERT_EQ(resumed.text(), "paid");
    status = must(node->outcome(asked.call_id(), of("ada")));
    ASSERT_EQ(status.is, Is::ended);
    EXPECT_EQ(status.call_id, resumed.call_id());
    EXPECT_EQ(status.approval_id, asked.approval_id());
    EXPECT_EQ(status.outcome->text(), "paid");
}

TEST_WITH_EITHER_LEDGER(CallStatusOf, ARefusalByAPersonIsAnEnd) {
    TestRuntime node;
    node->tools().add_or_throw(tool("pay", "", [] { return "paid"; }).risk(Risk::high).run_inline());
    const Outcome asked = node->call("pay", {}, of("ada"));
    must(node->approvals().deny(asked.approval_id(), "olga"));
    const CallStatus status = must(node->outcome(asked.call_id(), of("ada")));
    ASSERT_EQ(status.is, Is::ended);
    EXPECT_EQ(status.outcome->error()->code, ErrorCode::approval_denied);
    EXPECT_EQ(status.outcome->call_id(), asked.call_id());
}

TEST(CallStatusOf, WhatAGoneProgramLeftIsUnknownAndNotRunning) {
    auto clock = std::make_shared<base::ManualClock>();
    auto ledger = std::make_shared<ledger::MemoryLedger>(*clock);
    TestRuntime first({}, ledger, clock);
    const TestRuntime second({}, ledger, clock);
    auto body = std::make_shared<DeferredBody>();
    first->tools().add_or_throw(deferred("slow", body).effect(EffectClass::keyed));
    const Ended ended = first.start("slow", {}, of("ada", "k"));
    const std::string id = first->running().at(0).call_id;
    EXPECT_EQ(must(second->outcome(id, of("ada"))).is, Is::running);
    ledger->owner_gone(first->core()->owner);
    const CallStatus status = must(second->outcome(id, of("ada")));
    ASSERT_EQ(status.is, Is::ended);
    EXPECT_EQ(status.outcome->state(), State::unknown);
    EXPECT_EQ(status.outcome->error()->details.at("reason").as_string(), "owner_gone");
}

TEST_WITH_EITHER_LEDGER(CallStatusOf, MayBeAskedWithoutWaiting) {
    TestRuntime node;
    node->tools().add_or_throw(tool("pay", "", [] { return "paid"; }).risk(Risk::high).run_inline());
    const Outcome asked = node->call("pay", {}, of("ada"));
    std::promise<Result<CallStatus>> told;
    node->start_outcome(asked.call_id(), of("ada"),
                        [&](Result<CallStatus> is) { told.set_value(std::move(is)); });
    EXPECT_EQ(must(told.get_future().get()).is, Is::waits_for_approval);

    std::promise<Result<Approval>> voted;
    std::promise<void> handed;
    node->approvals().start_approve(
        asked.approval_id(), "olga", [&](Result<Approval> now) { voted.set_value(std::move(now)); },
        [&](const std::function<void()>& work) {
            work();
            handed.set_value();
        });
    EXPECT_EQ(must(voted.get_future().get()).state, ApprovalState::approved);
    handed.get_future().wait();
    std::promise<Result<Approval>> denied;
    node->approvals().start_deny(asked.approval_id(), "olga",
                                 [&](Result<Approval> now) { denied.set_value(std::move(now)); });
    EXPECT_FALSE(denied.get_future().get());
}

TEST_WITH_EITHER_LEDGER(CallStatusOf, ARequestMayBeTakenBackWithoutWaiting) {
    TestRuntime node;
    node->tools().add_or_throw(tool("pay", "", [] { return "paid"; }).risk(Risk::high).run_inline());
    const Outcome asked = node->call("pay", {}, of("ada"));
    std::promise<Result<Approval>> taken_back;
    node->approvals().start_revoke(asked.approval_id(), "ada",
                                   [&](Result<Approval> now) { taken_back.set_value(std::move(now)); });
    EXPECT_EQ(must(taken_back.get_future().get()).state, ApprovalState::revoked);
    EXPECT_EQ(node->resume(asked.call_id(), of("ada")).state(), State::denied);
    std::promise<Result<Approval>> again;
    node->approvals().start_revoke(asked.approval_id(), "ada",
                                   [&](Result<Approval> now) { again.set_value(std::move(now)); });
    EXPECT_FALSE(again.get_future().get());
}

TEST(CallStatusOf, ADurableOutcomeIsFoundAfterARestart) {
    const os::ScratchDir dir;
    RuntimeOptions options;
    options.ledger_dir = dir.file("ledger");
    options.ledger_mark_dir = dir.file("marks");
    std::string id;
    {
        const auto runtime = must(Runtime::open(options));
        runtime->tools().add_or_throw(tool("pay", "", [] { return "paid"; }).risk(Risk::low));
        id = runtime->call("pay", {}, of("ada", "k")).call_id();
    }
    const auto runtime = must(Runtime::open(options));
    const CallStatus status = must(runtime->outcome(id, of("ada")));
    ASSERT_EQ(status.is, Is::ended);
    EXPECT_EQ(status.outcome->text(), "paid");
    EXPECT_EQ(reason_of_fault(runtime->outcome(id, of("bob"))), "no_such_call");
}

}  // namespace
}  // namespace callgate::pipeline
