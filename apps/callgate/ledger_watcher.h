// Waits for changes of a ledger: says when it is worth a look, and how to stop waiting.
//
// While a process owns the ledger it is asked each time. While nobody does, the ledger is left free for
// others, and only looked at when its files changed. As looking changes them, too, two who wait would wake
// each other: after each look that found nothing the next one waits longer.
//
// Threads: one thread.
#pragma once

#include <optional>

#include "interrupt.h"
#include "ledger_marks.h"
#include "operator_verb.h"

namespace callgate::cli {

class LedgerWatcher {
public:
    /// `from_now`: Ctrl-C ends the waiting rather than the program, already while the first look is taken.
    LedgerWatcher(OperatorRun& run, bool from_now);

    /// Waits a moment, and on until it is worth a look. False: it is over, as nobody reads the output any
    /// more or Ctrl-C came.
    bool wait();
    /// A person is asked now, and the question waits for a line: until the next wait() Ctrl-C ends the
    /// program, as it always does. False: it came before.
    bool asks();
    /// After each look, the first as well.
    void looked(bool found_news);

private:
    OperatorRun& run_;
    std::optional<Interrupt> interrupt_;  // while it waits
    LedgerMarks marks_;
    unsigned pauses_ = 1;
};

}  // namespace callgate::cli
