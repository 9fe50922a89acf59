// Where programs of this user keep what outlives them: the XDG rules.
//
// Threads: reads the environment, which nobody may change meanwhile.
#pragma once

#include <string>

#include <callgate/error.h>

#include "os/file_ops.h"

namespace callgate::os {

/// $HOME if it is an absolute path, else where the system says that this user is at home; "" if nowhere.
std::string home_directory();

/// $XDG_STATE_HOME if it is an absolute path, else ~/.local/state; "" where this user has no home.
std::string state_directory();

/// The directory and those above it that are missing, each for its owner alone, and durable when this
/// returns. One that is there stays as it is.
Result<void> make_directories(FileOps& files, const std::string& path);

}  // namespace callgate::os
