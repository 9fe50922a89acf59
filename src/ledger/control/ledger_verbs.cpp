#include <array>
#include <utility>

#include "base/try.h"
#include "ledger/control/verbs.h"

namespace callgate::ledger {
namespace {

Result<Value> stats(VerbRequest& asked) {
    CALLGATE_TRY(asked.members.done());
    return as_answer(asked.operations.stats());
}

Result<Value> check(VerbRequest& asked) {
    CALLGATE_TRY(asked.members.done());
    return as_answer(asked.operations.check(asked.meanwhile.progress));
}

Result<Value> backup(VerbRequest& asked) {
    const std::string path = asked.members.text("path", kLongestPath);
    // The owner's working directory is not the user's.
    if (!path.empty() && !path.starts_with('/')) asked.members.refuse("path", "must begin with /");
    CALLGATE_TRY(asked.members.done());
    return as_answer(asked.operations.backup(path, asked.meanwhile.progress));
}

Result<Value> collect(VerbRequest& asked) {
    CALLGATE_TRY(asked.members.done());
    return as_answer(asked.operations.collect());
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
