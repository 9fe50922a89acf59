// Events of the host's own, and of the runtime that belong to no call, on their way to the record.
//
// Threads: may be used from any thread.
#pragma once

#include <functional>

#include <callgate/events.h>

#include "pipeline/core.h"

namespace callgate::pipeline {

/// As Runtime::start_record(): `done` gets the event's number, 0 where it is written with the next batch.
void record_host_event(const std::shared_ptr<Runtime::Core>& core, HostEvent event,
                       std::function<void(Result<std::uint64_t>)> done, Executor executor);

/// Of the runtime's own; nobody waits for it.
void record_event(const std::shared_ptr<Runtime::Core>& core, const AuditFacts& facts);

}  // namespace callgate::pipeline
