// `callgate mcp serve`: the demo set for MCP clients, over standard input and output or HTTP.
//
// Threads: one thread; it starts the runtime's and the server's.
#pragma once

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Adds it to the program. `console` must outlive the program.
void add_mcp(Verb& program, const Console& console);

}  // namespace callgate::cli
