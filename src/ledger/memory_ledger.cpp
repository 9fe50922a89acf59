#include "ledger/memory_ledger.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/failpoint.h"
#include "base/guard.h"
#include "base/ids.h"
#include "ledger/own_events.h"

namespace callgate::ledger {

namespace {

/// A failpoint's order to fail, as the ledger's own failure.
bool is_told_to_fail([[maybe_unused]] std::string_view name, std::optional<base::FailAction> action,
                     Reply& reply) {
    if (!action) return false;
    Error injected = base::injected_error(name, *action);
    reply.error =
        Error(ErrorCode::ledger_unavailable, std::move(injected.message), std::move(injected.details));
    return true;
}

std::string text_of(const CallId& id) {
    return base::Uuid{id}.to_string();
}

tl::unexpected<Error> no_such_approval(std::string_view id) {
    return fail(ErrorCode::denied,
                fmt::format("There is no approval '{}'. List the open ones to find it.", id),
                {{"reason", "not_found"}});
}

tl::unexpected<Error> no_such_call(const CallId& id) {
    return fail(ErrorCode::denied, fmt::format("There is no call {}. List those there are.", text_of(id)),
                {{"reason", "not_found"}});
}

tl::unexpected<Error> not_registered() {
    return fail(ErrorCode::ledger_unavailable,
                "Who claims this call is not registered with the ledger, or is gone.",
                {{"reason", "owner_not_alive"}});
}

void move_all(std::vector<std::shared_ptr<Waiter>>& from, std::vector<std::shared_ptr<Waiter>>& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    from.clear();
}

void wake_all(const std::vector<std::shared_ptr<Waiter>>& waiters) {
    for (const auto& waiter : waiters) waiter->wake();
}

}  // namespace

MemoryLedger::MemoryLedger(const base::Clock& clock, Options options)
    : clock_(clock),
      time_(clock),
      key_ttl_(options.key_ttl),
      audit_(clock, options.audit_kept),
      calls_({options.key_ttl, options.tombstone_ttl, options.max_rows, options.max_tombstones,
              options.max_bytes}),
      approvals_(options.max_approvals, options.open_approvals, options.key_ttl) {}

Standing MemoryLedger::standing(const Entry* entry, const KeyScope& key) const {
    if (entry != nullptr) {
        return {.row = &entry->row,
                .owner_alive = is_alive(entry->row.owner),
                .stale = time_.may_be_older(entry->row.lived_at, entry->row.created_at, key_ttl_)};
    }
    return {.spent = calls_.is_spent(key, clock_.monotonic_now())};
}

Io MemoryLedger::peek(const KeyScope& key, const base::Sha256Digest& fingerprint, PeekReply& reply, Waiter&) {
    if (is_told_to_fail("ledger.peek", CALLGATE_FAILPOINT_ACTION("ledger.peek"), reply)) return Io::done;
    const std::lock_guard lock(mutex_);
    const Entry* entry = calls_.by_key(key, clock_.monotonic_now());
    reply.verdict = foresee_claim(standing(entry, key), fingerprint);
    reply.found = entry != nullptr || reply.verdict == ClaimVerdict::key_expired;
    if (entry != nullptr) reply.row = entry->row;
    return Io::done;
}

Io MemoryLedger::claim(ClaimRequest request, ClaimReply& reply, Waiter&) {
    if (is_told_to_fail("ledger.claim", CALLGATE_FAILPOINT_ACTION("ledger.claim"), reply)) return Io::done;
    Waiters woken;
    std::unique_lock lock(mutex_);
    const auto refuse = [&reply](std::string message, std::string_view reason, ErrorCode code) {
        reply.error = Error(code, std::move(message), {{"reason", reason}});
        return Io::done;
    };
    const CallId claimant = request.row.call_id;
    if (!is_alive(request.row.owner)) {
        reply.error = not_registered().value();
        return Io::done;
    }

    const base::MonotonicTime now = clock_.monotonic_now();
    Entry* entry = calls_.by_key(request.row.key, now);
    // Everything is decided on a copy, so that an approval that does not fit leaves no trace.
    const Standing found = standing(entry, request.row.key);
    request.row.lived_at = time_.lived();
    ClaimDecision decision = decide_claim(found, std::move(request.row), request.dispatch, clock_.wall_now());
    reply.verdict = decision.verdict;
    if (entry == nullptr && !CALLGATE_GUARD(insert_first_claim)) {
        lock.unlock();
        if (between_look_and_insert) between_look_and_insert();
        std::this_thread::yield();
        lock.lock();
    }
    if (decision.definition_changed) {
        return refuse("The tool's definition is not the one this call was first claimed with.",
                      "definition_changed", ErrorCode::internal);
    }
    if (decision.store == ClaimDecision::Store::nothing) {
        if (entry != nullptr) reply.row = entry->row;
        return Io::done;
    }
    CallRow& row = decision.row;
    const bool taking_over = decision.store == ClaimDecision::Store::update;
    if (row.state == CallState::unknown) {
        reply.row = row;
        AuditEvent told = event_of_giving_up(row);
        entry->row = std::move(row);
        put_away(*entry, Keep::always, woken);
        audit_.append(told);
        lock.unlock();
        wake_all(woken);
        return Io::done;
    }
    if (!taking_over) {
        if (calls_.by_call(row.call_id, now) != nullptr) {
            return refuse("A call with this id is in the ledger already.", "call_id_taken",
                          ErrorCode::internal);
        }
        if (!calls_.make_room(bytes_of(row), now)) {
            return refuse(
                fmt::format("The ledger holds {} calls that are running or unknown, {} bytes, and there is "
                            "no room for another. Resolve the unknown ones, or try again later.",
                            calls_.size(), calls_.bytes()),
                "ledger_full", ErrorCode::ledger_unavailable);
        }
    }
    if (request.approval) {
        const ApprovalTime wall = time_.latest();
        Approval* approval = approvals_.find(request.approval->id, wall);
        reply.approval = approval == nullptr
                             ? ApprovalVerdict::not_found
                             : consume(*approval,
                                       ConsumeRequest(row.key.tenant, row.key.principal,
                                                      request.approval->digest, text_of(row.call_id)),
                                       wall);
        if (reply.approval != ApprovalVerdict::ok) {
            if (taking_over) reply.row = entry->row;
            return Io::done;
        }
        row.approval_id = request.approval->id;
    }
    reply.row = row;
    if (taking_over) {
        AuditEvent told = event_of_take_over(entry->row, claimant);
        entry->row = std::move(row);
        audit_.append(told);
    } else {
        calls_.insert(std::move(row));
    }
    reply.first_event = audit_.append(std::move(request.events));
    return Io::done;
}

Io MemoryLedger::dispatch(DispatchRequest request, DispatchReply& reply, Waiter&) {
    if (is_told_to_fail("ledger.dispatch", CALLGATE_FAILPOINT_ACTION("ledger.dispatch"), reply))
        return Io::done;
    const std::lock_guard lock(mutex_);
    Entry* entry = calls_.by_call(request.call_id, clock_.monotonic_now());
    reply.fenced = entry == nullptr ||
                   !ledger::dispatch(entry->row, request.epoch, request.owner, request.definition_hash);
    if (entry != nullptr) reply.attempt = entry->row.attempt;
    if (!reply.fenced) reply.first_event = audit_.append(std::move(request.events));
    return Io::done;
}

Io MemoryLedger::settle(SettleRequest request, SettleReply& reply, Waiter&) {
    if (is_told_to_fail("ledger.settle", CALLGATE_FAILPOINT_ACTION("ledger.settle"), reply)) return Io::done;
    Waiters woken;
    {
        const std::lock_guard lock(mutex_);
        Entry* entry = calls_.by_call(request.call_id, clock_.monotonic_now());
        if (entry == nullptr) {
            reply.settled = {};
            return Io::done;
        }
        reply.settled = ledger::settle(entry->row, request.epoch, request.attempt, request.end, request.last,
                                       std::move(request.outcome), clock_.wall_now());
        reply.state = entry->row.state;
        if (!reply.settled.accepted) return Io::done;
        const Keep keep = reply.settled.released ? Keep::never
                          : reply.settled.late   ? Keep::always
                                                 : Keep::if_key;
        put_away(*entry, keep, woken);
        reply.first_event = audit_.append(std::move(request.events));
        calls_.shrink(clock_.monotonic_now());
    }
    wake_all(woken);
    return Io::done;
}

Io MemoryLedger::conclude(ConcludeRequest request, ConcludeReply& reply, Waiter&) {
    if (is_told_to_fail("ledger.conclude", CALLGATE_FAILPOINT_ACTION("ledger.conclude"), reply))
        return Io::done;
    Waiters woken;
    {
        const std::lock_guard lock(mutex_);
        Entry* entry = calls_.by_call(request.call_id, clock_.monotonic_now());
        reply.accepted = entry != nullptr && ledger::conclude(entry->row, request.epoch, request.verdict,
                                                              std::move(request.outcome), clock_.wall_now());
        if (entry != nullptr) reply.state = entry->row.state;
        if (!reply.accepted) return Io::done;
        put_away(*entry, Keep::always, woken);
        reply.first_event = audit_.append(std::move(request.events));
        calls_.shrink(clock_.monotonic_now());
    }
    wake_all(woken);
    return Io::done;
}

void MemoryLedger::put_away(Entry& entry, Keep keep, Waiters& woken) {
    if (!is_end(entry.row.state)) return;
    calls_.weigh(entry);
    move_all(entry.waiters, woken);
    if (entry.row.state == CallState::unknown) return;
    if (keep == Keep::never || (keep == Keep::if_key && entry.row.key.key.empty())) {
        calls_.remove(entry);
    } else {
        calls_.finish(entry, clock_.wall_now(), clock_.monotonic_now());
    }
}

Io MemoryLedger::open_approval(OpenApprovalRequest request, OpenApprovalReply& reply, Waiter&) {
    if (is_told_to_fail("ledger.open_approval", CALLGATE_FAILPOINT_ACTION("ledger.open_approval"), reply)) {
        return Io::done;
    }
    const std::lock_guard lock(mutex_);
    const auto opened =
        approvals_.open(std::move(request.approval), request.fingerprint, request.lifetime, time_.latest());
    if (!opened) {
        reply.error = opened.error();
        return Io::done;
    }
    reply.approval = *opened->approval;
    reply.joined = opened->joined;
    if (reply.joined) return Io::done;
    if (opened->superseded != nullptr) {
        AuditEvent told = event_of_superseding(*opened->superseded);
        audit_.append(told);
    }
    reply.first_event = audit_.append(std::move(request.events));
    return Io::done;
}

Io MemoryLedger::record(AuditEvent& event, Reply& reply, Waiter&) {
    if (is_told_to_fail("ledger.record", CALLGATE_FAILPOINT_ACTION("ledger.record"), reply)) return Io::done;
    audit_.append(event);
    return Io::done;
}

Io MemoryLedger::wait_for_end(const KeyScope& key, std::shared_ptr<Waiter> ended, WaitReply& reply, Waiter&) {
    const std::lock_guard lock(mutex_);
    Entry* entry = calls_.by_key(key, clock_.monotonic_now());
    reply.runs = entry != nullptr && !is_end(entry->row.state) && is_alive(entry->row.owner);
    if (reply.runs) entry->waiters.push_back(std::move(ended));
    return Io::done;
}

void MemoryLedger::stop_waiting(const KeyScope& key, const Waiter& waiter) {
    Waiters let_go;  // released outside the lock: it may be the last to hold the waiter
    const std::lock_guard lock(mutex_);
    Entry* entry = calls_.by_key(key, clock_.monotonic_now());
    if (entry == nullptr) return;
    std::erase_if(entry->waiters, [&](std::shared_ptr<Waiter>& held) {
        if (held.get() != &waiter) return false;
        let_go.push_back(std::move(held));
        return true;
    });
}

Io MemoryLedger::approval_of_call(std::string call_id, ApprovalReply& reply, Waiter&) {
    const std::lock_guard lock(mutex_);
    if (const Approval* found = approvals_.by_call(call_id, time_.latest())) reply.approval = *found;
    return Io::done;
}

Io MemoryLedger::open_approval_for(std::string_view tenant, std::string_view requester,
                                   const base::Sha256Digest& fingerprint, std::string_view idempotency_key,
                                   ApprovalReply& reply, Waiter&) {
    const std::lock_guard lock(mutex_);
    const Approval* found =
        approvals_.open_for(tenant, requester, fingerprint, idempotency_key, time_.latest());
    if (found != nullptr) reply.approval = *found;
    return Io::done;
}

Result<std::vector<Approval>> MemoryLedger::approvals(std::optional<ApprovalState> state) {
    const std::lock_guard lock(mutex_);
    return approvals_.list(state, time_.latest());
}

Result<Approval> MemoryLedger::approval(std::string_view id) {
    const std::lock_guard lock(mutex_);
    const Approval* found = approvals_.find(id, time_.latest());
    if (found == nullptr) return no_such_approval(id);
    return *found;
}

Result<Approval> MemoryLedger::vote(std::string_view id, Vote vote, AuditEvent& event) {
    const std::lock_guard lock(mutex_);
    const ApprovalTime now = time_.latest();
    Approval* approval = approvals_.find(id, now);
    if (approval == nullptr) return no_such_approval(id);
    const Result<bool> counted = ledger::vote(*approval, std::move(vote), now);
    if (!counted) return tl::unexpected(counted.error());
    if (*counted) audit_.append(event);
    return *approval;
}

Result<Approval> MemoryLedger::revoke(std::string_view id, std::string_view /*by*/, AuditEvent& event) {
    const std::lock_guard lock(mutex_);
    const ApprovalTime now = time_.latest();
    Approval* approval = approvals_.find(id, now);
    if (approval == nullptr) return no_such_approval(id);
    if (const auto revoked = ledger::revoke(*approval, now); !revoked) return tl::unexpected(revoked.error());
    audit_.append(event);
    return *approval;
}

Result<CallRow> MemoryLedger::find(const CallId& call_id) {
    const std::lock_guard lock(mutex_);
    const Entry* entry = calls_.by_call(call_id, clock_.monotonic_now());
    if (entry == nullptr) return no_such_call(call_id);
    return entry->row;
}

Result<std::vector<CallRow>> MemoryLedger::list(std::optional<CallState> state) {
    const std::lock_guard lock(mutex_);
    std::vector<CallRow> listed;
    for (const Entry* entry : calls_.all()) {
        if (!state || entry->row.state == *state) listed.push_back(entry->row);
    }
    return listed;
}

Result<CallRow> MemoryLedger::resolve(const CallId& call_id, bool applied,
                                      std::shared_ptr<const StoredOutcome> outcome, AuditEvent& event) {
    const std::lock_guard lock(mutex_);
    Entry* entry = calls_.by_call(call_id, clock_.monotonic_now());
    if (entry == nullptr) {
        return fail(ErrorCode::denied,
                    fmt::format("There is no call {} with an unknown outcome. List those there are.",
                                text_of(call_id)),
                    {{"reason", "not_found"}});
    }
    if (!ledger::resolve(entry->row, applied, std::move(outcome), clock_.wall_now())) {
        return fail(ErrorCode::denied,
                    fmt::format("Call {} is {}: only an unknown outcome can be resolved.", text_of(call_id),
                                to_string(entry->row.state)),
                    {{"reason", "not_unknown"}, {"state", to_string(entry->row.state)}});
    }
    Waiters nobody;  // an unknown outcome is an end: who waited was woken then
    put_away(*entry, Keep::always, nobody);
    audit_.append(event);
    return entry->row;
}

Result<std::vector<AuditEvent>> MemoryLedger::audit(std::string_view trace) {
    return audit_.events(trace);
}

std::uint64_t MemoryLedger::audit_count() {
    return audit_.count();
}

Result<std::vector<CallRow>> MemoryLedger::in_doubt() {
    const std::lock_guard lock(mutex_);
    std::vector<CallRow> found;
    for (const Entry* entry : calls_.all()) {
        if (needs_probe(entry->row, is_alive(entry->row.owner))) found.push_back(entry->row);
    }
    return found;
}

Io MemoryLedger::adopt(AdoptRequest request, AdoptReply& reply, Waiter&) {
    const std::lock_guard lock(mutex_);
    if (!is_alive(request.owner)) {
        reply.error = not_registered().value();
        return Io::done;
    }
    Entry* entry = calls_.by_call(request.call_id, clock_.monotonic_now());
    if (entry == nullptr || !needs_probe(entry->row, is_alive(entry->row.owner))) return Io::done;
    take_over(entry->row, request.owner);
    audit_.append(request.event);
    reply.first_event = request.event.sequence;
    reply.row = entry->row;
    return Io::done;
}

Io MemoryLedger::register_owner(OwnerReply& reply, Waiter&) {
    const std::lock_guard lock(mutex_);
    owners_.insert(++last_owner_);
    reply.owner = last_owner_;
    return Io::done;
}

void MemoryLedger::owner_gone(OwnerId owner) {
    Waiters woken;
    {
        const std::lock_guard lock(mutex_);
        if (owners_.erase(owner) == 0) return;
        for (Entry* entry : calls_.all()) {
            CallRow& row = entry->row;
            if (row.owner != owner || is_end(row.state)) continue;
            if (!ends_with_its_owner(row)) {
                move_all(entry->waiters, woken);  // one of them can take it over
            } else {
                const Settled ended = give_up(row, clock_.wall_now());
                AuditEvent told = event_of_giving_up(row);
                audit_.append(told);
                put_away(*entry, ended.released ? Keep::never : Keep::always, woken);
            }
        }
    }
    wake_all(woken);
}

}  // namespace callgate::ledger
