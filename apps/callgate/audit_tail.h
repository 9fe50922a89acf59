// The audit's events on the command line: the last ones, one of them, those of a call.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "operator_verb.h"

namespace callgate::cli {

struct TailOptions {
    std::uint32_t lines = 20;
    bool follow = false;
    std::string type;
    std::string call;
};

/// The last events; with `follow` until the output ends. The exit code.
int tail_events(OperatorRun& run, const TailOptions& options);

/// `which` is an event's number or a call's id. The exit code.
int show_event(OperatorRun& run, const std::string& which);

}  // namespace callgate::cli
