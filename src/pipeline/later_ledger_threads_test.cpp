// Many threads, calls of every kind, deadlines and cancels at any moment, over a ledger that answers from a
// thread of its own, in memory and on the disk; and a runtime that goes while all of that is under way.
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <callgate/callgate.h>

#include "base/clock.h"
#include "base/must.h"
#include "base/rng.h"
#include "ledger/deferred_ledger.h"
#include "ledger/memory_ledger.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/scratch_dir.h"
#include "pipeline/core.h"
#include "pipeline/many_callers.h"
#include "pipeline/timers.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;

/// The threads of a host, on which its async tools answer.
struct Elsewhere {
    std::mutex mutex;
    std::vector<std::thread> threads;
    int entered = 0;

    ~Elsewhere() {
        for (std::thread& thread : threads) thread.join();
    }
};

/// An async tool that answers from a thread which is not ours, or not at all.
class ElsewhereBody final : public ToolBody {
public:
    explicit ElsewhereBody(Elsewhere& where) : where_(where) {}
    RunMode mode() const noexcept override { return RunMode::async; }
    void start(std::shared_ptr<Attempt> attempt) override {
        const std::lock_guard lock(where_.mutex);
        if (++where_.entered % 7 == 0) return;  // it goes away without an answer
        where_.threads.emplace_back(
            [attempt = std::move(attempt)] { attempt->finish(ToolResult(Value(1))); });
    }

private:
    Elsewhere& where_;
};

enum class Kept : std::uint8_t { in_memory, on_disk };
constexpr Kept kBoth[] = {Kept::in_memory, Kept::on_disk};

/// Real time, and a ledger that answers as soon as it can.
struct Node {
    std::shared_ptr<base::Clock> clock = std::make_shared<base::SystemClock>();
    os::ScratchDir scratch{os::quick_directory()};
    std::shared_ptr<ledger::DeferredLedger> deferred;  // null: on the disk
    std::shared_ptr<ledger::Ledger> ledger;
    Elsewhere elsewhere;
    std::unique_ptr<Runtime> runtime;
    std::atomic<bool> ledgers_thread_ran_a_tool{false};
    std::mutex mutex;
    std::map<std::string, int> entered;  // by key

    explicit Node(Kept kept = Kept::in_memory) {
        if (kept == Kept::in_memory) {
            ledger = deferred =
                std::make_shared<ledger::DeferredLedger>(std::make_shared<ledger::MemoryLedger>(*clock));
        } else {
            ledger::SqliteOptions options;
            options.directory = scratch.file("ledger");
            options.clock = clock;
            auto opened = ledger::SqliteLedger::open(std::move(options));
            if (opened) ledger = std::move(*opened);
            EXPECT_TRUE(ledger);
        }
        Parts parts;
        parts.clock = clock;
        parts.rng = std::make_shared<base::SeededRng>(5);
        parts.timers = std::make_shared<ThreadTimers>();
        parts.ledger = ledger;
        RuntimeOptions options;
        options.shutdown_grace = 60s;
        runtime = std::make_unique<Runtime>(std::make_shared<Runtime::Core>(options, std::move(parts)));
        const auto run = [this](const Object&, CallContext& context) -> ToolReturn {
            note(context.caller().idempotency_key);
            return ToolResult(Value(1));
        };
        const auto nest = [this](const Object&, CallContext& context) -> ToolReturn {
            note(context.caller().idempotency_key);
            return ToolResult(Value(context.call("inlined", {}).ok()));
        };
        add(tool_of("inlined", run).run_inline());
        add(tool_of("pooled", run));
        add(tool_of("look", run).read_only().run_inline());
        add(tool_of("nest", nest).run_inline());
        add(tool_of("nest_pooled", nest));
        add(tool_of("keyed", run).effect(EffectClass::keyed));
        add(Tool(ToolDefinition("elsewhere", "", Object{{"type", "object"}}),
                 std::make_shared<ElsewhereBody>(elsewhere)));
    }

    static Tool tool_of(std::string name, ToolFunction run) {
        return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}), std::move(run));
    }
    void add(const Tool& tool) const { EXPECT_TRUE(runtime->tools().add(tool)); }
    void note(const std::string& key) {
        if (deferred && std::this_thread::get_id() == deferred->thread()) ledgers_thread_ran_a_tool = true;
        if (key.empty()) return;
        const std::lock_guard lock(mutex);
        ++entered[key];
    }
};

constexpr const char* kTools[] = {"inlined", "pooled", "look", "nest", "nest_pooled", "keyed", "elsewhere"};

CallRequest any_call(base::Rng& rng) {
    return CallRequest(kTools[rng.below(std::size(kTools))]);
}

Context any_context(base::Rng& rng) {
    Context context;
    if (rng.below(3) == 0) context.timeout = std::chrono::milliseconds(rng.below(3));
    return context;
}

// An inline tool always answers. Where its deadline has passed and the disk takes long, its caller does not
// learn of an end that is not on the record yet.
bool left_before_the_disk_answered(const Outcome& outcome) {
    const Value* reason = outcome.error() ? outcome.error()->details.if_contains("reason") : nullptr;
    return reason != nullptr && *reason == "not_recorded_yet";
}

void every_call_ends_once_and_no_key_runs_twice(Kept kept) {
    constexpr int kThreads = 6;
    constexpr int kRounds = 150;
    Node node(kept);
    std::atomic<int> started{0};
    std::atomic<int> ended{0};
    std::atomic<int> odd{0};
    const auto work = [&](std::uint64_t seed) {
        base::SeededRng rng(seed);
        for (int round = 0; round < kRounds; ++round) {
            Context context = any_context(rng);
            std::stop_source stop;
            context.cancel = stop.get_token();
            switch (rng.below(4)) {
                case 0: {
                    // Several threads come with the same key.
                    context.idempotency_key = "key " + std::to_string(round);
                    const Outcome outcome = node.runtime->call("inlined", {}, context);
                    if (outcome.state() == State::unknown && !left_before_the_disk_answered(outcome)) ++odd;
                    break;
                }
                case 1: (void)node.runtime->call(any_call(rng), context); break;
                case 2:
                    for (const Outcome& outcome :
                         node.runtime->call_batch({any_call(rng), any_call(rng), any_call(rng)}, context)) {
                        if (outcome.call_id().empty()) ++odd;
                    }
                    break;
                default:
                    ++started;
                    node.runtime->start(any_call(rng), context, [&](Outcome) { ++ended; });
                    if (rng.below(2) == 0) stop.request_stop();
            }
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i + 1);
    for (std::thread& thread : threads) thread.join();
    node.runtime.reset();
    while (ended != started) std::this_thread::yield();
    EXPECT_EQ(odd, 0);
    EXPECT_FALSE(node.ledgers_thread_ran_a_tool);
    for (const auto& [key, times] : node.entered) EXPECT_EQ(times, 1) << key;
    for (const auto state : {ledger::CallState::claimed, ledger::CallState::dispatched})
        EXPECT_TRUE(must(node.ledger->list(state)).empty()) << "a call was left behind";
}

TEST(LaterLedgerThreads, EveryCallEndsOnceAndNoKeyRunsTwice) {
    for (const Kept kept : kBoth) every_call_ends_once_and_no_key_runs_twice(kept);
}

TEST(LaterLedgerThreads, CallersWithKeysNeedFewDescriptorsHoweverManyTheyAre) {
    Node node(Kept::on_disk);
    const FewDescriptors few(32);
    EXPECT_EQ(refused_of_many(*node.runtime, "inlined", 200, 2), 0u);
}

TEST(LaterLedgerThreads, WhenTheRuntimeGoesEveryCallEnds) {
    base::SeededRng rng(3);
    for (int round = 0; round < 60; ++round) {
        Node node(round % 6 == 0 ? Kept::on_disk : Kept::in_memory);
        std::atomic<int> started{0};
        std::atomic<int> ended{0};
        const bool holds = round % 6 == 1 || round % 6 == 2;
        if (holds) node.deferred->answer_when_told();
        for (int i = 0; i < 12; ++i) {
            ++started;
            node.runtime->start(any_call(rng), any_context(rng), [&](Outcome) { ++ended; });
        }
        auto told = std::async(std::launch::async, [&] {
            if (holds) node.deferred->answer_soon();
        });
        node.runtime.reset();
        // One that a host's thread or a timer was running just then ends a moment later.
        while (ended != started) std::this_thread::yield();
        told.wait();
    }
}

TEST(LaterLedgerThreads, AToolMayEndTheRuntimeWhileOthersWaitForTheLedger) {
    base::SeededRng rng(4);
    for (int round = 0; round < 40; ++round) {
        Node node(round % 8 < 2 ? Kept::on_disk : Kept::in_memory);
        std::atomic<int> ended{0};
        Tool end = Node::tool_of("end", [&](const Object&, CallContext&) -> ToolReturn {
            node.runtime.reset();
            return ToolResult(Value(1));
        });
        if (round % 2 == 0) end.run_inline();
        node.add(end);
        for (int i = 0; i < 6; ++i)
            node.runtime->start(any_call(rng), any_context(rng), [&](Outcome) { ++ended; });
        std::promise<void> told;
        node.runtime->start(CallRequest("end"), {}, [&](Outcome) { told.set_value(); });
        told.get_future().wait();
        const long held_here = node.deferred ? 2 : 1;
        while (ended < 6 || node.ledger.use_count() > held_here) std::this_thread::yield();
    }
}

}  // namespace
}  // namespace callgate::pipeline
