// A process that owns a ledger and serves its control socket, for tests of the operators' verbs.
//
//     ledger_owner DIRECTORY
//
// Says "ready" when it serves. Then it does what each line of its input says, and says "done" after each:
//     approvals FIRST COUNT         so many are pending, with ids from FIRST on
//     approval NUMBER JSON          one, with these arguments
//     call NUMBER END               one that ended as succeeded, failed or ambiguous
// At the end of its input it stops serving and lets the ledger go.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include <unistd.h>

#include "base/clock.h"
#include "base/must.h"
#include "ledger/blocking_waiter.h"
#include "ledger/control/filled_ledger.h"
#include "ledger/control/server.h"
#include "ledger/sqlite/sqlite_ledger.h"

using namespace callgate;
using namespace callgate::ledger;

namespace {

int complain(const Error& error) {
    std::cerr << "ledger_owner: " << error.message << '\n';
    return 1;
}

AttemptEnd end_named(const std::string& word) {
    if (word == "succeeded") return AttemptEnd::succeeded;
    return word == "failed" ? AttemptEnd::failed : AttemptEnd::ambiguous;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: ledger_owner DIRECTORY\n";
        return 2;
    }
    SqliteOptions options;
    options.directory = argv[1];
    options.kept.open_approvals.per_principal = options.kept.open_approvals.per_tenant = 1'000'000;
    options.writer.hung_after = std::chrono::minutes(10);  // the machine may have better things to do
    // Whoever runs the tests decides, without a signature, unless told otherwise.
    if (std::getenv("LEDGER_OWNER_NO_OPERATOR") == nullptr) options.operator_uids.push_back(::getuid());
    auto opened = SqliteLedger::open(std::move(options));
    if (!opened) return complain(opened.error());
    SqliteLedger& owned = **opened;
    const base::SystemClock clock;
    ControlService service(owned, owned, clock);
    ControlOptions served;
    served.directory = argv[1];
    const auto server = ControlServer::start(service, clock, served);
    if (!server) return complain(server.error());
    const OwnerId owner = must(register_owner(owned));
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string what;
        std::uint64_t number = 0;
        words >> what >> number;
        if (what == "approvals") {
            std::uint64_t count = 0;
            words >> count;
            ledger::testing::open_approvals(owned, number, count);
        } else if (what == "approval") {
            std::string text;
            std::getline(words, text);
            auto arguments = json::parse(text);
            if (!arguments) return complain(arguments.error());
            ledger::testing::open_approval(owned, number, *arguments);
        } else if (what == "call") {
            std::string end;
            words >> end;
            ledger::testing::finished_call(owned, owner, number, end_named(end));
        } else {
            std::cerr << "ledger_owner: what is '" << what << "'?\n";
            return 2;
        }
        std::cout << "done" << std::endl;
    }
    owned.owner_gone(owner);
    return 0;
}
