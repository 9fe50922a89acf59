// completion/complete: a host's completers, run as calls are, since they may block.
//
// Threads: may be used from any thread.
#pragma once

#include <memory>

#include <callgate/json.h>

#include "mcp/catalogue.h"

namespace callgate::mcp {

/// Whether there is a prompt or template of this ref.
bool can_complete(const Catalogue& catalogue, const Object& ref);

/// The tool `completion.complete` {"ref", "argument", "context"?}, whose answer is the result of the method.
std::shared_ptr<const ToolEntry> make_completer(std::shared_ptr<const Catalogue> catalogue);

}  // namespace callgate::mcp
