#include "ledger/control/row_views.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/ids.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "json/size.h"
#include "ledger/approval_rules.h"
#include "tool/iso_time.h"
#include "tool/received.h"

namespace callgate::ledger {
namespace {

constexpr std::size_t kGlimpseBytes = 200;
// Longer arguments are not even written out for a list of many.
constexpr std::size_t kGlimpsedBytes = 16u << 10;

Value time_or_null(base::WallTime at) {
    return at == base::WallTime{} ? Value() : Value(iso_utc(at));
}

std::string hex_or_empty(const base::Sha256Digest& digest) {
    return digest == base::Sha256Digest{} ? std::string() : base::to_hex(digest);
}

ApprovalState state_at(const Approval& approval, base::WallTime now) {
    const bool undecided =
        approval.state == ApprovalState::pending || approval.state == ApprovalState::approved;
    return undecided && !is_open(approval, now) ? ApprovalState::expired : approval.state;
}

Array votes_json(const Approval& approval) {
    Array votes;
    for (const Vote& vote : approval.votes)
        votes.push_back({{"approver", vote.approver},
                         {"approve", vote.approve},
                         {"assurance", to_string(vote.assurance)},
                         {"reason", vote.reason},
                         {"at", iso_utc(vote.at)},
                         {"uid", vote.uid < 0 ? Value() : Value(vote.uid)},
                         {"key", vote.key}});
    return votes;
}

// What both forms have.
Object heading(const Approval& approval, base::WallTime now) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(approval.expires_at - now).count();
    return {{"id", approval.id},
            {"state", to_string(state_at(approval, now))},
            {"tool", approval.tool},
            {"action", approval.action},
            {"risk", to_string(approval.risk)},
            {"tenant", approval.tenant},
            {"requester", approval.requester},
            {"digest", approval.digest},
            {"created_at", iso_utc(approval.created_at)},
            {"expires_at", iso_utc(approval.expires_at)},
            {"seconds_left", std::max<std::int64_t>(left, 0)},
            {"approvals_needed", approval.approvals_needed},
            {"assurance_needed", to_string(approval.assurance_needed)},
            {"votes", votes_json(approval)},
            {"call_id", approval.call_id}};
}

}  // namespace

Value preview_json(const std::optional<Preview>& preview) {
    if (!preview) return nullptr;
    return {{"summary", preview->summary},
            {"diff", preview->diff ? *preview->diff : Value()},
            {"supported", preview->supported}};
}

Object to_json(const Approval& approval, base::WallTime now) {
    Object out = heading(approval, now);
    out["arguments"] = approval.arguments;
    out["why"] = approval.why;
    out["preview"] = preview_json(approval.preview);
    out["autonomy"] = to_string(approval.autonomy);
    out["scopes"] = Array(approval.scopes.all().begin(), approval.scopes.all().end());
    out["idempotency_key"] = approval.idempotency_key;
    out["policy_rev"] = approval.policy_rev;
    out["trace_id"] = approval.trace_id;
    out["task_id"] = approval.task_id;
    out["step_id"] = approval.step_id;
    out["consumed_by"] = approval.consumed_by;
    out["superseded_by"] = approval.superseded_by;
    return out;
}

Object summary_json(const Approval& approval, base::WallTime now) {
    Object out = heading(approval, now);
    std::string glimpse;
    if (json::text_size_up_to(approval.arguments, kGlimpsedBytes) <= kGlimpsedBytes)
        glimpse = json::write(approval.arguments);
    out["arguments_text"] = base::truncate_to_bytes(glimpse, kGlimpseBytes);
    out["arguments_cut"] = glimpse.empty() || glimpse.size() > kGlimpseBytes;
    return out;
}

Object to_json(const CallRow& row) {
    return {{"call_id", base::Uuid{row.call_id}.to_string()},
            {"state", to_string(row.state)},
            {"tool", row.key.tool},
            {"action", row.action},
            {"effect", to_string(row.effect)},
            {"tenant", row.key.tenant},
            {"principal", row.key.principal},
            {"idempotency_key", row.key.key},
            {"attempts", row.attempt},
            {"epoch", row.epoch},
            {"maybe_applied", row.maybe_applied},
            {"approval_id", row.approval_id},
            {"policy_rev", row.policy_rev},
            {"fingerprint", hex_or_empty(row.fingerprint)},
            {"definition_hash", hex_or_empty(row.definition_hash)},
            {"created_at", time_or_null(row.created_at)},
            {"ended_at", time_or_null(row.ended_at)},
            {"expires_at", time_or_null(row.expires_at)}};
}

Object to_json(const AttemptRow& attempt) {
    return {{"number", attempt.number},
            {"epoch", attempt.epoch},
            {"started_at", time_or_null(attempt.started_at)},
            {"ended_at", attempt.ended_at ? time_or_null(*attempt.ended_at) : Value()},
            {"end", attempt.end}};
}

Value shape_json(const StoredOutcome* outcome) {
    if (outcome == nullptr) return nullptr;
    Value error;
    if (outcome->error)
        error = {{"code", to_string(outcome->error->code)},
                 {"message", outcome->error->message},
                 {"details", outcome->error->details}};
    const ToolResult result = with_parsed(outcome->result).value_or(outcome->result);
    const std::string text = json::write(result.structured ? *result.structured : result.value);
    Array blocks;
    for (const Block& block : result.blocks)
        blocks.push_back({{"kind", to_string(block.kind)}, {"bytes", block.text.size() + block.data.size()}});
    return {{"succeeded", outcome->succeeded},
            {"state", to_string(outcome->state)},
            {"error", std::move(error)},
            {"attempts", outcome->attempts},
            {"approval_id", outcome->approval_id},
            {"result",
             {{"bytes", text.size()}, {"sha256", base::sha256_hex(text)}, {"blocks", std::move(blocks)}}}};
}

}  // namespace callgate::ledger
