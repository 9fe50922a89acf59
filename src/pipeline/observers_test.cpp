// Observers come and go while calls run.
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using testing::IsEmpty;
using testing::Not;

Tool quick(std::string name) {
    return tool(std::move(name), "", [] { return 1; }).read_only().run_inline();
}

bool saw_nothing(const Recorder& recorder) {
    return recorder.audit().empty() && recorder.telemetry().empty() && recorder.log().empty() &&
           recorder.progress().empty();
}

TEST_WITH_EITHER_LEDGER(Unobserve, NoCallThatBeginsAfterwardsIsTold) {
    const TestRuntime node;
    ASSERT_TRUE(node->tools().add(quick("t")));
    const auto observer = std::make_shared<Recorder>();
    node->observe(observer);
    EXPECT_TRUE(node->call("t").ok());
    node.calm();
    EXPECT_FALSE(saw_nothing(*observer));
    observer->clear();
    EXPECT_TRUE(node->unobserve(observer));
    EXPECT_TRUE(node->call("t").ok());
    EXPECT_EQ(node->call("none").state(), State::not_found);
    node.calm();
    EXPECT_TRUE(saw_nothing(*observer));
    EXPECT_THAT(node.recorder->audit(), Not(IsEmpty())) << "others go on";
    EXPECT_FALSE(node->unobserve(observer)) << "it was not attached any more";
    EXPECT_FALSE(node->unobserve(nullptr));
    node->observe(observer);
    EXPECT_TRUE(node->call("t").ok());
    node.calm();
    EXPECT_FALSE(saw_nothing(*observer)) << "and back again";
}

TEST_WITH_EITHER_LEDGER(Unobserve, ACallUnderWayTellsItNothingMore) {
    const TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(std::move(slow)));
    const auto observer = std::make_shared<Recorder>();
    node->observe(observer);
    const Ended ended = node.start("slow");
    EXPECT_FALSE(saw_nothing(*observer));
    EXPECT_TRUE(node->unobserve(observer));
    observer->clear();
    const auto attempt = body->take();
    attempt->context().progress("half", 1, 2);
    attempt->finish(ToolResult(Value(1)));
    node.calm();
    ASSERT_TRUE(*ended);
    EXPECT_TRUE(saw_nothing(*observer));
    EXPECT_THAT(node.recorder->progress(), Not(IsEmpty()));
}

TEST_WITH_EITHER_LEDGER(Unobserve, LetsGoOfItWhenTheCallsUnderWayHaveEnded) {
    const TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(std::move(slow)));
    ASSERT_TRUE(node->tools().add(quick("t")));
    auto observer = std::make_shared<Recorder>();
    const std::weak_ptr<Recorder> alive = observer;
    node->observe(observer);
    EXPECT_TRUE(node->call("t").ok());
    const Ended ended = node.start("slow");
    EXPECT_TRUE(node->unobserve(observer));
    observer = nullptr;
    EXPECT_FALSE(alive.expired()) << "a call under way still has it";
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    EXPECT_TRUE(*ended);
    while (!alive.expired()) std::this_thread::yield();  // a thread of the pool releases the call last
}

TEST(Unobserve, LeavesNothingBehindInMemoryThatIsUsedAgain) {
    const TestRuntime node;
    ASSERT_TRUE(node->tools().add(quick("t")));
    for (int i = 0; i < 100; ++i) {
        auto observer = std::make_shared<Recorder>();
        const std::weak_ptr<Recorder> alive = observer;
        node->observe(observer);
        EXPECT_TRUE(node->call("t").ok());
        EXPECT_TRUE(node->unobserve(observer));
        observer = nullptr;
        ASSERT_TRUE(alive.expired()) << "idle memory holds on to it";
    }
}

TEST(Unobserve, MayBeDoneByTheObserverItself) {
    struct Once final : Observer {
        void on_telemetry(const TelemetryEvent&) override {
            ++told;
            if (const auto self = me.lock()) runtime->unobserve(self);
        }
        Runtime* runtime = nullptr;
        std::weak_ptr<Observer> me;
        int told = 0;
    };
    const TestRuntime node;
    ASSERT_TRUE(node->tools().add(quick("t")));
    const auto observer = std::make_shared<Once>();
    observer->runtime = node.runtime.get();
    observer->me = observer;
    node->observe(observer);
    EXPECT_TRUE(node->call("t").ok());
    EXPECT_TRUE(node->call("t").ok());
    EXPECT_EQ(observer->told, 1);
}

TEST(Unobserve, TakesAwayOneThatWasAttachedTwiceOrWithTheOptions) {
    const auto observer = std::make_shared<Recorder>();
    RuntimeOptions options;
    options.observers.push_back(observer);
    Runtime runtime(std::move(options));
    ASSERT_TRUE(runtime.tools().add(quick("t")));
    runtime.observe(observer);
    EXPECT_TRUE(runtime.call("t").ok());
    EXPECT_EQ(observer->audit().size(), 2u);
    EXPECT_TRUE(runtime.unobserve(observer));
    EXPECT_TRUE(runtime.call("t").ok());
    EXPECT_EQ(observer->audit().size(), 2u);
}

TEST(Unobserve, OfTheOnlyOneWhoWantsSomethingStopsItBeingMade) {
    const TestRuntime node;
    struct NoAudit final : Observer {
        bool wants_audit() const override { return false; }
    };
    EXPECT_TRUE(node->unobserve(node.recorder));
    EXPECT_FALSE(node->core()->audit_wanted());
    EXPECT_EQ(node->core()->watching(), nullptr);
    node->observe(std::make_shared<NoAudit>());
    EXPECT_FALSE(node->core()->audit_wanted());
    EXPECT_TRUE(node->core()->log_wanted());
    node->observe(node.recorder);
    EXPECT_TRUE(node->core()->audit_wanted());
}

TEST_WITH_EITHER_LEDGER(Unobserve, WhoComesWhileACallRunsIsToldOfItsAuditAlone) {
    const TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(std::move(slow)));
    const Ended ended = node.start("slow");
    const auto observer = std::make_shared<Recorder>();
    node->observe(observer);
    body->take()->finish(ToolResult(Value(1)));
    node.calm();
    EXPECT_TRUE(*ended);
    EXPECT_THAT(observer->audit_types(), testing::ElementsAre("tool_call.succeeded"));
    EXPECT_THAT(observer->telemetry(), IsEmpty());
}

}  // namespace
}  // namespace callgate::pipeline
