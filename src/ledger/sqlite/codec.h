// What the ledger's file holds sealed, as bytes and back: outcomes for replays, approvals, arguments.
//
// The plain form is JSON of our own making; numbers survive exactly, and so do bytes that are not text: in
// base64, or spelled one by one where they are inside a value (byte_text.h). What cannot be read back is an
// error that says so, never something else.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <callgate/approvals.h>
#include <callgate/error.h>

#include "ledger/call_row.h"

namespace callgate::ledger {

std::string encode(const StoredOutcome& outcome);
Result<std::shared_ptr<const StoredOutcome>> decode_outcome(std::string_view text);

/// Everything of an approval but its state, votes, times and user.
std::string encode(const Approval& approval);
Result<Approval> decode_approval(std::string_view text);

/// A call's arguments, which are an object.
std::string encode_arguments(const Value& object);
Result<Value> decode_arguments(std::string_view text);

std::optional<CallState> call_state_from_string(std::string_view text) noexcept;
std::optional<ApprovalState> approval_state_from_string(std::string_view text) noexcept;

}  // namespace callgate::ledger
