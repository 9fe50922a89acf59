// The decision about one call: how risky it is, and what the gate says.
//
// Order: base risk from the contract, the four adjusters, all matching raise-risk rules (each only raises);
// then the first matching decision rule, else the matrix; then hard overrides. A rule's decision takes the
// place of what the matrix would ask for, but never goes below a hard override and never lifts the matrix's
// deny; a grant lowers `confirm` like a rule that allows. At A0 only a preview ever happens: a rule or
// a matrix cell that denies is the only other answer.
//
// A rule whose schema cannot judge the arguments within its step budget matches if it restricts, and does not
// if it allows. So does a rule whose predicate throws.
//
// Threads: functions may be called from any thread; an Answer refers to the Compiled policy it was made from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/approvals.h>
#include <callgate/policy.h>

#include "base/clock.h"
#include "policy/compiled.h"
#include "tool/tool_entry.h"

namespace callgate::policy {

/// What a predicate said, where it counted: it said yes, or it failed.
struct PredicateUse {
    const CompiledRule* rule;
    bool matched;
    bool failed;
};
/// Refers to the Compiled policy that was asked.
using PredicateLog = std::vector<PredicateUse>;

struct Question {
    const ToolEntry& tool;
    std::string_view action;
    const Value& arguments;  ///< normalised
    const Context& caller;
    EffectClass effect;
    base::WallTime now;
    PredicateLog* log = nullptr;     ///< null: nobody wants to know which predicates counted
    std::string_view trace_id = {};  ///< for predicates, where the caller gave none
};

/// Why the risk is above the contract's.
enum RiskReason : std::uint8_t {
    broadcast = 1,
    destructive = 2,
    blast_radius = 4,
    quiet_hours = 8,
    by_rule = 16
};

struct RiskAnswer {
    Risk base = Risk::low;
    Risk risk = Risk::low;
    std::uint8_t reasons = 0;  ///< of RiskReason
};

/// Stage 4. Each adjuster that applies raises by one. Raise-risk rules are all matched against the risk so
/// reached, so their order does not count: the ones without `raise_to` raise by one each, the others to their
/// level.
[[gnu::hot]] RiskAnswer classify(const Compiled& policy, const Question& question);

/// Hard overrides that apply, whether or not the gate would have asked for as much without them.
enum Override : std::uint8_t { secret_scope = 1, quiet_confirm = 2, a0 = 4 };

struct Answer {
    Gate gate = Gate::deny;
    const CompiledRule* rule = nullptr;   ///< the one that decided; null: the matrix
    std::uint8_t overrides = 0;           ///< of Override
    std::uint32_t approvals = 1;          ///< distinct people needed where the gate says confirm
    Assurance assurance = Assurance::a1;  ///< of each vote; a3 is also met by two votes of a2
};

/// Stage 6, without the parts that remember (anti-flap, storm, grants).
[[gnu::hot]] Answer decide(const Compiled& policy, const Question& question, Risk risk);

/// Whether a grant that covers the call turns the answer into `allow`: only where no hard override asks for a
/// person.
bool grant_may_allow(const Answer& answer) noexcept;

/// One sentence for people and the model: why the gate said so.
std::string reason(const Answer& answer, const Question& question, Risk risk);

/// Which predicates counted, for the record: "" if none did. `but`: the rule that is named already.
std::string predicate_record(const PredicateLog& log, const CompiledRule* but = nullptr);

/// The whole decision in words, for `policy test`; changes nothing.
PolicyDecision explain(const Policy& policy, const Question& question);

}  // namespace callgate::policy
