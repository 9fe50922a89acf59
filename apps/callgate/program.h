// The callgate program without main(): the command line in, an exit code out.
//
// The list of verbs is here; each verb is a file of its own (verb_*.cpp).
//
// Threads: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "terminal.h"

namespace callgate::cli {

class Verb;

/// Wrong usage; also what every verb answers to unusable input.
constexpr int kUnusable = 2;

/// Ctrl-C while a person was asked: what a shell reports where it ended the program.
constexpr int kCalledOff = 130;
/// What the help of every verb that asks says of it.
constexpr const char* kCalledOffMeaning = "Ctrl-C while you were asked, as the shell reports it";

/// The program with every verb. `console` must outlive it.
std::unique_ptr<Verb> make_program(const Console& console);

/// `arguments` without the program's own name.
int run_program(const std::vector<std::string>& arguments, const Console& console);

}  // namespace callgate::cli
