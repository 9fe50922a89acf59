// Where the parts of a runtime are made and connected, and nowhere else.
#include <stdexcept>

#include <callgate/runtime.h>

#include "base/clock.h"
#include "base/rng.h"
#include "ledger/memory_ledger.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "pipeline/approvals_desk.h"
#include "pipeline/core.h"
#include "pipeline/timers.h"

namespace callgate {

namespace {

Result<std::shared_ptr<ledger::Ledger>> make_ledger(const RuntimeOptions& options,
                                                    const pipeline::Parts& parts) {
    if (options.ledger_dir.empty()) {
        ledger::MemoryLedger::Options kept;
        kept.audit_kept = options.audit_kept;
        kept.key_ttl = options.key_ttl;
        kept.tombstone_ttl = options.tombstone_ttl;
        return std::make_shared<ledger::MemoryLedger>(*parts.clock, kept);
    }
    ledger::SqliteOptions durable;
    durable.directory = options.ledger_dir;
    durable.kept.key_ttl = options.key_ttl;
    durable.kept.tombstone_ttl = options.tombstone_ttl;
    durable.strict_audit = options.strict_audit;
    durable.reads_without_record = options.reads_without_record;
    durable.clock = parts.clock;
    durable.rng = parts.rng;
    return ledger::SqliteLedger::open(std::move(durable));
}

}  // namespace

Result<pipeline::Parts> pipeline::real_parts(const RuntimeOptions& options) {
    Parts parts;
    parts.clock = std::make_shared<base::SystemClock>();
    parts.rng = std::make_shared<base::SystemRng>();
    parts.timers = std::make_shared<ThreadTimers>();
    auto made = make_ledger(options, parts);
    if (!made) return tl::unexpected(std::move(made.error()));
    parts.ledger = std::move(*made);
    return parts;
}

Runtime::Runtime(RuntimeOptions options) {
    auto parts = pipeline::real_parts(options);
    if (!parts) throw std::runtime_error(parts.error().message);
    core_ = std::make_shared<Core>(std::move(options), std::move(*parts));
    approvals_ = std::make_unique<pipeline::ApprovalsDesk>(core_);
}

Result<std::unique_ptr<Runtime>> Runtime::open(RuntimeOptions options) {
    auto parts = pipeline::real_parts(options);
    if (!parts) return tl::unexpected(std::move(parts.error()));
    return std::make_unique<Runtime>(std::make_shared<Core>(std::move(options), std::move(*parts)));
}

Runtime::Runtime(std::shared_ptr<Core> core) : core_(std::move(core)) {
    approvals_ = std::make_unique<pipeline::ApprovalsDesk>(core_);
}

Runtime::~Runtime() {
    core_->close();
}

}  // namespace callgate
