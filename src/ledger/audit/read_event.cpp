#include "ledger/audit/read_event.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error_table.h"
#include "ledger/audit/event_view.h"
#include "tool/event_types.h"

namespace callgate::ledger {
namespace {

// An event's words are borrowed from the library and must live as long as it does.
constexpr std::string_view kOther = "other";
constexpr auto kWords = std::to_array<std::string_view>({
    "success",
    "failure",
    "suppressed",
    "info",
    "tool_call.attempted",
    "tool_call.succeeded",
    "tool_call.failed",
    "tool_call.deduped",
    "tool_call.unknown",
    "tool_call.resolved",
    "tool_call.cancelled",
    "tool_call.suspended",
    "tool_call.continued",
    "tool_call.taken_over",
    "tool_call.reconciled",
    "tool_call.gap",
    "tool_call.refused",
    "gate.allowed",
    "gate.approved",
    "gate.denied",
    "gate.preview",
    "gate.required",
    "gate.storm_block",
    "approval.vote",
    "approval.revoked",
    "approval.superseded",
    "approval.tampered",
    "operator.enrolled",
    "operator.key_changed",
    "audit.opened",
    "audit.key_rotated",
    "audit.gap",
    "audit.erased",
    "audit.archived",
    "ledger.opened",
    "ledger.clock_jumped",
    "ledger.gap_ended",
    "ledger.moved",
    "ledger.replaced",
    "ledger.restored",
    "ledger.upgraded",
    "resolve",
    "authorize",
    "validate",
    "classify",
    "replay",
    "gate",
    "claim",
    "dispatch",
    "shape",
    "settle",
    "host",
    "operator",
    "approval",
    "recovery",
    "audit",
    "ledger",
});

std::string_view own_word(std::string_view word) {
    if (word.empty()) return {};
    if (const auto at = std::find(kWords.begin(), kWords.end(), word); at != kWords.end()) return *at;
    for (const base::ErrorRow& row : base::error_table())
        for (const std::string_view own : {row.s3_event, row.s3_code, row.s3_outcome})
            if (own == word) return own;
    return kOther;
}

}  // namespace

Result<AuditEvent> read_event(std::string_view bytes, std::span<const StoredPayload> payloads) {
    EventView view;
    if (const auto fault = scan_event(bytes, view))
        return fail(ErrorCode::audit_failure,
                    fmt::format("These bytes are no audit event: {}, at byte {}.", fault->what, fault->at),
                    {{"reason", "malformed"}, {"byte", fault->at}});
    std::array<std::string, kMemberCount> texts;
    const auto text = [&](std::string_view name) -> std::string_view {
        const auto payload = std::find_if(payloads.begin(), payloads.end(),
                                          [&](const StoredPayload& p) { return p.field == name; });
        if (payload != payloads.end()) return payload->bytes;
        for (std::size_t i = 0; i < kMemberCount; ++i)
            if (to_string(static_cast<Member>(i)) == name)
                return texts[i] = view.text(static_cast<Member>(i));
        return {};
    };
    AuditFacts facts;
    for (const EventText& member : event_texts()) facts.*member.text = text(member.name);
    facts.detail = text("detail");
    const std::string_view of_host = kept_event_type(facts.type);
    facts.type = of_host.empty() ? own_word(facts.type) : of_host;
    facts.outcome = own_word(facts.outcome);
    facts.stage = own_word(facts.stage);
    facts.error_code = own_word(facts.error_code);
    facts.sequence = view.sequence();
    facts.at = std::chrono::system_clock::time_point(std::chrono::microseconds(view.number(Member::time)));
    facts.risk = risk_from_string(view.raw(Member::risk)).value_or(Risk::critical);
    facts.autonomy = autonomy_from_string(view.raw(Member::autonomy)).value_or(Autonomy::a0);
    facts.has_key = view.has(Member::has_key);
    facts.attempt = static_cast<std::uint32_t>(view.number(Member::attempt));
    facts.latency = std::chrono::nanoseconds(view.number(Member::latency_ns));
    facts.call_id = view.id(Member::call);
    facts.parent_call_id = view.id(Member::parent);
    return AuditEvent(facts);
}

}  // namespace callgate::ledger
