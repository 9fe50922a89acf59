// For tests of the operators' verbs: a ledger in a directory of its own, free or owned by the test, and ways
// to run the program on it.
#pragma once

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <callgate/json.h>

#include "base/clock.h"
#include "base/must.h"
#include "ledger/blocking_waiter.h"
#include "ledger/control/filled_ledger.h"
#include "ledger/control/server.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/scratch_dir.h"
#include "program.h"
#include "program_testing.h"

namespace callgate::cli::testing {

class LedgerTest {
public:
    explicit LedgerTest(bool owned = false, ledger::SqliteOptions options = {}) {
        options.directory = directory();
        options.operator_uids.push_back(::getuid());
        ledger_ = ledger::SqliteLedger::open(std::move(options)).value();
        if (owned) serve();
    }

    std::string directory() const { return dir_.file("ledger"); }
    ledger::SqliteLedger& ledger() { return *ledger_; }
    ledger::OwnerId owner() {
        if (!owner_) owner_ = must(ledger::register_owner(*ledger_));
        return *owner_;
    }
    void serve() {
        service_.emplace(*ledger_, *ledger_, clock_);
        ledger::ControlOptions options;
        options.directory = directory();
        server_ = ledger::ControlServer::start(*service_, clock_, options).value();
    }
    /// Whoever comes next finds it free.
    void let_go() {
        server_.reset();
        service_.reset();
        ledger_.reset();
        owner_.reset();
    }
    void open_again() {
        ledger::SqliteOptions options;
        options.directory = directory();
        options.operator_uids.push_back(::getuid());
        ledger_ = ledger::SqliteLedger::open(std::move(options)).value();
    }

    /// The verb on this ledger. `typed`: somebody sits at the terminal and types it.
    Ran run(std::vector<std::string> arguments, std::optional<std::string> typed = {}) const {
        std::ostringstream out;
        std::ostringstream err;
        std::istringstream in(typed.value_or(""));
        Console console{out, err, {}, {}};
        if (typed) {
            console.err_terminal.is_terminal = true;
            console.person = &in;
        }
        arguments.insert(arguments.end(), {"--ledger", directory()});
        const int exit_code = run_program(arguments, console);
        return {exit_code, out.str(), err.str()};
    }
    Value json(std::vector<std::string> arguments) const {
        arguments.emplace_back("--json");
        return run(std::move(arguments)).answer();
    }

private:
    os::ScratchDir dir_;
    base::SystemClock clock_;
    std::shared_ptr<ledger::SqliteLedger> ledger_;
    std::optional<ledger::OwnerId> owner_;
    std::optional<ledger::ControlService> service_;
    std::unique_ptr<ledger::ControlServer> server_;
};

}  // namespace callgate::cli::testing
