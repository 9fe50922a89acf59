#include "episodes.h"

#include <fmt/format.h>

namespace callgate::hosts {
namespace {

using namespace std::chrono_literals;

Value any_item() {
    return Object{{"type", "object"},
                  {"properties", {{"item", {{"type", "string"}}}, {"n", {{"type", "integer"}}}}},
                  {"additionalProperties", true}};
}

class SlowBody final : public ToolBody {
public:
    SlowBody(Host& host, std::shared_ptr<Crowd> crowd, std::uint64_t steps)
        : host_(host), crowd_(std::move(crowd)), steps_(steps) {}
    RunMode mode() const noexcept override { return RunMode::async; }
    void start(std::shared_ptr<Attempt> attempt) override {
        crowd_->enter();
        host_.later(steps_, [crowd = crowd_, kept = std::move(attempt)]() mutable {
            crowd->leave();
            kept->finish(ToolResult(Value("slow")));
            kept = nullptr;
        });
    }

private:
    Host& host_;
    std::shared_ptr<Crowd> crowd_;
    std::uint64_t steps_;
};

}  // namespace

Tool counting_tool(const std::string& name, std::shared_ptr<Crowd> crowd) {
    return schema_tool(ToolDefinition(name, "Counts", any_item()),
                       [crowd = std::move(crowd)](const Object&, CallContext&) -> ToolReturn {
                           crowd->enter();
                           crowd->leave();
                           return ToolResult(Value("counted"));
                       })
        .run_inline();
}

Tool slow_tool(Host& host, const std::string& name, std::shared_ptr<Crowd> crowd, std::uint64_t steps) {
    return Tool(ToolDefinition(name, "Takes its time", any_item()),
                std::make_shared<SlowBody>(host, std::move(crowd), steps));
}

std::string Episode::name(std::string_view what) const {
    return fmt::format("e{}_{}", first, what);
}

bool Episode::add(Tool tool) {
    return runtime.tools().add(std::move(tool)).has_value();
}

Context Episode::context() const {
    Context context;
    context.trace_id = fmt::format("t{}", first);
    context.timeout = 1h;
    return context;
}

void Episode::broken(std::string_view rule, const std::string& what) const {
    if (!host.board.is_closing()) host.board.violation(first, rule, what);
}

bool Episode::interfered(const Outcome& outcome) const {
    if (host.board.is_closing()) return true;
    switch (outcome.state()) {
        case State::cancelled:
        case State::timed_out:
        case State::unavailable: return true;
        default: return false;
    }
}

void play_episode(Host& host, Ticket first, Dice& dice) {
    static constexpr void (Episode::* kStories[])() = {
        &Episode::concurrent,
        &Episode::rate,
        &Episode::resource,
        &Episode::scopes,
        &Episode::places_in_turn,
        &Episode::approvals_capped,
        &Episode::key_of_another_request,
        &Episode::one_winner,
        &Episode::batch_keys,
        &Episode::reserved_suffix,
        &Episode::no_time_limit,
        &Episode::empty_principal,
        &Episode::thrown_things,
        &Episode::defaults,
        &Episode::hooks_once,
        &Episode::not_a_number,
        &Episode::approval_of_another_body,
        &Episode::approval_used_once,
        &Episode::approval_of_other_arguments,
        &Episode::approval_refused,
        &Episode::stale_approval,
        &Episode::rule_by_content,
        &Episode::parents_deadline,
        &Episode::nesting,
        &Episode::held_resource,
        &Episode::called_off_by_slot,
        &Episode::asking,
    };
    const auto story = kStories[dice.below(std::size(kStories))];
    const Host::Visit runtime(host);
    if (!runtime) return;
    Episode episode(host, *runtime, first, dice);
    (episode.*story)();
}

}  // namespace callgate::hosts
