// What fits at the end of a command line that is being typed: the answer behind completion in every shell.
//
// It comes from the description of the verbs alone (options.h): no file is read, and no ledger is opened,
// asked or made. So ids of calls and approvals are not among it.
//
// Threads: pure functions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"

namespace callgate::cli {

struct Completion {
    struct Word {
        std::string word;
        std::string help;
    };
    std::vector<Word> words;
    /// file or directory: the shell's own fit, too; nothing otherwise.
    Completes paths = Completes::nothing;
};

/// `words` without the program's name; the last one is being typed, and may be "". `tools` gives what stands
/// for Completes::tool; it is called only where that is asked for.
Completion complete(const Verb& program, std::span<const std::string> words,
                    const std::function<std::vector<Completion::Word>()>& tools);

/// As the scripts read it: "file", "directory" or "nothing" on the first line, then on each line a word, a
/// tab, and its help.
std::string completion_answer(const Completion& completion);

/// The script that makes a shell ask: bash, zsh or fish; "" for another.
std::string_view completion_script(std::string_view shell);

}  // namespace callgate::cli
