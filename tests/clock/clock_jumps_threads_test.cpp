// Somebody sets the machine's clock, a day forwards, a day back, an hour back, again and again, while eight
// threads make calls over a durable ledger. No key runs twice or is forgotten, no approval is used twice or
// too late, and the audit holds.
//
// Jumps follow the number of calls; with CALLGATE_CLOCK_SECONDS=N there is one every second, for N seconds.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <callgate/callgate.h>
#include <gtest/gtest.h>

#include "base/must.h"
#include "base/rng.h"
#include "ledger/audit/verify.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/scratch_dir.h"
#include "pipeline/core.h"
#include "pipeline/timers.h"

namespace callgate {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kThreads = 8;
constexpr std::uint64_t kCallsPerThread = 120;
constexpr std::uint64_t kCallsPerJump = 8;
constexpr std::uint64_t kWindow = 12;  // keys that are called at a time

/// The machine's time, set by somebody else now and then. Monotonic time passes as it should, or faster.
class SetClock final : public base::Clock {
public:
    base::WallTime wall_now() const noexcept override { return real_.wall_now() + offset() + passed(); }
    base::MonotonicTime monotonic_now() const noexcept override { return real_.monotonic_now() + passed(); }

    void jump(std::chrono::hours by) noexcept { offset_.fetch_add(by.count()); }
    /// Time passes, on both clocks.
    void pass(std::chrono::minutes time) noexcept { passed_.fetch_add(time.count()); }

    /// Forwards or back, and never further away than some days.
    void jump_somewhere(base::Rng& rng) noexcept {
        constexpr std::chrono::hours kJumps[] = {24h, -24h, -1h};
        const auto by = kJumps[rng.below(3)];
        const auto after = offset() + by;
        jump(after > 72h ? -48h : after < -72h ? 48h : by);
        jumps_.fetch_add(1);
    }
    std::uint64_t jumps() const noexcept { return jumps_.load(); }

private:
    std::chrono::hours offset() const noexcept { return std::chrono::hours(offset_.load()); }
    std::chrono::minutes passed() const noexcept { return std::chrono::minutes(passed_.load()); }

    base::SystemClock real_;
    std::atomic<std::int64_t> offset_{0};
    std::atomic<std::int64_t> passed_{0};
    std::atomic<std::uint64_t> jumps_{0};
};

/// What really happened.
class Effects {
public:
    void add(const std::string& key, std::string call_id) {
        const std::lock_guard lock(mutex_);
        all_[key].push_back(std::move(call_id));
    }
    std::map<std::string, std::vector<std::string>> all() const {
        const std::lock_guard lock(mutex_);
        return all_;
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::vector<std::string>> all_;
};

class ClockJumps : public ::testing::Test {
protected:
    void open() {
        close();
        ledger::SqliteOptions options;
        options.directory = scratch.file("ledger");
        options.clock = clock;
        auto opened = ledger::SqliteLedger::open(std::move(options));
        ASSERT_TRUE(opened) << opened.error().message;
        ledger = std::move(*opened);
        pipeline::Parts parts;
        parts.clock = clock;
        parts.rng = std::make_shared<base::SystemRng>();
        parts.timers = std::make_shared<pipeline::ThreadTimers>();
        parts.ledger = ledger;
        runtime =
            std::make_unique<Runtime>(std::make_shared<Runtime::Core>(RuntimeOptions(), std::move(parts)));
        for (const auto& [name, effect, risk] : {std::tuple("keyed", EffectClass::keyed, Risk::low),
                                                 std::tuple("unsafe", EffectClass::unsafe, Risk::low),
                                                 std::tuple("asks", EffectClass::unsafe, Risk::high)}) {
            Tool tool =
                schema_tool(ToolDefinition(name, "One effect under a key.",
                                           Object{{"type", "object"},
                                                  {"properties", Object{{"key", Object{{"type", "string"}}}}},
                                                  {"required", Array{"key"}}}),
                            [this](const Object& arguments, CallContext& context) -> ToolReturn {
                                const std::string key(arguments.at("key").as_string());
                                effects.add(key, context.call_id());
                                return ToolResult(Value(key));
                            });
            tool.effect(effect).risk(risk).run_inline();
            ASSERT_TRUE(runtime->tools().add(std::move(tool)));
        }
    }
    void close() {
        const std::weak_ptr<ledger::SqliteLedger> closing = ledger;
        runtime.reset();
        ledger.reset();
        while (!closing.expired()) std::this_thread::yield();
    }
    void TearDown() override { close(); }

    static Context with_key(const std::string& key) {
        Context context;
        context.principal = "agent";
        context.idempotency_key = key;
        return context;
    }
    Outcome call(std::string_view tool, const std::string& key) {
        return runtime->call(tool, {{"key", key}}, with_key(key));
    }

    /// A call whose key may be known: it succeeds or is replayed, and nothing else. With so many at once one
    /// may learn that another runs.
    void expect_answered(std::string_view tool, const std::string& key) {
        const Outcome outcome = call(tool, key);
        if (outcome.error() != nullptr && outcome.error()->code == ErrorCode::in_progress) return;
        EXPECT_TRUE(outcome.ok()) << key << " ended as " << to_string(outcome.state()) << ": "
                                  << (outcome.error() != nullptr ? outcome.error()->message : "");
    }

    /// A person agrees at once, and the call is made. Where the clock has jumped ahead in between, the
    /// agreement has expired, which is early and therefore allowed.
    void expect_asked_or_expired(const std::string& key) {
        const Outcome asked = call("asks", key);
        if (asked.ok() || asked.state() != State::needs_approval) return;
        const auto approved = runtime->approvals().approve(asked.approval_id(), "alice");
        if (!approved) {
            // Another thread's use of it, or its end.
            EXPECT_TRUE(approved.error().code == ErrorCode::approval_expired ||
                        approved.error().code == ErrorCode::denied)
                << approved.error().message;
            return;
        }
        (void)runtime->resume(asked.call_id(), with_key(key));
    }

    void expect_kept_promises() {
        for (const auto& [key, calls] : effects.all())
            EXPECT_EQ(calls.size(), 1u) << key << " had its effect more than once";
        auto reader = ledger->read_audit();
        ASSERT_TRUE(reader);
        const auto report = ledger::verify_audit(**reader, {});
        ASSERT_TRUE(report);
        EXPECT_FALSE(report->fault) << report->summary();
        EXPECT_GT(report->clock_steps_back, 0u) << "no jump was noticed";
        const auto checked = ledger->check({});
        ASSERT_TRUE(checked);
        EXPECT_TRUE(checked->at("ok").as_bool()) << json::write(*checked);
        std::map<std::string, int> uses;
        for (const ledger::CallRow& row : must(ledger->list(std::nullopt))) {
            EXPECT_TRUE(ledger::is_end(row.state)) << row.key.key << " is stuck";
            if (!row.approval_id.empty()) ++uses[row.approval_id];
        }
        for (const auto& [id, number] : uses) EXPECT_EQ(number, 1) << "approval " << id;
    }

    os::ScratchDir scratch{os::quick_directory()};
    std::shared_ptr<SetClock> clock = std::make_shared<SetClock>();
    Effects effects;
    std::shared_ptr<ledger::SqliteLedger> ledger;
    std::unique_ptr<Runtime> runtime;
};

TEST_F(ClockJumps, WhileCallsGoOnLetNoKeyRunTwiceAndNoApprovalBeUsedTwice) {
    open();
    const char* seconds = std::getenv("CALLGATE_CLOCK_SECONDS");
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 0);
    std::atomic<std::uint64_t> made{0};
    std::atomic<std::uint64_t> ready{0};  // keys that have been called at least once
    base::SeededRng jumper(20261115);
    std::mutex jumping;
    auto next_jump = std::chrono::steady_clock::now() + 1s;
    const auto goes_on = [&](std::uint64_t of_this_thread) {
        return seconds != nullptr ? std::chrono::steady_clock::now() < until
                                  : of_this_thread < kCallsPerThread;
    };
    const auto work = [&](std::size_t thread) {
        base::SeededRng rng(thread + 1);
        for (std::uint64_t i = 0; goes_on(i); ++i) {
            const std::uint64_t number =
                rng.below(3) == 0 ? ready.fetch_add(1) : ready.load() + rng.below(kWindow);
            const std::string key = std::to_string(number);
            switch (number % 3) {
                case 0: expect_answered("keyed", "keyed-" + key); break;
                case 1: expect_answered("unsafe", "unsafe-" + key); break;
                default: expect_asked_or_expired("asks-" + key); break;
            }
            const bool counted = made.fetch_add(1) % kCallsPerJump == 0;
            const std::lock_guard lock(jumping);
            const auto now = std::chrono::steady_clock::now();
            if (seconds != nullptr ? now < next_jump : !counted) continue;
            next_jump = now + 1s;
            clock->jump_somewhere(jumper);
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(clock->jumps(), seconds != nullptr ? 1u : kThreads * kCallsPerThread / kCallsPerJump);
    expect_kept_promises();
    // Every key that has run is still known, whatever the clock says now.
    for (const auto& [key, calls] : effects.all()) {
        const std::string tool = key.substr(0, key.find('-'));
        EXPECT_EQ(call(tool, key).state(), State::replayed) << key;
    }
    expect_kept_promises();
    if (seconds != nullptr) {
        std::printf("RESULT jumps=%llu calls=%llu keys=%zu violations=%d\n",
                    static_cast<unsigned long long>(clock->jumps()),
                    static_cast<unsigned long long>(made.load()), effects.all().size(), HasFailure() ? 1 : 0);
    }
}

TEST_F(ClockJumps, BetweenTwoStartsNeitherFreeAKeyNorRunItAgain) {
    open();
    ASSERT_TRUE(call("unsafe", "unsafe-1").ok());
    for (const auto by : {-24h, -1h, -24h, 1h}) {
        clock->jump(by);
        open();
        EXPECT_EQ(call("unsafe", "unsafe-1").state(), State::replayed) << by.count();
    }
    // Days ahead nothing has expired, for the ledger has not lived through them.
    clock->jump(96h);
    open();
    EXPECT_EQ(call("unsafe", "unsafe-1").state(), State::replayed);
    clock->jump(-48h);
    EXPECT_EQ(call("unsafe", "unsafe-1").state(), State::replayed);
    // Days that pass are others: the outcome has expired; the key is refused, and never free.
    clock->pass(std::chrono::minutes(96h));
    open();
    const Outcome expired = call("unsafe", "unsafe-1");
    ASSERT_NE(expired.error(), nullptr);
    EXPECT_EQ(expired.error()->code, ErrorCode::key_expired);
    clock->jump(-48h);
    EXPECT_FALSE(call("unsafe", "unsafe-1").ok());
    expect_kept_promises();
}

TEST_F(ClockJumps, BackwardsNeverMakeAnApprovalLastLonger) {
    open();
    const Outcome unused = call("asks", "asks-1");
    ASSERT_EQ(unused.state(), State::needs_approval);
    ASSERT_TRUE(runtime->approvals().approve(unused.approval_id(), "alice"));
    const Outcome undecided = call("asks", "asks-2");
    ASSERT_EQ(undecided.state(), State::needs_approval);
    for (int hour = 0; hour < 3; ++hour) {  // time passes, and the clock is set back by as much and more
        clock->pass(30min);
        clock->jump(-1h);
    }
    const auto late = runtime->approvals().approve(undecided.approval_id(), "alice");
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::approval_expired);
    EXPECT_FALSE(runtime->resume(unused.call_id(), with_key("asks-1")).ok());
    EXPECT_TRUE(effects.all().empty());
}

TEST_F(ClockJumps, ForwardsAndBackMayEndAnApprovalEarlyButNeverUseItTwice) {
    open();
    const Outcome asked = call("asks", "asks-1");
    ASSERT_TRUE(runtime->approvals().approve(asked.approval_id(), "alice"));
    clock->jump(24h);
    EXPECT_FALSE(runtime->resume(asked.call_id(), with_key("asks-1")).ok());
    clock->jump(-24h);
    (void)runtime->resume(asked.call_id(), with_key("asks-1"));
    (void)runtime->resume(asked.call_id(), with_key("asks-1"));
    EXPECT_LE(effects.all()["asks-1"].size(), 1u);
}

}  // namespace
}  // namespace callgate
