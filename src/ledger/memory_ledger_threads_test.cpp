// Many threads at one key and at one approval: exactly one of them gets it.
#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ledger/ledger_testing.h"

namespace callgate::ledger::testing {
namespace {

constexpr std::size_t kThreads = 200;
constexpr std::uint64_t kRounds = 25;

/// `work(thread, round)` on all threads, each round released at once; `after(round)` alone, between rounds.
template <class Work, class After>
void race(std::size_t count, Work work, After after) {
    std::uint64_t ended = 0;
    bool begin = true;
    const auto between = [&]() noexcept {
        if (!begin) after(ended++);
        begin = !begin;
    };
    std::barrier barrier(static_cast<std::ptrdiff_t>(count), between);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < count; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t round = 0; round < kRounds; ++round) {
                barrier.arrive_and_wait();
                work(t, round);
                barrier.arrive_and_wait();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

std::uint64_t call_number(std::size_t thread, std::uint64_t round) {
    return round * kThreads + thread + 1;
}

TEST(MemoryLedgerThreads, OneOfManyClaimsAKey) {
    Bench b;
    std::atomic<int> claimed{0};
    std::atomic<int> others{0};
    race(
        kThreads,
        [&](std::size_t t, std::uint64_t round) {
            const ClaimReply reply = b.claim(call_number(t, round), "k" + std::to_string(round));
            ++(reply.verdict == ClaimVerdict::claimed ? claimed : others);
            EXPECT_TRUE(reply.verdict == ClaimVerdict::claimed || reply.verdict == ClaimVerdict::in_progress);
        },
        [&](std::uint64_t round) {
            EXPECT_EQ(claimed.exchange(0), 1) << "round " << round;
            EXPECT_EQ(others.exchange(0), static_cast<int>(kThreads) - 1);
        });
    EXPECT_EQ(b.ledger.audit_count(), kRounds);
}

TEST(MemoryLedgerThreads, OneOfManyUsesAnApproval) {
    Bench b;
    const auto id_of = [](std::uint64_t round) { return "ap" + std::to_string(round); };
    b.ask(id_of(0), "asked");
    ASSERT_TRUE(b.approve(id_of(0)));
    std::atomic<int> used{0};
    std::atomic<int> refused{0};
    race(
        kThreads,
        [&](std::size_t t, std::uint64_t round) {
            // Each under a key of its own, so that only the approval can stop it.
            const ClaimReply reply = b.claim_with(id_of(round), call_number(t, round),
                                                  "k" + std::to_string(call_number(t, round)));
            ++(reply.approval == ApprovalVerdict::ok ? used : refused);
            EXPECT_TRUE(reply.approval == ApprovalVerdict::ok || reply.approval == ApprovalVerdict::consumed);
        },
        [&](std::uint64_t round) {
            EXPECT_EQ(used.exchange(0), 1) << "round " << round;
            EXPECT_EQ(refused.exchange(0), static_cast<int>(kThreads) - 1);
            EXPECT_EQ(must(b.ledger.list({})).size(), round + 1);
            b.ask(id_of(round + 1), "asked " + id_of(round + 1));
            EXPECT_TRUE(b.approve(id_of(round + 1)));
        });
}

TEST(MemoryLedgerThreads, WaitingDuplicatesAllSeeTheOneOutcome) {
    Bench b;
    std::atomic<int> ran{0};
    std::atomic<int> replayed{0};
    race(
        50,
        [&](std::size_t t, std::uint64_t round) {
            struct Sleeper final : Waiter {
                void wake() override {
                    awake = true;
                    awake.notify_all();
                }
                std::atomic<bool> awake{false};
            };
            const std::string key = "k" + std::to_string(round);
            for (std::uint64_t attempt = 0;; ++attempt) {
                const std::uint64_t call = call_number(t, round) + attempt * 1'000'000;
                const ClaimReply reply = b.claim(call, key);
                if (reply.verdict == ClaimVerdict::claimed) {
                    // The first to come finds the other side unreachable; whoever is next does it.
                    const bool first = reply.row.call_id == call_id(call) && ran++ == 0;
                    b.settle(call, first ? AttemptEnd::not_applied : AttemptEnd::succeeded);
                    if (!first) return;
                    continue;
                }
                if (reply.verdict == ClaimVerdict::replay) {
                    ++replayed;
                    return;
                }
                const auto sleeper = std::make_shared<Sleeper>();
                if (b.waits_for_end(key, sleeper)) sleeper->awake.wait(false);
            }
        },
        [&](std::uint64_t round) {
            EXPECT_EQ(ran.exchange(0), 2) << "round " << round;
            EXPECT_EQ(replayed.exchange(0), 49) << "round " << round;
        });
}

TEST(MemoryLedgerThreads, EventsOfManyThreadsAreNumberedWithoutGaps) {
    MemoryLedger::Options options;
    options.audit_kept = 100'000;
    Bench b(options);
    race(
        8,
        [&](std::size_t t, std::uint64_t) {
            Reply reply;
            CountingWaiter waiter;
            for (int i = 0; i < 100; ++i) {
                AuditEvent one = event("e", call_id(t));
                b.ledger.record(one, reply, waiter);
            }
        },
        [](std::uint64_t) {});
    const auto events = must(b.ledger.audit({}));
    ASSERT_EQ(events.size(), 8u * 100u * kRounds);
    for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(events[i].sequence, i + 1);
}

}  // namespace
}  // namespace callgate::ledger::testing
