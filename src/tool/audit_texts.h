// The texts of an audit event that are not constants of the library, in one list.
#pragma once

#include <array>
#include <string_view>

#include <callgate/observer.h>

namespace callgate {

/// The trace id comes first: it is what events are looked for by.
inline constexpr std::array<std::string_view AuditFacts::*, 12> kAuditTexts{
    &AuditFacts::trace_id,     &AuditFacts::tenant,       &AuditFacts::principal,   &AuditFacts::run_id,
    &AuditFacts::task_id,      &AuditFacts::step_id,      &AuditFacts::tool,        &AuditFacts::action,
    &AuditFacts::connector_id, &AuditFacts::request_hash, &AuditFacts::approval_id, &AuditFacts::detail};

inline std::size_t text_bytes(const AuditFacts& facts) noexcept {
    std::size_t bytes = 0;
    for (const auto text : kAuditTexts) bytes += (facts.*text).size();
    return bytes;
}

}  // namespace callgate
