// A passphrase, typed at the terminal: never from the command line, the environment, a file or a pipe, where
// whoever runs programs as this user could give it.
//
// It is read from the process's controlling terminal (/dev/tty) with the echo off, whatever standard input
// is, straight into locked memory.
//
// Threads: one reader of the terminal.
#pragma once

#include <string_view>

#include <callgate/error.h>

#include "base/locked_bytes.h"

namespace callgate::cli {

/// config_error {reason: no_terminal | called_off | no_value | value_too_long}.
Result<base::LockedBytes> ask_passphrase(std::string_view prompt);

}  // namespace callgate::cli
