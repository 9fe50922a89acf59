// Rules that look into the arguments, and a person who approves one exact call.
#include <iostream>
#include <string>
#include <string_view>

#include <callgate/callgate.h>

namespace cg = callgate;

namespace {

// Payments above 100 need a person; those above 10,000 are denied. Rules are data, and may come from a file.
constexpr const char* kPolicy = R"({
    "antiflap_ms": 0,
    "rules": [
        {"id": "too-much", "decision": "deny", "tools": ["pay"], "reason": "above the ceiling",
         "arguments": {"properties": {"amount": {"exclusiveMinimum": 10000}}, "required": ["amount"]}},
        {"id": "large", "decision": "confirm", "tools": ["pay"], "reason": "above 100",
         "arguments": {"properties": {"amount": {"exclusiveMinimum": 100}}, "required": ["amount"]}},
        {"id": "small", "decision": "allow", "tools": ["pay"]}
    ]
})";

void show(std::string_view what, const cg::Outcome& outcome) {
    std::cout << what << ": " << to_string(outcome.state()) << ": "
              << (outcome.ok() ? outcome.text() : outcome.error()->message) << '\n';
}

}  // namespace

int main() {
    cg::Runtime runtime;
    runtime.tools().add_or_throw(
        cg::tool(
            "pay", "Pay somebody",
            [](const std::string& to, int amount) { return "paid " + std::to_string(amount) + " to " + to; },
            cg::param("to"), cg::param("amount").minimum(1))
            .risk(cg::Risk::low)
            .effect(cg::EffectClass::unsafe)
            .target("/to"));
    auto config = cg::policy_from_json(cg::json::parse(kPolicy).value());
    if (!config) {
        std::cerr << config.error().message << '\n';
        return 2;
    }
    if (auto set = runtime.policy().set(*config); !set) return 2;

    cg::Context agent;
    agent.principal = "agent";
    show("small", runtime.call("pay", {{"to", "ada"}, {"amount", 20}}, agent));
    show("too much", runtime.call("pay", {{"to", "ada"}, {"amount", 20'000}}, agent));

    const cg::Outcome asked = runtime.call("pay", {{"to", "ada"}, {"amount", 500}}, agent);
    show("large", asked);

    // Who asks cannot approve. Who approves sees exactly what would be done.
    const auto open = runtime.approvals().get(asked.approval_id());
    std::cout << "to approve: " << open->tool << ' ' << cg::json::write(open->arguments) << '\n';
    if (auto own = runtime.approvals().approve(asked.approval_id(), "agent"); !own)
        std::cout << "by the agent itself: refused, " << own.error().details.at("reason").as_string().c_str()
                  << '\n';
    if (auto vote = runtime.approvals().approve(asked.approval_id(), "grace"); !vote) return 1;

    // Approving executed nothing; resume() does, once. Other arguments are another call.
    show("resumed", runtime.resume(asked.call_id(), agent));
    show("resumed again", runtime.resume(asked.call_id(), agent));
    show("with other arguments", runtime.call("pay", {{"to", "ada"}, {"amount", 501}}, agent));

    // One denial is final.
    const cg::Outcome second = runtime.call("pay", {{"to", "eve"}, {"amount", 900}}, agent);
    if (auto vote = runtime.approvals().deny(second.approval_id(), "grace", "who is eve?"); !vote) return 1;
    const cg::Outcome denied = runtime.resume(second.call_id(), agent);
    show("denied", denied);
    return denied.state() == cg::State::denied ? 0 : 1;
}
