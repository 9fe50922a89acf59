// When a call has to stop: its deadline, its caller's cancel signal, and the stop token of its tool.
#include <algorithm>

#include <fmt/format.h>

#include "base/guard.h"
#include "pipeline/attempt.h"
#include "pipeline/call.h"

namespace callgate::pipeline {
namespace {

class StopTask final : public PoolTask {
public:
    explicit StopTask(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    void run() override { call_->request_stop(); }
    void drop() override { call_->request_stop(); }

private:
    std::shared_ptr<Call> call_;
};

Error called_off() {
    return {ErrorCode::cancelled, "The call was called off before the tool began."};
}

}  // namespace

Step Call::pending_or_give_up() {
    if (!cancel_wanted() && !expired()) return Step::pending;
    give_up(*this);
    return refuse(cancel_wanted() ? called_off() : out_of_time());
}

void Call::cancel() {
    cancel_wanted_.store(true, std::memory_order_release);
    go_on();
    if (stop_at_once_.load(std::memory_order_acquire)) request_stop();
}

// The timer was set for a deadline that has moved since: another is, when the last question has its answer.
void Call::expire() {
    if (has_stood_still_.load(std::memory_order_acquire) && !is_past_deadline()) return;
    expired_.store(true, std::memory_order_release);
    go_on();
    leave_soon();
    if (stop_at_once_.load(std::memory_order_acquire)) stop_elsewhere(self());
}

void Call::stop_elsewhere(const std::shared_ptr<Call>& call) {
    {
        const base::MutexLock lock(call->stop_mutex_);
        if (!call->stop_) return;  // who asks for its stop token from now on gets one that has stopped
    }
    if (call->core->stops.submit(std::make_shared<StopTask>(call)) != WorkerPool::Submitted::taken)
        call->request_stop();
}

Error Call::out_of_time() const {
    return {ErrorCode::timed_out,
            fmt::format("The call ran out of time ({} ms) before the tool began.", timeout.count()),
            {{"timeout_ms", timeout.count()}, {"reason", "before_dispatch"}}};
}

std::optional<Error> Call::check_stopped() {
    has_awaited_ = false;
    fix_deadline();
    if (cancel_wanted() || request.context->cancel.stop_requested() || core->closing()) return called_off();
    if (expired() || is_past_deadline()) return out_of_time();
    return std::nullopt;
}

void Call::arm() {
    if (armed_) return;
    armed_ = true;
    hand_out();
    fix_deadline();
    WaitingPlace& place = others_->place;
    place.call = others_->self;
    place.id = id;
    place.parent = outcome.parent_call_id;
    place.started = started_wall;
    place.seen = {outcome.tool, outcome.action, request.context};
    core->waiting_calls.add(place);
    others_->kept = self();
    watch_deadline();
    const std::stop_token& token = request.context->cancel;
    if (token.stop_possible()) {
        others_->on_cancel.emplace(token, [weak = others_->self] {
            if (const auto alive = weak.lock()) alive->cancel();
        });
    }
    if (core->closing()) cancel();  // it came too late to be cancelled with the others
}

void Call::looks_different() {
    if (armed_) core->waiting_calls.change(others_->place, {outcome.tool, outcome.action, request.context});
}

void Call::watch_deadline() {
    others_->timer = core->timers().at(deadline, [weak = others_->self] {
        if (const auto alive = weak.lock()) alive->expire();
    });
}

void Call::disarm() {
    armed_ = false;
    core->waiting_calls.remove(others_->place);
    core->timers().cancel(others_->timer);
    if (others_->second_timer) core->timers().cancel(others_->second_timer);
    others_->on_cancel.reset();
}

void Call::wake_at(base::MonotonicTime when) {
    if (others_->second_timer) core->timers().cancel(others_->second_timer);
    others_->second_timer = core->timers().at(when, [weak = others_->self] {
        if (const auto alive = weak.lock()) alive->go_on();
    });
}

void Call::fix_deadline_again() {
    has_deadline_ = false;
    fix_deadline();
    if (!armed_) return;
    core->timers().cancel(others_->timer);
    watch_deadline();
}

void Call::fix_deadline() {
    if (has_deadline_) return;
    has_deadline_ = true;
    if (request.timeout) {
        timeout = *request.timeout;
    } else if (request.context->timeout) {
        timeout = *request.context->timeout;
    } else if (tool && tool->contract().timeout) {
        timeout = *tool->contract().timeout;
    }
    const bool counts = CALLGATE_GUARD(longest_is_no_limit) || timeout != std::chrono::milliseconds::max();
    deadline = counts ? base::later(started, timeout) : started;
    if (request.origin && request.origin->latest && *request.origin->latest < deadline &&
        CALLGATE_GUARD(parent_deadline)) {
        deadline = *request.origin->latest;
        timeout = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - started);
    }
}

void Call::watch_inline() {
    stop_at_once_.store(true, std::memory_order_release);
    arm();
}

std::stop_token Call::stop_token() {
    const base::MutexLock lock(stop_mutex_);
    if (!stop_) {
        stop_.emplace();
        if (cancel_wanted() || expired() || request.context->cancel.stop_requested()) stop_->request_stop();
    }
    return stop_->get_token();
}

void Call::request_stop() {
    std::optional<std::stop_source> source;
    {
        const base::MutexLock lock(stop_mutex_);
        if (!stop_) stop_.emplace();
        source = *stop_;
    }
    source->request_stop();
}

std::chrono::nanoseconds Call::time_left() const {
    const auto left = deadline_now() - core->clock().monotonic_now();
    return std::max(left, std::chrono::nanoseconds(0));
}

base::MonotonicTime Call::deadline_now() const {
    if (!has_stood_still_.load(std::memory_order_acquire)) return deadline;
    const base::MutexLock lock(shared.mutex);
    auto stood = shared.stood;
    if (shared.stand_stills > 0) stood += core->clock().monotonic_now() - shared.stands_since;
    // Later by a little more than it was, never earlier.
    return base::later(deadline, std::chrono::ceil<std::chrono::milliseconds>(stood));
}

void Call::stand_still() {
    const base::MutexLock lock(shared.mutex);
    has_stood_still_.store(true, std::memory_order_release);
    if (shared.stand_stills++ == 0) shared.stands_since = core->clock().monotonic_now();
}

void Call::go_on_counting() {
    {
        const base::MutexLock lock(shared.mutex);
        if (--shared.stand_stills > 0) return;
        shared.stood += core->clock().monotonic_now() - shared.stands_since;
    }
    // One timer more than it needs, perhaps: it looks, and a call that is over is not held by it.
    core->timers().at(deadline_now(), [weak = weak_self()] {
        if (const auto alive = weak.lock()) alive->expire();
    });
}

}  // namespace callgate::pipeline
