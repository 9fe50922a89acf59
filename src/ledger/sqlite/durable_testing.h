// For tests: a durable ledger that can be closed and opened again, on a disk that fails when told to, and
// short ways to ask it. Whoever asks waits for the answer.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "ledger/audit/verify.h"
#include "ledger/ledger_testing.h"
#include "ledger/sqlite/faulty_vfs.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/file_ops.h"
#include "os/scratch_dir.h"

namespace callgate::ledger::testing {

/// Blocks the ledger's own thread until a test releases it.
class Holding final : public Waiter {
public:
    void wake() override {
        held_.release();
        let_go_.acquire();
    }
    void until_held() { held_.acquire(); }
    void let_go() { let_go_.release(); }

private:
    std::binary_semaphore held_{0};
    std::binary_semaphore let_go_{0};
};

inline std::string reason_of(const std::optional<Error>& error) {
    if (!error) return "";
    const auto* reason = error->details.if_contains("reason");
    return reason != nullptr && reason->is_string() ? std::string(reason->get_string()) : "-";
}

inline bool is_stopped(const std::optional<Error>& error) {
    return error && error->details.contains("stopped");
}

/// Nothing that was on the record has changed, and everything fits together. What is wrong, "" if nothing.
inline std::string faults_of(SqliteLedger& ledger) {
    auto reader = ledger.read_audit();
    if (!reader) return "the audit cannot be read: " + reader.error().message;
    const auto report = verify_audit(**reader, {});
    if (!report) return "the audit cannot be verified: " + report.error().message;
    if (report->verdict() == AuditVerdict::broken) return "the audit is broken: " + report->summary();
    const auto checked = ledger.check({});
    if (!checked) return "it cannot be checked: " + checked.error().message;
    if (!checked->at("ok").as_bool()) return "the check found " + json::write(*checked);
    return "";
}

/// What a hand in the file needs to make a ledger look like one of version 1.
inline constexpr const char* kBackToVersion1 =
    "DROP TABLE restores; DROP INDEX calls_restored; ALTER TABLE calls DROP COLUMN restored; ALTER TABLE "
    "calls DROP COLUMN runs_as; ALTER TABLE calls DROP COLUMN lived_at; DROP TABLE audit_segments; DROP "
    "TABLE operators; ALTER TABLE votes DROP COLUMN event_seq; ALTER TABLE votes DROP COLUMN event_hash; "
    "ALTER TABLE votes DROP COLUMN mac; ALTER TABLE votes DROP COLUMN uid; ALTER TABLE votes DROP COLUMN "
    "key; ALTER TABLE votes DROP COLUMN signature; DELETE FROM meta WHERE name = 'tally'; PRAGMA "
    "user_version = 1;";
/// And what one that a program of then wrote does not have: an audit that says otherwise.
inline constexpr const char* kWithoutItsAudit =
    "DELETE FROM audit; DELETE FROM audit_nodes; DELETE FROM audit_payloads; DELETE FROM checkpoints; "
    "DELETE FROM meta WHERE name = 'mark_dir' OR name = 'log_begin';";

struct DurableLedger {
    using Change = std::function<void(SqliteOptions&)>;

    explicit DurableLedger(Change change = {}) : change_(std::move(change)) {}
    ~DurableLedger() { close(); }
    DurableLedger(const DurableLedger&) = delete;
    DurableLedger& operator=(const DurableLedger&) = delete;

    os::ScratchDir scratch{os::quick_directory()};
    const std::string directory = scratch.file("ledger");
    FaultyVfs vfs;
    std::shared_ptr<base::ManualClock> clock = std::make_shared<base::ManualClock>();
    std::shared_ptr<base::ManualClock> watch = std::make_shared<base::ManualClock>();  ///< on the disk
    std::shared_ptr<SqliteLedger> ledger;
    OwnerId owner = 0;
    Turn turn;

    /// On the faulty disk, or on the usual one.
    std::optional<Error> open(bool faulty = true) {
        close();
        SqliteOptions options;
        options.directory = directory;
        options.mark_dir = scratch.file("marks");
        options.clock = clock;
        options.writer.retry_when_full = std::chrono::milliseconds(1);
        options.writer.watch = watch;
        if (change_) change_(options);
        if (faulty) options.vfs = vfs.name();
        auto opened = SqliteLedger::open(std::move(options));
        if (!opened) return opened.error();
        ledger = std::move(*opened);
        owner = must(register_owner(*ledger));
        return std::nullopt;
    }
    void close() { ledger.reset(); }

    /// By another program, while nobody owns it.
    void set_in_file(const std::string& sql) {
        close();
        auto file = Database::open(directory + "/ledger.db", Access::read_write);
        if (!file) throw std::runtime_error(file.error().message);
        if (auto set = file->execute(sql.c_str()); !set) throw std::runtime_error(set.error().message);
    }
    /// Its file becomes one that a program of version 1 might have left.
    void make_older() {
        set_in_file(std::string(kBackToVersion1) + kWithoutItsAudit);
        std::filesystem::remove_all(scratch.file("marks"));
    }

    ClaimRequest request(std::uint64_t call, std::string key,
                         EffectClass effect = EffectClass::unsafe) const {
        ClaimRequest made;
        made.row.key = key_of(std::move(key));
        made.row.call_id = call_id(call);
        made.row.fingerprint = print_of("request");
        made.row.effect = effect;
        made.row.owner = owner;
        made.row.definition_hash = base::sha256("definition");
        made.row.action = "call";
        made.row.arguments = std::make_shared<const Value>(Object{{"call", call}});
        made.events.push_back(event("tool_call.attempted", made.row.call_id));
        return made;
    }
    ClaimReply claim(ClaimRequest asked) {
        ClaimReply reply;
        turn.wait_for(ledger->claim(std::move(asked), reply, turn));
        return reply;
    }
    ClaimReply claim(std::uint64_t call, std::string key, EffectClass effect = EffectClass::unsafe) {
        return claim(request(call, std::move(key), effect));
    }
    PeekReply peek(std::string key) {
        PeekReply reply;
        turn.wait_for(ledger->peek(key_of(std::move(key)), print_of("request"), reply, turn));
        return reply;
    }
    DispatchReply dispatch(std::uint64_t call, std::uint32_t epoch = 1) {
        DispatchReply reply;
        turn.wait_for(ledger->dispatch(dispatch_request(call, epoch, owner), reply, turn));
        return reply;
    }
    SettleReply settle(std::uint64_t call, AttemptEnd end = AttemptEnd::succeeded, bool last = true) {
        return settle_with(call, Object{{"answer", call}}, end, last);
    }
    SettleReply settle_with(std::uint64_t call, Value result, AttemptEnd end = AttemptEnd::succeeded,
                            bool last = true) {
        SettleRequest asked = settle_request(call, end, last);
        auto stored = std::make_shared<StoredOutcome>(*asked.outcome);
        stored->result.value = std::move(result);
        stored->call_id = asked.call_id;
        asked.outcome = std::move(stored);
        SettleReply reply;
        turn.wait_for(ledger->settle(std::move(asked), reply, turn));
        return reply;
    }
    ConcludeReply conclude(std::uint64_t call, std::uint32_t epoch, Reconciliation::Verdict verdict) {
        ConcludeReply reply;
        turn.wait_for(ledger->conclude(conclude_request(call, epoch, verdict), reply, turn));
        return reply;
    }
    OpenApprovalReply ask(std::string id, std::uint64_t call, std::string requester = "agent",
                          std::string tenant = "acme") {
        OpenApprovalRequest asked;
        asked.approval.id = id;
        asked.approval.call_id = "call of " + id;
        asked.approval.tenant = std::move(tenant);
        asked.approval.requester = std::move(requester);
        asked.approval.tool = "mail/send";
        asked.approval.digest = "digest of " + id;
        asked.fingerprint = print_of(id);
        asked.events.push_back(event("gate.required", call_id(call)));
        OpenApprovalReply reply;
        turn.wait_for(ledger->open_approval(std::move(asked), reply, turn));
        return reply;
    }
    Result<Approval> vote(std::string_view id, bool yes = true) {
        Vote cast;
        cast.approver = "bob";
        cast.approve = yes;
        return ledger->vote(id, std::move(cast), unseen(event(yes ? "gate.approved" : "gate.denied")));
    }
    ClaimReply claim_with(std::string approval, std::uint64_t call, std::string key) {
        ClaimRequest asked = request(call, std::move(key));
        asked.approval = ApprovalUse{approval, "digest of " + approval};
        return claim(std::move(asked));
    }
    /// A read: on the record with the next batch.
    std::optional<Error> record(std::string_view type, std::uint64_t call = 0) {
        AuditEvent noted = event(type, call_id(call));
        Reply reply;
        turn.wait_for(ledger->record(noted, reply, turn));
        return reply.error;
    }

    std::optional<CallState> state_of(std::uint64_t call) {
        const auto row = ledger->find(call_id(call));
        return row ? std::optional(row->state) : std::nullopt;
    }
    /// How many events of this type are on the record about the call.
    std::size_t events(std::string_view type, std::uint64_t call) {
        std::size_t found = 0;
        for (const AuditEvent& noted : must(ledger->audit({}))) {
            if (noted.type == type && noted.call_id == call_id(call)) ++found;
        }
        return found;
    }

private:
    Change change_;
};

/// What a process that dies now would leave: the files as they are, without a close.
inline std::string left_behind(DurableLedger& durable) {
    const std::string copy = durable.scratch.file("left");
    std::filesystem::create_directory(copy);
    std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
    for (const char* name : {"ledger.db", "ledger.db-wal", "ledger.key", "audit.key"})
        std::filesystem::copy_file(durable.directory + "/" + name, copy + "/" + name);
    return copy;
}

}  // namespace callgate::ledger::testing
