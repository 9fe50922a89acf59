#include "approvals_world.h"

#include <bit>

#include <fmt/format.h>

#include "ledger/approval_rules.h"
#include "packed_bits.h"

namespace callgate::model {

using ledger::ApprovalVerdict;

namespace {

constexpr base::WallTime kOpened{std::chrono::sys_days{std::chrono::January / 2 / 2026}};
constexpr std::chrono::minutes kLifetime{15};
constexpr const char* kPeople[] = {"alice", "bob", "user:Agent"};  // the last is who asked
constexpr std::uint8_t kNotTheAgent = 3;
constexpr const char* kId = "a";

std::string digest_of(std::uint8_t rules) {
    return rules == 0 ? "under the first rules" : "under the second rules";
}

constexpr const char* kOfSlot[] = {"alice: yes", "bob: yes",  "the agent: yes", "alice: no",      "bob: no",
                                   "withdrawn",  "time over", "used",           "used otherwise", "gone"};

}  // namespace

std::string ApprovalsWorld::name(int move) {
    if (move < 2) return move == 0 ? "the agent asks" : "the rules are reloaded";
    return fmt::format("approval {}: {}", (move - 2) / 10 + 1, kOfSlot[(move - 2) % 10]);
}

std::uint64_t ApprovalsWorld::pack() const {
    PackedBits out(rules_);
    for (const Slot& slot : slots_) {
        out.add(slot.there, 1);
        out.add(static_cast<std::uint64_t>(slot.state), 3);
        out.add(slot.yes, 3);
        out.add(slot.over, 1);
        out.add(slot.rules, 1);
        out.add(slot.no, 1);
        out.add(slot.withdrawn, 1);
        out.add(slot.runs, 2);
    }
    return out.value();
}

ApprovalsWorld ApprovalsWorld::unpack(std::uint64_t packed, const ApprovalsSettings& settings) {
    ApprovalsWorld world(settings);
    PackedBits bits(packed);
    for (std::size_t i = 2; i-- > 0;) {
        Slot& slot = world.slots_[i];
        slot.runs = bits.take(2);
        slot.withdrawn = bits.take(1) != 0;
        slot.no = bits.take(1) != 0;
        slot.rules = bits.take(1);
        slot.over = bits.take(1) != 0;
        slot.yes = bits.take(3);
        slot.state = static_cast<ApprovalState>(bits.take(3));
        slot.there = bits.take(1) != 0;
    }
    world.rules_ = bits.take(1);
    return world;
}

Approval ApprovalsWorld::approval_of(const Slot& slot) const {
    Approval approval;
    approval.id = kId;
    approval.tenant = "acme";
    approval.requester = settings_.mutant == ApprovalsSettings::Mutant::nameless ? "somebody" : "agent";
    approval.digest = digest_of(slot.rules);
    approval.approvals_needed = settings_.needed;
    approval.state = slot.state;
    approval.created_at = kOpened;
    approval.expires_at = kOpened + kLifetime;
    for (std::size_t i = 0; i < 3; ++i) {
        if ((slot.yes >> i & 1) == 0) continue;
        Vote cast;
        cast.approver = kPeople[i];
        approval.votes.push_back(std::move(cast));
    }
    return approval;
}

std::chrono::system_clock::time_point ApprovalsWorld::now(const Slot& slot) const {
    return slot.over && settings_.mutant != ApprovalsSettings::Mutant::clockless ? kOpened + kLifetime
                                                                                 : kOpened;
}

ModelRows ApprovalsWorld::rows_of(const Slot& slot) const {
    static const StillTime at_first(kOpened);
    static const StillTime when_over(kOpened + kLifetime);
    return {now(slot) == kOpened ? at_first : when_over, approval_of(slot)};
}

// Joined while it is open; the ledger opens no second one beside it.
bool ApprovalsWorld::ask() {
    for (const Slot& slot : slots_)
        if (slot.there && ledger::is_open(approval_of(slot), now(slot))) return false;
    for (Slot& slot : slots_) {
        const bool closed = !slot.there || !ledger::is_open(approval_of(slot), now(slot));
        if (!closed) continue;
        slot = {};
        slot.there = true;
        slot.rules = rules_;
        return true;
    }
    return false;
}

bool ApprovalsWorld::vote(Slot& slot, int person, bool yes) {
    ModelRows rows = rows_of(slot);
    Vote cast;
    cast.approver = kPeople[person];
    cast.approve = yes;
    AuditEvent event;
    const bool answered = ledger::flattened(cast_vote(rows, kId, cast, event)).has_value();
    const bool counted = rows.stored();
    check(answered || !counted, "a vote was refused, and stored");
    check(rows.complaint(counted).empty(), "a vote was stored and not recorded, or recorded and not stored");
    const bool changed = rows.approval->state != slot.state || counted;
    slot.state = rows.approval->state;
    if (counted) {
        check(person != 2, "who asked has decided");
        check(!slot.over, "a vote counted after its time");
        if (yes) slot.yes = static_cast<std::uint8_t>(slot.yes | 1u << person);
        slot.no = slot.no || !yes;
    }
    return changed;
}

bool ApprovalsWorld::withdraw(Slot& slot) {
    ModelRows rows = rows_of(slot);
    AuditEvent event;
    const bool revoked = ledger::flattened(revoke_approval(rows, kId, event)).has_value();
    check(rows.complaint(revoked).empty(), "it was withdrawn, and not stored or not recorded");
    if (!revoked) return false;
    slot.state = rows.approval->state;
    slot.withdrawn = true;
    return true;
}

bool ApprovalsWorld::use(Slot& slot, bool same_call) {
    ModelRows rows = rows_of(slot);
    const Approval approval = *rows.approval;
    const std::string wanted = same_call ? digest_of(rules_) : "another call";
    const std::string said =
        settings_.mutant == ApprovalsSettings::Mutant::any_call ? approval.digest : wanted;
    const std::string who = settings_.mutant == ApprovalsSettings::Mutant::nameless ? "somebody" : "agent";
    const ledger::ConsumeRequest request("acme", who, said, "call");
    const ApprovalVerdict foreseen = judge_use(approval, request, now(slot));
    ledger::CallRow claimant;
    claimant.owner = 1;
    claimant.key.tenant = "acme";
    claimant.key.principal = who;
    ledger::ClaimReply reply;
    const bool done =
        claim_call(rows, claimant, {.approval = ledger::ApprovalUse{kId, said}}, reply).has_value();
    check(done && !reply.error, "a claim failed by itself");
    const ApprovalVerdict verdict = reply.approval;
    check(rows.complaint(verdict == ApprovalVerdict::ok).empty(),
          "a claim is there without its approval, or an approval was used without a claim");
    check((foreseen == ApprovalVerdict::ok) == (verdict == ApprovalVerdict::ok),
          "a use was told something else than a look before it");
    const bool changed = rows.approval->state != slot.state;
    slot.state = rows.approval->state;
    if (verdict != ApprovalVerdict::ok) return changed;
    slot.runs = static_cast<std::uint8_t>(slot.runs < 2 ? slot.runs + 1 : 2);
    check(slot.runs == 1, "an approval was used twice");
    check(std::popcount(static_cast<unsigned>(slot.yes & kNotTheAgent)) >= static_cast<int>(settings_.needed),
          "it ran without as many people as it needs");
    check(!slot.no, "it ran although somebody said no");
    check(!slot.over, "it ran after its time");
    check(!slot.withdrawn, "it ran after it was withdrawn");
    check(same_call && slot.rules == rules_, "another call ran than the one that was approved");
    return true;
}

bool ApprovalsWorld::apply(int move) {
    if (move == 0) return ask();
    if (move == 1) {
        rules_ ^= 1;
        return true;
    }
    Slot& slot = slots_[static_cast<std::size_t>((move - 2) / 10)];
    if (!slot.there) return false;
    switch (const int what = (move - 2) % 10) {
        case 0:
        case 1:
        case 2: return vote(slot, what, true);
        case 3:
        case 4: return vote(slot, what - 3, false);
        case 5: return withdraw(slot);
        case 6:
            if (slot.over) return false;
            slot.over = true;
            return true;
        case 7: return use(slot, true) || !violation_.empty();
        case 8: return use(slot, false) || !violation_.empty();
        default:
            if (ledger::is_open(approval_of(slot), now(slot))) return false;
            slot = {};
            return true;
    }
}

}  // namespace callgate::model
