// The part of the gate that deals with people: finds the approval that a call may use, or asks for one.
#pragma once

#include <optional>

#include "pipeline/call.h"

namespace callgate::pipeline {

/// The digest that binds an approval to this call, as the call stands now. `asked_by` is the call that opened
/// it.
std::string approval_digest(const Call& call, const CallId& asked_by, bool handed_in);

/// Looks for an approval that was given for exactly this call; a call that resumes one brings it along.
ledger::Io look_for_approval(Call& call);
/// After that. `next`: found, and call.approval_use is set. `end`: there is one that forbids it, or it could
/// not be looked for. Nothing: none was given, ask for one.
std::optional<Step> use_given_approval(Call& call);

/// The request for an approval, with what a person needs to decide.
ledger::OpenApprovalRequest approval_request(Call& call);

/// The error that says what is wrong with an approval, when the ledger would not let it be used.
Error approval_error(ledger::ApprovalVerdict verdict, std::string_view id);

}  // namespace callgate::pipeline
