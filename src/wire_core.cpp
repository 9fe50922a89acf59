// Where the parts of a runtime are made and connected, and nowhere else.
#include <stdexcept>

#include <callgate/runtime.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/try.h"
#include "ledger/control/server.h"
#include "ledger/control/service.h"
#include "ledger/memory_ledger.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/file_ops.h"
#include "pipeline/core.h"
#include "pipeline/option_check.h"
#include "pipeline/projection.h"
#include "pipeline/runtime_approvals.h"
#include "pipeline/timers.h"
#include "secrets/key_source.h"

namespace callgate {

namespace {

ledger::OpenApprovalLimits open_approvals(const RuntimeOptions& options) {
    ledger::OpenApprovalLimits limits;
    limits.per_principal = options.max_open_approvals_per_principal;
    limits.per_tenant = options.max_open_approvals_per_tenant;
    return limits;
}

Result<void> make_ledger(const RuntimeOptions& options, pipeline::Parts& parts) {
    if (options.ledger_dir.empty()) {
        ledger::MemoryLedger::Options kept;
        kept.audit_kept = options.audit_kept;
        kept.key_ttl = options.key_ttl;
        kept.tombstone_ttl = options.tombstone_ttl;
        kept.max_bytes = options.max_ledger_bytes;
        kept.open_approvals = open_approvals(options);
        parts.ledger = std::make_shared<ledger::MemoryLedger>(*parts.clock, kept);
        return {};
    }
    ledger::SqliteOptions durable;
    durable.directory = options.ledger_dir;
    durable.mark_dir = options.ledger_mark_dir;
    durable.kept.key_ttl = options.key_ttl;
    durable.kept.tombstone_ttl = options.tombstone_ttl;
    durable.kept.open_approvals = open_approvals(options);
    durable.strict_audit = options.strict_audit;
    durable.reads_without_record = options.reads_without_record;
    durable.readers.threads = options.ledger_readers;
    durable.writer.hung_after = options.disk_hung_after;
    durable.writer.max_waiting_bytes = options.ledger_waiting_bytes;
    durable.clock = parts.clock;
    durable.rng = parts.rng;
    durable.anchor_file = options.audit_anchor_file;
    durable.anchor_command = options.audit_anchor_command;
    durable.operator_uids.assign(options.operator_uids.begin(), options.operator_uids.end());
    if (options.seal_key) {
        os::RealFileOps files;
        CALLGATE_TRY_ASSIGN(durable.key, secrets::load_key(files, *options.seal_key));
    }
    CALLGATE_TRY_ASSIGN(auto opened, ledger::SqliteLedger::open(std::move(durable)));
    parts.ledger = opened;
    parts.operations = std::move(opened);
    return {};
}

/// Answers operators while this process owns the ledger; observers are notified of what they decide.
class OperatorServer {
public:
    static Result<std::shared_ptr<OperatorServer>> open(Runtime::Core& core) {
        auto opened = std::make_shared<OperatorServer>(core);
        ledger::ControlOptions options;
        options.directory = core.options.ledger_dir;
        options.uids.assign(core.options.control_uids.begin(), core.options.control_uids.end());
        options.gids.assign(core.options.control_gids.begin(), core.options.control_gids.end());
        // Others reach the socket where they may ask, as far as the directory lets them.
        if (!options.uids.empty() || !options.gids.empty()) options.permissions = 0666;
        CALLGATE_TRY_ASSIGN(opened->server_, ledger::ControlServer::start(opened->service_, *core.parts.clock,
                                                                          std::move(options)));
        return opened;
    }
    explicit OperatorServer(Runtime::Core& core)
        : service_(*core.parts.ledger, *core.parts.operations, *core.parts.clock,
                   [&core](const AuditEvent& event) { pipeline::project_audit(core, event); }) {}

private:
    ledger::ControlService service_;
    std::unique_ptr<ledger::ControlServer> server_;
};

Result<std::shared_ptr<Runtime::Core>> make_core(RuntimeOptions options) {
    CALLGATE_TRY(pipeline::check_options(options));
    CALLGATE_TRY_ASSIGN(auto parts, pipeline::real_parts(options));
    auto core = std::make_shared<Runtime::Core>(std::move(options), std::move(parts));
    if (core->parts.operations && core->options.control_socket) {
        CALLGATE_TRY_ASSIGN(core->parts.operator_server, OperatorServer::open(*core));
    }
    return core;
}

}  // namespace

Result<pipeline::Parts> pipeline::real_parts(const RuntimeOptions& options) {
    Parts parts;
    parts.clock = std::make_shared<base::SystemClock>();
    parts.rng = std::make_shared<base::SystemRng>();
    parts.timers = std::make_shared<ThreadTimers>();
    CALLGATE_TRY(make_ledger(options, parts));
    return parts;
}

Runtime::Runtime(RuntimeOptions options) {
    auto core = make_core(std::move(options));
    if (!core) throw std::runtime_error(core.error().message);
    core_ = std::move(*core);
    approvals_ = std::make_unique<pipeline::RuntimeApprovals>(core_);
}

Result<std::unique_ptr<Runtime>> Runtime::open(RuntimeOptions options) {
    CALLGATE_TRY_ASSIGN(auto core, make_core(std::move(options)));
    return std::make_unique<Runtime>(std::move(core));
}

Runtime::Runtime(std::shared_ptr<Core> core) : core_(std::move(core)) {
    approvals_ = std::make_unique<pipeline::RuntimeApprovals>(core_);
}

Runtime::~Runtime() {
    core_->close();
}

}  // namespace callgate
