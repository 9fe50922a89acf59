#include "tools.h"

#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

namespace callgate::hosts {
namespace {

using namespace std::chrono_literals;

Value input_schema() {
    return Object{{"type", "object"},
                  {"properties",
                   {{"item", {{"type", "string"}, {"maxLength", 8}}},
                    {"n", {{"type", "integer"}}},
                    {"id", {{"type", "integer"}}}}},
                  {"required", Array{"item"}}};
}

class HostBody final : public ToolBody {
public:
    HostBody(Host& host, const ToolKindOfHost& kind) : host_(host), kind_(kind) {}

    RunMode mode() const noexcept override { return kind_.mode; }

    ToolReturn run(const Object& arguments, CallContext& context) override {
        const Ticket ticket = ticket_of(arguments, context.caller());
        if (kind_.mode == RunMode::pooled) host_.foreign(ticket, "a pooled body");
        check(ticket, arguments, context);
        const BodyManner manner = body_manner(host_.seed, ticket, context.attempt());
        const std::size_t entry = host_.board.enter(ticket, kind_.name, kind_.effect, context);
        if (manner.progress) context.progress("half way", 1, 2);
        call_inside(host_, ticket, context, manner.inside, true);
        // One that runs inline has promised not to stand still.
        if (manner.stands > 0 && kind_.mode == RunMode::pooled)
            host_.gates.stand(manner.stands, manner.obeys ? context.cancel() : std::stop_token());
        return answer(host_, entry, manner, true);
    }

    void start(std::shared_ptr<Attempt> attempt) override {
        const Ticket ticket = ticket_of(attempt->arguments(), attempt->context().caller());
        check(ticket, attempt->arguments(), attempt->context());
        const BodyManner manner = body_manner(host_.seed, ticket, attempt->context().attempt());
        const std::size_t entry = host_.board.enter(ticket, kind_.name, kind_.effect, attempt->context());
        if (manner.progress) attempt->context().progress("begun");
        call_inside(host_, ticket, attempt->context(), manner.inside, false);
        if (manner.stands == 0) return finish(*attempt, entry, manner);
        host_.later(manner.stands, [this, kept = std::move(attempt), entry, manner]() mutable {
            if (manner.progress) kept->context().progress("late");
            finish(*kept, entry, manner);
            kept = nullptr;
        });
    }

    bool has_probe() const noexcept override { return kind_.effect == EffectClass::verify; }
    Reconciliation reconcile(std::string_view, const Object& arguments, CallContext& context) override {
        const Ticket ticket = ticket_of(arguments, context.caller());
        host_.board.note(ticket, "is probed");
        return {host_.board.happened(Board::scope_of(kind_.name, ticket, context.caller())),
                ToolResult(Value("found"))};
    }

private:
    // The schema check and A0 hold, or the body would not be here.
    void check(Ticket ticket, const Object& arguments, const CallContext& context) {
        const Value* item = arguments.if_contains("item");
        if (item == nullptr || !item->is_string() || item->get_string().size() > 8)
            host_.board.violation(ticket, "schema", kind_.name + " was entered with invalid arguments");
        if (context.caller().autonomy == Autonomy::a0)
            host_.board.violation(ticket, "a0", kind_.name + " was entered at A0");
    }

    void finish(Attempt& attempt, std::size_t entry, const BodyManner& manner) {
        if (manner.ends == Ends::nothing) {  // the last handle goes: lost
            host_.board.answers(entry, Ends::nothing, manner.applies);
            return;
        }
        attempt.finish(answer(host_, entry, manner, false));
        if (manner.twice) attempt.finish(ToolResult(Value("once more")));
    }

    Host& host_;
    const ToolKindOfHost& kind_;
};

Ticket number(std::string_view text) {
    Ticket value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

const std::vector<ToolKindOfHost>& tool_kinds() {
    using enum EffectClass;
    using enum RunMode;
    static const std::vector<ToolKindOfHost> kinds{
        {"p_read", read, pooled, false, 1},           {"p_keyed", keyed, pooled, false, 2},
        {"p_verify", verify, pooled, false, 0},       {"p_tx", tx, pooled, false, 0},
        {"p_unsafe", unsafe, pooled, false, 0},       {"p_retry", unsafe, pooled, false, 2},
        {"p_narrow", unsafe, pooled, false, 0, true}, {"p_rate", unsafe, pooled, false, 0, false, true},
        {"i_read", read, inlined, false, 0},          {"i_unsafe", unsafe, inlined, false, 0},
        {"i_retry", unsafe, inlined, false, 3},       {"a_read", read, async, false, 1},
        {"a_unsafe", unsafe, async, false, 1},        {"a_keyed", keyed, async, false, 2},
        {"a_narrow", unsafe, async, false, 0, true},  {"c_read", read, async, true, 0},
        {"c_unsafe", unsafe, async, true, 1},
    };
    return kinds;
}

Ticket ticket_of_trace(std::string_view trace) {
    return trace.starts_with('t') ? number(trace.substr(1)) : 0;
}

Ticket ticket_of(const Object& arguments, const Context& caller) {
    const Value* id = arguments.if_contains("id");
    if (id != nullptr && id->is_int64() && id->get_int64() != 0) return static_cast<Ticket>(id->get_int64());
    if (id != nullptr && id->is_uint64()) return id->get_uint64();
    return ticket_of_trace(caller.trace_id);
}

Object arguments_of(std::string_view item, Ticket ticket) {
    Object arguments{{"item", item}, {"n", 1}};
    if (ticket != 0) arguments["id"] = static_cast<std::int64_t>(ticket);
    return arguments;
}

ToolReturn answer(Host& host, std::size_t entry, const BodyManner& manner, bool may_throw) {
    Ends how = manner.ends;
    if (how == Ends::nothing || (!may_throw && (how == Ends::exception || how == Ends::number)))
        how = Ends::lost;
    host.board.answers(entry, how, manner.applies);
    switch (how) {
        case Ends::value: return ToolResult(Value(fmt::format("r{}", entry)));
        case Ends::told: return tl::unexpected(ToolFailure::answered("It said no."));
        case Ends::not_applied: return tl::unexpected(ToolFailure::not_applied("Nothing was done."));
        case Ends::unreachable: return tl::unexpected(ToolFailure::unreachable("No route."));
        case Ends::exception: throw std::runtime_error("it broke");
        case Ends::number: throw 42;  // NOLINT(hicpp-exception-baseclass): tools do
        default: return tl::unexpected(ToolFailure::lost("The line went dead."));
    }
}

void call_inside(Host& host, Ticket ticket, CallContext& context, Inside how, bool may_block) {
    if (how == Inside::nothing) return;
    Dice dice(host.seed * 31 + ticket);
    const std::size_t tool = dice.below(tool_kinds().size());
    const Ticket inner = inner_ticket(ticket, context.attempt() * 16);
    if (!may_block && how != Inside::start) how = Inside::async_call;
    switch (how) {
        case Inside::context_call: {
            Made made;
            made.tool = tool_kinds()[tool].name;
            made.effect = tool_kinds()[tool].effect;
            made.scope = fmt::format("t{}", inner);
            host.board.begins(inner, std::move(made));
            host.board.ended(inner, context.call(tool_kinds()[tool].name, arguments_of("in", inner)));
            break;
        }
        case Inside::runtime_call: call_one(host, inner, tool); break;
        case Inside::batch:
        case Inside::start: start_one(host, inner, tool, false); break;
        case Inside::async_call: start_one(host, inner, tool, true); break;
        case Inside::nothing: break;
    }
}

Tool make_tool(Host& host, const ToolKindOfHost& kind) {
    Tool tool = kind.coroutine ? make_coroutine_tool(host, kind)
                               : Tool(ToolDefinition(kind.name, "A tool of a host", input_schema()),
                                      std::make_shared<HostBody>(host, kind));
    tool.effect(kind.effect).risk(Risk::low);
    if (kind.retries > 0) {
        RetryPolicy retry(kind.retries);
        retry.base_delay = 20ms;
        tool.retries(retry);
    }
    tool.contract.breaker.failures = kBreakerFailures;
    tool.contract.breaker.rest = 100ms;
    if (kind.narrow) tool.resource_key("/item");
    if (kind.limited) {
        UseLimits limits;
        limits.calls = 5;
        limits.window = 200ms;
        tool.limits(limits);
    }
    return tool;
}

}  // namespace callgate::hosts
