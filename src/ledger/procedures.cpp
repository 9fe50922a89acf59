#include "ledger/procedures.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/try.h"
#include "ledger/own_events.h"

namespace callgate::ledger {

namespace {

constexpr std::chrono::milliseconds kLongestLife = std::chrono::hours(24);

std::string text_of(const CallId& id) {
    return base::Uuid{id}.to_string();
}

/// The claim is not ours: the reply gets the row that is in the way, with its outcome if that is replayed.
Result<void> reply_with_standing(RowStore& store, const Standing& standing, ClaimReply& reply) {
    if (standing.row == nullptr) return {};
    // What has ended has ended, whether or not its outcome can be read.
    if (reply.verdict == ClaimVerdict::replay) {
        CALLGATE_TRY_ASSIGN(reply.unreadable, store.load_outcome());
    }
    reply.row = *standing.row;
    return {};
}

Result<ApprovalVerdict> use_approval(RowStore& store, const ApprovalUse& use, const CallRow& row) {
    CALLGATE_TRY_ASSIGN(const RowStore::FoundApproval found, store.find_approval_to_use(use.id));
    if (!found.tampered_id.empty()) return ApprovalVerdict::tampered;
    if (found.approval == nullptr) return ApprovalVerdict::not_found;
    Approval& approval = *found.approval;
    const ApprovalState before = approval.state;
    const std::string call_id = text_of(row.call_id);
    const ConsumeRequest request(row.key.tenant, row.key.principal, use.digest, call_id);
    const ApprovalVerdict verdict = consume(approval, request, store.time().latest());
    if (verdict == ApprovalVerdict::ok) CALLGATE_TRY(store.store_use(approval, before));
    return verdict;
}

/// Whatever shows that somebody changed an approval in the store is on the record.
Result<void> record_tampering(RowStore& store, std::string_view approval_id, const CallId& call_id) {
    AuditEvent event = event_of_tampering(approval_id, call_id);
    return store.record(event);
}

/// An approval that a person decides about. Null: the answer says why not.
struct ToDecide {
    Approval* approval = nullptr;
    std::optional<Error> answer;
};
Result<ToDecide> find_to_decide(RowStore& store, std::string_view id) {
    CALLGATE_TRY_ASSIGN(const RowStore::FoundApproval found, store.find_approval(id));
    if (!found.tampered_id.empty()) {
        CALLGATE_TRY(record_tampering(store, id, {}));
        return ToDecide{nullptr, tampered_approval(id).value()};
    }
    if (found.approval == nullptr) return ToDecide{nullptr, no_such_approval(id).value()};
    return ToDecide{found.approval, std::nullopt};
}

/// Why no further approval may be opened, if so.
Result<std::optional<Error>> check_room(RowStore& store, const Approval& wanted, bool replaces) {
    // The one whose place it takes makes room for it.
    if (!replaces) {
        CALLGATE_TRY_ASSIGN(const RowStore::OpenCount count, store.count_open(wanted));
        if (auto share = check_open_approvals(store.open_limits(), count.of_principal, count.of_tenant);
            !share)
            return std::move(share.error());
    }
    CALLGATE_TRY_ASSIGN(const bool room, store.make_room_for_approval(replaces));
    if (room) return std::nullopt;
    return Error(ErrorCode::ledger_unavailable,
                 "Too many approvals wait for a decision already. Decide or withdraw some of them.",
                 {{"reason", "approvals_full"}, {"limit", store.max_open_approvals()}});
}

}  // namespace

tl::unexpected<Error> no_such_approval(std::string_view id) {
    return fail(ErrorCode::denied,
                fmt::format("There is no approval '{}'. List the open ones to find it.", id),
                {{"reason", "not_found"}});
}

Error owner_not_alive() {
    return Error(ErrorCode::ledger_unavailable,
                 "Who claims this call is not registered with the ledger, or is gone.",
                 {{"reason", "owner_not_alive"}});
}

Result<void> claim_call(RowStore& store, CallRow claimant, const ClaimTerms& terms, ClaimReply& reply) {
    const std::optional<ApprovalUse>& approval = terms.approval;
    reply.error.reset();
    reply.unreadable.reset();
    reply.approval = ApprovalVerdict::ok;
    if (!store.is_alive(claimant.owner)) {
        reply.error = owner_not_alive();
        return {};
    }
    CALLGATE_TRY_ASSIGN(const Standing standing, store.find_standing(claimant, reply.error));
    if (reply.error) return {};
    const CallId claimant_id = claimant.call_id;
    // Everything is decided on a copy, so that an approval that does not fit leaves no trace.
    ClaimDecision decision = decide_claim(standing, std::move(claimant), terms, store.time().wall());
    reply.verdict = decision.verdict;
    if (decision.store == ClaimDecision::Store::nothing) return reply_with_standing(store, standing, reply);

    CallRow& row = decision.row;
    const bool is_ours = decision.verdict == ClaimVerdict::claimed;
    const bool is_new = decision.store == ClaimDecision::Store::insert;
    if (is_new) CALLGATE_TRY(store.make_room(row));
    if (is_ours && approval) {
        CALLGATE_TRY_ASSIGN(reply.approval, use_approval(store, *approval, row));
        if (reply.approval == ApprovalVerdict::tampered) {
            reply.error = tampered_approval(approval->id).value();
            return record_tampering(store, approval->id, claimant_id);
        }
        if (reply.approval != ApprovalVerdict::ok) {
            if (!is_new) reply.row = *standing.row;
            return {};
        }
        row.approval_id = approval->id;
    }
    if (is_new) {
        row.lived_at = store.time().lived();
        CALLGATE_TRY(store.insert(row));
    } else {
        AuditEvent taken = is_ours ? event_of_take_over(*standing.row, claimant_id) : event_of_giving_up(row);
        CALLGATE_TRY(store.take_over_standing(row));
        CALLGATE_TRY(store.record(taken));
    }
    if (is_ours) {
        CALLGATE_TRY_ASSIGN(reply.first_event, store.record_request());
    }
    reply.row = std::move(row);
    return {};
}

Result<void> dispatch_call(RowStore& store, const DispatchRequest& request, DispatchReply& reply) {
    reply.fenced = true;
    CALLGATE_TRY_ASSIGN(const RowStore::FoundCall found, store.find_call(request.call_id));
    if (found.row == nullptr) return {};
    reply.fenced = !dispatch(*found.row, request.epoch, request.owner, request.definition_hash);
    reply.attempt = found.row->attempt;
    if (reply.fenced) return {};
    CALLGATE_TRY(store.store_dispatch(*found.row));
    CALLGATE_TRY_ASSIGN(reply.first_event, store.record_request());
    return {};
}

Result<void> settle_call(RowStore& store, const SettleRequest& request,
                         std::shared_ptr<const StoredOutcome> outcome, SettleReply& reply) {
    reply.settled = {};
    CALLGATE_TRY_ASSIGN(const RowStore::FoundCall found, store.find_call(request.call_id));
    if (found.row == nullptr) return {};
    CallRow& row = *found.row;
    const bool was_sent = row.state != CallState::claimed;
    reply.settled = settle(row, request.epoch, request.attempt, request.end, request.last, std::move(outcome),
                           store.time().wall());
    reply.state = row.state;
    if (!reply.settled.accepted) return {};
    const RowStore::Keep keep = reply.settled.released ? RowStore::Keep::never
                                : reply.settled.late   ? RowStore::Keep::always
                                                       : RowStore::Keep::with_key;
    std::optional<RowStore::AttemptResult> ended;
    if (was_sent) ended = {request.attempt, to_string(row.state)};
    CALLGATE_TRY(store.store_end(row, keep, ended));
    CALLGATE_TRY_ASSIGN(reply.first_event, store.record_request());
    return {};
}

Result<void> conclude_call(RowStore& store, const ConcludeRequest& request,
                           std::shared_ptr<const StoredOutcome> outcome, ConcludeReply& reply) {
    reply.accepted = false;
    CALLGATE_TRY_ASSIGN(const RowStore::FoundCall found, store.find_call(request.call_id));
    if (found.row == nullptr) return {};
    CallRow& row = *found.row;
    reply.accepted = conclude(row, request.epoch, request.verdict, std::move(outcome), store.time().wall());
    reply.state = row.state;
    if (!reply.accepted) return {};
    const bool goes_on = row.state == CallState::claimed;
    const RowStore::AttemptResult ended{row.attempt, goes_on ? "not_applied" : to_string(row.state)};
    CALLGATE_TRY(store.store_end(row, RowStore::Keep::always, ended));
    CALLGATE_TRY_ASSIGN(reply.first_event, store.record_request());
    return {};
}

Result<void> adopt_call(RowStore& store, const CallId& call_id, OwnerId owner, AdoptReply& reply) {
    reply.row.reset();
    reply.first_event = 0;
    if (!store.is_alive(owner)) return tl::unexpected(owner_not_alive());
    CALLGATE_TRY_ASSIGN(const RowStore::FoundCall found, store.find_call(call_id));
    if (found.row == nullptr || found.restored) return {};
    CallRow& row = *found.row;
    if (!needs_probe(row, store.is_alive(row.owner))) return {};
    take_over(row, owner);
    CALLGATE_TRY(store.store_adoption(row));
    CALLGATE_TRY_ASSIGN(reply.first_event, store.record_request());
    reply.row = row;
    return {};
}

Result<CallState> give_up_call(RowStore& store, CallRow& row) {
    const Settled ended = give_up(row, store.time().wall());
    const CallState state = row.state;
    AuditEvent given_up = event_of_giving_up(row);
    const RowStore::Keep keep = ended.released ? RowStore::Keep::never : RowStore::Keep::always;
    const RowStore::AttemptResult attempt{row.attempt, to_string(state)};
    CALLGATE_TRY(store.store_end(row, keep, attempt));
    CALLGATE_TRY(store.record(given_up));
    return state;
}

Answered<CallRow> resolve_call(RowStore& store, const CallId& call_id, bool applied,
                               std::shared_ptr<const StoredOutcome> outcome, AuditEvent& event) {
    CALLGATE_TRY_ASSIGN(const RowStore::FoundCall found, store.find_call(call_id));
    if (found.row == nullptr) {
        return Result<CallRow>(
            fail(ErrorCode::denied,
                 fmt::format("There is no call {} with an unknown outcome. List those there are.",
                             text_of(call_id)),
                 {{"reason", "not_found"}}));
    }
    CallRow& row = *found.row;
    if (!resolve(row, applied, std::move(outcome), store.time().wall())) {
        return Result<CallRow>(fail(ErrorCode::denied,
                                    fmt::format("Call {} is {}: only an unknown outcome can be resolved.",
                                                text_of(call_id), to_string(row.state)),
                                    {{"reason", "not_unknown"}, {"state", to_string(row.state)}}));
    }
    CALLGATE_TRY(store.store_end(row, RowStore::Keep::always, std::nullopt));
    CALLGATE_TRY(store.record(event));
    return Result<CallRow>(row);
}

Result<void> open_approval(RowStore& store, Approval wanted, const base::Sha256Digest& fingerprint,
                           std::chrono::milliseconds lifetime, OpenApprovalReply& reply) {
    reply.error.reset();
    CALLGATE_TRY_ASSIGN(const RowStore::FoundApproval open, store.find_open_approval(wanted, fingerprint));
    if (!open.tampered_id.empty()) {
        // Nobody is kept waiting by what somebody did to the store: it is recorded, and a new one is opened.
        const auto caller = base::parse_uuid(wanted.call_id);
        CALLGATE_TRY(record_tampering(store, open.tampered_id, caller ? caller->bytes : CallId{}));
    }
    Approval* const stale = open.approval;
    if (stale != nullptr && can_join(*stale, wanted.binding)) {
        reply.joined = true;
        reply.approval = *stale;
        return store.join_approval(wanted.call_id, *stale);
    }
    CALLGATE_TRY_ASSIGN(const bool taken, store.has_approval(wanted.id));
    if (wanted.id.empty() || taken) {
        reply.error =
            Error(ErrorCode::internal, fmt::format("'{}' cannot be the id of a new approval.", wanted.id),
                  {{"reason", "bad_approval_id"}});
        return {};
    }
    CALLGATE_TRY_ASSIGN(reply.error, check_room(store, wanted, stale != nullptr));
    if (reply.error) return {};
    wanted.state = ApprovalState::pending;
    wanted.votes.clear();
    wanted.consumed_by.clear();
    wanted.created_at = store.time().wall();
    wanted.expires_at =
        store.time().latest() + std::clamp(lifetime, std::chrono::milliseconds(0), kLongestLife);
    if (stale != nullptr) {
        const ApprovalState before = stale->state;
        supersede(*stale, wanted.id);
        AuditEvent superseded = event_of_superseding(*stale);
        CALLGATE_TRY(store.store_decision(*stale, before, stale->votes.size(), superseded));
    }
    CALLGATE_TRY_ASSIGN(reply.first_event, store.insert_approval(wanted, fingerprint));
    reply.joined = false;
    reply.approval = std::move(wanted);
    return {};
}

Answered<Approval> cast_vote(RowStore& store, std::string_view id, const Vote& vote, AuditEvent& event) {
    CALLGATE_TRY_ASSIGN(ToDecide found, find_to_decide(store, id));
    if (found.answer) return Result<Approval>(tl::unexpected(std::move(*found.answer)));
    Approval& approval = *found.approval;
    const ApprovalState before = approval.state;
    const std::size_t votes = approval.votes.size();
    const Result<bool> counted = ledger::vote(approval, vote, store.time().latest());
    if (!counted) return Result<Approval>(tl::unexpected(counted.error()));
    if (*counted) CALLGATE_TRY(store.store_decision(approval, before, votes, event));
    return Result<Approval>(approval);
}

Answered<Approval> revoke_approval(RowStore& store, std::string_view id, AuditEvent& event) {
    CALLGATE_TRY_ASSIGN(ToDecide found, find_to_decide(store, id));
    if (found.answer) return Result<Approval>(tl::unexpected(std::move(*found.answer)));
    Approval& approval = *found.approval;
    const ApprovalState before = approval.state;
    if (const auto revoked = revoke(approval, store.time().latest()); !revoked)
        return Result<Approval>(tl::unexpected(revoked.error()));
    CALLGATE_TRY(store.store_decision(approval, before, approval.votes.size(), event));
    return Result<Approval>(approval);
}

}  // namespace callgate::ledger
