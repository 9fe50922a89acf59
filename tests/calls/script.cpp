#include "script.h"

#include <algorithm>

#include <fmt/format.h>

#include "pipeline/core.h"

namespace callgate::calls {
namespace {

using namespace std::chrono_literals;

// What a Script only borrows out, as the shared pointer that others want.
template <class T>
std::shared_ptr<T> borrowed(T& it) {
    return {std::shared_ptr<void>(), &it};
}

std::string key_scope_of(const std::string& tool, const Context& context) {
    if (context.idempotency_key.empty()) return {};
    return fmt::format("{}/{}/{}/{}", context.tenant, context.principal, tool, context.idempotency_key);
}

}  // namespace

Script::Script(std::uint64_t seed, std::FILE* steps) : Stage(seed), steps_(steps) {
    const auto kinds = tool_kinds();
    const std::size_t wanted = 3 + dice.below(3);
    while (kinds_.size() < wanted) {
        const ToolKindOfScript* kind = &kinds[dice.below(kinds.size())];
        if (std::find(kinds_.begin(), kinds_.end(), kind) == kinds_.end()) kinds_.push_back(kind);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) make_node(nodes_[i], seed * nodes_.size() + i);
    // Runs only where the guard insert_first_claim is off: another one claims the same key in between.
    ledger.between_look_and_insert = [this] {
        if (claiming_ == nullptr) return;
        const Wish same = *claiming_;
        claiming_ = nullptr;
        say("in between", "the same claim");
        ++depth_;
        start(same, any_node());
        --depth_;
    };
}

Script::~Script() = default;

void Script::make_node(Node& node, std::uint64_t seed) {
    RuntimeOptions options;
    const auto secrets = std::make_shared<MemorySecrets>();
    for (const ToolKindOfScript* kind : kinds_) {
        (void)secrets->set(kind->name, "token", fmt::format("{}-of-{}-0123456789", kSecretMark, kind->name));
    }
    options.secrets = secrets;
    options.audit_allowed = dice.chance(30);
    options.observers.push_back(borrowed<Observer>(oracle));
    pipeline::Parts parts;
    parts.clock = clock;
    parts.rng = std::make_shared<base::SeededRng>(seed);
    parts.timers = timers_;
    parts.ledger = borrowed<ledger::Ledger>(ledger);
    const auto core = std::make_shared<Runtime::Core>(std::move(options), std::move(parts));
    // No thread but this one: what would go there is done at once, or refused.
    core->pool.close(0ms);
    core->turns.close(0ms);
    core->host.close(0ms);
    node.runtime = std::make_unique<Runtime>(core);
    set_policy(*node.runtime);
    for (const ToolKindOfScript* kind : kinds_) {
        // A probe needs a thread where its tool is async.
        const bool second = &node == &nodes_[1];
        const RunMode mode = kind->effect == EffectClass::verify && second ? RunMode::inlined : kind->mode;
        if (auto added = node.runtime->tools().add(make_tool(*this, *kind, mode, "as it was")); !added)
            oracle.fail("a tool was refused: " + added.error().message);
    }
}

void Script::set_policy(Runtime& runtime) {
    PolicyConfig config;
    config.limits.loop_repeats = 2;
    config.notifications_per_hour = 3;
    if (dice.chance(20)) {
        Rule two("two-people", Rule::Do::confirm);
        two.tools = {"w*", "p*"};
        two.approvals = 2;
        config.rules.push_back(two);
    }
    if (dice.chance(10)) {
        Rule never("not-bob", Rule::Do::deny);
        never.principals = {"bob"};
        config.rules.push_back(never);
    }
    if (auto set = runtime.policy().set(std::move(config)); !set) oracle.fail(set.error().message);
}

void Script::say(std::string_view what, std::string_view more) {
    if (steps_ == nullptr) return;
    fmt::print(steps_, "    {:>{}}{} {}\n", "", 2 * depth_, what, more);
    std::fflush(steps_);  // the next one may be the last
}

void Script::meanwhile() {
    if (depth_ >= 2 || !dice.chance(12)) return;
    ++depth_;
    step();
    --depth_;
}

std::string Script::tool_to_nest() {
    std::vector<const ToolKindOfScript*> fit;
    for (const ToolKindOfScript* kind : kinds_) {
        if (kind->at_once()) fit.push_back(kind);
    }
    return fit.empty() ? std::string() : std::string(dice.of(fit)->name);
}

Script::Node& Script::any_node() {
    Node& node = nodes_[dice.below(nodes_.size())];
    // A dead one still tries now and then.
    if (*node.dead && dice.chance(85)) return &node == &nodes_[0] ? nodes_[1] : nodes_[0];
    return node;
}

Script::Wish Script::new_wish() {
    Wish wish;
    wish.tool = dice.of(kinds_)->name;
    if (dice.chance(4))
        wish.tool = dice.chance(50) ? std::string("nobody") : std::string(tool_kinds()[dice.below(15)].name);
    wish.args = {{"item", dice.of({"a", "b"})}, {"n", dice.below(2)}};
    if (dice.chance(3)) wish.args["n"] = "many";
    if (dice.chance(2)) wish.args.erase("item");
    Context& context = wish.context;
    if (dice.chance(60)) context.idempotency_key = fmt::format("k{}", dice.below(3));
    context.principal = dice.chance(85) ? "ann" : "bob";
    context.autonomy = static_cast<Autonomy>(dice.weighted({4, 8, 40, 28, 20}));
    if (dice.chance(85)) context.scopes = {"vault"};
    if (dice.chance(25)) context.run_id = "run";
    if (dice.chance(40)) context.timeout = std::chrono::milliseconds(dice.of({0, 50, 700, 5'000, 90'000}));
    context.trace = dice.chance(15);
    return wish;
}

Script::Wish Script::wish_again() {
    Wish wish = dice.of(wishes_);
    if (dice.chance(12)) wish.args["n"] = 7;  // the same key, other arguments
    if (dice.chance(20)) wish.context.timeout = 60s;
    if (dice.chance(10)) wish.context.autonomy = Autonomy::a4;
    return wish;
}

std::function<void(Outcome)> Script::when_done(std::size_t call, const Wish& wish) {
    return [this, call, scope = key_scope_of(wish.tool, wish.context)](const Outcome& outcome) {
        say("ended", fmt::format("t{} {} {} {}", call, outcome.call_id(), to_string(outcome.state()),
                                 outcome.error() != nullptr ? outcome.error()->message : outcome.text()));
        if (outcome.state() == State::unknown) ended_unknown_.push_back(outcome.call_id());
        oracle.ended(call, outcome, scope);
    };
}

std::stop_source Script::start(Wish wish, Node& node) {
    const std::size_t call = oracle.begins(node.dead);
    say("start", fmt::format("t{} on node {}: {} {} key '{}' {} {}", call, &node - nodes_.data(), wish.tool,
                             json::write(wish.args), wish.context.idempotency_key, wish.context.principal,
                             to_string(wish.context.autonomy)));
    wish.context.trace_id = Oracle::trace_of(call);
    std::stop_source stop;
    started_.emplace_back(call, stop);
    Context context = wish.context;
    context.cancel = stop.get_token();
    if (dice.chance(1)) stop.request_stop();
    if (dice.chance(15))
        context.on_progress = [this](const Progress& progress) { oracle.on_progress(progress); };
    const bool keyed = !wish.context.idempotency_key.empty();
    if (keyed && depth_ == 0) claiming_ = &wish;
    node.runtime->start(CallRequest(wish.tool, wish.args), std::move(context), when_done(call, wish));
    claiming_ = nullptr;
    return stop;
}

// Runtime::resume waits for the end; where that may be far, the same call again uses the approval too.
void Script::resume(const Approval& approval, Node& node) {
    Wish wish;
    wish.tool = approval.tool;
    if (approval.arguments.is_object()) wish.args = approval.arguments.get_object();
    wish.context.principal = approval.requester;
    wish.context.idempotency_key = approval.idempotency_key;
    wish.context.scopes = approval.scopes;
    wish.context.autonomy = approval.autonomy;
    const bool at_once = std::any_of(kinds_.begin(), kinds_.end(), [&](const ToolKindOfScript* kind) {
        return kind->name == approval.tool && kind->at_once();
    });
    if (!at_once || !approval.idempotency_key.empty()) {
        start(wish, node);
        return;
    }
    if (dice.chance(5)) wish.context.principal = "mallory";
    const std::size_t call = oracle.begins(node.dead);
    say("resume",
        fmt::format("t{} on node {}: {} of {}", call, &node - nodes_.data(), approval.tool, approval.id));
    wish.context.trace_id = Oracle::trace_of(call);
    when_done(call, wish)(node.runtime->resume(approval.call_id, wish.context));
}

void Script::begin_call() {
    Wish wish = !wishes_.empty() && dice.chance(50) ? wish_again() : new_wish();
    wishes_.push_back(wish);
    start(std::move(wish), any_node());
}

void Script::step() {
    switch (dice.weighted({36, 22, 13, 5, 8, 5, 1, 3, 4, 3, 2, 2})) {
        case 0: begin_call(); break;
        case 1: answer_one(); break;
        case 2: pass_time(); break;
        case 3: cancel_one(); break;
        case 4: decide_approval(); break;
        case 5: use_approval(); break;
        case 6: kill(nodes_[dice.below(nodes_.size())]); break;
        case 7: change_tool(); break;
        case 8: call_without_waiting(); break;
        case 9: grant_or_resolve(); break;
        case 10: two_uses_of_one_approval(); break;
        default: the_heir_of_a_resting_call(); break;
    }
}

void Script::play() {
    const std::size_t steps = 8 + dice.below(18);
    for (std::size_t i = 0; i < steps && oracle.violation().empty(); ++i) step();
    finish();
    oracle.check();
}

// Everything comes to its end: by answers, by time, or because the programs end.
void Script::finish() {
    depth_ = 2;  // no new ideas now
    const std::size_t how = dice.below(3);
    if (how == 0) {
        for (int i = 0; i < 200 && !held_.empty(); ++i) answer_one();
    }
    if (how <= 1) {
        for (int i = 0; i < 50 && oracle.open_calls() > 0; ++i) {
            say("time passes:", "10 min");
            timers_->advance(10min);
        }
    }
    while (dice.chance(70) && !held_.empty()) answer_one();
    for (Node& node : nodes_) node.runtime.reset();
    for (int i = 0; i < 200 && !held_.empty(); ++i) answer_one();
    held_.clear();
}

}  // namespace callgate::calls
