// Outcomes as the ledger keeps them for replays, and late answers.
#pragma once

#include <memory>
#include <optional>

#include <callgate/result.h>

#include "ledger/call_row.h"
#include "pipeline/call.h"

namespace callgate::pipeline {

std::shared_ptr<const ledger::StoredOutcome> to_stored(const Call& call);

/// The call's outcome becomes that of an earlier call with the same key, which has ended. Where that outcome
/// cannot be read, the error says that the call was done.
Step replay_row(Call& call, const ledger::CallRow& row, const std::optional<Error>& unreadable);

/// An answer that came after the call had been given up: it settles the outcome if that was unknown, and the
/// observers are notified once it is on the record.
void settle_late(const std::shared_ptr<Call>& call, std::uint32_t attempt, ToolReturn answer);

}  // namespace callgate::pipeline
