// What can happen in a script besides new calls.
#include <fmt/format.h>

#include "base/must.h"
#include "pipeline/core.h"

#include "script.h"

namespace callgate::calls {

using namespace std::chrono_literals;

void Script::answer_one() {
    if (held_.empty()) return begin_call();
    const std::size_t index = dice.below(held_.size());
    Held held = std::move(held_[index]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
    say("answer", fmt::format("{} of {}", held.kind->name, held.attempt->context().call_id()));
    if (dice.chance(20)) busy(*this, *held.kind, held.attempt->context(), held.secret);
    if (dice.chance(8)) return;  // it goes away without an answer
    held.attempt->finish(answer(*this, held.entry, held.secret, false));
    if (dice.chance(5)) held.attempt->finish(ToolResult(Value("once more")));
    if (dice.chance(5)) held.attempt->context().progress("after the end " + held.secret);
}

void Script::pass_time() {
    static constexpr std::chrono::milliseconds kTimes[] = {1ms, 100ms, 600ms, 5s, 31s, 16min, 2h};
    const auto passed = kTimes[dice.weighted({10, 20, 25, 20, 15, 7, 3})];
    say("time passes:", fmt::format("{} ms", passed.count()));
    timers_->advance(passed);
}

void Script::cancel_one() {
    if (started_.empty()) return begin_call();
    auto& [call, stop] = dice.of(started_);
    say("cancel", Oracle::trace_of(call));
    std::stop_source one = stop;
    one.request_stop();
}

std::optional<Approval> Script::any_approval() {
    auto all = must(ledger.approvals(dice.chance(80) ? std::optional(ApprovalState::pending) : std::nullopt));
    if (all.empty()) return std::nullopt;
    return dice.of(all);
}

void Script::decide_approval() {
    const auto approval = any_approval();
    if (!approval) return begin_call();
    Approvals& approvals = any_node().runtime->approvals();
    const std::string who = dice.of({"olga", "paul", "ann", "bob"});
    const std::size_t what = dice.weighted({75, 8, 10, 7});
    static constexpr std::string_view kWhat[] = {"approve", "deny", "revoke", "approve edited"};
    say(kWhat[what], fmt::format("{} by {}", approval->id, who));
    Result<Approval> decided;
    switch (what) {
        case 0:
            decided =
                approvals.approve(approval->id, who, dice.of({Assurance::a1, Assurance::a2, Assurance::a2}));
            break;
        case 1: decided = approvals.deny(approval->id, who, "no"); break;
        case 2: decided = approvals.revoke(approval->id, who); break;
        default: {
            Object args = approval->arguments.is_object() ? approval->arguments.get_object() : Object();
            args["n"] = 9;
            (void)approvals.approve_edited(approval->id, args, who);
            return;
        }
    }
    if (decided && (what == 1 || what == 2)) oracle.closed(approval->id);
}

void Script::use_approval() {
    auto all =
        must(ledger.approvals(dice.chance(85) ? std::optional(ApprovalState::approved) : std::nullopt));
    if (all.empty()) return decide_approval();
    resume(dice.of(all), any_node());
}

void Script::kill(Node& node) {
    if (*node.dead || *nodes_[0].dead || *nodes_[1].dead) return begin_call();
    say("kill", fmt::format("node {}", &node - nodes_.data()));
    *node.dead = true;
    ledger.owner_gone(node.runtime->core()->owner);
}

void Script::change_tool() {
    Registry& tools = any_node().runtime->tools();
    const ToolKindOfScript& kind = *dice.of(kinds_);
    const std::size_t what = dice.weighted({15, 15, 15, 45, 10});
    static constexpr std::string_view kWhat[] = {"quarantine", "silence", "unavailable", "release",
                                                 "replace"};
    say(kWhat[what], kind.name);
    switch (what) {
        case 0: tools.quarantine(kind.name, "it looked at me"); break;
        case 1: tools.silence(kind.name); break;
        case 2: {
            ToolHealth down;
            down.status = HealthStatus::unavailable;
            tools.update_health(kind.name, down);
            break;
        }
        case 3:
            tools.release(kind.name);
            tools.update_health(kind.name, ToolHealth());
            break;
        default: tools.add_or_throw(make_tool(*this, kind, kind.mode, "as it is now"), IfPresent::replace);
    }
}

// Previews, batches and tool calls as JSON: the forms that return when all is done.
void Script::call_without_waiting() {
    Node& node = any_node();
    Wish wish = new_wish();
    wish.context.idempotency_key.clear();
    switch (dice.below(4)) {
        case 0:
            say("preview", wish.tool);
            oracle.ended(node.runtime->preview(wish.tool, wish.args, wish.context));
            break;
        case 1:
            say("a tool call as text", "");
            oracle.ended(node.runtime->call_json(
                dice.of({"{", "[]", R"({"name":"nobody"})", R"({"name":7})"}), wish.context));
            break;
        default: {
            const std::string tool = tool_to_nest();
            if (tool.empty()) return;
            say("a batch of", tool);
            const std::vector<CallRequest> batch(2 + dice.below(3), CallRequest(tool, wish.args));
            for (const Outcome& outcome : node.runtime->call_batch(batch, wish.context))
                oracle.ended(outcome);
        }
    }
}

void Script::grant_or_resolve() {
    Node& node = any_node();
    if (!ended_unknown_.empty() && dice.chance(60)) {
        const std::string id = dice.of(ended_unknown_);
        say("a person resolves", id);
        (void)node.runtime->resolve(id, dice.chance(50), "olga", "looked");
        return;
    }
    Grant grant;
    grant.tool = dice.of(kinds_)->name;
    grant.principal = "ann";
    grant.uses = 1 + static_cast<std::uint32_t>(dice.below(2));
    grant.expires_at = clock->wall_now() + 1h;
    grant.granted_by = "olga";
    say("grant", grant.tool);
    (void)node.runtime->policy().add_grant(grant);
}

// Two calls that have both seen the approval before either claims: they wait for the same resource meanwhile.
void Script::two_uses_of_one_approval() {
    Node& node = any_node();
    if (!node.runtime->tools().contains("pay")) return begin_call();
    Wish wish = new_wish();
    wish.tool = "pay";
    wish.args = {{"item", "a"}, {"n", dice.below(2)}};
    wish.context.autonomy = Autonomy::a2;
    wish.context.timeout.reset();
    if (dice.chance(70)) wish.context.idempotency_key.clear();
    Wish first = wish;
    first.args["n"] = 5;
    first.context.autonomy = Autonomy::a4;
    first.context.idempotency_key.clear();
    start(wish, node);
    const auto all = must(ledger.approvals(ApprovalState::pending));
    if (all.empty()) return;
    (void)node.runtime->approvals().approve(all.back().id, "olga");
    (void)node.runtime->approvals().approve(all.back().id, "paul");
    start(first, node);
    for (int i = 0; i < 2; ++i) {
        const auto approval = ledger.approval(all.back().id);
        if (dice.chance(50)) {
            start(wish, node);
        } else if (approval) {
            resume(*approval, node);
        }
    }
}

// A call waits for its next attempt when its program dies, and another takes it over.
void Script::the_heir_of_a_resting_call() {
    Node& node = any_node();
    Wish wish = new_wish();
    wish.context.idempotency_key = "inherited";
    wish.context.autonomy = Autonomy::a3;
    wish.context.timeout = 700ms;
    std::stop_source first = start(wish, node);
    for (std::size_t i = dice.below(3); i > 0; --i) answer_one();
    kill(node);
    wish.context.timeout = 60s;
    wishes_.push_back(wish);
    start(wish, any_node());
    if (dice.chance(50)) first.request_stop();
    if (dice.chance(50)) timers_->advance(1s);
    start(wish, any_node());
}

}  // namespace callgate::calls
