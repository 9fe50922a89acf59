// Waits for approvals to be asked for, and shows each as it comes.
//
// While a process owns the ledger it is asked twice a second whether anything changed. While none does,
// nothing can change: the ledger is not held, only its files are looked at, until somebody has written to
// them.
//
// Threads: one thread.
#pragma once

#include "operator_verb.h"

namespace callgate::cli {

/// Until the person quits or the output ends; the exit code.
int watch_approvals(OperatorRun& run, bool full);

}  // namespace callgate::cli
