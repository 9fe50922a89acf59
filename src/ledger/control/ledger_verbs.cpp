#include <array>
#include <utility>

#include "base/try.h"
#include "ledger/control/verbs.h"

namespace callgate::ledger {
namespace {

Result<Value> stats(VerbRequest& request) {
    CALLGATE_TRY(request.members.done());
    return as_answer(request.operations.stats());
}

Result<Value> check(VerbRequest& request) {
    CALLGATE_TRY(request.members.done());
    return as_answer(request.operations.check(request.meanwhile.progress));
}

Result<Value> backup(VerbRequest& request) {
    const std::string path = request.members.text("path", kLongestPath);
    // The owner's working directory is not the user's.
    if (!path.empty() && !path.starts_with('/')) request.members.refuse("path", "must begin with /");
    CALLGATE_TRY(request.members.done());
    return as_answer(request.operations.backup(path, request.meanwhile.progress));
}

Result<Value> collect(VerbRequest& request) {
    CALLGATE_TRY(request.members.done());
    return as_answer(request.operations.collect());
}

}  // namespace

std::span<const Verb> ledger_verbs() noexcept {
    using enum Verb::Length;
    using enum Verb::For;
    // The last two make files, and take something away for good.
    static constexpr std::array kVerbs = {Verb{"ledger.stats", stats}, Verb{"ledger.check", check, lengthy},
                                          Verb{"ledger.backup", backup, lengthy, process},
                                          Verb{"ledger.gc", collect, lengthy, owner}};
    return kVerbs;
}

}  // namespace callgate::ledger
