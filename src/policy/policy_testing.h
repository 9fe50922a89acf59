// For tests of the policy: a tool, a caller and a question in one line each.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <callgate/policy.h>

#include "base/clock.h"
#include "policy/compiled.h"
#include "policy/decide.h"
#include "tool/tool_entry.h"

namespace callgate::policy {

inline constexpr base::WallTime kNoon = base::ManualClock::kStart + std::chrono::hours(12);  // a Thursday

class NoBody final : public ToolBody {
public:
    explicit NoBody(std::vector<std::string> actions) : actions_(std::move(actions)) {}
    ToolReturn run(const Object&, CallContext&) override {
        throw std::logic_error("the policy runs nothing");
    }
    bool has_probe() const noexcept override { return true; }
    std::vector<std::string> actions() const override { return actions_; }

private:
    std::vector<std::string> actions_;
};

inline Tool plain_tool(std::string name, Contract contract = {}, std::vector<std::string> actions = {}) {
    Tool tool(ToolDefinition(std::move(name), "A tool.", Object{{"type", "object"}}),
              std::make_shared<NoBody>(std::move(actions)));
    tool.contract = std::move(contract);
    return tool;
}

inline std::shared_ptr<const ToolEntry> entry_of(Tool tool) {
    auto made = ToolEntry::make(std::move(tool));
    if (!made) throw std::logic_error(made.error().message);
    return *made;
}

inline std::shared_ptr<const ToolEntry> entry(std::string name, Contract contract = {},
                                              std::vector<std::string> actions = {}) {
    return entry_of(plain_tool(std::move(name), std::move(contract), std::move(actions)));
}

inline Contract contract_of(Risk risk, EffectClass effect = EffectClass::unsafe) {
    Contract contract;
    contract.risk = risk;
    contract.effect = effect;
    return contract;
}

inline Context caller_at(Autonomy autonomy) {
    Context caller;
    caller.autonomy = autonomy;
    return caller;
}

inline std::shared_ptr<const Compiled> compiled(PolicyConfig config = {}) {
    auto made = Compiled::make(std::move(config), 1);
    if (!made) throw std::logic_error(made.error().message);
    return *made;
}

/// A call with everything it refers to.
struct Call {
    std::shared_ptr<const ToolEntry> tool;
    Value arguments = Object{};
    Context caller;
    std::string action = "call";
    base::WallTime now = kNoon;

    explicit Call(std::shared_ptr<const ToolEntry> what, Value with = Object{})
        : tool(std::move(what)), arguments(std::move(with)) {}

    Question question() const { return {*tool, action, arguments, caller, tool->effect(action), now}; }
};

inline std::string reason_of(const Error& error) {
    return std::string(error.details.at("reason").as_string());
}

}  // namespace callgate::policy
