#include "ledger/sqlite/whole_check.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/try.h"
#include "ledger/digest.h"
#include "ledger/sqlite/check_interrupter.h"
#include "ledger/sqlite/replay_check.h"

namespace callgate::ledger {

namespace {

// One part of a check after the other, which whoever waits for it can call off in the middle of a long query.
class Step {
public:
    static constexpr std::uint64_t kParts = 8;  // SQLite's own, our rules, each record, and the replay

    Step(Database& connection, const WorkProgress& progress)
        : connection_(connection),
          progress_(progress),
          interrupter_(connection.raw(), [this] { return goes_on(); }) {
        const auto stop = [](void* self) { return static_cast<Step*>(self)->goes_on() ? 0 : 1; };
        sqlite3_progress_handler(connection.raw(), kInstructions, stop, this);
    }

    ~Step() { sqlite3_progress_handler(connection_.raw(), 0, nullptr, nullptr); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    void next() { ++done_; }
    bool stopped() const { return stopped_; }

private:
    static constexpr int kInstructions = 20'000;

    // Two threads call this, and `progress_` is called by one at a time.
    bool goes_on() {
        const base::MutexLock lock(mutex_);
        if (!stopped_ && progress_ && !progress_(done_, kParts)) stopped_ = true;
        return !stopped_;
    }

    Database& connection_;
    base::Mutex mutex_;
    const WorkProgress& progress_ CALLGATE_GUARDED_BY(mutex_);
    std::atomic<std::uint64_t> done_{0};
    std::atomic<bool> stopped_{false};
    CheckInterrupter interrupter_;  // goes first
};

/// Every call, outcome and approval can be read, and is found under its own key.
Result<void> look_at_records(Reader& reader, Array& problems, const Step& step) {
    constexpr std::size_t kAtOnce = 1'000;
    for (CallId after{}; !step.stopped();) {
        // One snapshot for the calls and what belongs to them: they go on meanwhile.
        CALLGATE_TRY(reader.database.execute("BEGIN"));
        CALLGATE_TRY_ASSIGN(auto calls, reader.calls.all_calls(after, kAtOnce));
        for (StoredCall& call : calls) {
            after = call.row.call_id;
            const std::string id = base::Uuid{after}.to_string();
            if (auto loaded = reader.calls.load_outcome(call); !loaded)
                problems.emplace_back(fmt::format("the outcome of call {} cannot be read", id));
            if (call.arguments_unreadable)
                problems.emplace_back(fmt::format("the arguments of call {} cannot be read", id));
            if (!call.holds_key) continue;
            const auto found = reader.calls.by_key(hash_of(call.row.key));
            if (!found || !*found || (*found)->row.call_id != after)
                problems.emplace_back(fmt::format("call {} is not found under its key", id));
        }
        CALLGATE_TRY(reader.database.execute("COMMIT"));
        if (calls.size() < kAtOnce) break;
    }
    ApprovalQuery query;
    query.limit = kAtOnce;
    while (!step.stopped()) {
        CALLGATE_TRY_ASSIGN(auto approvals, reader.approvals.page(query, kAsWritten));
        if (approvals.size() < kAtOnce) break;
        query.before = approvals.back().id;
    }
    return {};
}

}  // namespace

Result<Object> check_all(Reader& reader, const base::SealKey& key, const KeptSince& kept,
                         const WorkProgress& progress) {
    std::optional<Step> step(std::in_place, reader.database, progress);
    Array problems;
    CALLGATE_TRY_ASSIGN(auto rows, reader.database.prepare("PRAGMA integrity_check(100)"));
    for (;;) {
        auto row = rows.step();
        if (step->stopped()) return check_called_off();
        if (!row) return tl::unexpected(std::move(row.error()));
        if (!*row) break;
        if (rows.text(0) != "ok") problems.emplace_back(rows.text(0));
    }
    const auto count = [&](std::string_view what, std::string_view sql) -> Result<void> {
        CALLGATE_TRY_ASSIGN(auto found, reader.database.integer_of(sql));
        if (found != 0) problems.emplace_back(fmt::format("{}: {}", what, found));
        return {};
    };
    constexpr std::pair<std::string_view, std::string_view> kRules[] = {
        {"calls whose outcome is missing",
         "SELECT count(*) FROM calls WHERE result_ref IS NOT NULL AND result_ref NOT IN (SELECT id FROM "
         "results)"},
        {"outcomes that belong to no call",
         "SELECT count(*) FROM results WHERE id NOT IN (SELECT result_ref FROM calls WHERE result_ref IS NOT "
         "NULL)"},
        {"sent calls without an attempt",
         "SELECT count(*) FROM calls WHERE attempt > 0 AND NOT EXISTS (SELECT 1 FROM attempts WHERE "
         "attempts.call_id = calls.call_id AND n = calls.attempt)"},
        {"used approvals without a call",
         "SELECT count(*) FROM approvals WHERE state = 'consumed' AND consumed_by = ''"},
        {"gaps in the audit's numbers",
         "SELECT CASE WHEN count(*) = 0 THEN 0 ELSE max(seq) - count(*) - (SELECT coalesce(max(last), 0) "
         "FROM audit_segments) END FROM audit WHERE seq > (SELECT coalesce(max(last), 0) FROM "
         "audit_segments)"},
    };
    for (const auto& [what, sql] : kRules) {
        step->next();
        auto done = count(what, sql);
        if (step->stopped()) return check_called_off();
        if (!done) return tl::unexpected(std::move(done.error()));
    }
    step->next();
    auto ready = reader.calls.prepare(Access::read_only);
    if (ready) ready = reader.approvals.prepare(Access::read_only);
    if (ready) ready = look_at_records(reader, problems, *step);
    if (step->stopped()) return check_called_off();
    if (!ready) problems.emplace_back(ready.error().message);
    step->next();
    const auto began = std::chrono::steady_clock::now();
    auto replayed =
        replay_check(reader, key, kept, [&](std::uint64_t, std::uint64_t) { return !step->stopped(); });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (step->stopped()) return check_called_off();
    step.reset();  // nobody else tells any more
    if (!replayed) return tl::unexpected(std::move(replayed.error()));
    for (Value& problem : replayed->problems) problems.push_back(std::move(problem));
    if (progress) static_cast<void>(progress(Step::kParts, Step::kParts));
    const bool ok = problems.empty();
    const std::uint64_t looked_at = replayed->rows + replayed->events;
    return Object{{"ok", ok},
                  {"problems", std::move(problems)},
                  {"rows", replayed->rows},
                  {"events", replayed->events},
                  {"archived_up_to", replayed->archived},
                  {"rows_per_s", static_cast<std::uint64_t>(static_cast<double>(looked_at) /
                                                            std::max(took.count(), 1e-6))}};
}

}  // namespace callgate::ledger
