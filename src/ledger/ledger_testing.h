// What the tests of the ledger share: a ledger with a clock that stands still, and short ways to ask it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/must.h"
#include "ledger/blocking_waiter.h"
#include "ledger/memory_ledger.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/scratch_dir.h"

namespace callgate::ledger::testing {

/// "denied/not_found"
inline std::string code_and_reason(const Error& error) {
    return std::string(to_string(error.code)) + "/" + std::string(error.details.at("reason").as_string());
}

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

inline DispatchRequest dispatch_request(std::uint64_t call, std::uint32_t epoch, OwnerId who) {
    DispatchRequest made;
    made.call_id = call_id(call);
    made.epoch = epoch;
    made.owner = who;
    made.definition_hash = base::sha256("definition");
    made.events.push_back(event("tool_call.attempted", made.call_id));
    return made;
}

inline SettleRequest settle_request(std::uint64_t call, AttemptEnd end, bool last, std::uint32_t epoch = 1,
                                    std::uint32_t attempt = 1) {
    SettleRequest made;
    made.call_id = call_id(call);
    made.epoch = epoch;
    made.attempt = attempt;
    made.end = end;
    made.last = last;
    made.outcome = outcome(end == AttemptEnd::succeeded);
    made.events.push_back(event("tool_call.succeeded", made.call_id));
    return made;
}

inline ConcludeRequest conclude_request(std::uint64_t call, std::uint32_t epoch,
                                        Reconciliation::Verdict verdict) {
    ConcludeRequest made;
    made.call_id = call_id(call);
    made.epoch = epoch;
    made.verdict = verdict;
    made.outcome = outcome(true);
    made.events.push_back(event("tool_call.reconciled", made.call_id));
    return made;
}

/// Waits for operations, one after the other: woken once by each that is done later.
class Turn final : public Waiter {
public:
    void wake() override { woken_.release(); }
    void wait_for(Io io) {
        if (io == Io::pending) woken_.acquire();
    }

private:
    std::counting_semaphore<> woken_{0};
};

/// The ledger in memory.
struct InMemory {
    static constexpr bool kKeepsHistory = false;  // what ended without a key is gone

    explicit InMemory(std::shared_ptr<base::ManualClock> time, MemoryLedger::Options options = {})
        : clock(std::move(time)), ledger(*clock, options) {}
    InMemory(std::shared_ptr<base::ManualClock> time, std::chrono::seconds key_ttl,
             std::chrono::seconds tombstone_ttl)
        : InMemory(std::move(time), ttls(key_ttl, tombstone_ttl)) {}

    static MemoryLedger::Options ttls(std::chrono::seconds key_ttl, std::chrono::seconds tombstone_ttl) {
        MemoryLedger::Options options;
        options.key_ttl = key_ttl;
        options.tombstone_ttl = tombstone_ttl;
        return options;
    }

    std::shared_ptr<base::ManualClock> clock;
    MemoryLedger ledger;
};

/// The ledger in a SQLite file, in a directory of its own.
struct InFile {
    static constexpr bool kKeepsHistory = true;

    template <class... More>
    explicit InFile(std::shared_ptr<base::ManualClock> time, More... more)
        : held(open(std::move(time), more...)), ledger(*held) {}

    std::shared_ptr<SqliteLedger> open(std::shared_ptr<base::ManualClock> time,
                                       std::chrono::seconds key_ttl = std::chrono::hours(24),
                                       std::chrono::seconds tombstone_ttl = std::chrono::hours(720)) {
        SqliteOptions options;
        options.directory = directory.path() + "/ledger";
        options.clock = std::move(time);
        options.kept.key_ttl = key_ttl;
        options.kept.tombstone_ttl = tombstone_ttl;
        auto opened = SqliteLedger::open(std::move(options));
        if (!opened) throw std::runtime_error(opened.error().message);
        return *opened;
    }

    os::ScratchDir directory;
    std::shared_ptr<SqliteLedger> held;
    SqliteLedger& ledger;
};

/// A ledger and two owners.
template <class Held>
struct BenchOf {
    template <class... Options>
    explicit BenchOf(Options... options) : held(time, options...), ledger(held.ledger) {}

    std::shared_ptr<base::ManualClock> time = std::make_shared<base::ManualClock>();
    base::ManualClock& clock = *time;
    Held held;
    decltype(Held::ledger)& ledger;
    Turn waiter;
    OwnerId owner = must(register_owner(ledger));
    OwnerId other = must(register_owner(ledger));

    void wait_for(Io io) { waiter.wait_for(io); }

    /// Whether it waits for the end of the call under the key.
    bool waits_for_end(const std::string& key, const std::shared_ptr<Waiter>& ended) {
        WaitReply reply;
        wait_for(ledger.wait_for_end(key_of(key), ended, reply, waiter));
        EXPECT_FALSE(reply.error);
        return reply.runs;
    }
    AdoptReply adopt(std::uint64_t call, OwnerId who) {
        AdoptReply reply;
        wait_for(ledger.adopt({call_id(call), who, event("tool_call.taken_over")}, reply, waiter));
        return reply;
    }
    std::optional<Approval> open_approval_for(std::string_view tenant, std::string_view requester,
                                              const base::Sha256Digest& fingerprint, std::string_view key) {
        ApprovalReply reply;
        wait_for(ledger.open_approval_for(tenant, requester, fingerprint, key, reply, waiter));
        EXPECT_FALSE(reply.error);
        return std::move(reply.approval);
    }

    /// Nothing holds the call or its key any more, whether or not it can still be looked at.
    bool is_free(std::uint64_t call) {
        const auto row = ledger.find(call_id(call));
        return Held::kKeepsHistory ? row && is_end(row->state) && row->state != CallState::unknown : !row;
    }

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
        wait_for(ledger.claim(std::move(asked), reply, waiter));
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
        wait_for(ledger.peek(key_of(std::move(key)), print_of(what), reply, waiter));
        return reply;
    }

    DispatchReply dispatch(std::uint64_t call, std::uint32_t epoch, OwnerId who) {
        DispatchReply reply;
        wait_for(ledger.dispatch(dispatch_request(call, epoch, who), reply, waiter));
        return reply;
    }

    SettleReply settle(std::uint64_t call, AttemptEnd end, bool last = true, std::uint32_t epoch = 1,
                       std::uint32_t attempt = 1) {
        SettleReply reply;
        wait_for(ledger.settle(settle_request(call, end, last, epoch, attempt), reply, waiter));
        return reply;
    }

    ConcludeReply conclude(std::uint64_t call, std::uint32_t epoch, Reconciliation::Verdict verdict) {
        ConcludeReply reply;
        wait_for(ledger.conclude(conclude_request(call, epoch, verdict), reply, waiter));
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
        wait_for(ledger.open_approval(std::move(asked), reply, waiter));
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

    /// Of the callers' events; what the ledger says of itself is left out.
    std::vector<std::string> audit_types() {
        std::vector<std::string> types;
        for (const AuditEvent& e : must(ledger.audit({}))) {
            if (e.stage != "ledger" && e.stage != "recovery") types.emplace_back(e.type);
        }
        return types;
    }
};

using Bench = BenchOf<InMemory>;
using Benches = ::testing::Types<BenchOf<InMemory>, BenchOf<InFile>>;

}  // namespace callgate::ledger::testing
