// A runtime for the program's own verbs, over the ledger that --ledger names.
//
// Threads: one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <callgate/runtime.h>

#include "interrupt.h"

namespace callgate::cli {

/// --ledger: no directory, but the ledger in memory.
inline constexpr std::string_view kInMemory = "memory";

/// Sets options.ledger_dir to what `ledger` says, or to the usual place, whose parents are made.
Result<void> choose_ledger(RuntimeOptions& options, const std::string& ledger);

/// An operator's verb owns the ledger for a moment only: waits that long for it.
Result<std::unique_ptr<Runtime>> open_when_free(const RuntimeOptions& options, const Interrupt& interrupt);

}  // namespace callgate::cli
