// What a server's errors mean in the one table of errors, and what may have been done.
//
// Threads: pure functions.
#pragma once

#include "mcp/client_options.h"

namespace callgate::mcp {

/// A JSON-RPC error. Those that say that the request was not understood count as not applied, unless there
/// was a sign that it was begun.
ClientFailure failure_of(const Object& error, bool begun, int status);
ClientFailure failure_of(TransportLoss loss);
/// What was answered is no answer.
ClientFailure bad_result(std::string message, std::string_view reason);
/// It never left.
ClientFailure not_sent(Error error);

}  // namespace callgate::mcp
