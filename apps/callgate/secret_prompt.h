// A secret value from standard input: never from the command line, where other users and the shell's history
// see it, and never shown.
//
// A person is asked, with the echo switched off; it is on again afterwards, however that ends. From a file or
// a pipe the whole text is taken, except one line end at its end. Either way it goes straight into locked
// memory.
//
// Threads: one reader of standard input.
#pragma once

#include <cstddef>
#include <string>

#include <callgate/error.h>

#include "base/locked_bytes.h"
#include "terminal.h"

namespace callgate::cli {

/// config_error {reason}: no_value (nothing came), value_too_long (more than `max_bytes`, or more than a line
/// on a terminal can hold), called_off (Ctrl-C), file_unreadable.
Result<base::LockedBytes> read_secret(const std::string& prompt, std::size_t max_bytes,
                                      const Console& console);

}  // namespace callgate::cli
