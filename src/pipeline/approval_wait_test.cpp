// Waiting for a person's decision, and being notified of what happens to approvals.
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <callgate/async.h>

#include "base/thread_role.h"
#include "os/scratch_dir.h"
#include "pipeline/approval_watch.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using testing::ElementsAre;
using Decided = Result<Approval>;

/// A runtime with a tool that a person has to agree to.
struct ApprovalNode : TestRuntime {
    explicit ApprovalNode(RuntimeOptions options = {}) : TestRuntime(std::move(options)) {
        EXPECT_TRUE(runtime->tools().add(
            tool("pay", "", [](std::int64_t n) { return n; }, param("n")).risk(Risk::high)));
    }
    Outcome ask(std::int64_t n = 1) const { return runtime->call("pay", {{"n", n}}); }
    Approvals& approvals() const { return runtime->approvals(); }

    /// Returns when it waits, or has ended.
    std::shared_ptr<std::optional<Decided>> when_decided(
        const std::string& id, std::optional<std::chrono::milliseconds> timeout = {},
        std::stop_token cancel = {}) const {
        auto kept = std::make_shared<std::optional<Decided>>();
        approvals().when_decided(
            id,
            [kept](Decided decided) {
                EXPECT_FALSE(base::on_our_thread());
                EXPECT_FALSE(*kept) << "twice";
                *kept = std::move(decided);
            },
            timeout, std::move(cancel));
        calm();
        return kept;
    }
};

std::string why(const Decided& decided) {
    if (decided) return std::string(to_string(decided->state));
    return std::string(to_string(decided.error().code)) + '/' +
           std::string(decided.error().details.at("reason").as_string());
}

TEST_WITH_EITHER_LEDGER(ApprovalWait, EndsWithTheDecisionAndTheCallCanBeResumed) {
    const ApprovalNode node;
    const Outcome asked = node.ask();
    auto decided = std::async(std::launch::async, [&] { return node.approvals().wait(asked.approval_id()); });
    ASSERT_TRUE(node.approvals().approve(asked.approval_id(), "olga"));
    const Decided seen = decided.get();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->state, ApprovalState::approved);
    ASSERT_EQ(seen->votes.size(), 1u);
    EXPECT_EQ(seen->votes[0].approver, "olga");
    EXPECT_EQ(node->resume(asked.call_id()).text(), "1");
}

TEST_WITH_EITHER_LEDGER(ApprovalWait, OfWhatIsDecidedAlreadyIsOverAtOnce) {
    const ApprovalNode node;
    const Outcome asked = node.ask();
    ASSERT_TRUE(node.approvals().deny(asked.approval_id(), "olga"));
    EXPECT_EQ(why(node.approvals().wait(asked.approval_id())), "denied");
    EXPECT_EQ(why(**node.when_decided(asked.approval_id())), "denied");
    EXPECT_EQ(why(node.approvals().wait("nothing")), "denied/not_found");
    EXPECT_EQ(why(**node.when_decided("nothing")), "denied/not_found");
}

TEST_WITH_EITHER_LEDGER(ApprovalWait, EndsHoweverTheApprovalEnds) {
    const ApprovalNode node;
    const auto approved = node.ask(1);
    const auto denied = node.ask(2);
    const auto revoked = node.ask(3);
    const auto expired = node.ask(4);
    const auto superseded = node.ask(5);
    std::map<std::string, std::shared_ptr<std::optional<Decided>>> waits;
    for (const Outcome& one : {approved, denied, revoked, expired, superseded}) {
        waits[one.approval_id()] = node.when_decided(one.approval_id());
        EXPECT_FALSE(*waits[one.approval_id()]);
    }
    ASSERT_TRUE(node.approvals().approve(approved.approval_id(), "olga"));
    ASSERT_TRUE(node.approvals().deny(denied.approval_id(), "olga"));
    ASSERT_TRUE(node.approvals().revoke(revoked.approval_id(), "olga"));
    PolicyConfig config;
    config.rules.emplace_back("", Rule::Do::confirm).approvals = 2;
    ASSERT_TRUE(node->policy().set(config));
    const Outcome other = node.ask(5);
    node.calm();
    EXPECT_FALSE(*waits[expired.approval_id()]);
    node.advance(15min);
    EXPECT_EQ(why(**waits[approved.approval_id()]), "approved");
    EXPECT_EQ(why(**waits[denied.approval_id()]), "denied");
    EXPECT_EQ(why(**waits[revoked.approval_id()]), "revoked");
    EXPECT_EQ(why(**waits[expired.approval_id()]), "expired");
    EXPECT_EQ(why(**waits[superseded.approval_id()]), "superseded");
    EXPECT_EQ((*waits[superseded.approval_id()])->value().superseded_by, other.approval_id());
}

TEST_WITH_EITHER_LEDGER(ApprovalWait, GoesOnUntilEnoughHaveAgreed) {
    const ApprovalNode node;
    PolicyConfig config;
    config.rules.emplace_back("two", Rule::Do::confirm).approvals = 2;
    ASSERT_TRUE(node->policy().set(config));
    const Outcome asked = node.ask();
    const auto decided = node.when_decided(asked.approval_id());
    ASSERT_TRUE(node.approvals().approve(asked.approval_id(), "olga"));
    node.calm();
    EXPECT_FALSE(*decided);
    ASSERT_TRUE(node.approvals().approve(asked.approval_id(), "petra"));
    node.calm();
    EXPECT_EQ(why(**decided), "approved");
    EXPECT_EQ((*decided)->value().votes.size(), 2u);
}

TEST_WITH_EITHER_LEDGER(ApprovalWait, EndsInTimeAndLeavesTheApprovalAsItIs) {
    const ApprovalNode node;
    const Outcome asked = node.ask();
    const auto decided = node.when_decided(asked.approval_id(), 10s);
    node.advance(9s);
    EXPECT_FALSE(*decided);
    node.advance(1s);
    EXPECT_EQ(why(**decided), "timed_out/undecided");
    EXPECT_EQ(node.approvals().get(asked.approval_id())->state, ApprovalState::pending);
    EXPECT_EQ(why(node.approvals().wait(asked.approval_id(), 0s)), "timed_out/undecided") << "only looks";
    base::MonotonicTime next{};
    EXPECT_FALSE(node.timers->next(next)) << "nobody waits for it any more";
}

TEST_WITH_EITHER_LEDGER(ApprovalWait, CanBeCalledOff) {
    const ApprovalNode node;
    const Outcome asked = node.ask();
    std::stop_source stop;
    const auto decided = node.when_decided(asked.approval_id(), {}, stop.get_token());
    EXPECT_FALSE(*decided);
    stop.request_stop();
    node.calm();
    EXPECT_EQ(why(**decided), "cancelled/called_off");
    EXPECT_EQ(why(node.approvals().wait(asked.approval_id(), {}, stop.get_token())), "cancelled/called_off");
    EXPECT_EQ(why(**node.when_decided(asked.approval_id(), {}, stop.get_token())), "cancelled/called_off");
    base::MonotonicTime next{};
    EXPECT_FALSE(node.timers->next(next));
}

TEST_WITH_EITHER_LEDGER(ApprovalWait, EndsWithTheRuntime) {
    auto node = std::make_unique<ApprovalNode>();
    const Outcome asked = node->ask();
    const auto later = node->when_decided(asked.approval_id());
    Approvals& approvals = node->approvals();
    std::promise<void> waits;
    auto blocked = std::async(std::launch::async, [&, id = asked.approval_id()] {
        waits.set_value();
        return approvals.wait(id);
    });
    waits.get_future().wait();
    // The waiting thread is inside once a second timer, or the same one, is wanted; it may as well come late.
    const auto core = node->runtime->core();
    core->close();
    EXPECT_EQ(why(blocked.get()), "cancelled/runtime_closing");
    EXPECT_EQ(why(node->approvals().wait(asked.approval_id())), "cancelled/runtime_closing");
    node.reset();
    EXPECT_EQ(why(**later), "cancelled/runtime_closing");
}

TEST_WITH_EITHER_LEDGER(ApprovalWait, WhatDoneThrowsIsCounted) {
    const ApprovalNode node;
    const Outcome asked = node.ask();
    node.approvals().when_decided(asked.approval_id(), [](const Decided&) { throw 7; });
    ASSERT_TRUE(node.approvals().deny(asked.approval_id(), "olga"));
    node.calm();
    EXPECT_EQ(node->stats().observer_faults, 1u);
}

TEST_WITH_EITHER_LEDGER(ApprovalWait, OfPooledToolsTakesNoThreadFromOthers) {
    RuntimeOptions options;
    options.pool_threads = 1;
    const ApprovalNode node(options);
    std::promise<void> entered;
    std::string asked;
    ASSERT_TRUE(node->tools().add(tool("asks", "", [&] {
        entered.set_value();
        const Decided decided = node.approvals().wait(asked);
        return decided && decided->state == ApprovalState::approved;
    })));
    asked = node.ask().approval_id();
    auto waits = std::async(std::launch::async, [&] { return node->call("asks"); });
    entered.get_future().wait();
    ASSERT_TRUE(node->tools().add(tool("other", "", [] { return 1; })));
    EXPECT_TRUE(node->call("other").ok());
    ASSERT_TRUE(node.approvals().approve(asked, "olga"));
    EXPECT_EQ(waits.get().text(), "true");
}

TEST(ApprovalWait, IsAwaitedInACoroutine) {
    const ApprovalNode node;
    const Outcome asked = node.ask();
    asio::io_context io;
    std::optional<Decided> decided;
    bool on_own_thread = false;
    const auto caller = std::this_thread::get_id();
    const auto body = [&]() -> asio::awaitable<void> {
        decided = co_await async_decision(*node.runtime, asked.approval_id());
        on_own_thread = std::this_thread::get_id() == caller;
    };
    asio::co_spawn(io, body, asio::detached);
    ASSERT_TRUE(node.approvals().approve(asked.approval_id(), "olga"));
    io.run();
    ASSERT_TRUE(decided);
    EXPECT_EQ(why(*decided), "approved");
    EXPECT_TRUE(on_own_thread);
}

TEST(ApprovalWait, ThatIsAwaitedIsCalledOffByItsCancellationSlot) {
    const ApprovalNode node;
    const Outcome asked = node.ask();
    asio::io_context io;
    asio::cancellation_signal signal;
    std::optional<Decided> decided;
    async_decision(*node.runtime, asked.approval_id(), {},
                   asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(io, [&](Decided one) {
                                                    decided = std::move(one);
                                                })));
    signal.emit(asio::cancellation_type::terminal);
    io.run();
    ASSERT_TRUE(decided);
    EXPECT_EQ(why(*decided), "cancelled/called_off");
}

TEST(ApprovalWait, InACoroutineToolMayBlockTheRuntimesOwnIoThread) {
    const ApprovalNode node;
    std::string asked = node.ask().approval_id();
    std::promise<void> entered;
    ASSERT_TRUE(node->tools().add(async_tool("asks", "", [&]() -> asio::awaitable<bool> {
        entered.set_value();
        const Decided decided = node.approvals().wait(asked);
        co_return decided && decided->state == ApprovalState::approved;
    })));
    ASSERT_TRUE(node->tools().add(async_tool("other", "", []() -> asio::awaitable<int> { co_return 1; })));
    auto waits = std::async(std::launch::async, [&] { return node->call("asks"); });
    entered.get_future().wait();
    EXPECT_TRUE(node->call("other").ok()) << "its thread does other work meanwhile";
    ASSERT_TRUE(node.approvals().approve(asked, "olga"));
    EXPECT_EQ(waits.get().text(), "true");
}

TEST(ApprovalWait, ThatWouldStopALentExecutorIsRefused) {
    const ApprovalNode node;
    const Outcome asked = node.ask();
    asio::io_context io;
    use_executor(*node.runtime, io.get_executor());
    std::optional<Decided> decided;
    asio::post(io, [&] { decided = node.approvals().wait(asked.approval_id()); });
    io.run();
    ASSERT_TRUE(decided);
    EXPECT_EQ(why(*decided), "denied/would_block");
}

// What is changed, with the state it is in then; and on which threads.
class ChangeLog {
public:
    Approvals::Listener listener() {
        return [this](const ApprovalChange& change) {
            EXPECT_FALSE(base::on_our_thread());
            const std::lock_guard lock(mutex_);
            lines_.push_back(std::string(to_string(change.what)) + ' ' +
                             std::string(to_string(change.approval.state)));
        };
    }
    std::vector<std::string> lines() const {
        const std::lock_guard lock(mutex_);
        return lines_;
    }
    void clear() {
        const std::lock_guard lock(mutex_);
        lines_.clear();
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

TEST_WITH_EITHER_LEDGER(ApprovalChanges, AreToldInOrder) {
    const ApprovalNode node;
    ChangeLog log;
    const auto handle = node.approvals().on_change(log.listener());
    ASSERT_TRUE(handle);
    PolicyConfig config;
    config.rules.emplace_back("", Rule::Do::confirm).approvals = 2;
    ASSERT_TRUE(node->policy().set(config));
    const Outcome asked = node.ask();
    (void)node.ask();
    ASSERT_TRUE(node.approvals().approve(asked.approval_id(), "olga"));
    ASSERT_TRUE(node.approvals().approve(asked.approval_id(), "olga"));
    ASSERT_TRUE(node.approvals().approve(asked.approval_id(), "petra"));
    ASSERT_TRUE(node->resume(asked.call_id()).ok());
    node.calm();
    EXPECT_THAT(log.lines(),
                ElementsAre("opened pending", "voted pending", "decided approved", "consumed consumed"));
    log.clear();
    const Outcome second = node.ask(2);
    ASSERT_TRUE(node.approvals().deny(second.approval_id(), "olga"));
    const Outcome third = node.ask(3);
    ASSERT_TRUE(node.approvals().revoke(third.approval_id(), "olga"));
    const Outcome fourth = node.ask(4);
    config.rules[0].approvals = 3;
    ASSERT_TRUE(node->policy().set(config));
    (void)node.ask(4);
    node.calm();
    EXPECT_THAT(log.lines(),
                ElementsAre("opened pending", "decided denied", "opened pending", "revoked revoked",
                            "opened pending", "superseded superseded", "opened pending"));
}

TEST_WITH_EITHER_LEDGER(ApprovalChanges, ByTimeAreToldOnce) {
    const ApprovalNode node;
    const Outcome before = node.ask(1);
    ChangeLog log;
    auto handle = node.approvals().on_change(log.listener());
    const Outcome after = node.ask(2);
    ASSERT_TRUE(node.approvals().approve(after.approval_id(), "olga"));
    node.calm();
    log.clear();
    node.advance(14min);
    EXPECT_TRUE(log.lines().empty());
    node.advance(1min);
    EXPECT_THAT(log.lines(), ElementsAre("expired expired", "expired expired"))
        << "one that was open before, and one that was approved and not used";
    EXPECT_EQ(why(node.approvals().wait(before.approval_id())), "expired");
    node.advance(24h);
    EXPECT_EQ(log.lines().size(), 2u);
    (void)node.ask(3);
    base::MonotonicTime next{};
    EXPECT_TRUE(node.timers->next(next));
    handle.value().reset();
    node.calm();
    EXPECT_FALSE(node.timers->next(next)) << "nobody wants to know any more";
}

TEST_WITH_EITHER_LEDGER(ApprovalChanges, AreToldNobodyWhoseHandleHasGone) {
    const ApprovalNode node;
    ChangeLog one;
    ChangeLog two;
    auto handle = node.approvals().on_change(one.listener());
    const auto other = node.approvals().on_change(two.listener());
    (void)node.ask(1);
    node.calm();
    handle.value().reset();
    (void)node.ask(2);
    node.calm();
    EXPECT_EQ(one.lines().size(), 1u);
    EXPECT_EQ(two.lines().size(), 2u);
}

TEST_WITH_EITHER_LEDGER(ApprovalChanges, AListenerMayThrowCallTheRuntimeAndEndItself) {
    const ApprovalNode node;
    std::shared_ptr<void> handle;
    std::vector<std::string> seen;
    auto made = node.approvals().on_change([&](const ApprovalChange& change) {
        seen.emplace_back(to_string(change.what));
        if (change.what == ApprovalChange::What::opened) {
            EXPECT_TRUE(node.approvals().approve(change.approval.id, "olga"));
            throw std::runtime_error("x");
        }
        handle.reset();
    });
    handle = *std::move(made);
    const Outcome asked = node.ask();
    node.calm();
    EXPECT_EQ(node->resume(asked.call_id()).text(), "1");
    node.calm();
    EXPECT_THAT(seen, ElementsAre("opened", "decided"));
    EXPECT_EQ(node->stats().observer_faults, 1u);
}

TEST(ApprovalChanges, ThatFindNoRoomBecomeOneThatSaysSo) {
    RuntimeOptions options;
    options.max_open_approvals_per_principal = 100'000;
    options.max_open_approvals_per_tenant = 100'000;
    const ApprovalNode node(options);
    std::promise<void> entered;
    std::promise<void> go_on;
    std::vector<ApprovalChange::What> seen;
    const auto handle = node.approvals().on_change([&](const ApprovalChange& change) {
        if (seen.empty()) {
            entered.set_value();
            go_on.get_future().wait();
        }
        seen.push_back(change.what);
    });
    const Approval first = *node.approvals().get(node.ask(0).approval_id());
    entered.get_future().wait();
    for (std::size_t i = 0; i < ApprovalWatch::kMostHeld + 500; ++i)
        node->core()->approval_watch->changed(ApprovalChange(ApprovalChange::What::voted, first));
    go_on.set_value();
    node.calm();
    ASSERT_EQ(seen.size(), ApprovalWatch::kMostHeld + 2);
    EXPECT_EQ(seen.back(), ApprovalChange::What::missed);
    EXPECT_EQ(seen[seen.size() - 2], ApprovalChange::What::voted);
}

TEST(ApprovalChanges, ComeFromADurableLedgerToo) {
    const os::ScratchDir directory;
    RuntimeOptions options;
    options.ledger_dir = directory.path() + "/ledger";
    options.ledger_mark_dir = directory.path();
    auto opened = Runtime::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    Runtime& runtime = **opened;
    ASSERT_TRUE(runtime.tools().add(tool("pay", "", [] { return 1; }).risk(Risk::high)));
    ChangeLog log;
    std::promise<void> consumed;
    const auto listener = log.listener();
    const auto handle = runtime.approvals().on_change([&](const ApprovalChange& change) {
        listener(change);
        if (change.what == ApprovalChange::What::consumed) consumed.set_value();
    });
    ASSERT_TRUE(handle);
    const Outcome asked = runtime.call("pay");
    auto decided =
        std::async(std::launch::async, [&] { return runtime.approvals().wait(asked.approval_id()); });
    ASSERT_TRUE(runtime.approvals().approve(asked.approval_id(), "olga"));
    EXPECT_EQ(why(decided.get()), "approved");
    ASSERT_TRUE(runtime.resume(asked.call_id()).ok());
    consumed.get_future().wait();
    EXPECT_THAT(log.lines(), ElementsAre("opened pending", "decided approved", "consumed consumed"));
}

}  // namespace
}  // namespace callgate::pipeline
