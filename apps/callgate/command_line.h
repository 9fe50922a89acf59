// Reads a command line by the description of the verbs (options.h). The only place that knows CLI11, which
// costs seconds in every file that includes it.
//
// What was typed is never repeated in an error, except names of options: it may be a secret that somebody
// thought belongs there.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <callgate/error.h>

#include "options.h"

namespace callgate::cli {

/// What a command line asks for.
struct Command {
    enum class What : std::uint8_t { run, help, version };
    What what = What::help;
    const Verb* verb = nullptr;  ///< whose help, or which to run
};

/// The targets of the options have their values afterwards. Wrong usage: config_error {reason: usage}, with
/// the verb's --help named.
Result<Command> read_command_line(const Verb& program, const std::vector<std::string>& arguments);

/// The verb with this name below `program`: {"calls", "list"}. The same error as above where there is none.
Result<const Verb*> find_verb(const Verb& program, std::span<const std::string> names);

}  // namespace callgate::cli
