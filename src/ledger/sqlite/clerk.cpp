#include "ledger/sqlite/clerk.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/failpoint.h"
#include "base/ids.h"
#include "ledger/approval_rules.h"
#include "ledger/digest.h"
#include "ledger/own_events.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/restore.h"

namespace callgate::ledger {

namespace {

constexpr std::chrono::milliseconds kLongestLife = std::chrono::hours(24);

std::string text_of(const CallId& id) {
    return base::Uuid{id}.to_string();
}

// The rule passed and the statement did not: the file was changed behind our back, or a rule is wrong.
// Nothing may go on from there.
tl::unexpected<Error> out_of_step(std::string_view step) {
    return fail(ErrorCode::ledger_unavailable,
                fmt::format("The ledger's file did not have what its rules had seen ({}).", step),
                {{"reason", "out_of_step"}, {"operation", step}});
}

tl::unexpected<Error> pass_on(Error& error) {
    return tl::unexpected(std::move(error));
}

/// One that has expired is buried on the way: it counts as spent.
struct Found {
    std::optional<StoredCall> call;
    bool spent = false;
};

Result<Found> find_by_key(Book& book, const KeyScope& key, const base::Sha256Digest& hash) {
    Found found;
    if (key.key.empty()) return found;
    auto stored = book.calls.by_key(hash);
    if (!stored) return pass_on(stored.error());
    const base::WallTime now = book.time().lived();
    if (*stored && (*stored)->row.expires_at != base::WallTime() && (*stored)->row.expires_at <= now) {
        const auto until = (*stored)->row.expires_at + book.kept().tombstone_ttl;
        if (auto done = book.calls.bury(**stored, until); !done) return pass_on(done.error());
        stored->reset();
    }
    if (!*stored) {
        auto spent = book.calls.is_spent(hash, now);
        if (!spent) return pass_on(spent.error());
        found.spent = *spent;
    }
    found.call = std::move(*stored);
    return found;
}

/// When an end is no longer of use. Unknown ones stay until somebody resolves them.
std::optional<base::WallTime> expiry_of(const Book& book, const CallRow& row) {
    if (!is_end(row.state) || row.state == CallState::unknown) return std::nullopt;
    return book.time().lived() + book.kept().key_ttl;
}

Result<void> store_end(Book& book, const StoredCall& before, const CallRow& after, bool released,
                       const SealedOutcome* outcome = nullptr) {
    auto stored = book.calls.store(before, after, released, expiry_of(book, after), outcome);
    if (!stored) return pass_on(stored.error());
    if (!*stored) return out_of_step("settle");
    if (is_end(after.state) && before.holds_key) book.news().ended_keys.push_back(hash_of(after.key));
    return {};
}

// That somebody changed an approval in the file is on the record, wherever it shows.
Result<void> record_tampering(Book& book, std::string_view approval_id, const CallId& call_id) {
    AuditFacts event;
    event.type = "approval.tampered";
    event.outcome = "failure";
    event.stage = "ledger";
    event.call_id = call_id;
    event.approval_id = approval_id;
    event.detail = "Its record in the file is not what this program wrote.";
    auto number = book.record(event);
    if (!number) return pass_on(number.error());
    return {};
}

// Each vote was written with an event of this ledger's own audit. One that has been archived since is not
// there to ask, and the vote's MAC has to do.
Result<bool> votes_are_on_record(Book& book, std::string_view approval_id) {
    auto marks = book.approvals.marks_of(approval_id);
    if (!marks) return pass_on(marks.error());
    auto first = book.database().integer_of("SELECT min(seq) FROM audit");
    if (!first) return pass_on(first.error());
    auto query = book.database().prepare("SELECT hash FROM audit WHERE seq = ?1");
    if (!query) return pass_on(query.error());
    for (const AuditMark& mark : *marks) {
        if (mark.sequence < static_cast<std::uint64_t>(*first)) continue;
        auto there = query->bind(1, static_cast<std::int64_t>(mark.sequence)).step();
        if (!there) return pass_on(there.error());
        const bool same = *there && query->blob(0) == bytes_of(mark.hash);
        query->reset();
        if (!same) return false;
    }
    return true;
}

Result<ApprovalVerdict> use_approval(Book& book, const ApprovalUse& use, const CallRow& row) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_approval_use");
    auto found = book.approvals.find(use.id, kAsWritten);
    if (!found && is_tampered(found.error())) return ApprovalVerdict::tampered;
    if (!found) return pass_on(found.error());
    if (!*found) return ApprovalVerdict::not_found;
    Approval& approval = **found;
    auto on_record = votes_are_on_record(book, approval.id);
    if (!on_record) return pass_on(on_record.error());
    if (!*on_record) return ApprovalVerdict::tampered;
    const ApprovalState before = approval.state;
    const ApprovalVerdict verdict =
        consume(approval, ConsumeRequest(row.key.tenant, row.key.principal, use.digest, text_of(row.call_id)),
                book.time().latest());
    if (verdict != ApprovalVerdict::ok) return verdict;
    book.approval_decided();
    // The events of the claim come next.
    AuditMark next;
    next.sequence = book.chain().head().size() + 1;
    auto stored = book.approvals.update(approval, before, approval.votes.size(), next);
    if (!stored) return pass_on(stored.error());
    if (!*stored) return out_of_step("approval use");
    book.news().approvals_changed = true;
    CALLGATE_FAILPOINT_RETURN("ledger.after_approval_use");
    return ApprovalVerdict::ok;
}

tl::unexpected<Error> no_such_approval(std::string_view id) {
    return fail(ErrorCode::denied,
                fmt::format("There is no approval '{}'. List the open ones to find it.", id),
                {{"reason", "not_found"}});
}

Result<void> store_decision(Book& book, const Approval& approval, ApprovalState before, std::size_t votes,
                            AuditEvent& event) {
    book.approval_decided();
    auto number = book.record(event);
    if (!number) return pass_on(number.error());
    auto stored = book.approvals.update(approval, before, votes, {*number, book.chain().head().hash});
    if (!stored) return pass_on(stored.error());
    if (!*stored) return out_of_step("approval");
    event.sequence = *number;
    book.news().approvals_changed = true;
    return {};
}

/// C2 for a call that nobody goes on with. What it has become.
Result<CallState> give_up_call(Book& book, const StoredCall& call) {
    CallRow row = call.row;
    const Settled ended = give_up(row, book.time().wall());
    if (auto stored = store_end(book, call, row, ended.released); !stored) return pass_on(stored.error());
    auto closed = book.calls.end_attempt(row, row.attempt, to_string(row.state), book.time().wall());
    if (!closed) return pass_on(closed.error());
    auto number = book.record(event_of_giving_up(row));
    if (!number) return pass_on(number.error());
    return row.state;
}

}  // namespace

Result<void> Clerk::claim(const PreparedClaim& prepared, ClaimReply& reply) {
    const ClaimRequest& request = prepared.request;
    const base::Sha256Digest& hash = prepared.key_hash;
    CALLGATE_FAILPOINT_RETURN("ledger.before_claim");
    reply.error.reset();
    reply.unreadable.reset();
    const auto refuse = [&reply](std::string message, std::string_view reason,
                                 ErrorCode code) -> Result<void> {
        reply.error = Error(code, std::move(message), {{"reason", reason}});
        return {};
    };
    if (!is_alive_(request.row.owner)) {
        return refuse("Who claims this call is not registered with the ledger, or is gone.",
                      "owner_not_alive", ErrorCode::ledger_unavailable);
    }
    auto found = find_by_key(*book_, request.row.key, hash);
    if (!found) return pass_on(found.error());
    std::optional<StoredCall>& standing = found->call;
    auto lost = lost_in_gap(*book_, book_->calls, request.row.key.key, request.row.fingerprint,
                            standing ? &*standing : nullptr, found->spent);
    if (!lost) return pass_on(lost.error());
    if (*lost) {
        reply.error = std::move(**lost);
        return {};
    }
    const Standing stands{standing ? &standing->row : nullptr, standing && is_alive_(standing->row.owner),
                          found->spent, standing && is_stale(standing->row, book_->time(), book_->kept())};
    ClaimDecision decision = decide_claim(stands, request.row, request.dispatch, book_->time().wall());
    reply.verdict = decision.verdict;
    reply.approval = ApprovalVerdict::ok;
    if (decision.definition_changed) {
        return refuse("The tool's definition is not the one this call was first claimed with.",
                      "definition_changed", ErrorCode::internal);
    }
    if (decision.store == ClaimDecision::Store::nothing) {
        if (!standing) return {};
        if (decision.verdict == ClaimVerdict::replay) {
            // What has ended has ended, whether or not its outcome can be read.
            if (auto loaded = book_->calls.load_outcome(*standing); !loaded) {
                if (loaded.error().details.contains("sqlite")) return loaded;
                reply.unreadable = std::move(loaded.error());
            }
        }
        reply.row = std::move(standing->row);
        return {};
    }

    CallRow row = std::move(decision.row);
    if (decision.verdict == ClaimVerdict::claimed && request.approval) {
        const auto verdict = use_approval(*book_, *request.approval, row);
        if (!verdict) return tl::unexpected(verdict.error());
        reply.approval = *verdict;
        if (*verdict == ApprovalVerdict::tampered) {
            auto told = record_tampering(*book_, request.approval->id, request.row.call_id);
            if (!told) return told;
            reply.error = tampered_approval(request.approval->id).value();
            return {};
        }
        if (*verdict != ApprovalVerdict::ok) {
            if (standing) reply.row = std::move(standing->row);
            return {};
        }
        row.approval_id = request.approval->id;
    }
    if (decision.store == ClaimDecision::Store::insert) {
        row.lived_at = book_->time().lived();
        auto inserted = book_->calls.insert(row, row.key.key.empty() ? nullptr : &hash);
        if (!inserted) return pass_on(inserted.error());
        if (!*inserted) {  // an approval was perhaps used above: all of it is undone
            return fail(ErrorCode::internal, "A call with this id is in the ledger already.",
                        {{"reason", "call_id_taken"}});
        }
    } else {
        // C2, and C3 as a statement of its own: each is fenced by what the row was before it.
        CallRow taken = row;
        if (taken.state == CallState::dispatched) {
            taken.state = CallState::claimed;
            --taken.attempt;
        }
        auto stored = book_->calls.take_over(standing->row, taken);
        if (!stored) return pass_on(stored.error());
        if (!*stored) return out_of_step("take-over");
        auto ended =
            book_->calls.end_attempt(standing->row, standing->row.attempt, "unknown", book_->time().wall());
        if (!ended) return ended;
        if (row.state == CallState::dispatched) {
            auto passed = book_->calls.dispatch(taken, row, book_->time().wall());
            if (!passed) return pass_on(passed.error());
            if (!*passed) return out_of_step("dispatch");
        }
        if (decision.verdict == ClaimVerdict::claimed) {
            auto number = book_->record(event_of_take_over(standing->row, request.row.call_id));
            if (!number) return pass_on(number.error());
        }
    }
    if (decision.verdict == ClaimVerdict::unknown) {
        auto number = book_->record(event_of_giving_up(row));
        if (!number) return pass_on(number.error());
        book_->news().ended_keys.push_back(hash);
        reply.row = std::move(row);
        return {};
    }
    auto first = book_->record(prepared.events);
    if (!first) return pass_on(first.error());
    reply.first_event = *first;
    reply.row = std::move(row);
    CALLGATE_FAILPOINT_RETURN("ledger.after_claim");
    return {};
}

Result<void> Clerk::dispatch(const DispatchRequest& request, DispatchReply& reply) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_dispatch");
    auto found = book_->calls.by_id(request.call_id);
    if (!found) return pass_on(found.error());
    reply.fenced = true;
    if (!*found) return {};
    CallRow after = (*found)->row;
    reply.fenced = !ledger::dispatch(after, request.epoch, request.owner, request.definition_hash);
    reply.attempt = after.attempt;
    if (reply.fenced) return {};
    auto passed = book_->calls.dispatch((*found)->row, after, book_->time().wall());
    if (!passed) return pass_on(passed.error());
    if (!*passed) return out_of_step("dispatch");
    auto first = book_->record(request.events);
    if (!first) return pass_on(first.error());
    reply.first_event = *first;
    CALLGATE_FAILPOINT_RETURN("ledger.after_dispatch");
    return {};
}

Result<void> Clerk::settle(const PreparedSettle& prepared, SettleReply& reply) {
    const SettleRequest& request = prepared.request;
    CALLGATE_FAILPOINT_RETURN("ledger.before_settle");
    auto found = book_->calls.by_id(request.call_id);
    if (!found) return pass_on(found.error());
    reply.settled = {};
    if (!*found) return {};
    const StoredCall& before = **found;
    CallRow after = before.row;
    reply.settled = ledger::settle(after, request.epoch, request.attempt, request.end, request.last,
                                   request.outcome, book_->time().wall());
    reply.state = after.state;
    if (!reply.settled.accepted) return {};
    const SealedOutcome* ready = after.outcome == request.outcome ? &prepared.outcome : nullptr;
    if (auto stored = store_end(*book_, before, after, reply.settled.released, ready); !stored) return stored;
    if (before.row.state != CallState::claimed) {
        auto ended =
            book_->calls.end_attempt(after, request.attempt, to_string(after.state), book_->time().wall());
        if (!ended) return ended;
    }
    // The prepared ones tell of an outcome that this end does not have.
    const bool as_prepared = after.outcome != nullptr || request.outcome == nullptr;
    auto first = as_prepared ? book_->record(prepared.events) : book_->record(request.events);
    if (!first) return pass_on(first.error());
    reply.first_event = *first;
    CALLGATE_FAILPOINT_RETURN("ledger.after_settle");
    return {};
}

Result<void> Clerk::conclude(const ConcludeRequest& request, ConcludeReply& reply) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_conclude");
    auto found = book_->calls.by_id(request.call_id);
    if (!found) return pass_on(found.error());
    reply.accepted = false;
    if (!*found) return {};
    const StoredCall& before = **found;
    CallRow after = before.row;
    reply.accepted =
        ledger::conclude(after, request.epoch, request.verdict, request.outcome, book_->time().wall());
    reply.state = after.state;
    if (!reply.accepted) return {};
    if (auto stored = store_end(*book_, before, after, false); !stored) return stored;
    auto ended = book_->calls.end_attempt(
        after, after.attempt, after.state == CallState::claimed ? "not_applied" : to_string(after.state),
        book_->time().wall());
    if (!ended) return ended;
    auto first = book_->record(request.events);
    if (!first) return pass_on(first.error());
    reply.first_event = *first;
    CALLGATE_FAILPOINT_RETURN("ledger.after_conclude");
    return {};
}

Result<void> Clerk::open_approval(const OpenApprovalRequest& request, OpenApprovalReply& reply) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_approval_open");
    reply.error.reset();
    const ApprovalTime now = book_->time().latest();
    const base::Sha256Digest hash = hash_of_request(request.approval.tenant, request.approval.requester,
                                                    request.fingerprint, request.approval.idempotency_key);
    auto open = book_->approvals.open_for(hash, now);
    if (!open && is_tampered(open.error())) {
        // Nobody is kept waiting by what somebody did to the file: it is told, and asked for anew.
        const std::string changed(open.error().details.at("approval_id").as_string());
        const auto asker = base::parse_uuid(request.approval.call_id);
        auto told = record_tampering(*book_, changed, asker ? asker->bytes : CallId{});
        if (!told) return told;
        open = std::optional<Approval>();
    }
    if (!open) return pass_on(open.error());
    std::optional<Approval> stale;
    if (*open && !can_join(**open, request.approval.binding)) stale = std::move(**open);
    if (*open && !stale) {
        reply.joined = true;
        reply.approval = std::move(**open);
        return book_->approvals.join(request.approval.call_id, reply.approval.id);
    }
    auto taken = book_->approvals.find(request.approval.id, kAsWritten);
    if (!taken && !is_tampered(taken.error())) return pass_on(taken.error());
    if (request.approval.id.empty() || !taken || *taken) {
        reply.error = Error(ErrorCode::internal,
                            fmt::format("'{}' cannot be the id of a new approval.", request.approval.id),
                            {{"reason", "bad_approval_id"}});
        return {};
    }
    // The one whose place it takes makes room for it. A share that is no smaller than the whole is not
    // counted.
    const OpenApprovalLimits& limits = book_->kept().open_approvals;
    const bool shared = std::min(limits.per_principal, limits.per_tenant) < book_->kept().max_open_approvals;
    if (!stale && shared) {
        auto count =
            book_->approvals.count_open_of(request.approval.tenant, request.approval.requester, now, limits);
        if (!count) return pass_on(count.error());
        if (auto share = check_open_approvals(limits, count->of_principal, count->of_tenant); !share) {
            reply.error = std::move(share.error());
            return {};
        }
    }
    auto room = stale ? Result<bool>(true) : book_->make_room_for_approval();
    if (!room) return pass_on(room.error());
    if (!*room) {
        reply.error =
            Error(ErrorCode::ledger_unavailable,
                  "Too many approvals wait for a decision already. Decide or withdraw some of them.",
                  {{"reason", "approvals_full"}, {"limit", book_->kept().max_open_approvals}});
        return {};
    }
    Approval approval = request.approval;
    approval.state = ApprovalState::pending;
    approval.votes.clear();
    approval.consumed_by.clear();
    approval.created_at = book_->time().wall();
    approval.expires_at = now + std::clamp(request.lifetime, std::chrono::milliseconds(0), kLongestLife);
    if (stale) {
        const ApprovalState before = stale->state;
        supersede(*stale, approval.id);
        AuditEvent told = event_of_superseding(*stale);
        auto stored = store_decision(*book_, *stale, before, stale->votes.size(), told);
        if (!stored) return stored;
    }
    auto first = book_->record(request.events);
    if (!first) return pass_on(first.error());
    const AuditMark opened{*first, book_->chain().head().hash};
    if (auto stored = book_->approvals.insert(approval, hash, opened); !stored) return stored;
    reply.first_event = *first;
    reply.joined = false;
    reply.approval = std::move(approval);
    book_->news().approvals_changed = true;
    CALLGATE_FAILPOINT_RETURN("ledger.after_approval_open");
    return {};
}

Clerk::Answer<Approval> Clerk::vote(std::string_view id, const Vote& vote, AuditEvent& event) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_vote");
    auto found = book_->approvals.find(id, kAsWritten);
    if (!found && is_tampered(found.error())) {
        if (auto told = record_tampering(*book_, id, {}); !told) return pass_on(told.error());
        return Result<Approval>(pass_on(found.error()));
    }
    if (!found) return pass_on(found.error());
    if (!*found) return Result<Approval>(no_such_approval(id));
    Approval& approval = **found;
    const ApprovalState before = approval.state;
    const std::size_t votes = approval.votes.size();
    const Result<bool> counted = ledger::vote(approval, vote, book_->time().latest());
    if (!counted) return Result<Approval>(tl::unexpected(counted.error()));
    if (*counted) {
        auto stored = store_decision(*book_, approval, before, votes, event);
        if (!stored) return pass_on(stored.error());
    }
    CALLGATE_FAILPOINT_RETURN("ledger.after_vote");
    return Result<Approval>(std::move(approval));
}

Clerk::Answer<Approval> Clerk::revoke(std::string_view id, AuditEvent& event) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_revoke");
    auto found = book_->approvals.find(id, kAsWritten);
    if (!found && is_tampered(found.error())) {
        if (auto told = record_tampering(*book_, id, {}); !told) return pass_on(told.error());
        return Result<Approval>(pass_on(found.error()));
    }
    if (!found) return pass_on(found.error());
    if (!*found) return Result<Approval>(no_such_approval(id));
    Approval& approval = **found;
    const ApprovalState before = approval.state;
    if (const auto revoked = ledger::revoke(approval, book_->time().latest()); !revoked)
        return Result<Approval>(tl::unexpected(revoked.error()));
    auto stored = store_decision(*book_, approval, before, approval.votes.size(), event);
    if (!stored) return pass_on(stored.error());
    CALLGATE_FAILPOINT_RETURN("ledger.after_revoke");
    return Result<Approval>(std::move(approval));
}

Clerk::Answer<CallRow> Clerk::resolve(const CallId& call_id, bool applied,
                                      std::shared_ptr<const StoredOutcome> outcome, AuditEvent& event) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_resolve");
    auto found = book_->calls.by_id(call_id);
    if (!found) return pass_on(found.error());
    if (!*found) {
        return Result<CallRow>(
            fail(ErrorCode::denied,
                 fmt::format("There is no call {} with an unknown outcome. List those there are.",
                             text_of(call_id)),
                 {{"reason", "not_found"}}));
    }
    const StoredCall& before = **found;
    CallRow after = before.row;
    if (!ledger::resolve(after, applied, std::move(outcome), book_->time().wall())) {
        return Result<CallRow>(fail(ErrorCode::denied,
                                    fmt::format("Call {} is {}: only an unknown outcome can be resolved.",
                                                text_of(call_id), to_string(after.state)),
                                    {{"reason", "not_unknown"}, {"state", to_string(after.state)}}));
    }
    if (auto stored = store_end(*book_, before, after, false); !stored) return pass_on(stored.error());
    auto number = book_->record(event);
    if (!number) return pass_on(number.error());
    event.sequence = *number;
    CALLGATE_FAILPOINT_RETURN("ledger.after_resolve");
    return Result<CallRow>(std::move(after));
}

Result<void> Clerk::adopt(const AdoptRequest& request, AdoptReply& reply) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_adopt");
    reply.row.reset();
    reply.first_event = 0;
    if (!is_alive_(request.owner)) {
        return fail(ErrorCode::ledger_unavailable,
                    "Who claims this call is not registered with the ledger, or is gone.",
                    {{"reason", "owner_not_alive"}});
    }
    auto found = book_->calls.by_id(request.call_id);
    if (!found) return pass_on(found.error());
    if (!*found || (*found)->restored || !needs_probe((*found)->row, is_alive_((*found)->row.owner)))
        return {};
    CallRow row = (*found)->row;
    take_over(row, request.owner);
    auto stored = book_->calls.take_over((*found)->row, row);
    if (!stored) return pass_on(stored.error());
    if (!*stored) return out_of_step("take-over");
    auto number = book_->record(request.event);
    if (!number) return pass_on(number.error());
    CALLGATE_FAILPOINT_RETURN("ledger.after_adopt");
    reply.first_event = *number;
    reply.row = std::move(row);
    return {};
}

Result<Clerk::Recovered> Clerk::take_over_orphans(const CallId& after, std::size_t limit) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_recovery");
    Recovered done;
    auto open = book_->calls.open_calls(after, limit);
    if (!open) return pass_on(open.error());
    for (const StoredCall& call : *open) {
        ++done.seen;
        done.last = call.row.call_id;
        if (is_end(call.row.state) || is_alive_(call.row.owner)) continue;
        if (!ends_with_its_owner(call.row)) {
            ++done.left_to_claims;
            if (call.holds_key) book_->news().ended_keys.push_back(hash_of(call.row.key));
            continue;
        }
        auto state = give_up_call(*book_, call);
        if (!state) return pass_on(state.error());
        ++(*state == CallState::unknown ? done.unknown : done.freed);
    }
    CALLGATE_FAILPOINT_RETURN("ledger.after_recovery");
    return done;
}

Result<std::int64_t> Clerk::collect(std::size_t limit) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_gc");
    const base::WallTime now = book_->time().lived();
    auto calls = book_->calls.bury_due(now, now + book_->kept().tombstone_ttl, limit);
    if (!calls) return calls;
    auto approvals = book_->approvals.drop_old(now - book_->kept().approval_ttl, limit);
    if (!approvals) return approvals;
    auto left = give_up_left(now - book_->kept().key_ttl, limit);
    if (!left) return left;
    CALLGATE_FAILPOINT_RETURN("ledger.after_gc");
    return *calls + *approvals + *left;
}

// What was left to the next claim of its key, and no such claim came for as long as an outcome is kept:
// perhaps its tool is another now, so that no request has its fingerprint any more.
Result<std::int64_t> Clerk::give_up_left(base::WallTime begun_before, std::size_t limit) {
    std::int64_t given_up = 0;
    auto left = book_->calls.unfinished_before(begun_before, limit);
    if (!left) return pass_on(left.error());
    for (const StoredCall& call : *left) {
        if (is_alive_(call.row.owner)) continue;
        auto state = give_up_call(*book_, call);
        if (!state) return pass_on(state.error());
        ++given_up;
    }
    return given_up;
}

}  // namespace callgate::ledger
