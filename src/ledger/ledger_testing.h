// What the tests of the ledger share: a ledger with a clock that stands still, and short ways to ask it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "ledger/memory_ledger.h"

namespace callgate::ledger::testing {

class CountingWaiter final : public Waiter {
public:
    void wake() override { ++woken; }
    std::atomic<int> woken{0};
};

inline CallId call_id(std::uint64_t number) {
    CallId id{};
    for (std::size_t i = 0; i < 8; ++i) id[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
    return id;
}

inline base::Sha256Digest print_of(std::string_view request) {
    return base::sha256(request);
}

/// For an operation that numbers an event which the test does not look at.
inline AuditEvent& unseen(AuditEvent&& event) {
    return event;
}

inline AuditEvent event(std::string_view type, const CallId& id = {}) {
    AuditEvent made;
    made.type = type;
    made.call_id = id;
    return made;
}

inline KeyScope key_of(std::string key, std::string principal = "agent") {
    return {"acme", std::move(principal), "mail/send", std::move(key)};
}

inline std::shared_ptr<const StoredOutcome> outcome(bool succeeded) {
    auto made = std::make_shared<StoredOutcome>();
    made->succeeded = succeeded;
    made->state = succeeded ? State::succeeded : State::failed;
    return made;
}

/// A ledger, two owners and a waiter nobody needs (the ledger in memory is always done at once).
struct Bench {
    explicit Bench(MemoryLedger::Options options = {}) : ledger(clock, options) {}

    base::ManualClock clock;
    MemoryLedger ledger;
    CountingWaiter waiter;
    OwnerId owner = ledger.register_owner();
    OwnerId other = ledger.register_owner();

    ClaimRequest request(std::uint64_t call, std::string key, EffectClass effect = EffectClass::unsafe,
                         std::string_view what = "request") const {
        ClaimRequest made;
        made.row.key = key_of(std::move(key));
        made.row.call_id = call_id(call);
        made.row.fingerprint = print_of(what);
        made.row.effect = effect;
        made.row.owner = owner;
        made.row.definition_hash = base::sha256("definition");
        made.row.action = "call";
        made.events.push_back(event("tool_call.attempted", made.row.call_id));
        return made;
    }

    ClaimReply claim(ClaimRequest asked) {
        ClaimReply reply;
        ledger.claim(std::move(asked), reply, waiter);
        return reply;
    }
    ClaimReply claim(std::uint64_t call, std::string key, EffectClass effect = EffectClass::unsafe,
                     std::string_view what = "request") {
        return claim(request(call, std::move(key), effect, what));
    }
    ClaimReply claim_as(OwnerId who, std::uint64_t call, std::string key,
                        EffectClass effect = EffectClass::unsafe, bool dispatch = true) {
        ClaimRequest asked = request(call, std::move(key), effect);
        asked.row.owner = who;
        asked.dispatch = dispatch;
        return claim(std::move(asked));
    }

    PeekReply peek(std::string key, std::string_view what = "request") {
        PeekReply reply;
        ledger.peek(key_of(std::move(key)), print_of(what), reply, waiter);
        return reply;
    }

    DispatchReply dispatch(std::uint64_t call, std::uint32_t epoch, OwnerId who) {
        DispatchRequest asked;
        asked.call_id = call_id(call);
        asked.epoch = epoch;
        asked.owner = who;
        asked.definition_hash = base::sha256("definition");
        asked.events.push_back(event("tool_call.attempted", asked.call_id));
        DispatchReply reply;
        ledger.dispatch(std::move(asked), reply, waiter);
        return reply;
    }

    SettleReply settle(std::uint64_t call, AttemptEnd end, bool last = true, std::uint32_t epoch = 1,
                       std::uint32_t attempt = 1) {
        SettleRequest asked;
        asked.call_id = call_id(call);
        asked.epoch = epoch;
        asked.attempt = attempt;
        asked.end = end;
        asked.last = last;
        asked.outcome = outcome(end == AttemptEnd::succeeded);
        asked.events.push_back(event("tool_call.ended", asked.call_id));
        SettleReply reply;
        ledger.settle(std::move(asked), reply, waiter);
        return reply;
    }

    ConcludeReply conclude(std::uint64_t call, std::uint32_t epoch, Reconciliation::Verdict verdict) {
        ConcludeRequest asked;
        asked.call_id = call_id(call);
        asked.epoch = epoch;
        asked.verdict = verdict;
        asked.outcome = outcome(true);
        asked.events.push_back(event("tool_call.reconciled", asked.call_id));
        ConcludeReply reply;
        ledger.conclude(std::move(asked), reply, waiter);
        return reply;
    }

    OpenApprovalReply ask(std::string id, std::string call, std::string key = {},
                          std::string_view what = "request", std::string requester = "agent") {
        OpenApprovalRequest asked;
        asked.approval.id = std::move(id);
        asked.approval.call_id = std::move(call);
        asked.approval.tenant = "acme";
        asked.approval.requester = std::move(requester);
        asked.approval.digest = "digest of " + std::string(what);
        asked.approval.idempotency_key = std::move(key);
        asked.fingerprint = print_of(what);
        asked.events.push_back(event("gate.required"));
        OpenApprovalReply reply;
        ledger.open_approval(std::move(asked), reply, waiter);
        return reply;
    }

    Result<Approval> approve(std::string_view id, std::string who = "bob", bool yes = true) {
        Vote vote;
        vote.approver = std::move(who);
        vote.approve = yes;
        return ledger.vote(id, std::move(vote), unseen(event(yes ? "gate.approved" : "gate.denied")));
    }

    /// A claim that uses the approval for "request".
    ClaimReply claim_with(std::string approval, std::uint64_t call, std::string key) {
        ClaimRequest asked = request(call, std::move(key));
        asked.approval = ApprovalUse{std::move(approval), "digest of request"};
        return claim(std::move(asked));
    }

    std::vector<std::string> audit_types() {
        std::vector<std::string> types;
        for (const AuditEvent& e : ledger.audit({})) types.emplace_back(e.type);
        return types;
    }
};

}  // namespace callgate::ledger::testing
