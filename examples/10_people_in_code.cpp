// A rule that asks a C++ function, a person who hears of what is to be decided, and a call that waits for it.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>

#include <callgate/callgate.h>

namespace cg = callgate;

namespace {

// What no schema can say: one argument compared with another. Quick, and the same for the same call.
bool more_than_a_tenth(const cg::CallView& call) {
    return call.arguments.at("cents").as_int64() * 10 > call.arguments.at("order_total").as_int64();
}

cg::Outcome refund(cg::Runtime& runtime, std::int64_t cents) {
    cg::Context agent;
    agent.principal = "agent";
    cg::Outcome outcome = runtime.call("refund", {{"cents", cents}, {"order_total", 20'000}}, agent);
    if (outcome.state() != cg::State::needs_approval) return outcome;
    std::cout << outcome.error()->message << '\n';
    const auto decided = runtime.approvals().wait(outcome.approval_id(), std::chrono::minutes(1));
    if (!decided) {
        std::cout << decided.error().message << '\n';
        return outcome;
    }
    std::cout << to_string(decided->state) << " by " << decided->votes.at(0).approver << '\n';
    return runtime.resume(outcome.call_id(), agent);
}

}  // namespace

int main() {
    cg::Runtime runtime;
    runtime.tools().add_or_throw(
        cg::tool(
            "refund", "Pay a part of an order back",
            [](std::int64_t cents, std::int64_t) { return "refunded " + std::to_string(cents); },
            cg::param("cents").minimum(1), cg::param("order_total"))
            .risk(cg::Risk::low)
            .effect(cg::EffectClass::unsafe));
    cg::PolicyConfig config;
    config.rules.emplace_back("large", cg::Rule::Do::confirm)
        .when_true("more_than_a_tenth", "1", more_than_a_tenth);
    if (auto set = runtime.policy().set(config); !set) {
        std::cerr << set.error().message << '\n';
        return 2;
    }

    // A person's decisions: each request is reported on a thread of its own, and decided until the handle
    // goes.
    const auto decisions = runtime.approvals().on_change([&](const cg::ApprovalChange& change) {
        if (change.what != cg::ApprovalChange::What::opened) return;
        if (change.approval.arguments.at("cents").as_int64() <= 5'000) {
            (void)runtime.approvals().approve(change.approval.id, "olga");
        } else {
            (void)runtime.approvals().deny(change.approval.id, "olga", "ask the shop");
        }
    });
    if (!decisions) return 2;

    for (const std::int64_t cents : {500, 4'000, 9'000}) {
        const cg::Outcome outcome = refund(runtime, cents);
        std::cout << to_string(outcome.state()) << ": "
                  << (outcome.ok() ? outcome.text() : outcome.error()->message) << '\n';
    }
}
