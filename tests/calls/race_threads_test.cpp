// 200 threads, released by one barrier, at the same key and at the same approval: the tool is entered once.
//
// The threads live through all rounds. In each round all of them look before the first may claim, so that
// nobody is turned away early; how often two or more were inside the claim at once is counted and printed.
#include <atomic>
#include <barrier>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <callgate/callgate.h>

#include "base/clock.h"
#include "base/rng.h"
#include "ledger/memory_ledger.h"
#include "pipeline/core.h"
#include "pipeline/timers.h"

namespace callgate::calls {
namespace {

constexpr std::ptrdiff_t kThreads = 200;
constexpr int kRounds = 500;

/// The ledger of the test: forwards everything, lets all threads look before any claims, and counts how many
/// are inside the claim together.
class CrowdedLedger final : public ledger::Ledger {
public:
    explicit CrowdedLedger(const base::Clock& clock) : inner_(clock) {}

    /// Before each round, while nothing runs.
    void begin_round() {
        most_inside_ = 0;
        round_ = round_ + 1;
    }
    int most_inside() const { return most_inside_; }

    ledger::Io peek(const ledger::KeyScope& key, const base::Sha256Digest& fingerprint,
                    ledger::PeekReply& reply, ledger::Waiter& waiter) override {
        const ledger::Io io = inner_.peek(key, fingerprint, reply, waiter);
        wait_for_the_others();
        return io;
    }
    ledger::Io claim(ledger::ClaimRequest request, ledger::ClaimReply& reply,
                     ledger::Waiter& waiter) override {
        const int inside = ++inside_;
        int most = most_inside_;
        while (most < inside && !most_inside_.compare_exchange_weak(most, inside)) {
        }
        std::this_thread::yield();  // on few processors the others would come one by one
        const ledger::Io io = inner_.claim(std::move(request), reply, waiter);
        --inside_;
        return io;
    }
    ledger::Io open_approval_for(std::string_view tenant, std::string_view requester,
                                 const base::Sha256Digest& fingerprint, std::string_view key,
                                 ledger::ApprovalReply& reply, ledger::Waiter& waiter) override {
        const ledger::Io io = inner_.open_approval_for(tenant, requester, fingerprint, key, reply, waiter);
        wait_for_the_others();
        return io;
    }

    ledger::Io dispatch(ledger::DispatchRequest request, ledger::DispatchReply& reply,
                        ledger::Waiter& waiter) override {
        return inner_.dispatch(std::move(request), reply, waiter);
    }
    ledger::Io settle(ledger::SettleRequest request, ledger::SettleReply& reply,
                      ledger::Waiter& waiter) override {
        return inner_.settle(std::move(request), reply, waiter);
    }
    ledger::Io conclude(ledger::ConcludeRequest request, ledger::ConcludeReply& reply,
                        ledger::Waiter& waiter) override {
        return inner_.conclude(std::move(request), reply, waiter);
    }
    ledger::Io open_approval(ledger::OpenApprovalRequest request, ledger::OpenApprovalReply& reply,
                             ledger::Waiter& waiter) override {
        return inner_.open_approval(std::move(request), reply, waiter);
    }
    ledger::Io record(AuditEvent& event, ledger::Reply& reply, ledger::Waiter& waiter) override {
        return inner_.record(event, reply, waiter);
    }
    ledger::Io wait_for_end(const ledger::KeyScope& key, std::shared_ptr<ledger::Waiter> ended,
                            ledger::WaitReply& reply, ledger::Waiter& asked) override {
        return inner_.wait_for_end(key, std::move(ended), reply, asked);
    }
    void stop_waiting(const ledger::KeyScope& key, const ledger::Waiter& waiter) override {
        inner_.stop_waiting(key, waiter);
    }
    Result<std::vector<Approval>> approvals(std::optional<ApprovalState> state) override {
        return inner_.approvals(state);
    }
    Result<Approval> approval(std::string_view id) override { return inner_.approval(id); }
    ledger::Io approval_of_call(std::string call_id, ledger::ApprovalReply& reply,
                                ledger::Waiter& waiter) override {
        return inner_.approval_of_call(std::move(call_id), reply, waiter);
    }
    Result<Approval> vote(std::string_view id, Vote vote, AuditEvent& event) override {
        return inner_.vote(id, std::move(vote), event);
    }
    Result<Approval> revoke(std::string_view id, std::string_view by, AuditEvent& event) override {
        return inner_.revoke(id, by, event);
    }
    void watch_approvals(std::weak_ptr<ledger::ApprovalSink> sink) override {
        inner_.watch_approvals(std::move(sink));
    }
    base::WallTime approval_time() override { return inner_.approval_time(); }
    Result<ledger::CallRow> find(const CallId& call_id) override { return inner_.find(call_id); }
    Result<std::vector<ledger::CallRow>> list(std::optional<ledger::CallState> state) override {
        return inner_.list(state);
    }
    Result<ledger::CallRow> resolve(const CallId& call_id, bool applied,
                                    std::shared_ptr<const ledger::StoredOutcome> outcome,
                                    AuditEvent& event) override {
        return inner_.resolve(call_id, applied, std::move(outcome), event);
    }
    Result<std::vector<AuditEvent>> audit(std::string_view trace) override { return inner_.audit(trace); }
    std::uint64_t audit_count() override { return inner_.audit_count(); }
    base::Sha256Digest keyed_digest(std::string_view purpose, std::string_view text) override {
        return inner_.keyed_digest(purpose, text);
    }
    Result<std::vector<ledger::CallRow>> in_doubt() override { return inner_.in_doubt(); }
    ledger::Io adopt(ledger::AdoptRequest request, ledger::AdoptReply& reply,
                     ledger::Waiter& waiter) override {
        return inner_.adopt(std::move(request), reply, waiter);
    }
    ledger::Io register_owner(ledger::OwnerReply& reply, ledger::Waiter& waiter) override {
        return inner_.register_owner(reply, waiter);
    }
    bool is_alive(ledger::OwnerId owner) override { return inner_.is_alive(owner); }
    void owner_gone(ledger::OwnerId owner) override { inner_.owner_gone(owner); }
    bool has_own_thread() const noexcept override { return inner_.has_own_thread(); }

private:
    // Once per thread and round; a call that waited goes on without.
    void wait_for_the_others() {
        thread_local int looked = 0;
        const int round = round_;
        if (looked == round) return;
        looked = round;
        if (round > 0) looked_.arrive_and_wait();
    }

    ledger::MemoryLedger inner_;
    std::atomic<int> round_{0};
    std::atomic<int> inside_{0};
    std::atomic<int> most_inside_{0};
    std::barrier<> looked_{kThreads};
};

struct Race {
    std::shared_ptr<base::Clock> clock = std::make_shared<base::SystemClock>();
    std::shared_ptr<CrowdedLedger> ledger = std::make_shared<CrowdedLedger>(*clock);
    std::unique_ptr<Runtime> runtime;
    std::atomic<int> entered{0};

    Race() {
        pipeline::Parts parts;
        parts.clock = clock;
        parts.rng = std::make_shared<base::SeededRng>(11);
        parts.timers = std::make_shared<pipeline::ThreadTimers>();
        parts.ledger = ledger;
        runtime =
            std::make_unique<Runtime>(std::make_shared<Runtime::Core>(RuntimeOptions(), std::move(parts)));
    }

    /// Tool "pay" counts its entries.
    void add_tool(Risk risk) {
        Tool pay = schema_tool(
            ToolDefinition("pay", "Pays once", Object{{"type", "object"}}),
            [this](const Object&, CallContext&) -> ToolReturn { return ToolResult(Value(++entered)); });
        const auto added = runtime->tools().add(pay.risk(risk).open_arguments().run_inline());
        ASSERT_TRUE(added) << added.error().message;
    }

    /// `before` alone, then `call` on all threads at once, then `after` alone; in how many rounds at least
    /// two were inside the claim.
    int run(const std::function<void(int)>& before, const std::function<void(int)>& call,
            const std::function<void(int)>& after) {
        int crowded = 0;
        int round = 0;
        bool running = false;
        const auto turn = [&]() noexcept {
            if (running) {
                after(round++);
                if (ledger->most_inside() >= 2) ++crowded;
            } else {
                before(round);
                ledger->begin_round();
            }
            running = !running;
        };
        std::barrier gate(kThreads, turn);
        std::vector<std::thread> threads;
        for (std::ptrdiff_t i = 0; i < kThreads; ++i) {
            threads.emplace_back([&] {
                for (int mine = 0; mine < kRounds; ++mine) {
                    gate.arrive_and_wait();
                    call(mine);
                    gate.arrive_and_wait();
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        return crowded;
    }
};

void print(const char* what, int crowded) {
    std::printf("RESULT race=%s threads=%d rounds=%d rounds_with_two_in_the_claim=%d\n", what,
                static_cast<int>(kThreads), kRounds, crowded);
}

TEST(CallRace, OneOfManyCallsWithTheSameKeyRunsAndTheOthersGetItsAnswer) {
    Race race;
    race.add_tool(Risk::low);
    std::atomic<int> ran{0};
    std::atomic<int> replayed{0};
    const int crowded = race.run([](int) {},
                                 [&](int round) {
                                     Context context;
                                     context.idempotency_key = "key " + std::to_string(round);
                                     const Outcome outcome = race.runtime->call("pay", {}, context);
                                     if (outcome.text() != std::to_string(round + 1))
                                         ADD_FAILURE() << to_string(outcome.state());
                                     ++(outcome.replayed() ? replayed : ran);
                                 },
                                 [&](int round) {
                                     EXPECT_EQ(race.entered.load(), round + 1);
                                     EXPECT_EQ(ran.exchange(0), 1) << "round " << round;
                                     EXPECT_EQ(replayed.exchange(0), kThreads - 1);
                                 });
    print("key", crowded);
    EXPECT_GT(crowded, 0) << "nobody met anybody: this showed nothing";
}

TEST(CallRace, OneOfManyCallsUsesAnApprovalAndTheOthersAreRefused) {
    Race race;
    race.add_tool(Risk::high);
    std::atomic<int> ran{0};
    std::atomic<int> refused{0};
    const int crowded = race.run(
        [&](int round) {
            const Outcome asked = race.runtime->call("pay", {{"round", round}});
            ASSERT_EQ(asked.state(), State::needs_approval);
            const auto approved = race.runtime->approvals().approve(asked.approval_id(), "olga");
            ASSERT_TRUE(approved) << approved.error().message;
        },
        [&](int round) {
            const Outcome outcome = race.runtime->call("pay", {{"round", round}});
            if (outcome.state() == State::succeeded) {
                ++ran;
            } else {
                EXPECT_EQ(outcome.state(), State::denied);
                EXPECT_EQ(outcome.error()->details.at("reason"), "consumed");
                ++refused;
            }
        },
        [&](int round) {
            EXPECT_EQ(race.entered.load(), round + 1);
            EXPECT_EQ(ran.exchange(0), 1) << "round " << round;
            EXPECT_EQ(refused.exchange(0), kThreads - 1);
        });
    print("approval", crowded);
    EXPECT_GT(crowded, 0) << "nobody met anybody: this showed nothing";
}

}  // namespace
}  // namespace callgate::calls
