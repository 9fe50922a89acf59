// Stage 1, resolve: the tool that the name means, if it is fit to be called.
//
// From here on the call goes by the tool's canonical name, whichever name it was made under. A name that
// several tools have in common is answered with theirs, if the caller may know of more than one.
//
// An unknown name is a security warning: only tools that the host registered exist. The answer suggests names
// that the caller may see and says nothing about any other. A tool that was handed in (call_direct) is not
// looked up.
#pragma once

#include <callgate/error.h>

#include "pipeline/counter.h"
#include "pipeline/step.h"

namespace callgate::pipeline {

#define CALLGATE_RESOLVE_COUNTERS(X) \
    X(not_found)                     \
    X(draining)                      \
    X(ambiguous_name)                \
    X(unavailable) /* down */        \
    X(quarantined)                   \
    X(silenced)                      \
    X(unknown_action)                \
    X(no_implementation)
CALLGATE_STAGE_COUNTERS(ResolveCounters, CALLGATE_RESOLVE_COUNTERS);

[[gnu::hot]] Step resolve(Call& call);

/// Of a call that is resumed and cannot be: its tool was handed in; there is none that waits.
Error only_handed_in(const Call& call);
Error no_such_call();

/// A call that was to be resumed ends, and nobody will know any more what that was; but it begins before it
/// ends.
void leave_what_to_resume(Call& call);

/// The answer that an unknown name gets; also for tools that the caller may not know of.
Step refuse_as_unknown(Call& call);

}  // namespace callgate::pipeline
