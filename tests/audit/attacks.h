// The twelve ways to attack an audit log that are tried, each in the variants that an attacker with and
// without the signing keys has.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "audit_log.h"

namespace callgate::audit {

/// A log after an attack.
struct Attacked {
    std::string text;            ///< the export
    bool needs_witness = false;  ///< nothing within the log can show it
};

struct Attack {
    std::string_view name;
    /// Of a log with a checkpoint of all its events, which the witness has.
    Attacked (*run)(const AuditLog& log, base::Rng& rng);
};

std::span<const Attack> attacks();

}  // namespace callgate::audit
