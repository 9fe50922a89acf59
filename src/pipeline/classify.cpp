#include "pipeline/classify.h"

#include <fmt/format.h>

#include "pipeline/call.h"

namespace callgate::pipeline {

namespace {

[[gnu::cold]] void count_faults(Call& call, const policy::PredicateLog& log) {
    for (const policy::PredicateUse& use : log) {
        if (use.failed) call.core->counters.classify.predicate_faults.add();
    }
}

}  // namespace

Step classify(Call& call) {
    auto& last_seen = call.workspace().rules;
    const Policy::State& policy = call.core->policy.state();
    if (!last_seen || last_seen->revision() != policy.revision()) last_seen = policy.current();
    call.rules = last_seen.get();
    call.risk = policy::classify(*call.rules, call.question());
    if (call.risk.risk != call.risk.base) call.core->counters.classify.raised.add();
    if (const ColdState* const cold = call.cold_if(); cold != nullptr && !cold->predicates.empty())
        [[unlikely]]
        count_faults(call, cold->predicates);
    if (call.request.context->trace) {
        call.note("classify", to_string(call.risk.risk),
                  call.risk.risk == call.risk.base
                      ? std::string("as the contract says")
                      : fmt::format("raised from {}", to_string(call.risk.base)));
    }
    return Step::next;
}

}  // namespace callgate::pipeline
