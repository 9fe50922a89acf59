// A call goes from thread to thread: what each transition of its run state asks for.
#include "base/guard.h"
#include "pipeline/call.h"
#include "pipeline/leave.h"

namespace callgate::pipeline {
namespace {

// How long after its deadline a call still waits for the ledger.
constexpr std::chrono::milliseconds kLedgerGrace{100};

// A call that nobody waits for goes on, on a thread that may run calls.
class TurnTask final : public PoolTask {
public:
    explicit TurnTask(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    void run() override { call_->take_turn(); }
    void drop() override { call_->take_turn(); }

private:
    std::shared_ptr<Call> call_;
};

// The reply that a call left behind has come, on a thread that may run calls.
class LeftReply final : public PoolTask {
public:
    LeftReply(std::shared_ptr<Call> call, bool turn) : call_(std::move(call)), turn_(turn) {}
    void run() override {
        after_leaving(call_);
        if (turn_) call_->core->turn_came();
    }
    void drop() override { run(); }

private:
    std::shared_ptr<Call> call_;
    bool turn_;
};

}  // namespace

bool Call::takes(Then then) noexcept {
    if (then == Then::run_without_reply) leaving_ = true;
    return then == Then::run || then == Then::run_without_reply;
}

// False: the ledger has replied meanwhile.
bool Call::rest_until_reply() {
    const auto alive = self();  // once it rests it may end, and go
    Turn turn = Turn::unknown;
    Then then = run_.rest_until_reply(turn);
    if (then == Then::expect_turn) {
        turn = core->expect_turn() ? Turn::expected : Turn::none;
        then = run_.rest_until_reply(turn);
    }
    if (then == Then::run) {
        if (turn == Turn::expected) core->turn_came();
        return false;
    }
    if (expired()) leave_soon();
    if (then != Then::wait_here) return true;
    // The runtime has gone, and its threads with it: this one waits.
    if (wait() == Woken::over) return true;
    run_.alone_again();
    return false;
}

Call::Woken Call::wait() {
    const Then then = run_.wait();
    if (takes(then)) return Woken::turn;
    return then == Then::end ? Woken::over : Woken::notices;
}

void Call::wake() {
    switch (run_.reply()) {
        case Then::give_turn: give_turn(); break;
        // The thread that waits may have seen the reply already, and the call may be gone: only its address
        // is used here.
        case Then::wake_waiter: run_.wake_waiter(); break;
        case Then::look_after_reply: look_after_reply(); break;
        default: break;
    }
}

// Nobody else touches the call until the turn is given.
void Call::give_turn() {
    auto turn = std::make_shared<TurnTask>(self());
    if (core->turns.submit(turn) != WorkerPool::Submitted::taken) turn->drop();
}

void Call::take_turn() {
    core->turn_came();
    if (takes(run_.take_turn())) run_here();
}

void Call::run_here() {
    const auto alive = self();  // it may end, and go, while it runs
    callers_thread_ = !CALLGATE_GUARD(callbacks_elsewhere);
    run();
    if (over()) core->wake_io();
}

void Call::go_on() {
    go_on_as(Turn::unknown);
}

void Call::go_on_here() {
    go_on_as(Turn::none);
}

void Call::go_on_as(Turn turn) {
    Then then = run_.go_on(turn);
    if (then == Then::expect_turn) {
        // Where the runtime has gone, nobody else needs this thread.
        turn = core->expect_turn() ? Turn::expected : Turn::none;
        then = run_.go_on(turn);
    }
    switch (then) {
        case Then::give_turn: give_turn(); return;
        case Then::wake_waiter: run_.wake_waiter(); break;
        case Then::run: run_here(); break;
        default: break;
    }
    if (turn == Turn::expected) core->turn_came();
}

// It is watched from now on, so that it can leave.
void Call::begin_await(Awaited what) {
    has_awaited_ = true;
    awaited_ = what;
    arm();
}

void Call::leave_soon() {
    std::uint32_t number = 0;
    if (!run_.awaits_reply(number)) return;
    core->timers().at(core->clock().monotonic_now() + kLedgerGrace, [weak = others_->self, number] {
        if (const auto alive = weak.lock()) alive->leave(number);
    });
}

// On the timers' thread. Either the reply comes first, or the call goes on without it: run_ decides.
void Call::leave(std::uint32_t number) {
    if (!run_.may_leave(number)) return;
    others_->left_self = self();
    others_->left_turn = core->expect_turn();
    switch (run_.leave(number)) {
        case Then::give_turn: give_turn(); return;
        case Then::wake_waiter: run_.wake_waiter(); return;
        default: break;
    }
    if (others_->left_turn) core->turn_came();
    others_->left_self = nullptr;
}

// Once the call is over: until then its own thread has it.
void Call::look_after_reply() {
    Runtime::Core& of = *core;
    const bool turn = others_->left_turn;
    auto reply = std::make_shared<LeftReply>(std::move(others_->left_self), turn);
    if (turn) {
        of.turns.submit(std::move(reply));
    } else {
        reply->run();
    }
}

}  // namespace callgate::pipeline
