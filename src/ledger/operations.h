// What operators ask of a durable ledger beside deciding: lists that stay small however much there is, and
// the care of its file.
//
// Every function works while calls run. Lists are pages, newest first: `before` is the id that the last page
// ended with. Reports are JSON objects, for programs and for tables alike.
//
// Threads: may be used from any thread; all may block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <callgate/approvals.h>
#include <callgate/error.h>
#include <callgate/json.h>
#include <callgate/observer.h>

#include "ledger/call_row.h"

namespace callgate::ledger {

class AuditReader;

struct CallQuery {
    std::optional<CallState> state;
    std::string tool;       ///< "": any
    std::string principal;  ///< "": any
    std::string before;     ///< a call id; "": from the newest
    std::size_t limit = 100;

    CallQuery() = default;
};

struct ApprovalQuery {
    std::optional<ApprovalState> state;
    std::string before;  ///< an approval id; "": from the newest
    std::size_t limit = 100;

    ApprovalQuery() = default;
};

/// One attempt of a call.
struct AttemptRow {
    std::uint32_t number = 0;
    std::uint32_t epoch = 1;
    base::WallTime started_at{};
    std::optional<base::WallTime> ended_at;
    std::string end;  ///< "" while it runs
};

/// Which events of the audit.
struct AuditSelection {
    std::optional<CallId> call;
    std::string trace;                          ///< "": any; without its own, an event's call id is it
    std::uint64_t from = 1;                     ///< sequence
    std::uint64_t to = ~std::uint64_t{0} >> 1;  ///< excluded
    std::size_t limit = static_cast<std::size_t>(-1);

    AuditSelection() = default;
};

/// What of the audit is archived: up to the last checkpoint that all of these allow.
struct ArchiveRequest {
    std::string directory;                 ///< where the segments go; "": segments/ in the ledger's
    std::string by;                        ///< who asked
    std::uint64_t keep_events = 0;         ///< the last so many stay, as they are when it begins
    std::uint64_t at_least = 1;            ///< nothing is done for fewer
    std::uint64_t max_events = 1'000'000;  ///< in one segment
    std::optional<std::chrono::seconds> older_than;

    ArchiveRequest() = default;
};

/// Told between steps of long work: what was done of how much. False: stop. By one thread at a time, which
/// need not be the one that asked for the work.
using WorkProgress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

class Operations {
public:
    virtual ~Operations() = default;

    virtual Result<std::vector<CallRow>> page_of_calls(const CallQuery& query) = 0;
    virtual Result<std::vector<AttemptRow>> attempts(const CallId& call_id) = 0;
    virtual Result<std::vector<Approval>> page_of_approvals(const ApprovalQuery& query) = 0;
    /// The clock that approvals end by.
    virtual base::WallTime approval_time() = 0;
    /// Changes whenever an approval is opened, decided or used: for those who watch.
    virtual std::uint64_t approvals_version() = 0;

    /// Counts by state, sizes, versions, the state of the background check, the audit's head.
    virtual Result<Object> stats() = 0;
    /// SQLite's own check of the whole file and ours of what it says: {"ok", "problems": […], …}.
    virtual Result<Object> check(const WorkProgress& progress) = 0;
    /// A consistent copy, made while calls go on. config_error {reason: file_exists …}.
    virtual Result<Object> backup(const std::string& path, const WorkProgress& progress) = 0;
    /// What has expired goes: outcomes become tombstones, old tombstones and payloads go.
    virtual Result<Object> collect() = 0;

    /// Oldest first.
    virtual Result<std::vector<AuditEvent>> events(const AuditSelection& which) = 0;
    /// The audit as it is now; valid while this lives, to be used by one thread.
    virtual Result<std::unique_ptr<AuditReader>> read_audit() = 0;
    /// Signs a checkpoint of all that is on the record.
    virtual Result<std::string> checkpoint() = 0;
    /// The texts that belong to an event go, and their salts; the chain stays whole. By call id. It is on the
    /// record where something went, here or, as many as `in_segment`, from a segment.
    virtual Result<std::uint64_t> erase_payloads(const CallId& call_id, std::string_view by,
                                                 std::uint64_t in_segment = 0) = 0;
    virtual Result<Object> rotate_audit_key(std::string_view by) = 0;
    /// The log's beginning becomes segments: files that are verified before their events go from the ledger,
    /// whose file gets smaller. {"archived", "segments": […], "removed"}. audit_failure {reason: broken}
    /// where the events are not what was recorded: nothing goes then.
    virtual Result<Object> archive_audit(const ArchiveRequest& request, const WorkProgress& progress) = 0;
    /// {"archived": the last event that is, "segments": […]}
    virtual Result<Object> audit_segments() = 0;

    // Operators (operators.h).

    /// The users whose unsigned votes count A2, as the host's configuration named them last.
    virtual std::vector<uid_t> operator_uids() { return {}; }
    /// The public key that is known of this user, if one is.
    virtual Result<std::optional<std::string>> operator_key(uid_t) { return std::nullopt; }
    /// From now on it is this one; `event` is on the record with that and has its number.
    virtual Result<void> set_operator_key(uid_t, std::string_view /*vkey*/, AuditEvent& /*event*/) {
        return fail(ErrorCode::ledger_unavailable, "This ledger keeps no operators' keys.",
                    {{"reason", "no_operator_keys"}});
    }
};

}  // namespace callgate::ledger
