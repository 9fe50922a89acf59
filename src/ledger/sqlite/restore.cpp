#include "ledger/sqlite/restore.h"

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/failpoint.h"
#include "base/ids.h"
#include "base/try.h"
#include "ledger/audit/anchor.h"
#include "ledger/audit/export.h"
#include "ledger/own_events.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/engine.h"
#include "tool/iso_time.h"

namespace callgate::ledger {

namespace {

constexpr std::size_t kAtOnce = 1'000;
constexpr std::size_t kListed = 1'000;       // events of the gap in a report
constexpr std::size_t kMaxLine = 64u << 20;  // bytes of an export's line
constexpr std::size_t kMaxGapCalls = 1'000'000;

tl::unexpected<Error> restore_refused(ErrorCode code, std::string_view reason, std::string message,
                                      Object more = {}) {
    more["reason"] = reason;
    return fail(code, std::move(message), std::move(more));
}

AuditEvent operator_event(std::string_view type, const RestoreRequest& order, std::string_view detail) {
    AuditFacts facts;
    facts.type = type;
    facts.outcome = "info";
    facts.stage = "operator";
    facts.principal = order.by;
    facts.detail = detail;
    return AuditEvent(facts);
}

/// What an export says about the time that was lost.
struct KnownGap {
    std::uint64_t events = 0;
    std::vector<CallRow> calls;  ///< that had a key and may have had an effect
    Array listed;
};

tl::unexpected<Error> wrong_export(const std::string& path, std::string what) {
    return restore_refused(
        ErrorCode::config_error, "wrong_export",
        fmt::format("'{}' is not an export of this ledger's audit that goes on from where the "
                    "ledger ends: {}. Name another, or leave it out.",
                    path, what),
        {{"path", path}});
}

Result<KnownGap> read_gap(const std::string& path, const std::string& chain_id, const AuditEnd& end) {
    KnownGap gap;
    std::ifstream in(path, std::ios::binary);
    if (!in) return wrong_export(path, "it cannot be read");
    base::Sha256 hasher;
    base::Sha256Digest last = end.hash;
    bool joined = end.events == 0;
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        if (line.size() > kMaxLine || in.eof()) return wrong_export(path, fmt::format("line {}", number));
        if (number == 1) {
            const auto header = read_header_line(line);
            if (!header || header->chain_id != chain_id) return wrong_export(path, "it is of another ledger");
            // What was archived before it may end just where the ledger does.
            joined = joined || (header->after && header->after->hash == end.hash);
            continue;
        }
        if (is_checkpoint_line(line)) continue;
        ExportedEvent event;
        if (read_event_line(line, event)) return wrong_export(path, fmt::format("line {}", number));
        const std::uint64_t sequence = event.view.sequence();
        if (sequence <= end.events) {
            if (sequence == end.events && event.hash != end.hash) return wrong_export(path, "another past");
            joined = joined || sequence == end.events;
            continue;
        }
        if (!joined || sequence != end.events + gap.events + 1)
            return wrong_export(path, fmt::format("event {} is missing", end.events + gap.events + 1));
        last = next_hash(hasher, last, event.bytes);
        if (last != event.hash) return wrong_export(path, fmt::format("event {} is broken", sequence));
        ++gap.events;
        if (gap.listed.size() < kListed) {
            gap.listed.emplace_back(Object{{"seq", sequence},
                                           {"type", event.view.text(Member::type)},
                                           {"call_id", event.view.text(Member::call)},
                                           {"tool", event.view.text(Member::tool)}});
        }
        if (event.view.text(Member::type) != "tool_call.attempted" || !event.view.has(Member::has_key))
            continue;
        CallRow row;
        row.call_id = event.view.id(Member::call);
        row.key = {event.view.text(Member::tenant), event.view.text(Member::principal),
                   event.view.text(Member::tool), ""};
        const auto fingerprint = base::hex_decode(event.view.text(Member::request));
        if (!fingerprint || !copy_bytes(*fingerprint, row.fingerprint)) continue;
        row.effect = EffectClass::unsafe;
        row.state = CallState::unknown;
        row.created_at = time_of(static_cast<std::int64_t>(event.view.number(Member::time)));
        row.action = event.view.text(Member::action);
        if (gap.calls.size() == kMaxGapCalls) return wrong_export(path, "it has too many calls");
        gap.calls.push_back(std::move(row));
    }
    return gap;
}

/// What a restore does to the ledger's rows.
class Restoring {
public:
    Restoring(SqliteLedger::Engine& engine, Transactions& transactions, const RestoreRequest& order,
              const KnownGap& gap, std::int64_t number)
        : engine_(engine),
          transactions_(transactions),
          tables_(transactions.tables()),
          order_(order),
          gap_(gap),
          number_(number) {}

    Result<void> run() {
        const Past& past = *engine_.past;
        const std::string detail =
            fmt::format("From event {} ({}); {}. {} events of the lost time are known. {}", past.end.events,
                        base::hex_encode(bytes_of(past.end.hash)),
                        past.seen_by.empty() ? "nothing shows what came after it"
                                             : fmt::format("its {} has seen {}", past.seen_by, past.seen),
                        gap_.events, order_.because);
        CALLGATE_TRY(tables_.record(operator_event("ledger.restored", order_, detail)));
        CALLGATE_TRY(hold_open_calls());
        CALLGATE_TRY(hold_known_calls());
        CALLGATE_TRY(revoke_approvals());
        return open_gap();
    }

    std::uint64_t unknown = 0;
    std::uint64_t revoked = 0;

private:
    Result<void> open_gap() {
        CALLGATE_TRY_ASSIGN(auto put, tables_.database().prepare("INSERT INTO restores(n, at, events, "
                                                                 "gap_until) VALUES(?1, ?2, ?3, ?4)"));
        const base::WallTime until =
            tables_.time().lived() + tables_.kept().key_ttl + tables_.kept().tombstone_ttl;
        put.bind(1, number_).bind(2, micros(tables_.time().wall()));
        put.bind(3, static_cast<std::int64_t>(engine_.past->end.events)).bind(4, micros(until));
        CALLGATE_TRY(put.run());
        return {};
    }

    Result<void> hold_open_calls() {
        for (CallId after{};;) {
            CALLGATE_TRY_ASSIGN(auto open, tables_.calls.open_calls(after, kAtOnce));
            for (const StoredCall& call : open) {
                after = call.row.call_id;
                if (call.row.effect == EffectClass::read) continue;  // may be repeated
                CALLGATE_TRY(hold(call));
            }
            if (open.size() < kAtOnce) return {};
        }
    }

    Result<void> hold(const StoredCall& call) {
        ++unknown;
        CALLGATE_TRY(tables_.calls.set_restored(call.row.call_id, number_));
        if (is_end(call.row.state)) return {};
        CallRow row = call.row;
        ++row.epoch;
        row.owner = 0;
        row.state = CallState::unknown;
        row.ended_at = tables_.time().wall();
        CALLGATE_TRY(tables_.calls.store(call, row, false, std::nullopt));
        CALLGATE_TRY(tables_.calls.end_attempt(row, row.attempt, "unknown", row.ended_at));
        CALLGATE_TRY(tables_.record(event_of_giving_up(row)));
        return {};
    }

    Result<void> hold_known_calls() {
        for (const CallRow& row : gap_.calls) {
            CALLGATE_TRY_ASSIGN(auto there, tables_.calls.by_id(row.call_id));
            if (there) continue;
            CallRow held = row;
            held.lived_at = tables_.time().lived();
            CALLGATE_TRY(tables_.calls.insert(held, nullptr));
            CALLGATE_TRY(tables_.calls.set_restored(row.call_id, number_));
            CALLGATE_TRY(tables_.record(event_of_giving_up(row)));
            ++unknown;
        }
        return {};
    }

    Result<void> revoke_approvals() {
        std::vector<std::string> open;
        for (const ApprovalState state : {ApprovalState::pending, ApprovalState::approved}) {
            ApprovalQuery query;
            query.state = state;
            query.limit = kAtOnce;
            for (bool more = true; more;) {
                CALLGATE_TRY_ASSIGN(auto page, tables_.approvals.page(query, tables_.time().latest()));
                for (const Approval& one : page) open.push_back(one.id);
                more = page.size() == kAtOnce;
                if (more) query.before = open.back();
            }
        }
        for (const std::string& id : open) {
            AuditEvent event = operator_event("approval.revoked", order_, "The ledger was restored.");
            event.approval_id = id;
            CALLGATE_TRY_ASSIGN(auto done, transactions_.revoke(id, event));
            if (done) ++revoked;
        }
        return {};
    }

    SqliteLedger::Engine& engine_;
    Transactions& transactions_;
    Tables& tables_;
    const RestoreRequest& order_;
    const KnownGap& gap_;
    const std::int64_t number_;
};

}  // namespace

Result<std::optional<Error>> lost_in_gap(const Tables& tables, CallTable& calls, const std::string& key,
                                         const base::Sha256Digest& fingerprint, const StoredCall* standing,
                                         bool spent) {
    if (key.empty() || spent) return std::nullopt;
    const auto held = [&](std::string what, Object details) {
        details["reason"] = "restored";
        return Error(ErrorCode::outcome_unknown, std::move(what), std::move(details));
    };
    if (standing != nullptr) {
        const bool unresolved = standing->restored && standing->row.state == CallState::unknown &&
                                standing->row.fingerprint == fingerprint;
        if (!unresolved) return std::nullopt;
        return held(
            "The call with the idempotency key '" + key +
                "' was under way where the restored ledger ends. It may have taken effect, and is not "
                "run again until a person has resolved it.",
            {{"call_id", base::Uuid{standing->row.call_id}.to_string()}});
    }
    const Tables::Gap& gap = tables.gap();
    if (gap.has_calls) {
        CALLGATE_TRY_ASSIGN(auto lost, calls.lost_call(fingerprint));
        if (lost) {
            return held(
                "This very request was made in the time that a restored ledger has lost, perhaps "
                "under this idempotency key. It is not run again until a person has resolved that "
                "call as not applied.",
                {{"call_id", base::Uuid{*lost}.to_string()}});
        }
    }
    if (gap.until == base::WallTime() || gap.until <= tables.time().lived()) return std::nullopt;
    // By the wall clock as it is: the gap itself is over when the ledger has lived through it.
    const std::string until = iso_utc(tables.time().wall() + (gap.until - tables.time().lived()));
    return held("The ledger was restored, and the idempotency key '" + key +
                    "' may have been used in the time that was lost: the call may have taken effect. It is "
                    "held until " +
                    until.substr(0, 10) + ' ' + until.substr(11, 5) + " UTC" +
                    ", or until an operator lets keys in that are not known: callgate ledger restore "
                    "--accept-new-keys.",
                {{"held_until", until}});
}

Result<Object> SqliteLedger::restore(SqliteOptions options, const RestoreRequest& order,
                                     const WorkProgress& progress) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_restore");
    if (!options.files) options.files = std::make_shared<os::RealFileOps>();
    const auto no_ledger = [directory = options.directory] {
        return restore_refused(ErrorCode::config_error, "no_ledger",
                               fmt::format("There is no ledger in '{}'. Name its directory.", directory),
                               {{"directory", directory}});
    };
    const auto there = options.files->stat(options.directory + "/ledger.db");
    if (!there || there->size == 0) return no_ledger();  // or one would be made
    options.to_restore = true;
    options.watch_past = true;
    options.in_passing = true;
    CALLGATE_TRY_ASSIGN(auto opened, open(std::move(options)));
    SqliteLedger& ledger = *opened;
    Engine& engine = *ledger.engine_;
    if (!engine.past) return no_ledger();
    const Past& past = *engine.past;
    const bool behind = past.verdict == Past::Verdict::rolled_back;
    const bool elsewhere = past.verdict == Past::Verdict::moved;
    const bool gap_is_open = engine.tables->gap().until > engine.tables->time().lived();
    if (order.mark_expected && !order.moved && !order.anyway && (!past.mark || past.mark_elsewhere)) {
        return restore_refused(
            ErrorCode::config_error, "no_mark",
            fmt::format("There is no mark of this ledger in '{}'{}. If the mark is lost, say --moved where "
                        "this is the newest copy, else --anyway. Nothing was changed.",
                        engine.question.mark_directory,
                        past.mark_elsewhere
                            ? fmt::format(": it is in '{}', which is looked into without --mark-dir, too",
                                          engine.question.mark_was_in)
                            : std::string()),
            {{"directory", engine.question.mark_directory}});
    }
    if (order.moved && behind) return tl::unexpected(refusal_of(past, engine.question));
    const bool restores = !order.moved && (behind || elsewhere || order.anyway);
    const bool ends_gap = order.accept_new_keys && (restores || gap_is_open);
    if (!restores && !ends_gap && !(order.moved && elsewhere)) {
        return restore_refused(
            ErrorCode::denied, "nothing_to_restore",
            "The ledger is not behind its mark, and is where it was. If ledger and mark were put "
            "back together, say --anyway.");
    }
    if (ends_gap && order.because.empty()) {
        return restore_refused(
            ErrorCode::denied, "reason_missing",
            "Letting unknown keys run needs a reason, which goes on the record: --because TEXT.");
    }
    CALLGATE_TRY_ASSIGN(auto checked, ledger.check(progress));
    if (!checked.at("ok").as_bool()) {
        return restore_refused(ErrorCode::ledger_unavailable, "check_failed",
                               "The ledger is not whole, and was not changed. Restore another copy.",
                               {{"problems", checked.at("problems")}});
    }
    KnownGap gap;
    if (restores && !order.export_file.empty()) {
        CALLGATE_TRY_ASSIGN(gap, read_gap(order.export_file, engine.chain_id(), past.end));
    }
    if (order.agree && !order.agree({restores, behind, ends_gap, past.end.events, past.seen}))
        return restore_refused(ErrorCode::denied, "not_confirmed", "Nothing was changed.");
    std::uint64_t unknown = 0;
    std::uint64_t revoked = 0;
    std::string note;
    const auto accept = [&](Transactions& transactions) -> Result<bool> {
        if (restores) {
            CALLGATE_TRY_ASSIGN(auto before,
                                engine.database.integer_of("SELECT coalesce(max(n), 0) FROM restores"));
            Restoring restoring(engine, transactions, order, gap, before + 1);
            CALLGATE_TRY(restoring.run());
            unknown = restoring.unknown;
            revoked = restoring.revoked;
        } else if (order.moved) {
            CALLGATE_TRY(transactions.tables().record(operator_event("ledger.moved", order, order.because)));
        }
        if (ends_gap) {
            CALLGATE_TRY(engine.database.execute("UPDATE restores SET gap_until = 0"));
            CALLGATE_TRY(
                transactions.tables().record(operator_event("ledger.gap_ended", order, order.because)));
        }
        CALLGATE_TRY(engine.put_meta("mark_dir", engine.question.mark_directory));
        CALLGATE_TRY_ASSIGN(note, engine.checkpoints->sign(transactions.tables()));
        return true;
    };
    CALLGATE_TRY(engine.write(accept));
    engine.keeps_off = false;
    // An anchor's last word counts: from here on it is about the past that goes on.
    if (!engine.options.anchor_file.empty() && !note.empty()) {
        AnchorFile anchor(*engine.options.files, engine.options.anchor_file);
        CALLGATE_TRY(anchor.submit(note));
    }
    const ChainHead& head = engine.tables->chain().head();
    CALLGATE_TRY(HeadMark::make(*engine.options.files, *engine.options.rng, engine.question.mark_directory,
                                engine.chain_id(), engine.question.place, past.mark.value_or(MarkRecord()),
                                {head.size(), head.hash}));
    if (past.mark_elsewhere)
        (void)engine.options.files->unlink(engine.question.mark_was_in + "/" + engine.chain_id());
    CALLGATE_FAILPOINT_RETURN("ledger.after_restore");
    const std::string new_keys =
        restores ? (ends_gap ? "accepted" : "held") : (gap_is_open && !ends_gap ? "held" : "accepted");
    return Object{
        {"restored", restores},
        {"moved", elsewhere},
        {"events", past.end.events},
        {"seen", std::max(past.seen, past.end.events)},
        {"unknown", unknown},
        {"revoked", revoked},
        {"gap",
         Object{{"events", gap.events}, {"calls", gap.calls.size()}, {"listed", std::move(gap.listed)}}},
        {"new_keys", new_keys}};
}

}  // namespace callgate::ledger
