// For tests and their programs: approvals and calls in a ledger of any kind, as a runtime would leave them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sha256.h"
#include "ledger/blocking_waiter.h"
#include "ledger/ledger.h"

namespace callgate::ledger::testing {

/// Waits for an operation, whether or not it is done at once.
template <class ReplyType, class Operation>
ReplyType done(Operation operation) {
    ReplyType reply;
    BlockingWaiter waiter;
    waiter.wait(operation(reply, waiter));
    return reply;
}

/// The n-th id; they sort by n.
inline base::Uuid numbered_id(std::uint64_t number) {
    base::Uuid id{{0x01, 0x97, 0x5f, 0x2e, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 0}};
    for (std::size_t i = 0; i < 6; ++i) id.bytes[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
    return id;
}

/// What asks for an approval, as the principal "agent" unless told otherwise.
inline OpenApprovalRequest approval_request(std::uint64_t number, Value arguments = Object(),
                                            std::string requester = "agent",
                                            std::chrono::milliseconds lifetime = std::chrono::minutes(15)) {
    OpenApprovalRequest request;
    Approval& approval = request.approval;
    approval.id = numbered_id(number).to_string();
    approval.call_id = numbered_id(number + 1'000'000'000).to_string();
    approval.requester = std::move(requester);
    approval.tool = "send_mail";
    approval.action = "call";
    approval.arguments = std::move(arguments);
    approval.digest = base::sha256_hex("digest " + approval.id);
    approval.risk = Risk::high;
    approval.why = "risk high at autonomy A2";
    approval.trace_id = approval.call_id;
    approval.assurance_needed = Assurance::a2;
    request.lifetime = lifetime;
    request.fingerprint = base::sha256("request " + approval.id);
    AuditFacts facts;
    facts.type = "gate.required";
    facts.outcome = "info";
    facts.stage = "gate";
    facts.approval_id = approval.id;
    facts.call_id = base::parse_uuid(approval.call_id)->bytes;
    facts.principal = approval.requester;
    facts.tool = approval.tool;
    facts.action = approval.action;
    request.events.push_back(AuditEvent(facts));
    return request;
}

/// An approval that is pending.
inline Approval open_approval(Ledger& ledger, std::uint64_t number, Value arguments = Object(),
                              std::string requester = "agent",
                              std::chrono::milliseconds lifetime = std::chrono::minutes(15)) {
    OpenApprovalRequest request =
        approval_request(number, std::move(arguments), std::move(requester), lifetime);
    return done<OpenApprovalReply>([&](OpenApprovalReply& reply, Waiter& waiter) {
               return ledger.open_approval(std::move(request), reply, waiter);
           })
        .approval;
}

/// Many of them, asked for at once: a durable ledger commits them together.
inline void open_approvals(Ledger& ledger, std::uint64_t first, std::uint64_t count) {
    constexpr std::uint64_t kAtOnce = 500;
    while (count > 0) {
        const std::uint64_t now = std::min(count, kAtOnce);
        std::vector<OpenApprovalReply> replies(now);
        std::vector<BlockingWaiter> waiters(now);
        std::vector<Io> states(now);
        for (std::uint64_t i = 0; i < now; ++i)
            states[i] = ledger.open_approval(
                approval_request(first + i, Value{{"to", {"ada@example.org"}}, {"number", first + i}},
                                 "agent", std::chrono::hours(24)),
                replies[i], waiters[i]);
        for (std::uint64_t i = 0; i < now; ++i) waiters[i].wait(states[i]);
        first += now;
        count -= now;
    }
}

/// A call that was sent once and ended like this; its id. Ambiguous ends leave it unknown.
inline std::string finished_call(Ledger& ledger, OwnerId owner, std::uint64_t number, AttemptEnd end) {
    const auto event = [&](std::string_view type) {
        AuditFacts facts;
        facts.type = type;
        facts.outcome = "info";
        facts.stage = "settle";
        facts.call_id = numbered_id(number).bytes;
        facts.principal = "agent";
        facts.tool = "send_mail";
        facts.action = "call";
        return AuditEvent(facts);
    };
    ClaimRequest claim;
    claim.row.key = {"", "agent", "send_mail", "key-" + std::to_string(number)};
    claim.row.call_id = numbered_id(number).bytes;
    claim.row.fingerprint = base::sha256(std::to_string(number));
    claim.row.owner = owner;
    claim.row.action = "call";
    claim.row.arguments = std::make_shared<const Value>(Value{{"to", {"ada@example.org"}}});
    claim.events.push_back(event("tool_call.attempted"));
    done<ClaimReply>(
        [&](ClaimReply& reply, Waiter& waiter) { return ledger.claim(std::move(claim), reply, waiter); });
    SettleRequest settle;
    settle.call_id = numbered_id(number).bytes;
    settle.attempt = 1;
    settle.end = end;
    auto outcome = std::make_shared<StoredOutcome>();
    outcome->succeeded = end == AttemptEnd::succeeded;
    outcome->state = outcome->succeeded ? State::succeeded : State::failed;
    outcome->result.value = "sent";
    outcome->call_id = settle.call_id;
    outcome->attempts = 1;
    settle.outcome = std::move(outcome);
    settle.events.push_back(event(end == AttemptEnd::succeeded ? "tool_call.succeeded" : "tool_call.failed"));
    done<SettleReply>(
        [&](SettleReply& reply, Waiter& waiter) { return ledger.settle(std::move(settle), reply, waiter); });
    return numbered_id(number).to_string();
}

}  // namespace callgate::ledger::testing
