#include "callers.h"

#include <fmt/format.h>

#include "coroutines.h"
#include "episodes.h"
#include "tools.h"
#include "watchers.h"

namespace callgate::hosts {

using namespace std::chrono_literals;

namespace {

// Whether the call ends in time by itself: an inline body that calls others has its caller's thread.
bool judged(Host& host, Ticket ticket, const ToolKindOfHost& kind) {
    if (caller_manner(host.seed, root_of(ticket)).holds_itself_up()) return false;
    if (kind.mode == RunMode::pooled) return true;
    for (std::uint32_t attempt = 1; attempt <= kind.retries + 1; ++attempt) {
        if (body_manner(host.seed, ticket, attempt).inside != Inside::nothing) return false;
    }
    return true;
}

}  // namespace

Made made_of(Host& host, Ticket ticket, const ToolKindOfHost& kind, const Context& context, bool due) {
    Made made;
    made.tool = kind.name;
    made.effect = kind.effect;
    made.keyed = !context.idempotency_key.empty();
    made.scope = Board::scope_of(kind.name, ticket, context);
    if (due && context.timeout && judged(host, ticket, kind))
        made.due = host.clock->monotonic_now() + *context.timeout + 2 * kStep;
    return made;
}

void call_one(Host& host, Ticket ticket, std::size_t tool) {
    const Host::Visit runtime(host);
    if (!runtime) return;
    const ToolKindOfHost& kind = tool_kinds()[tool];
    Context context;
    context.trace_id = fmt::format("t{}", ticket);
    context.timeout = 100ms;
    host.board.begins(ticket, made_of(host, ticket, kind, context, false));
    host.board.ended(ticket, runtime->call(kind.name, arguments_of("one", ticket), context));
}

void start_one(Host& host, Ticket ticket, std::size_t tool, bool awaited) {
    const Host::Visit runtime(host);
    if (!runtime) return;
    const ToolKindOfHost& kind = tool_kinds()[tool];
    Context context;
    context.trace_id = fmt::format("t{}", ticket);
    context.timeout = 150ms;
    host.board.begins(ticket, made_of(host, ticket, kind, context, false));
    CallRequest request(kind.name, arguments_of("one", ticket));
    if (awaited) {
        await_call(host, *runtime, std::move(request), std::move(context), awaited_by(host, ticket));
    } else {
        runtime->start(std::move(request), std::move(context), done_of(host, ticket));
    }
}

Caller::Caller(Host& host, std::size_t index)
    : host_(host), index_(index), dice_(host.seed * 7919 + index * 104729 + 1) {}

void Caller::run() {
    const std::size_t steps = 3 + dice_.below(8);
    for (std::size_t i = 0; i < steps; ++i) {
        switch (dice_.weighted({50, 22, 8, 20})) {
            case 0: any_call(); break;
            case 1: keyed_call(); break;
            case 2: batch(); break;
            default:
                last_ += 20;
                play_episode(host_, outer_ticket(index_, last_ - 20), dice_);
                break;
        }
    }
}

Context Caller::context_of(Ticket ticket) {
    Context context;
    context.trace_id = fmt::format("t{}", ticket);
    if (dice_.chance(75)) context.timeout = std::chrono::milliseconds(20 + 10 * dice_.below(20));
    if (dice_.chance(40)) context.on_progress = progress_of(host_, ticket);
    if (dice_.chance(4)) context.autonomy = Autonomy::a0;
    if (dice_.chance(20)) {
        std::stop_source stop;
        context.cancel = stop.get_token();
        host_.later(dice_.below(15), [stop]() mutable { stop.request_stop(); });
    }
    return context;
}

Caller::Form Caller::any_form() {
    static constexpr Form kForms[] = {Form::call, Form::start, Form::await, Form::direct, Form::json};
    return kForms[dice_.weighted({30, 40, 18, 6, 6})];
}

void Caller::any_call() {
    const Ticket ticket = outer_ticket(index_, last_++);
    const ToolKindOfHost& kind = tool_kinds()[dice_.below(tool_kinds().size())];
    Object arguments = arguments_of(dice_.of({"a", "b", "c"}), 0);
    switch (dice_.below(25)) {
        case 0:
            arguments["item"] = 7;
            arguments["item"] = Array{7};
            break;
        case 1: arguments.erase("item"); break;
        case 2: arguments["item"] = "far too long for it"; break;
        default: break;
    }
    make(ticket, any_form(), kind, std::move(arguments), context_of(ticket));
}

void Caller::keyed_call() {
    const Ticket ticket = outer_ticket(index_, last_++);
    const KeyPlan& plan = dice_.of(host_.keys);
    Context context = context_of(ticket);
    context.idempotency_key = plan.key;
    context.principal = plan.principal;
    Form form = any_form();
    if (form == Form::direct) form = Form::start;
    make(ticket, form, tool_kinds()[plan.tool], arguments_of(plan.item, 0), std::move(context));
}

std::optional<Outcome> Caller::make(Ticket ticket, Form form, const ToolKindOfHost& kind, Object arguments,
                                    Context context) {
    const Host::Visit runtime(host_);
    if (!runtime) return std::nullopt;
    host_.board.begins(ticket, made_of(host_, ticket, kind, context, true));
    std::optional<Outcome> outcome;
    CallRequest request(kind.name, arguments);
    switch (form) {
        case Form::start:
            runtime->start(std::move(request), std::move(context), done_of(host_, ticket));
            return std::nullopt;
        case Form::await: {
            const bool stops = dice_.chance(40);
            auto stop = await_call(host_, *runtime, std::move(request), std::move(context),
                                   awaited_by(host_, ticket));
            if (stops) host_.later(dice_.below(10), std::move(stop));
            return std::nullopt;
        }
        case Form::direct:
            outcome = runtime->call_direct(make_tool(host_, kind), std::move(arguments), std::move(context));
            break;
        case Form::json:
            outcome = runtime->call_json(Object{{"name", kind.name}, {"arguments", std::move(arguments)}},
                                         std::move(context));
            break;
        default: outcome = runtime->call(std::move(request), std::move(context)); break;
    }
    host_.board.ended(ticket, *outcome);
    return outcome;
}

void Caller::batch() {
    const Host::Visit runtime(host_);
    if (!runtime) return;
    const Ticket first = outer_ticket(index_, last_);
    const std::size_t size = 1 + dice_.below(5);
    Context context = context_of(first);
    std::vector<CallRequest> calls;
    for (std::size_t i = 0; i < size; ++i) {
        const ToolKindOfHost& kind = tool_kinds()[dice_.below(tool_kinds().size())];
        const Ticket ticket = outer_ticket(index_, last_++);
        host_.board.begins(ticket, made_of(host_, ticket, kind, context, false));
        calls.emplace_back(kind.name, arguments_of(dice_.of({"a", "b"}), ticket));
    }
    const auto outcomes = runtime->call_batch(std::move(calls), std::move(context));
    for (std::size_t i = 0; i < size; ++i) host_.board.ended(first + i, outcomes[i]);
}

}  // namespace callgate::hosts
