// A ledger as the operators' verbs reach it: through the process that owns it, or, while none does, by owning
// it for as long as the verb takes. Either way the same verbs give the same answers.
//
// While this program owns it, it serves the control socket, too: another verb that runs at the same time gets
// its answer from here.
//
// Threads: one thread; while it owns the ledger, that has its own.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <sys/types.h>

#include <callgate/error.h>
#include <callgate/json.h>

#include "ledger/control/service.h"

namespace callgate::cli {

/// Where the ledger is: `given` (--ledger), else $CALLGATE_LEDGER, else $XDG_STATE_HOME/callgate, else
/// ~/.local/state/callgate. config_error {reason: no_home} where none of them is known.
Result<std::string> ledger_directory(const std::string& given);

/// Whose ledger is there: config_error {reason: no_ledger}, ledger_unavailable {reason: not_allowed}.
Result<uid_t> owner_of(const std::string& directory);

class LedgerAccess {
public:
    /// config_error {reason: no_ledger} where there is none: asking makes none. ledger_unavailable
    /// {reason: not_allowed} where it is somebody else's, {reason: ledger_owned} where its owner does not
    /// answer for `patience`, else as SqliteLedger::open.
    static Result<LedgerAccess> open(const std::string& directory,
                                     std::chrono::milliseconds patience = std::chrono::milliseconds(3'000));

    LedgerAccess(LedgerAccess&&) noexcept;
    LedgerAccess& operator=(LedgerAccess&&) noexcept;
    ~LedgerAccess();

    /// The result of one verb (docs/formats/control.md). When `meanwhile` says stop, long work is called off.
    Result<Value> ask(const Object& request, const ledger::Meanwhile& meanwhile = {});

    /// Nobody else owns it now.
    bool owns() const noexcept;
    /// Serves nobody else from now on. True: it did, so that there may be news.
    bool stop_serving();

private:
    struct Parts;
    explicit LedgerAccess(std::unique_ptr<Parts> parts);

    std::unique_ptr<Parts> parts_;
};

}  // namespace callgate::cli
