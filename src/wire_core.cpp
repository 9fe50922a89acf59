// Where the parts of a runtime are made and connected, and nowhere else.
#include <callgate/runtime.h>

#include "base/clock.h"
#include "base/rng.h"
#include "ledger/memory_ledger.h"
#include "pipeline/approvals_desk.h"
#include "pipeline/core.h"
#include "pipeline/timers.h"

namespace callgate {

pipeline::Parts pipeline::real_parts(const RuntimeOptions& options) {
    Parts parts;
    parts.clock = std::make_shared<base::SystemClock>();
    parts.rng = std::make_shared<base::SystemRng>();
    parts.timers = std::make_shared<ThreadTimers>();
    ledger::MemoryLedger::Options kept;
    kept.audit_kept = options.audit_kept;
    kept.key_ttl = options.key_ttl;
    kept.tombstone_ttl = options.tombstone_ttl;
    parts.ledger = std::make_shared<ledger::MemoryLedger>(*parts.clock, kept);
    return parts;
}

Runtime::Runtime(RuntimeOptions options) {
    auto parts = pipeline::real_parts(options);
    core_ = std::make_shared<Core>(std::move(options), std::move(parts));
    approvals_ = std::make_unique<pipeline::ApprovalsDesk>(core_);
}

Runtime::Runtime(std::shared_ptr<Core> core) : core_(std::move(core)) {
    approvals_ = std::make_unique<pipeline::ApprovalsDesk>(core_);
}

Runtime::~Runtime() {
    core_->close();
}

}  // namespace callgate
