// Episodes about approvals: used once, for what was approved, and never in the way.
#include <thread>

#include <fmt/format.h>

#include "episodes.h"

namespace callgate::hosts {

void Episode::approval_used_once() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(counting_tool(name("send"), crowd).risk(Risk::high))) return;
    const Outcome asked = runtime.call(name("send"), {{"n", 1}}, context());
    if (asked.state() != State::needs_approval) return;
    if (crowd->entered > 0) broken("approval", "a call that needs approval ran without");
    if (!runtime.approvals().approve(asked.approval_id(), "olga")) return;
    std::thread other([&] { runtime.resume(asked.call_id(), context()); });
    runtime.resume(asked.call_id(), context());
    other.join();
    runtime.resume(asked.call_id(), context());
    if (crowd->entered > 1)
        broken("approval", fmt::format("an approval was used {} times", crowd->entered.load()));
}

void Episode::approval_of_other_arguments() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(counting_tool(name("move"), crowd).risk(Risk::high))) return;
    const Outcome asked = runtime.call(name("move"), {{"n", 1}}, context());
    if (asked.state() != State::needs_approval) return;
    if (!runtime.approvals().approve(asked.approval_id(), "olga")) return;
    runtime.call(name("move"), {{"n", 2}}, context());
    if (crowd->entered > 0) broken("approval", "an approval was used for other arguments");
    const Outcome resumed = runtime.resume(asked.call_id(), context());
    if (interfered(resumed)) return;
    if (!resumed.ok() || resumed.arguments().at("n") != 1)
        broken("approval", fmt::format("what was approved did not run: {}", to_string(resumed.state())));
}

void Episode::approval_refused() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(counting_tool(name("wipe"), crowd).risk(Risk::high))) return;
    const Outcome asked = runtime.call(name("wipe"), {{"n", 1}}, context());
    if (asked.state() != State::needs_approval) return;
    if (dice.chance(30)) {
        (void)runtime.approvals().approve(asked.approval_id(), "local");
    } else if (dice.chance(50)) {
        (void)runtime.approvals().deny(asked.approval_id(), "olga", "no");
    } else {
        (void)runtime.approvals().revoke(asked.approval_id(), "olga");
    }
    runtime.resume(asked.call_id(), context());
    if (crowd->entered > 0) broken("approval", "a call ran that nobody else had agreed to");
}

// The definition stays, and what decides the effect changes behind the approval's back.
void Episode::approval_of_another_body() {
    const auto crowd = std::make_shared<Crowd>();
    Tool tool = counting_tool(name("post"), crowd).risk(Risk::high);
    tool.contract.config_ref = "one";
    tool.connector("first");
    if (!add(tool)) return;
    const Outcome asked = runtime.call(name("post"), {{"n", 1}}, context());
    if (asked.state() != State::needs_approval) return;
    if (!runtime.approvals().approve(asked.approval_id(), "olga")) return;
    if (dice.chance(50)) {
        tool.contract.config_ref = "two";
    } else {
        tool.connector("second");
    }
    if (!runtime.tools().add(std::move(tool), IfPresent::replace)) return;
    runtime.resume(asked.call_id(), context());
    if (crowd->entered > 0)
        broken("digest", "an approval was used although the tool acts with another configuration");
}

// What a hook makes of the arguments is what people see; it is not done again.
void Episode::hooks_once() {
    const auto hooked = std::make_shared<std::atomic<int>>(0);
    const auto seen = std::make_shared<std::atomic<std::int64_t>>(0);
    ActionHooks hooks;
    const auto more = [hooked](Object arguments) -> Result<Object> {
        ++*hooked;
        arguments["n"] = arguments.at("n").as_int64() + 1;
        return arguments;
    };
    (dice.chance(50) ? hooks.before_validate : hooks.after_validate) = more;
    Tool tool = action_tool(
                    ToolDefinition(name("act"), "Acts", Object{{"type", "object"}}),
                    [seen](const Object& arguments, CallContext&) -> ToolReturn {
                        *seen = arguments.at("n").as_int64();
                        return ToolResult(Value("acted"));
                    },
                    hooks)
                    .risk(Risk::high)
                    .open_arguments();
    if (!add(std::move(tool))) return;
    const Outcome asked = runtime.call(name("act"), {{"n", 1}}, context());
    if (asked.state() != State::needs_approval) return;
    if (!runtime.approvals().approve(asked.approval_id(), "olga")) return;
    const Outcome resumed = runtime.resume(asked.call_id(), context());
    if (interfered(resumed)) return;
    if (!resumed.ok() || *seen != 2)
        broken("hooks", fmt::format("approved with n = 2, resumed: {}, n = {}", to_string(resumed.state()),
                                    seen->load()));
}

void Episode::approvals_capped() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(counting_tool(name("ask"), crowd).risk(Risk::high))) return;
    Context many = context();
    many.principal = name("many");
    std::size_t open = 0;
    for (std::size_t i = 0; i < kOpenApprovals + 2; ++i) {
        const Outcome asked = runtime.call(name("ask"), {{"n", i}}, many);
        if (asked.state() == State::needs_approval) ++open;
    }
    if (open > kOpenApprovals)
        broken("approvals_capped", fmt::format("one principal has {} open approvals", open));
}

// One caller alone is the operator: policies are replaced as a whole.
void Episode::reload(const std::vector<Rule>& rules) {
    PolicyConfig config;
    config.rules = rules;
    if (auto set = runtime.policy().set(config); !set) broken("harness", set.error().message);
}

void Episode::stale_approval() {
    const auto crowd = std::make_shared<Crowd>();
    if (!is_operator() || !add(counting_tool(name("conf"), crowd))) return;
    Rule rule(dice.chance(50) ? name("rule") : std::string(), Rule::Do::confirm);
    rule.tools = {name("conf")};
    reload({rule});
    const Outcome asked = runtime.call(name("conf"), {{"n", 1}}, context());
    if (asked.state() != State::needs_approval) return;
    if (dice.chance(60) && !runtime.approvals().approve(asked.approval_id(), "olga")) return;
    rule.approvals = 2;
    rule.reason = "two of them now";
    reload({rule});
    runtime.resume(asked.call_id(), context());
    if (crowd->entered > 0) broken("stale", "an approval was used under a rule that had changed");
    const Outcome again = runtime.call(name("conf"), {{"n", 1}}, context());
    if (interfered(again) || again.state() == State::limited) return;
    for (const char* person : {"olga", "paul"}) {
        if (again.approval_id().empty() || !runtime.approvals().approve(again.approval_id(), person))
            return broken("stale", fmt::format("asked again, and nothing can be approved: {}",
                                               to_string(again.state())));
    }
    const Outcome resumed = runtime.resume(again.call_id(), context());
    if (interfered(resumed)) return;
    if (!resumed.ok())
        broken("stale", fmt::format("asked again and approved, and yet: {} {}", to_string(resumed.state()),
                                    resumed.error()->message));
}

void Episode::rule_by_content() {
    const auto crowd = std::make_shared<Crowd>();
    if (!is_operator() || !add(counting_tool(name("cont"), crowd))) return;
    Rule rule("", Rule::Do::confirm);
    rule.tools = {name("cont")};
    reload({rule});
    const Outcome asked = runtime.call(name("cont"), {{"n", 1}}, context());
    if (asked.state() != State::needs_approval) return;
    if (!runtime.approvals().approve(asked.approval_id(), "olga")) return;
    Rule elsewhere("", Rule::Do::deny);
    elsewhere.tools = {"nobody_*"};
    reload({elsewhere, rule});
    const Outcome resumed = runtime.resume(asked.call_id(), context());
    if (interfered(resumed)) return;
    if (!resumed.ok())
        broken("rule_identity",
               fmt::format("a rule inserted elsewhere voided an approval: {}", resumed.error()->message));
}

}  // namespace callgate::hosts
