// Foreign code of a call: what its host is notified of, and its hooks.
#include <utility>

#include "base/ids.h"
#include "pipeline/call.h"

namespace callgate::pipeline {
namespace {

// Delivers what a call's host is to be notified of.
class Delivery final : public PoolTask {
public:
    explicit Delivery(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    void run() override { call_->deliver(); }
    // The runtime has gone.
    void drop() override {
        const base::FreedThread freed;
        call_->deliver();
    }

private:
    std::shared_ptr<Call> call_;
};

// Goes on with a call where its hooks may run.
class HookTurn final : public PoolTask {
public:
    explicit HookTurn(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    void run() override { call_->go_on_here(); }
    void drop() override { call_->go_on_here(); }

private:
    std::shared_ptr<Call> call_;
};

}  // namespace

void Call::deliver() {
    others_->notices.drain(core->counters.observer_faults);
    core->wake_io();
}

// On the caller's own thread: what came up before. False: others are at it, so it goes behind them.
bool Call::deliver_before() {
    if (host_pool_notifies_) return false;
    deliver();
    return true;
}

void Call::notify_later(Notices::Notice notice) {
    hand_out();
    auto alive = self();
    const Notices::Pushed pushed = others_->notices.push(notice);
    if (pushed == Notices::Pushed::closed) {
        core->notify([alive = std::move(alive), notice = std::move(notice)] { notice(); });
        return;
    }
    if (!host_pool_notifies_) {
        run_.notice();
        run_.wake_waiter();
        return;
    }
    if (pushed != Notices::Pushed::first) return;
    auto delivery = std::make_shared<Delivery>(std::move(alive));
    if (core->host.submit(delivery) != WorkerPool::Submitted::taken) delivery->drop();
}

std::string Call::recorded_id() const {
    return base::Uuid{claim_id == CallId{} ? id : claim_id}.to_string();
}

void Call::end_delivery() {
    if (!host_pool_notifies_) {
        others_->notices.drain_and_close(core->counters.observer_faults);
        return;
    }
    const WorkerPool::Waiting waiting;
    others_->notices.wait_until_delivered();
}

// Behind what the host is still to be notified of; ours needs no thread of its own if there is nothing.
void Call::report(Done report, CodeIs whose) {
    if (whose == CodeIs::ours && !notices_pending()) {
        report(*this);
    } else {
        notify([this, report = std::move(report)] { report(*this); });
    }
}

void Call::report_recorded() {
    report(std::exchange(others_->reports.recorded, nullptr), others_->reports.whose);
}

std::optional<Step> Call::go_elsewhere() {
    if (!base::on_our_thread()) return std::nullopt;
    return_loans();
    if (core->host.submit(std::make_shared<HookTurn>(self())) != WorkerPool::Submitted::taken)
        return std::nullopt;
    return Step::pending;
}

}  // namespace callgate::pipeline
