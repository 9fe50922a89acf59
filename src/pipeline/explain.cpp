// A call that is only thought through: the stages before the gate as they are, then the gate's decision in
// words.
#include <array>

#include "pipeline/call.h"
#include "pipeline/core.h"
#include "pipeline/pipeline.h"
#include "policy/decide.h"

namespace callgate {

CallExplanation Runtime::Core::explain(pipeline::Request request, std::optional<base::WallTime> at) {
    // Those that look and decide; the later ones remember or act.
    constexpr std::array<std::size_t, 4> kThinking{0, 1, 2, 3};
    static_assert(pipeline::kStages[0].name == "resolve" && pipeline::kStages[1].name == "authorize" &&
                  pipeline::kStages[2].name == "validate" && pipeline::kStages[3].name == "classify");

    const auto call = make_call();
    call->prepare(std::move(request));
    call->observers = nullptr;
    if (at) call->started_wall = *at;

    CallExplanation explanation;
    for (const std::size_t stage : kThinking) {
        call->stage_ = stage;
        if (pipeline::kStages[stage].run(*call) == pipeline::Step::next) continue;
        explanation.refused = std::move(call->outcome.error);
        break;
    }
    if (call->arguments) explanation.arguments = *call->arguments;
    if (!explanation.refused) {
        explanation.decision = policy::explain(policy, call->question());
        call->note("gate", to_string(explanation.decision->gate), explanation.decision->reason);
    }
    explanation.stages = std::move(call->outcome.trace);
    return explanation;
}

CallExplanation Runtime::explain(CallRequest request, Context context,
                                 std::optional<std::chrono::system_clock::time_point> at) {
    pipeline::use_context_of(request, context);
    pipeline::Request asked;
    asked.tool = std::move(request.tool);
    asked.action = std::move(request.action);
    asked.arguments = std::move(request.arguments);
    context.trace = true;
    asked.context = pipeline::share(std::move(context));
    std::optional<base::WallTime> when;
    if (at) when = std::chrono::time_point_cast<std::chrono::microseconds>(*at);
    return core_->explain(std::move(asked), when);
}

}  // namespace callgate
