// For tests: a runtime whose time stands still until told otherwise, with everything it tells others kept,
// over a ledger that answers at once or later.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <callgate/callgate.h>

#include "base/clock.h"
#include "base/must.h"
#include "base/rng.h"
#include "ledger/deferred_ledger.h"
#include "ledger/memory_ledger.h"
#include "pipeline/core.h"
#include "pipeline/timers.h"
#include "tool/tool_entry.h"
#include "tool/tuned_body.h"

namespace callgate::pipeline {

inline Context with_key(std::string key) {
    Context context;
    context.idempotency_key = std::move(key);
    return context;
}

/// "" if there is no error, or it gives none.
inline std::string reason_of(const Outcome& outcome) {
    const Error* const error = outcome.error();
    const Value* reason = error == nullptr ? nullptr : error->details.if_contains("reason");
    return reason == nullptr ? "" : std::string(reason->as_string());
}

/// Keeps what it is notified of.
class Recorder final : public Observer {
public:
    struct Line {
        LogLevel level;
        std::string text;
    };
    struct Telemetry {
        TelemetryEvent::Name name;
        std::string tool;
        std::string reason;
        State state;
        Value params;
        CallId call_id;
        std::uint32_t attempt;
    };

    void on_audit(const AuditEvent& event) override {
        const std::lock_guard lock(mutex_);
        audit_.push_back(event);
    }
    void on_telemetry(const TelemetryEvent& event) override {
        Value params = event.params != nullptr ? event.params->get() : Value();
        const std::lock_guard lock(mutex_);
        telemetry_.push_back({event.name, std::string(event.tool), std::string(event.reason), event.state,
                              std::move(params), event.call_id, event.attempt});
    }
    void on_log(LogLevel level, std::string_view line) override {
        const std::lock_guard lock(mutex_);
        log_.push_back({level, std::string(line)});
    }
    void on_progress(const Progress& progress) override {
        const std::lock_guard lock(mutex_);
        progress_.push_back(progress);
    }

    std::vector<AuditEvent> audit() const {
        const std::lock_guard lock(mutex_);
        return audit_;
    }
    std::vector<std::string> audit_types() const {
        std::vector<std::string> types;
        for (const auto& event : audit()) types.emplace_back(event.type);
        return types;
    }
    std::vector<Telemetry> telemetry() const {
        const std::lock_guard lock(mutex_);
        return telemetry_;
    }
    std::vector<Line> log() const {
        const std::lock_guard lock(mutex_);
        return log_;
    }
    std::vector<Progress> progress() const {
        const std::lock_guard lock(mutex_);
        return progress_;
    }
    void clear() {
        const std::lock_guard lock(mutex_);
        audit_.clear();
        telemetry_.clear();
        log_.clear();
        progress_.clear();
    }

private:
    mutable std::mutex mutex_;
    std::vector<AuditEvent> audit_;
    std::vector<Telemetry> telemetry_;
    std::vector<Line> log_;
    std::vector<Progress> progress_;
};

/// An async tool that answers when the test says so.
class DeferredBody final : public ToolBody {
public:
    RunMode mode() const noexcept override { return RunMode::async; }
    void start(std::shared_ptr<Attempt> attempt) override {
        const std::lock_guard lock(mutex_);
        ++entered_;
        waiting_.push_back(std::move(attempt));
    }
    /// The oldest attempt that waits; null if none does.
    std::shared_ptr<Attempt> take() {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) return nullptr;
        auto first = waiting_.front();
        waiting_.erase(waiting_.begin());
        return first;
    }
    /// Releases the attempts that wait: there will be no answer.
    void forget() {
        std::vector<std::shared_ptr<Attempt>> gone;  // after the lock: what ends now may begin something else
        const std::lock_guard lock(mutex_);
        gone.swap(waiting_);
    }
    std::size_t waiting() const {
        const std::lock_guard lock(mutex_);
        return waiting_.size();
    }
    int entered() const {
        const std::lock_guard lock(mutex_);
        return entered_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<Attempt>> waiting_;
    int entered_ = 0;
};

inline Tool deferred(std::string name, std::shared_ptr<DeferredBody> body) {
    return {ToolDefinition(std::move(name), "", Object{{"type", "object"}}), std::move(body)};
}
/// A deferred tool, and the body that the test answers for.
inline std::pair<Tool, std::shared_ptr<DeferredBody>> deferred(std::string name) {
    auto body = std::make_shared<DeferredBody>();
    return {Tool(ToolDefinition(std::move(name), "Answers when told", Object{{"type", "object"}}), body),
            body};
}

/// How the ledgers of the runtimes that are made now answer; nothing: at once.
using Answers = ledger::DeferredLedger::Answers;
inline std::optional<Answers>& ledgers_answer() {
    static std::optional<Answers> how;
    return how;
}
struct LedgersAnswerLater {
    LedgersAnswerLater() { ledgers_answer() = Answers::soon; }
    ~LedgersAnswerLater() { ledgers_answer().reset(); }
    LedgersAnswerLater(const LedgersAnswerLater&) = delete;
    LedgersAnswerLater& operator=(const LedgersAnswerLater&) = delete;
};

/// A test of what holds whether the ledger answers at once or later: it is run with both.
#define TEST_WITH_EITHER_LEDGER(suite, name)                          \
    static void suite##_##name();                                     \
    TEST(suite, name) {                                               \
        suite##_##name();                                             \
    }                                                                 \
    TEST(suite##WithALaterLedger, name) {                             \
        const ::callgate::pipeline::LedgersAnswerLater while_it_runs; \
        suite##_##name();                                             \
    }                                                                 \
    static void suite##_##name()

/// Empty until the call has ended.
using Ended = std::shared_ptr<std::optional<Outcome>>;

/// One node: a runtime over a ledger that others may share.
struct TestRuntime {
    explicit TestRuntime(RuntimeOptions options = {},
                         std::shared_ptr<ledger::MemoryLedger> shared_ledger = nullptr,
                         std::shared_ptr<base::ManualClock> shared_clock = nullptr,
                         std::optional<Answers> answers = ledgers_answer())
        : clock(shared_clock ? shared_clock : std::make_shared<base::ManualClock>()),
          timers(std::make_shared<ManualTimers>(*clock)),
          ledger(shared_ledger ? shared_ledger : std::make_shared<ledger::MemoryLedger>(*clock)),
          recorder(std::make_shared<Recorder>()) {
        Parts parts;
        parts.clock = clock;
        parts.rng = std::make_shared<base::SeededRng>(7);
        parts.timers = timers;
        if (answers) {
            later = std::make_shared<ledger::DeferredLedger>(ledger, *answers);
            parts.ledger = later;
        } else {
            parts.ledger = ledger;
        }
        options.observers.push_back(recorder);
        options.shutdown_grace = std::chrono::milliseconds(20'000);
        runtime =
            std::make_unique<Runtime>(std::make_shared<Runtime::Core>(std::move(options), std::move(parts)));
    }

    TestRuntime(TestRuntime&&) = default;
    TestRuntime& operator=(TestRuntime&&) = delete;
    // A deferred tool holds its attempts, they the call, and that the tool.
    ~TestRuntime() {
        if (later) later->answer_soon();
        if (!runtime) return;
        for (const auto& tool : runtime->tools().list()) {
            const auto entry = runtime->tools().find(tool.definition.name);
            ToolBody* inner = entry ? entry->body() : nullptr;
            while (const auto* tuned = dynamic_cast<TunedBody*>(inner)) inner = tuned->inner().get();
            if (auto* deferred = dynamic_cast<DeferredBody*>(inner)) deferred->forget();
        }
    }

    Runtime* operator->() const { return runtime.get(); }

    /// Begins a call and keeps its outcome.
    template <std::same_as<CallRequest> Request>
    Ended start(Request request, Context context = {}) const {
        auto kept = std::make_shared<std::optional<Outcome>>();
        runtime->start(std::move(request), std::move(context),
                       [kept](Outcome ended) { *kept = std::move(ended); });
        calm();
        return kept;
    }
    Ended start(std::string tool, Args args = {}, Context context = {}) const {
        return start(CallRequest(std::move(tool), std::move(args)), std::move(context));
    }
    /// Time passes, and what falls due happens.
    void advance(std::chrono::nanoseconds duration) const {
        timers->advance(duration);
        calm();
    }
    /// The oldest operation that the ledger holds back, which must be this one, is answered, and a call that
    /// nobody waits for has gone on as far as it gets.
    void answer(std::string_view operation) const {
        later->wait_until_open(1);
        EXPECT_EQ(later->open_names().front(), operation);
        later->answer_one();
        while (!has_no_turns()) std::this_thread::yield();
    }
    /// Waits until the ledger has answered everything, the calls that nobody waits for have gone as far as
    /// they get with that, and their hosts have been notified.
    void calm() const {
        while (!is_calm()) std::this_thread::yield();
    }

    std::shared_ptr<base::ManualClock> clock;
    std::shared_ptr<ManualTimers> timers;
    std::shared_ptr<ledger::MemoryLedger> ledger;   ///< what is true
    std::shared_ptr<ledger::DeferredLedger> later;  ///< before it, where it answers later
    std::shared_ptr<Recorder> recorder;
    std::unique_ptr<Runtime> runtime;

private:
    bool is_calm() const {
        if (!later) return has_no_turns();
        const std::uint64_t begun = later->begun();
        return later->open() == 0 && has_no_turns() && later->begun() == begun;
    }
    // Each may give the other something to do.
    bool has_no_turns() const {
        Runtime::Core& core = *runtime->core();
        return is_idle(core.turns) && is_idle(core.host) && is_idle(core.stops) && is_idle(core.turns);
    }
    static bool is_idle(const WorkerPool& pool) {
        const auto counts = pool.counts();
        return counts.queued == 0 && counts.busy == 0;
    }
};
}  // namespace callgate::pipeline
