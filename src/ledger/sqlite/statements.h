// The statements of a call's usual way through the ledger, as texts: claimed and sent in one transaction,
// settled in the next. The tables prepare them; the benchmark runs the same ones bare.
//
// Threads: constants.
#pragma once

#include <string>
#include <string_view>

namespace callgate::ledger::sql {

/// All columns of `calls`, in their order.
inline constexpr std::string_view kCallColumns =
    "call_id, key_hash, tenant, principal, tool, idem_key, fingerprint, effect_class, state, epoch, owner, "
    "attempt, maybe_applied, tool_def_hash, policy_rev, approval_id, action, arguments, created_at, "
    "ended_at, expires_at, result_ref, result_sha256, runs_as, lived_at, restored";

inline std::string select_calls(std::string_view rest) {
    return std::string("SELECT ").append(kCallColumns).append(" FROM calls ").append(rest);
}

/// As the index of the open calls says it, or SQLite would not take that. A list after IN would cost a table
/// of its own each time.
inline constexpr std::string_view kIsOpen =
    "(state = 'claimed' OR state = 'dispatched' OR state = 'reconciling' OR state = 'unknown')";

// C1
inline constexpr std::string_view kInsertCall =
    "INSERT INTO calls(call_id, key_hash, tenant, principal, tool, idem_key, fingerprint, effect_class, "
    "state, epoch, owner, attempt, maybe_applied, tool_def_hash, policy_rev, approval_id, action, arguments, "
    "created_at, lived_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0, ?13, ?14, ?15, ?16, "
    "?17, ?18, ?19) ON CONFLICT DO NOTHING";
inline constexpr std::string_view kInsertAttempt =
    "INSERT INTO attempts(call_id, n, epoch, owner, started_at) VALUES(?1, ?2, ?3, ?4, ?5)";

// C4, C5: the epoch, attempt and state that the rule has judged.
inline constexpr std::string_view kStoreCall =
    "UPDATE calls SET state = ?2, epoch = ?3, owner = ?4, maybe_applied = ?5, ended_at = ?6, expires_at = "
    "?7, result_ref = ?8, result_sha256 = ?9, key_hash = CASE WHEN ?10 THEN NULL ELSE key_hash END WHERE "
    "call_id = ?1 AND epoch = ?11 AND attempt = ?12 AND state = ?13";
inline constexpr std::string_view kInsertResult = "INSERT INTO results(outcome) VALUES(?1)";
inline constexpr std::string_view kEndAttempt =
    "UPDATE attempts SET ended_at = ?3, end_class = ?4 WHERE call_id = ?1 AND n = ?2 AND (end_class IS NULL "
    "OR end_class = 'unknown' OR end_class = 'reconciling')";

inline constexpr std::string_view kInsertEvent =
    "INSERT INTO audit(seq, hash, event, call_id, trace) VALUES(?1, ?2, ?3, ?4, ?5)";
inline constexpr std::string_view kInsertPayload =
    "INSERT INTO audit_payloads(seq, field, salt, body) VALUES(?1, ?2, ?3, ?4)";

}  // namespace callgate::ledger::sql
