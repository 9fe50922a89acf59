#include "pipeline/call_spec.h"

#include "base/guard.h"

namespace callgate::pipeline {

SharedContext usual_context() {
    static const Context& usual = *new Context;  // never freed: a call may still run when the program ends
    return {SharedContext(), &usual};
}

SharedContext share(Context&& context) {
    if (context.principal.empty() && CALLGATE_GUARD(one_local_principal)) context.principal = kLocalPrincipal;
    return std::make_shared<const Context>(std::move(context));
}

void use_context_of(const CallRequest& request, Context& beside) {
    if (request.context) beside = *request.context;
    if (!request.idempotency_key.empty()) beside.idempotency_key = request.idempotency_key;
}

}  // namespace callgate::pipeline
