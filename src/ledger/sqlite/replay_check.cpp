#include "ledger/sqlite/replay_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/try.h"
#include "ledger/audit/event_view.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/schema.h"
#include "ledger/sqlite/tally.h"

namespace callgate::ledger {

namespace {

constexpr std::size_t kMostProblems = 100;
constexpr std::uint64_t kBetweenLooks = 1'000;

/// One snapshot for all of it.
class Snapshot {
public:
    explicit Snapshot(Database& database) : database_(database) {}
    Result<void> begin() {
        // Whoever looked before may have given up in the middle.
        if (database_.in_transaction()) (void)database_.execute("ROLLBACK");
        return database_.execute("BEGIN");
    }
    ~Snapshot() {
        if (database_.in_transaction()) (void)database_.execute("ROLLBACK");
    }
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;

private:
    Database& database_;
};

// By type and name.
using Schema = std::map<std::pair<std::string, std::string>, std::string>;

Result<Schema> schema_of(Database& database) {
    CALLGATE_TRY_ASSIGN(auto all,
                        database.prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_schema"));
    Schema schema;
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, all.step());
        if (!found) return schema;
        schema.emplace(std::pair(std::string(all.text(0)), std::string(all.text(1))), all.text(2));
    }
}

class Replay {
public:
    Replay(Reader& reader, const base::SealKey& key, const KeptSince& kept, const WorkProgress& goes_on)
        : reader_(reader), key_(key), kept_(kept), goes_on_(goes_on) {}

    Result<ReplayReport> run() {
        Snapshot snapshot(reader_.database);
        CALLGATE_TRY(snapshot.begin());
        CALLGATE_TRY(look_at_schema());
        CALLGATE_TRY(look_at_tally());
        CALLGATE_TRY(look_at_approvals());
        CALLGATE_TRY(replay_events());
        return std::move(report_);
    }

private:
    void problem(std::string_view text) {
        if (report_.problems.size() < kMostProblems) {
            report_.problems.emplace_back(text);
        } else if (report_.problems.size() == kMostProblems) {
            report_.problems.emplace_back("and more");
        }
    }

    // Rows go by themselves when their time has come, by a clock that is not the events': only where the
    // tally says that something is wrong is a missing one more than old.
    void missing(std::string_view text) {
        if (!adds_up_) problem(text);
    }

    bool goes_on() { return !goes_on_ || goes_on_(report_.rows + report_.events, 0); }

    Result<void> look_at_schema() {
        CALLGATE_TRY_ASSIGN(auto model, Database::open(":memory:", Access::read_write));
        CALLGATE_TRY_ASSIGN(auto version, reader_.database.integer_of("PRAGMA user_version"));
        for (const Migration& step : ledger_migrations()) {
            if (step.version > version) break;
            CALLGATE_TRY(model.execute(step.sql));
        }
        CALLGATE_TRY_ASSIGN(auto ours, schema_of(model));
        CALLGATE_TRY_ASSIGN(auto found, schema_of(reader_.database));
        for (const auto& [what, sql] : found) {
            const auto same = ours.find(what);
            if (same == ours.end()) {
                problem(fmt::format("the {} '{}' is not one of the ledger's", what.first, what.second));
            } else if (same->second != sql) {
                problem(fmt::format("the {} '{}' is not as the ledger made it", what.first, what.second));
            }
        }
        for (const auto& [what, sql] : ours) {
            if (!found.contains(what))
                problem(fmt::format("the {} '{}' is missing", what.first, what.second));
        }
        return {};
    }

    Result<void> look_at_tally() {
        CALLGATE_TRY_ASSIGN(
            auto counted,
            recount(reader_.database, key_, [this](std::uint64_t, std::uint64_t) { return goes_on(); }));
        report_.rows += counted.rows;
        adds_up_ = counted.adds_up;
        if (!adds_up_) problem(counted.why);
        return {};
    }

    Result<void> look_at_approvals() {
        CALLGATE_TRY_ASSIGN(auto first, reader_.database.integer_of("SELECT min(seq) FROM audit"));
        first_kept_ = static_cast<std::uint64_t>(first);
        CALLGATE_TRY_ASSIGN(auto ids, reader_.database.prepare("SELECT id FROM approvals ORDER BY n"));
        for (std::uint64_t seen = 1;; ++seen) {
            CALLGATE_TRY_ASSIGN(auto found, ids.step());
            if (!found) return {};
            if (seen % kBetweenLooks == 0 && !goes_on()) return check_called_off();
            const std::string id(ids.text(0));
            auto approval = reader_.approvals.find(id, kAsWritten);
            if (!approval) {
                problem(fmt::format("approval {} was changed in the file", id));
                continue;
            }
            ++report_.rows;
            CALLGATE_TRY(look_at_votes(id));
        }
    }

    Result<void> look_at_votes(const std::string& id) {
        CALLGATE_TRY_ASSIGN(auto marks, reader_.approvals.marks_of(id));
        for (const AuditMark& mark : marks) {
            ++report_.rows;
            if (mark.sequence == 0 || mark.sequence < first_kept_) continue;
            CALLGATE_TRY_ASSIGN(auto event, hash_at(mark.sequence));
            if (event != bytes_of(mark.hash))
                problem(fmt::format("a vote on approval {} is not the one that the audit has", id));
        }
        return {};
    }

    Result<std::string> hash_at(std::uint64_t sequence) {
        if (!hash_at_) {
            CALLGATE_TRY_ASSIGN(hash_at_, reader_.database.prepare("SELECT hash FROM audit WHERE seq = ?1"));
        }
        CALLGATE_TRY_ASSIGN(auto found, hash_at_.bind(1, static_cast<std::int64_t>(sequence)).step());
        std::string hash(found ? hash_at_.blob(0) : std::string_view());
        hash_at_.reset();
        return hash;
    }

    Result<void> replay_events() {
        Preparing all(reader_.database);
        Statement events;
        // What is archived and not gone yet is nobody's any more.
        all.add(
            events,
            "SELECT event, seq FROM audit WHERE seq > (SELECT coalesce(max(last), 0) FROM audit_segments) "
            "ORDER BY seq");
        all.add(call_, "SELECT state, idem_key <> '' AND key_hash IS NULL FROM calls WHERE call_id = ?1");
        Statement runners;
        all.add(runners, "SELECT runs_as FROM calls WHERE runs_as IS NOT NULL");
        all.add(approval_, "SELECT state FROM approvals WHERE id = ?1");
        all.add(vote_, "SELECT 1 FROM votes WHERE approval_id = ?1 AND event_seq = ?2");
        CALLGATE_TRY(all.done());
        CALLGATE_TRY_ASSIGN(auto archived,
                            reader_.database.integer_of("SELECT coalesce(max(last), 0) FROM audit_segments"));
        report_.archived = static_cast<std::uint64_t>(archived);
        for (;;) {
            CALLGATE_TRY_ASSIGN(auto found, runners.step());
            if (!found) break;
            CallId id{};
            if (copy_bytes(runners.blob(0), id)) runners_.insert(id);
        }
        for (;;) {
            CALLGATE_TRY_ASSIGN(auto found, events.step());
            if (!found) return {};
            EventView view;
            if (scan_event(events.blob(0), view)) {
                problem(fmt::format("event {} of the audit cannot be read", events.integer(1)));
                continue;
            }
            if (++report_.events % kBetweenLooks == 0 && !goes_on()) return check_called_off();
            CALLGATE_TRY(replay(view));
        }
    }

    Result<void> replay(const EventView& event) {
        const std::string_view type = event.raw(Member::type);
        if (type == "tool_call.succeeded" && event.has(Member::has_key)) return replay_success(event);
        if (!event.has(Member::approval)) return {};
        if (type == "gate.required" || type == "gate.preview") return replay_approval(event, {});
        if (type == "approval.revoked") return replay_approval(event, "revoked");
        if (type == "approval.superseded") return replay_approval(event, "superseded");
        if (type == "approval.vote") return replay_vote(event, {});
        return {};
    }

    static bool is_young(const EventView& event, base::WallTime since) {
        return time_of(static_cast<std::int64_t>(event.number(Member::time))) > since;
    }

    // It has an outcome to replay, and holds its key.
    Result<void> replay_success(const EventView& event) {
        if (!is_young(event, kept_.calls)) return {};
        const CallId id = event.id(Member::call);
        CALLGATE_TRY_ASSIGN(auto found, call_.bind_blob(1, id).step());
        const bool there = found;
        const std::string state(there ? call_.text(0) : std::string_view());
        const bool freed = there && call_.integer(1) != 0;
        call_.reset();
        const std::string shown = base::Uuid{id}.to_string();
        if (freed)
            problem(fmt::format("the key of call {} was freed, and the audit says it succeeded", shown));
        if (there && state != "succeeded")
            problem(fmt::format("call {} is {}, and the audit says it succeeded", shown, state));
        if (there) return {};
        // Perhaps it went on with somebody else's row.
        if (!runners_.contains(id))
            missing(fmt::format("call {} is not there, and the audit says it succeeded", shown));
        return {};
    }

    Result<void> replay_approval(const EventView& event, std::string_view state) {
        if (!is_young(event, kept_.approvals)) return {};
        const std::string id = event.text(Member::approval);
        CALLGATE_TRY_ASSIGN(auto found, approval_.bind(1, id).step());
        const std::string stands(found ? approval_.text(0) : std::string_view());
        approval_.reset();
        if (stands.empty()) {
            missing(fmt::format("approval {} is not there, and the audit says it was asked for", id));
        } else if (!state.empty() && stands != state) {
            problem(fmt::format("approval {} is {}, and the audit says {}", id, stands, state));
        }
        return {};
    }

    Result<void> replay_vote(const EventView& event, std::string_view state) {
        if (!is_young(event, kept_.approvals)) return {};
        const std::string id = event.text(Member::approval);
        CALLGATE_TRY_ASSIGN(auto found,
                            vote_.bind(1, id).bind(2, static_cast<std::int64_t>(event.sequence())).step());
        vote_.reset();
        if (!found) missing(fmt::format("a vote on approval {} that the audit has is not there", id));
        return replay_approval(event, state);
    }

    Reader& reader_;
    const base::SealKey& key_;
    KeptSince kept_;
    const WorkProgress& goes_on_;
    ReplayReport report_;
    std::uint64_t first_kept_ = 0;  // the first event that is still in the file
    bool adds_up_ = false;
    std::set<CallId> runners_;  // calls that went on with another's row: few
    Statement hash_at_, call_, approval_, vote_;
};

}  // namespace

Result<ReplayReport> replay_check(Reader& reader, const base::SealKey& key, const KeptSince& kept,
                                  const WorkProgress& goes_on) {
    return Replay(reader, key, kept, goes_on).run();
}

}  // namespace callgate::ledger
