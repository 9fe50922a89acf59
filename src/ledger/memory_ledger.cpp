#include "ledger/memory_ledger.h"

#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/failpoint.h"
#include "base/guard.h"
#include "base/ids.h"
#include "ledger/procedures.h"

namespace callgate::ledger {

namespace {

/// Whether a test wants it to fail; the reply then says so as the ledger's own failure.
bool must_fail([[maybe_unused]] std::string_view name, std::optional<base::FailAction> action, Reply& reply) {
    if (!action) return false;
    Error injected = base::injected_error(name, *action);
    reply.error =
        Error(ErrorCode::ledger_unavailable, std::move(injected.message), std::move(injected.details));
    return true;
}

tl::unexpected<Error> no_such_call(const CallId& id) {
    return fail(ErrorCode::denied,
                fmt::format("There is no call {}. List those there are.", base::Uuid{id}.to_string()),
                {{"reason", "not_found"}});
}

/// A procedure's failure, as the reply's.
void report(Result<void> done, Reply& reply) {
    if (!done) reply.error = std::move(done.error());
}

void wake_all(const std::vector<std::shared_ptr<Waiter>>& waiters) {
    for (const auto& waiter : waiters) waiter->wake();
}

}  // namespace

MemoryLedger::MemoryLedger(const base::Clock& clock, Options options)
    : clock_(clock),
      time_(clock),
      audit_(clock, options.audit_kept),
      fixed_{clock, time_, audit_, options.key_ttl},
      tables_{CallRows({options.key_ttl, options.tombstone_ttl, options.max_rows, options.max_tombstones,
                        options.max_bytes}),
              ApprovalRows(options.max_approvals, options.open_approvals, options.key_ttl),
              {}} {}

Io MemoryLedger::peek(const KeyScope& key, const base::Sha256Digest& fingerprint, PeekReply& reply, Waiter&) {
    if (must_fail("ledger.peek", CALLGATE_FAILPOINT_ACTION("ledger.peek"), reply)) return Io::done;
    const base::MutexLock lock(mutex_);
    const MemoryRows rows(fixed_, tables_);
    const Entry* entry = tables_.calls.by_key(key, rows.now());
    reply.verdict = foresee_claim(rows.standing(entry, key), fingerprint);
    reply.found = entry != nullptr || reply.verdict == ClaimVerdict::key_expired;
    if (entry != nullptr) reply.row = entry->row;
    return Io::done;
}

Io MemoryLedger::claim(ClaimRequest request, ClaimReply& reply, Waiter&) {
    if (must_fail("ledger.claim", CALLGATE_FAILPOINT_ACTION("ledger.claim"), reply)) return Io::done;
    Waiters woken;
    {
        const base::MutexLock lock(mutex_);
        MemoryRows rows(fixed_, tables_, &request.events);
        if (!CALLGATE_GUARD(insert_first_claim)) rows.before_insert = [this] { let_others_in(); };
        report(claim_call(rows, std::move(request.row), request, reply), reply);
        sinks_.tell(rows.approval_changes());
        woken = std::move(rows.woken());
    }
    wake_all(woken);
    return Io::done;
}

// Only a claim calls it, and holds the lock; the analysis does not follow it through MemoryRows.
void MemoryLedger::let_others_in() CALLGATE_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.unlock();
    if (between_look_and_insert) between_look_and_insert();
    std::this_thread::yield();
    mutex_.lock();
}

Io MemoryLedger::dispatch(DispatchRequest request, DispatchReply& reply, Waiter&) {
    if (must_fail("ledger.dispatch", CALLGATE_FAILPOINT_ACTION("ledger.dispatch"), reply)) return Io::done;
    const base::MutexLock lock(mutex_);
    MemoryRows rows(fixed_, tables_, &request.events);
    report(dispatch_call(rows, request, reply), reply);
    return Io::done;
}

// By `procedure`, settle_call() or conclude_call().
template <class Request, class Reply, class Procedure>
Io MemoryLedger::finish_call(Request& request, Reply& reply, Procedure procedure) {
    Waiters woken;
    {
        const base::MutexLock lock(mutex_);
        MemoryRows rows(fixed_, tables_, &request.events);
        report(procedure(rows, request, std::move(request.outcome), reply), reply);
        tables_.calls.shrink(rows.now());
        woken = std::move(rows.woken());
    }
    wake_all(woken);
    return Io::done;
}

Io MemoryLedger::settle(SettleRequest request, SettleReply& reply, Waiter&) {
    if (must_fail("ledger.settle", CALLGATE_FAILPOINT_ACTION("ledger.settle"), reply)) return Io::done;
    return finish_call(request, reply, settle_call);
}

Io MemoryLedger::conclude(ConcludeRequest request, ConcludeReply& reply, Waiter&) {
    if (must_fail("ledger.conclude", CALLGATE_FAILPOINT_ACTION("ledger.conclude"), reply)) return Io::done;
    return finish_call(request, reply, conclude_call);
}

Io MemoryLedger::open_approval(OpenApprovalRequest request, OpenApprovalReply& reply, Waiter&) {
    if (must_fail("ledger.open_approval", CALLGATE_FAILPOINT_ACTION("ledger.open_approval"), reply))
        return Io::done;
    const base::MutexLock lock(mutex_);
    MemoryRows rows(fixed_, tables_, &request.events);
    report(ledger::open_approval(rows, std::move(request.approval), request.fingerprint, request.lifetime,
                                 reply),
           reply);
    sinks_.tell(rows.approval_changes());
    return Io::done;
}

Io MemoryLedger::record(AuditEvent& event, Reply& reply, Waiter&) {
    if (must_fail("ledger.record", CALLGATE_FAILPOINT_ACTION("ledger.record"), reply)) return Io::done;
    audit_.append(event);
    return Io::done;
}

Io MemoryLedger::wait_for_end(const KeyScope& key, std::shared_ptr<Waiter> ended, WaitReply& reply, Waiter&) {
    const base::MutexLock lock(mutex_);
    Entry* entry = tables_.calls.by_key(key, clock_.monotonic_now());
    reply.runs = entry != nullptr && !is_end(entry->row.state) && tables_.owners.contains(entry->row.owner);
    if (reply.runs) entry->waiters.push_back(std::move(ended));
    return Io::done;
}

void MemoryLedger::stop_waiting(const KeyScope& key, const Waiter& waiter) {
    Waiters let_go;  // released outside the lock: it may be the last to hold the waiter
    const base::MutexLock lock(mutex_);
    Entry* entry = tables_.calls.by_key(key, clock_.monotonic_now());
    if (entry == nullptr) return;
    std::erase_if(entry->waiters, [&](std::shared_ptr<Waiter>& held) {
        if (held.get() != &waiter) return false;
        let_go.push_back(std::move(held));
        return true;
    });
}

Io MemoryLedger::approval_of_call(std::string call_id, ApprovalReply& reply, Waiter&) {
    const base::MutexLock lock(mutex_);
    if (const Approval* found = tables_.approvals.by_call(call_id, time_.latest())) reply.approval = *found;
    return Io::done;
}

Io MemoryLedger::open_approval_for(std::string_view tenant, std::string_view requester,
                                   const base::Sha256Digest& fingerprint, std::string_view idempotency_key,
                                   ApprovalReply& reply, Waiter&) {
    const base::MutexLock lock(mutex_);
    const Approval* found =
        tables_.approvals.open_for(tenant, requester, fingerprint, idempotency_key, time_.latest());
    if (found != nullptr) reply.approval = *found;
    return Io::done;
}

Result<std::vector<Approval>> MemoryLedger::approvals(std::optional<ApprovalState> state) {
    const base::MutexLock lock(mutex_);
    return tables_.approvals.list(state, time_.latest());
}

Result<Approval> MemoryLedger::approval(std::string_view id) {
    const base::MutexLock lock(mutex_);
    const Approval* found = tables_.approvals.find(id, time_.latest());
    if (found == nullptr) return no_such_approval(id);
    return *found;
}

Result<Approval> MemoryLedger::vote(std::string_view id, Vote vote, AuditEvent& event) {
    const base::MutexLock lock(mutex_);
    MemoryRows rows(fixed_, tables_);
    auto voted = flattened(cast_vote(rows, id, vote, event));
    sinks_.tell(rows.approval_changes());
    return voted;
}

Result<Approval> MemoryLedger::revoke(std::string_view id, std::string_view /*by*/, AuditEvent& event) {
    const base::MutexLock lock(mutex_);
    MemoryRows rows(fixed_, tables_);
    auto revoked = flattened(revoke_approval(rows, id, event));
    sinks_.tell(rows.approval_changes());
    return revoked;
}

void MemoryLedger::watch_approvals(std::weak_ptr<ApprovalSink> sink) {
    sinks_.add(std::move(sink));
}

Result<CallRow> MemoryLedger::find(const CallId& call_id) {
    const base::MutexLock lock(mutex_);
    const Entry* entry = tables_.calls.by_call(call_id, clock_.monotonic_now());
    if (entry == nullptr) return no_such_call(call_id);
    return entry->row;
}

bool MemoryLedger::is_alive(OwnerId owner) {
    const base::MutexLock lock(mutex_);
    return tables_.owners.contains(owner);
}

Result<std::vector<CallRow>> MemoryLedger::list(std::optional<CallState> state) {
    const base::MutexLock lock(mutex_);
    std::vector<CallRow> listed;
    for (const Entry* entry : tables_.calls.all()) {
        if (!state || entry->row.state == *state) listed.push_back(entry->row);
    }
    return listed;
}

Result<CallRow> MemoryLedger::resolve(const CallId& call_id, bool applied,
                                      std::shared_ptr<const StoredOutcome> outcome, AuditEvent& event) {
    const base::MutexLock lock(mutex_);
    MemoryRows rows(fixed_, tables_);  // wakes nobody: an unknown outcome is an end already
    return flattened(resolve_call(rows, call_id, applied, std::move(outcome), event));
}

Result<std::vector<AuditEvent>> MemoryLedger::audit(std::string_view trace) {
    return audit_.events(trace);
}

base::Sha256Digest MemoryLedger::keyed_digest(std::string_view purpose, std::string_view text) {
    std::call_once(key_is_made_, [this] { key_.emplace(base::SealKey::random()); });
    return base::keyed_hash(*key_, purpose, text);
}

std::uint64_t MemoryLedger::audit_count() {
    return audit_.count();
}

Result<std::vector<CallRow>> MemoryLedger::in_doubt() {
    const base::MutexLock lock(mutex_);
    std::vector<CallRow> found;
    for (const Entry* entry : tables_.calls.all()) {
        if (needs_probe(entry->row, tables_.owners.contains(entry->row.owner))) found.push_back(entry->row);
    }
    return found;
}

Io MemoryLedger::adopt(AdoptRequest request, AdoptReply& reply, Waiter&) {
    std::vector<AuditEvent> events{std::move(request.event)};
    const base::MutexLock lock(mutex_);
    MemoryRows rows(fixed_, tables_, &events);
    report(adopt_call(rows, request.call_id, request.owner, reply), reply);
    return Io::done;
}

Io MemoryLedger::register_owner(OwnerReply& reply, Waiter&) {
    const base::MutexLock lock(mutex_);
    tables_.owners.insert(++last_owner_);
    reply.owner = last_owner_;
    return Io::done;
}

void MemoryLedger::owner_gone(OwnerId owner) {
    Waiters woken;
    {
        const base::MutexLock lock(mutex_);
        if (tables_.owners.erase(owner) == 0) return;
        MemoryRows rows(fixed_, tables_);
        for (Entry* entry : tables_.calls.all()) {
            if (entry->row.owner != owner || is_end(entry->row.state)) continue;
            if (ends_with_its_owner(entry->row)) {
                (void)give_up_call(rows, rows.edit(*entry));  // in memory it cannot fail
            } else {
                rows.wake_waiters(*entry);  // one of them can take it over
            }
        }
        woken = std::move(rows.woken());
    }
    wake_all(woken);
}

}  // namespace callgate::ledger
