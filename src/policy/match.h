// Whether a rule speaks about a call.
//
// Threads: may be called from any thread.
#pragma once

#include "policy/decide.h"

namespace callgate::policy {

/// Cheap conditions are looked at first, then the argument schema, the predicate last.
bool matches(const Compiled& policy, const CompiledRule& rule, const Question& question, Risk risk);

}  // namespace callgate::policy
