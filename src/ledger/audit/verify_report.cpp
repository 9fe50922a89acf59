#include <array>

#include <fmt/format.h>

#include "ledger/audit/verify.h"

namespace callgate::ledger {
namespace {

constexpr std::array<std::string_view, 3> kVerdicts{"intact", "unwitnessed", "broken"};
constexpr std::array<std::string_view, 13> kKinds{
    "malformed",       "chain", "sequence",  "hash",    "payload",      "key",         "checkpoint",
    "checkpoint_size", "root",  "signature", "witness", "witness_size", "witness_root"};

}  // namespace

std::string_view to_string(AuditVerdict verdict) noexcept {
    return kVerdicts[static_cast<std::size_t>(verdict)];
}

std::string_view to_string(FaultKind kind) noexcept {
    return kKinds[static_cast<std::size_t>(kind)];
}

AuditVerdict VerifyReport::verdict() const noexcept {
    if (fault) return AuditVerdict::broken;
    return compared_notes == 0 ? AuditVerdict::unwitnessed : AuditVerdict::intact;
}

std::string VerifyReport::summary() const {
    const std::string unread =
        unreadable_witness_lines == 0
            ? ""
            : fmt::format(" Lines of the witness's file that cannot be read: {}.", unreadable_witness_lines);
    if (fault)
        return fmt::format("BROKEN at {} ({}): {}{}", fault->sequence, to_string(fault->kind),
                           fault->sentence, unread);
    std::string out = fmt::format("{} events are intact, {} of them under {} signed checkpoints.",
                                  events - after, signed_events - after, checkpoints);
    if (after > 0)
        out += fmt::format(
            " The first {} are archived: the log goes on from their signed head, and only their segments "
            "show what they are.",
            after);
    if (unsigned_events() > 0)
        out += fmt::format(
            " {} events after the last checkpoint are not signed yet: whoever can write the log could "
            "have changed them.",
            unsigned_events());
    if ((checkpoints > 0 || after > 0) && !pinned)
        out += " The key is the one that the log itself names (not pinned): compare it with what you know.";
    if (compared_notes == 0 && witness_notes > 0)
        out +=
            " Nothing was compared with what a witness saw: that is only of events that were archived since, "
            "which their segments show.";
    if (compared_notes == 0)
        out +=
            " Without a witness it cannot be found whether who holds the key rewrote the log, or whether its "
            "end was cut off.";
    else
        out += fmt::format(" A witness saw the first {}.", witnessed_events);
    out += unread;
    if (sealed_payloads > 0) out += fmt::format(" {} payloads are sealed.", sealed_payloads);
    if (erased_payloads > 0) out += fmt::format(" {} payloads were erased.", erased_payloads);
    if (open_calls > 0) out += fmt::format(" {} calls were begun and have no end on the record.", open_calls);
    if (clock_steps_back > 0) out += fmt::format(" The wall clock went back {} times.", clock_steps_back);
    return out;
}

Object VerifyReport::to_json() const {
    Object out{{"verdict", to_string(verdict())},
               {"chain", chain_id},
               {"after", after},
               {"events", events},
               {"checkpoints", checkpoints},
               {"signed_events", signed_events},
               {"unsigned_events", unsigned_events()},
               {"witness_notes", witness_notes},
               {"compared_notes", compared_notes},
               {"witnessed_events", witnessed_events},
               {"unreadable_witness_lines", unreadable_witness_lines},
               {"payloads", payloads},
               {"sealed_payloads", sealed_payloads},
               {"erased_payloads", erased_payloads},
               {"clock_steps_back", clock_steps_back},
               {"boots", boots},
               {"open_calls", open_calls},
               {"key", key},
               {"pinned", pinned}};
    if (fault)
        out.emplace("fault", Object{{"kind", to_string(fault->kind)},
                                    {"sequence", fault->sequence},
                                    {"sentence", fault->sentence}});
    Array open;
    for (const OpenCall& call : first_open_calls)
        open.push_back(Object{{"call", call.call_id}, {"sequence", call.sequence}});
    if (!open.empty()) out.emplace("first_open_calls", std::move(open));
    return out;
}

}  // namespace callgate::ledger
