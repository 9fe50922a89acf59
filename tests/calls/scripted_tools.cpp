#include "scripted_tools.h"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

namespace callgate::calls {
namespace {

using namespace std::chrono_literals;

constexpr auto kInline = RunMode::inlined;
constexpr auto kAsync = RunMode::async;

constexpr std::array<ToolKindOfScript, 15> kKinds{{
    {"look", EffectClass::read, kInline, Risk::low, 0, Trait::output},
    {"fetch", EffectClass::read, kAsync, Risk::low, 2, Trait::none},
    {"send", EffectClass::unsafe, kInline, Risk::low, 2, Trait::none},
    {"order", EffectClass::unsafe, kAsync, Risk::low, 2, Trait::none},
    {"pay", EffectClass::unsafe, kAsync, Risk::high, 0, Trait::resource},
    {"stamp", EffectClass::keyed, kInline, Risk::low, 2, Trait::none},
    {"note", EffectClass::keyed, kAsync, Risk::medium, 2, Trait::none},
    {"book", EffectClass::verify, kAsync, Risk::low, 1, Trait::none},
    {"move", EffectClass::tx, kAsync, Risk::low, 1, Trait::none},
    {"wipe", EffectClass::unsafe, kInline, Risk::critical, 0, Trait::preview},
    {"ring", EffectClass::unsafe, kInline, Risk::low, 0, Trait::target},
    {"drain", EffectClass::unsafe, kInline, Risk::low, 0, Trait::limits},
    {"vault", EffectClass::unsafe, kAsync, Risk::medium, 0, Trait::scope},
    {"edit", EffectClass::unsafe, kInline, Risk::low, 0, Trait::undo},
    {"plan", EffectClass::unsafe, kInline, Risk::low, 0, Trait::nests},
}};

Value input_schema() {
    return Object{{"type", "object"},
                  {"properties", {{"item", {{"type", "string"}}}, {"n", {{"type", "integer"}}}}},
                  {"required", Array{"item"}}};
}

class ScriptedBody final : public ToolBody {
public:
    ScriptedBody(Stage& stage, const ToolKindOfScript& kind, RunMode mode)
        : stage_(stage), kind_(kind), mode_(mode) {
        hooks_.compensate = [this](const Error&, const Object&, CallContext&) -> Result<void> {
            if (stage_.dice.chance(30)) return fail(ErrorCode::tool_error, "It could not be undone.");
            return {};
        };
    }

    RunMode mode() const noexcept override { return mode_; }

    ToolReturn run(const Object&, CallContext& context) override {
        const std::size_t entry = enter(context);
        std::string secret;
        busy(stage_, kind_, context, secret);
        stage_.meanwhile();
        return answer(stage_, entry, secret, true);
    }

    void start(std::shared_ptr<Attempt> attempt) override {
        CallContext& context = attempt->context();
        const std::size_t entry = enter(context);
        std::string secret;
        if (stage_.dice.chance(25)) busy(stage_, kind_, context, secret);
        if (stage_.dice.chance(15)) return attempt->finish(answer(stage_, entry, secret, true));
        stage_.hold({std::move(attempt), &kind_, entry, std::move(secret)});
    }

    bool has_preview() const noexcept override { return kind_.trait == Trait::preview; }
    Result<Preview> preview(const Object&, CallContext& context) override {
        std::string secret;
        busy(stage_, kind_, context, secret);
        if (stage_.dice.chance(10)) throw std::runtime_error("no preview " + secret);
        if (stage_.dice.chance(10)) return fail(ErrorCode::tool_error, "no preview: " + secret);
        return Preview("it would do it " + secret);
    }

    bool has_probe() const noexcept override { return kind_.effect == EffectClass::verify; }
    Reconciliation reconcile(std::string_view, const Object&, CallContext& context) override {
        if (stage_.dice.chance(15)) throw std::runtime_error("the probe broke");
        if (stage_.dice.chance(15)) return Reconciliation::Verdict::cannot_tell;
        const bool happened = stage_.oracle.happened(std::string(kind_.name), context);
        stage_.say("the probe finds", happened ? "applied" : "not applied");
        if (!happened) return Reconciliation::Verdict::not_applied;
        return {Reconciliation::Verdict::applied, ToolResult(Value("found"))};
    }

    const ActionHooks* hooks() const noexcept override {
        return kind_.trait == Trait::undo ? &hooks_ : nullptr;
    }

private:
    std::size_t enter(CallContext& context) {
        stage_.say("entered", fmt::format("{} by {}, trace {}", kind_.name, context.call_id(),
                                          context.caller().trace_id));
        return stage_.oracle.enter(std::string(kind_.name), kind_.effect, context, stage_.dice.chance(65));
    }

    Stage& stage_;
    const ToolKindOfScript& kind_;
    RunMode mode_;
    ActionHooks hooks_;
};

ToolResult good_result(Stage& stage, const std::string& secret) {
    std::string text = fmt::format("r{}{}", ++stage.answers, secret);
    ToolResult result;
    switch (stage.dice.below(6)) {
        case 0: result.value = Object{{"deep", Array{Object{{"text", text}, {secret, 1}}}}}; break;
        case 1:
            result.blocks = {Block::of_text(text), Block::of_link("https://example.org/" + secret, secret)};
            break;
        case 2:
            result.value = "structured beside " + text;
            result.structured = Object{{"t", text}};
            result.raw = "raw " + text;
            break;
        default: result.value = text;
    }
    return result;
}

Error bad(ErrorCode code, const std::string& secret) {
    return {code, "It did not work " + secret, Object{{"said", secret}}};
}

}  // namespace

std::span<const ToolKindOfScript> tool_kinds() {
    return kKinds;
}

std::string take_secret(Stage& stage, CallContext& context) {
    std::string taken;
    (void)context.with_secret("token", [&](const Secret& secret) { taken = std::string(secret.expose()); });
    if (!taken.empty()) stage.oracle.secret_used();
    return taken;
}

void busy(Stage& stage, const ToolKindOfScript& kind, CallContext& context, std::string& secret) {
    Dice& dice = stage.dice;
    if (secret.empty() && dice.chance(kind.trait == Trait::scope ? 80 : 20))
        secret = take_secret(stage, context);
    if (dice.chance(10)) context.progress("half way " + secret, 1, 2);
    // Where it is cut, half a secret must not be left over.
    if (!secret.empty() && dice.chance(10))
        context.progress(std::string(4'096 - kSecretMark.size(), '.') + secret);
    if (dice.chance(10)) context.partial(Object{{"so far", "some " + secret}});
    if (!dice.chance(kind.trait == Trait::nests ? 70 : 3)) return;
    const std::string inner = stage.tool_to_nest();
    if (inner.empty()) return;
    Object args{{"item", dice.chance(30) ? "x" + secret : std::string("a")}, {"n", 1}};
    if (dice.chance(10)) args["n"] = "none " + secret;
    stage.say("calls from inside", inner);
    stage.oracle.ended(context.call(inner, std::move(args)));
}

ToolReturn answer(Stage& stage, std::size_t entry, const std::string& secret, bool may_throw) {
    Dice& dice = stage.dice;
    const std::string leaked = dice.chance(60) ? secret : std::string();
    if (stage.oracle.applies(entry)) {
        switch (dice.weighted({60, 10, 14, 8, 8})) {
            case 0: stage.say("answers", "ok"); return good_result(stage, leaked);
            case 1:
                stage.say("answers", "a failure");
                return tl::unexpected(ToolFailure(bad(ErrorCode::tool_error, leaked)));
            case 2: break;
            case 3:
                if (!may_throw) break;
                stage.say("throws", "an exception");
                throw std::runtime_error("it broke " + leaked);
            default:
                if (!may_throw) break;
                stage.say("throws", "a number");
                throw 42;  // NOLINT(hicpp-exception-baseclass): tools do
        }
    } else {
        switch (dice.weighted({25, 40, 8, 17})) {
            case 0:
                stage.say("answers", "not applied");
                stage.oracle.not_applied(entry);
                return tl::unexpected(
                    ToolFailure::not_applied("Nothing was done " + leaked, {{"said", leaked}}));
            case 1:
                stage.say("answers", "unreachable");
                stage.oracle.not_applied(entry);
                return tl::unexpected(ToolFailure::unreachable("No route " + leaked));
            case 2:
                stage.say("answers", "rate limited");
                stage.oracle.not_applied(entry);
                return tl::unexpected(ToolFailure::rate_limited("Too fast " + leaked, 200ms));
            default: break;
        }
    }
    stage.say("answers", "lost");
    return tl::unexpected(ToolFailure::lost("The line went dead " + leaked));
}

Tool make_tool(Stage& stage, const ToolKindOfScript& kind, RunMode mode, std::string_view description) {
    Tool tool(ToolDefinition(std::string(kind.name), std::string(description), input_schema()),
              std::make_shared<ScriptedBody>(stage, kind, mode));
    tool.effect(kind.effect).risk(kind.risk);
    if (kind.retries > 0) tool.retries(RetryPolicy(kind.retries));
    switch (kind.trait) {
        case Trait::resource: tool.resource_key("/item"); break;
        case Trait::target: tool.target("/item").capability("notification"); break;
        case Trait::limits: {
            UseLimits limits;
            limits.concurrent = 1;
            limits.calls = 3;
            limits.per_run = 2;
            tool.limits(limits);
            break;
        }
        case Trait::scope: tool.scopes({"vault"}); break;
        case Trait::undo: tool.kind = ToolKind::action; break;
        case Trait::output:
            tool.output(Object{{"type", Array{"string", "object"}}, {"maxProperties", 1}});
            break;
        default: break;
    }
    return tool;
}

}  // namespace callgate::calls
