// Episodes about calls inside calls, and calls that are called off.
#include <fmt/format.h>

#include "coroutines.h"
#include "episodes.h"

namespace callgate::hosts {

using namespace std::chrono_literals;

void Episode::parents_deadline() {
    const Episode story = *this;
    Tool inner =
        schema_tool(ToolDefinition(name("inner"), "Looks at its time", anything()),
                    [story](const Object&, CallContext& context) -> ToolReturn {
                        if (context.time_left() > 50ms)
                            story.broken("parent_deadline", "a nested call has more time than its parent");
                        return ToolResult(Value("inner"));
                    });
    Tool outer = schema_tool(ToolDefinition(name("outer"), "Calls another", anything()),
                             [inner = name("inner")](const Object&, CallContext& context) -> ToolReturn {
                                 context.call(inner, {});
                                 return ToolResult(Value("outer"));
                             });
    if (dice.chance(50)) inner.run_inline();
    if (dice.chance(50)) outer.run_inline();
    if (!add(std::move(inner)) || !add(std::move(outer))) return;
    Context hurried = context();
    hurried.timeout = 50ms;
    runtime.call(name("outer"), {}, hurried);
}

// However it calls itself, it does not go deeper than is allowed.
void Episode::nesting() {
    const auto crowd = std::make_shared<Crowd>();
    const std::string self = name("deeper");
    const bool through_context = dice.chance(50);
    const Context own = context();
    Tool tool = schema_tool(
        ToolDefinition(self, "Calls itself", anything()),
        [crowd, self, own, through_context, &of = host](const Object&, CallContext& context) -> ToolReturn {
            crowd->enter();
            const Host::Visit inside(of);
            if (crowd->entered < 30 && through_context) context.call(self, {});
            if (crowd->entered < 30 && !through_context && inside) inside->call(self, {}, own);
            crowd->leave();
            return ToolResult(Value("deep"));
        });
    if (dice.chance(70)) tool.run_inline();
    if (!add(std::move(tool))) return;
    runtime.call(self, {}, context());
    const std::size_t most = host.options().max_nesting + 1;
    if (crowd->most > static_cast<int>(most))
        broken("nesting", fmt::format("calls went {} deep; at most {} may", crowd->most.load(), most));
}

// Who holds a resource does not wait for itself.
void Episode::held_resource() {
    const auto crowd = std::make_shared<Crowd>();
    const auto inner = std::make_shared<Outcome>();
    const std::string self = name("holds");
    const bool through_context = dice.chance(50);
    const Context own = context();
    Tool tool = schema_tool(ToolDefinition(self, "Calls itself once", anything()),
                            [crowd, inner, self, own, through_context, &of = host](
                                const Object& arguments, CallContext& context) -> ToolReturn {
                                crowd->enter();
                                const Object again{{"item", "x"}, {"again", true}};
                                const Host::Visit inside(of);
                                if (!arguments.contains("again")) {
                                    if (through_context) {
                                        *inner = context.call(self, again);
                                    } else if (inside) {
                                        *inner = inside->call(self, again, own);
                                    }
                                }
                                crowd->leave();
                                return ToolResult(Value("held"));
                            });
    tool.resource_key("/item").open_arguments().run_inline().timeout(1h);
    if (!add(std::move(tool))) return;
    const Outcome outcome = runtime.call(self, {{"item", "x"}}, context());
    if (!interfered(outcome) && !interfered(*inner) && crowd->entered == 1)
        broken(
            "held_resource",
            fmt::format("a call did not get the resource that its own parent holds: {} {}",
                        to_string(inner->state()), inner->error() != nullptr ? inner->error()->message : ""));
}

// Called off by Asio's slot: it ends although its body never answers.
void Episode::called_off_by_slot() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(slow_tool(host, name("forever"), crowd, 100'000))) return;
    Made made;
    made.tool = name("forever");
    made.scope = fmt::format("t{}", first);
    made.effect = EffectClass::read;
    made.episode = true;
    host.board.begins(first, std::move(made));
    auto stop =
        await_call(host, runtime, CallRequest(name("forever")), context(),
                   [&of = host, ticket = first](const Outcome& outcome) { of.board.ended(ticket, outcome); });
    host.later(dice.below(5), [&of = host, ticket = first, stop = std::move(stop)] {
        if (!caller_manner(of.seed, ticket).holds_itself_up())
            of.board.must_end(ticket, of.clock->monotonic_now() + 5 * kStep);
        stop();
    });
}

}  // namespace callgate::hosts
