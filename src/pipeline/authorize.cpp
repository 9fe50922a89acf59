#include "pipeline/authorize.h"

#include <fmt/format.h>

#include "base/guard.h"
#include "pipeline/call.h"

namespace callgate::pipeline {

Step authorize(Call& call) {
    const std::string* missing = call.tool->missing_scope(call.request.context->scopes, call.outcome.action);
    if (missing == nullptr || !CALLGATE_GUARD(scopes_checked)) {
        call.note("authorize", "granted");
        return Step::next;
    }
    if (call.tool->contract().hidden_without_scopes) {
        call.core->counters.authorize.hidden.add();
        return refuse_as_unknown(call);
    }
    call.core->counters.authorize.scope_denied.add();
    return call.refuse(Error(
        ErrorCode::scope_denied,
        fmt::format("The tool {} needs the scope '{}', which was not granted.", call.tool->name(), *missing),
        {{"reason", "missing_scope"}, {"scope", *missing}}));
}

}  // namespace callgate::pipeline
