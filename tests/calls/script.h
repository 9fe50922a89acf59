// One random script: two programs that share a ledger, calls of all kinds, and everything that can happen to
// them, one step after the other on one thread. The seed decides all of it.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/callgate.h>

#include "pipeline/timers.h"

#include "scripted_tools.h"

namespace callgate::calls {

class Script final : public Stage {
public:
    /// `steps`: where to write down what happens as it does, or null.
    Script(std::uint64_t seed, std::FILE* steps);
    ~Script() override;

    void play();

    void hold(Held held) override { held_.push_back(std::move(held)); }
    void meanwhile() override;
    std::string tool_to_nest() override;
    void say(std::string_view what, std::string_view more) override;

private:
    struct Node {
        std::unique_ptr<Runtime> runtime;
        std::shared_ptr<bool> dead = std::make_shared<bool>(false);
    };
    /// A call that can be made again.
    struct Wish {
        std::string tool;
        Object args;
        Context context;
    };

    void make_node(Node& node, std::uint64_t seed);
    void set_policy(Runtime& runtime);

    void step();
    Wish new_wish();
    Wish wish_again();
    /// Begins it; what it gives back calls it off.
    std::stop_source start(Wish wish, Node& node);
    void resume(const Approval& approval, Node& node);
    void begin_call();
    void answer_one();
    void pass_time();
    void cancel_one();
    void decide_approval();
    void use_approval();
    void kill(Node& node);
    void change_tool();
    void call_without_waiting();
    void grant_or_resolve();
    void two_uses_of_one_approval();
    void the_heir_of_a_resting_call();
    void finish();

    Node& any_node();
    std::optional<Approval> any_approval();
    std::function<void(Outcome)> when_done(std::size_t call, const Wish& wish);

    std::shared_ptr<pipeline::ManualTimers> timers_ = std::make_shared<pipeline::ManualTimers>(*clock);
    std::FILE* steps_;
    std::vector<const ToolKindOfScript*> kinds_;
    std::array<Node, 2> nodes_;
    std::vector<Held> held_;
    std::vector<Wish> wishes_;
    std::vector<std::pair<std::size_t, std::stop_source>> started_;
    std::vector<std::string> ended_unknown_;
    const Wish* claiming_ = nullptr;  // what is being started, where it has a key
    int depth_ = 0;
};

}  // namespace callgate::calls
