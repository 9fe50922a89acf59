#include "pipeline/admission.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard.h"
#include "json/equal.h"
#include "json/pointer.h"
#include "pipeline/attempt.h"
#include "pipeline/call.h"
#include "pipeline/key.h"

namespace callgate::pipeline {
namespace {

[[gnu::hot]] std::optional<Step> check_loop(Call& call) {
    const std::uint32_t limit = call.rules->config().limits.loop_repeats;
    if (limit == 0 || call.request.context->run_id.empty()) return std::nullopt;
    const std::string run = call.run_key();
    call.loop_hash =
        json::hash(*call.arguments, call.core->hash_seed ^ std::hash<std::string>()(call.outcome.tool) ^
                                        std::hash<std::string>()(call.outcome.action) * 31);
    if (!call.core->policy.state().loops.looping(run, call.loop_hash, limit)) return std::nullopt;
    call.core->counters.gate.looped.add();
    return call.refuse(Error(ErrorCode::loop_detected,
                             fmt::format("This call was made {} times in a row with the same result.", limit),
                             {{"reason", "same_result"}, {"repeats", limit}}));
}

[[gnu::hot]] std::optional<Step> check_breaker(Call& call) {
    LiveState& live = call.tool->live();
    if (live.breaker_shut()) return std::nullopt;
    const LiveState::Passage passage = live.pass(call.core->clock().monotonic_now());
    call.probes_breaker = passage.probe;
    if (passage.open) return std::nullopt;
    call.core->counters.gate.circuit_open.add();
    return call.refuse(
        Error(ErrorCode::circuit_open,
              fmt::format("The tool {} failed too often in a row and rests.", call.tool->name()),
              {{"reason", "circuit_open"}, {"retry_after_ms", passage.wait.count()}}));
}

// Its code holds threads past their deadlines, and there are as many of those as may be: it gets no more.
std::optional<Step> check_abandoned(Call& call) {
    if (call.tool->live().abandoned.load(std::memory_order_relaxed) <= 0) return std::nullopt;
    const std::size_t limit = call.core->options.max_abandoned;
    if (call.core->pool.counts().abandoned_now < limit) return std::nullopt;
    call.core->counters.gate.abandoned_calls.add();
    return call.refuse(Error(ErrorCode::unavailable,
                             fmt::format("Earlier calls of the tool {} have not returned; it gets no more "
                                         "threads until they do.",
                                         call.tool->name()),
                             {{"reason", "abandoned_calls"}, {"limit", limit}}));
}

// Refused before anything is claimed: what is queued is bounded.
std::optional<Step> check_queue(Call& call) {
    if (call.tool->mode() != RunMode::pooled || !call.core->pool.full()) return std::nullopt;
    call.core->counters.gate.queue_full.add();
    return call.refuse(queue_full(call));
}

bool may_queue(const Call& call) {
    const PolicyLimits& limits = call.rules->config().limits;
    return CALLGATE_GUARD(places_are_waited_for) &&
           (call.tool->contract().limits.queue || limits.per_tool.queue || limits.per_principal.queue ||
            limits.per_run.queue);
}

std::optional<Step> wait_for_place(Call& call) {
    if (!call.cold().ticket.waits()) return std::nullopt;
    return call.pending_or_give_up();
}

std::optional<Step> take_ticket(Call& call, policy::Limiter& limiter, policy::Limiter::Ask ask) {
    if (call.cold().ticket.held()) return wait_for_place(call);
    policy::Limiter::Ready ready;
    if (may_queue(call)) {
        call.arm();
        ready = [self = call.weak_self()] {
            if (const auto alive = self.lock()) alive->go_on();
        };
    }
    Result<void> entered;
    Origin* const origin = call.request.origin.get();
    if (origin != nullptr) ask.held = &origin->held_places;
    if (origin != nullptr && origin->ticket.held()) {
        call.cold().ticket = std::move(origin->ticket);
        entered = limiter.enter(*call.rules, ask, call.cold().ticket, std::move(ready));
    } else {
        auto taken = limiter.take(*call.rules, ask, call.core->clock().monotonic_now(), std::move(ready));
        if (taken) {
            call.cold().ticket = std::move(*taken);
        } else {
            entered = tl::unexpected(std::move(taken.error()));
        }
    }
    if (!entered) {
        call.core->counters.gate.limited.add();
        return call.refuse(std::move(entered.error()));
    }
    auto waits = wait_for_place(call);
    if (waits) call.core->counters.gate.waited_for_place.add();
    return waits;
}

[[gnu::hot]] std::optional<Step> take_limits(Call& call) {
    policy::Limiter& limiter = call.core->policy.state().limiter;
    const policy::Limiter::Ask ask{call.tool, call.request.context.get()};
    return limiter.unlimited(*call.rules, ask) ? std::nullopt : take_ticket(call, limiter, ask);
}

[[gnu::hot]] std::optional<Step> check_suppression(Call& call) {
    const policy::Question question = call.question();
    if (!policy::Suppression::concerns(*call.rules, question)) return std::nullopt;
    const auto block = call.core->policy.state().suppression.admit(*call.rules, question,
                                                                   call.core->clock().monotonic_now());
    if (!block) return std::nullopt;
    call.core->counters.gate.suppressed.add();
    return call.refuse(Error(ErrorCode::suppressed, block->message,
                             {{"reason", block->kind}, {"retry_after_ms", block->wait.count()}}));
}

std::optional<Step> take_resource(Call& call) {
    if (!call.tool->resource_key() || call.cold().hold.held()) return std::nullopt;
    const Value* key = json::find(*call.arguments, *call.tool->resource_key());
    if (key == nullptr) return std::nullopt;
    std::string& waits_for = call.cold().waits_for_resource;
    if (waits_for.empty()) {
        std::string resource = fmt::format("{}\n{}\n{}", call.request.context->tenant,
                                           call.tool->contract().connector_id, json::canonical(*key));
        if (const Origin* const origin = call.request.origin.get()) {
            const auto& held = origin->held_resources;
            if (std::find(held.begin(), held.end(), resource) != held.end()) return std::nullopt;
        }
        waits_for = std::move(resource);
        call.arm();
    } else if (call.expired() || call.cancel_wanted()) {
        return call.pending_or_give_up();
    }
    auto hold = call.core->policy.state().resources.acquire(waits_for, call.ticket_number(),
                                                            [self = call.weak_self()] {
                                                                if (const auto alive = self.lock())
                                                                    alive->go_on();
                                                            });
    if (!hold && !CALLGATE_GUARD(one_at_a_resource)) return std::nullopt;
    if (!hold) {
        call.core->counters.gate.waited_for_resource.add();
        return Step::pending;
    }
    call.cold().hold = std::move(*hold);
    return std::nullopt;
}

std::optional<Step> use_grant(Call& call) {
    const ColdState* const cold = call.cold_if();
    if (cold == nullptr || cold->grant_id.empty()) return std::nullopt;
    if (!call.core->policy.state().grants.use(cold->grant_id, call.core->clock().wall_now())) {
        return call.refuse(Error(ErrorCode::denied,
                                 "The grant for this call was used up or has expired; call again.",
                                 {{"reason", "grant_spent"}}));
    }
    call.core->counters.gate.by_grant.add();
    call.note("gate", "granted", "grant " + cold->grant_id);
    return std::nullopt;
}

}  // namespace

Step admit(Call& call) {
    if (!call.admitted) {
        if (auto step = check_abandoned(call)) return *step;
        if (auto step = check_queue(call)) return *step;
        if (auto step = check_loop(call)) return *step;
        if (auto step = take_limits(call)) return *step;
        if (auto step = check_breaker(call)) return *step;
        call.admitted = true;
    }
    if (auto step = take_resource(call)) return *step;
    if (auto step = check_suppression(call)) return *step;
    if (auto step = use_grant(call)) return *step;
    return Step::next;
}

}  // namespace callgate::pipeline
