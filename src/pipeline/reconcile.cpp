#include "pipeline/reconcile.h"

#include <deque>
#include <utility>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/try.h"
#include "ledger/blocking_waiter.h"
#include "pipeline/attempt.h"
#include "pipeline/call.h"
#include "pipeline/projection.h"
#include "pipeline/shape.h"
#include "tool/received.h"

namespace callgate::pipeline {
namespace {

// One probe at work. The call is never run: it is what the probe sees of the one it is asked about.
class Probe final : public PoolTask, public std::enable_shared_from_this<Probe> {
public:
    Probe(std::shared_ptr<Call> call, std::shared_ptr<const ToolEntry> tool, ledger::CallRow row)
        : call_(std::move(call)), tool_(std::move(tool)), row_(std::move(row)), context_(*call_, 0) {}

    void begin() {
        timer_ = call_->core->timers().at(call_->deadline, [weak = weak_from_this()] {
            if (const auto probe = weak.lock()) probe->expire();
        });
        if (call_->core->pool.submit(shared_from_this()) != WorkerPool::Submitted::taken) finish({});
    }
    void run() override {
        Reconciliation answer;
        try {
            answer = tool_->body()->reconcile(base::Uuid{row_.call_id}.to_string(),
                                              row_.arguments->get_object(), context_);
        } catch (...) {
            answer = {};  // it could not tell
        }
        finish(std::move(answer));
    }
    void drop() override { finish({}); }

    /// What it found, without secrets.
    Reconciliation wait() {
        base::MutexLock lock(mutex_);
        answered_.wait(lock, [this]() CALLGATE_REQUIRES(mutex_) { return answer_.has_value(); });
        call_->core->timers().cancel(timer_);
        Reconciliation answer = std::move(*answer_);
        finish_result(*call_, answer.result);
        return answer;
    }
    const ledger::CallRow& row() const noexcept { return row_; }
    const ToolEntry& tool() const noexcept { return *tool_; }

private:
    void expire() {
        if (!finish({})) return;
        call_->core->pool.abandon(shared_from_this());
        Call::stop_elsewhere(call_);
    }
    // The first word counts.
    bool finish(Reconciliation answer) {
        const base::MutexLock lock(mutex_);
        if (answer_) return false;
        answer_ = std::move(answer);
        answered_.notify_all();
        return true;
    }

    const std::shared_ptr<Call> call_;
    const std::shared_ptr<const ToolEntry> tool_;
    const ledger::CallRow row_;
    RunContext context_;
    TimerId timer_;
    base::Mutex mutex_;
    base::CondVar answered_;
    std::optional<Reconciliation> answer_ CALLGATE_GUARDED_BY(mutex_);
};

// The tool that can be asked about the call: fit, and still the one that it was made with.
std::shared_ptr<const ToolEntry> tool_for(Runtime::Core& core, const ledger::CallRow& row) {
    auto tool = core.registry_of(row.key.tenant).find(row.key.tool);
    if (!tool || tool->body() == nullptr || !tool->body()->has_probe()) return nullptr;
    if (tool->definition_hash() != row.definition_hash) return nullptr;
    const LiveState& live = tool->live();
    const bool fit = !live.quarantined() && !live.silenced.load(std::memory_order_relaxed) &&
                     live.status() != HealthStatus::unavailable;
    return fit ? tool : nullptr;
}

AuditEvent event_about(const ledger::CallRow& row, std::string_view type, std::string_view outcome,
                       std::string_view detail) {
    AuditEvent event;
    event.type = type;
    event.outcome = outcome;
    event.stage = "reconcile";
    event.call_id = ledger::runner_of(row);
    event.attempt = row.attempt;
    event.has_key = !row.key.key.empty();
    event.approval_id = row.approval_id;
    event.tenant = row.key.tenant;
    event.principal = row.key.principal;
    event.tool = row.key.tool;
    event.action = row.action;
    event.detail = detail;
    return event;
}

std::shared_ptr<Call> stand_in(Runtime::Core& core, const ToolEntry& tool, const ledger::CallRow& row) {
    Context context;
    context.tenant = row.key.tenant;
    context.principal = row.key.principal;
    Request request;
    request.tool = row.key.tool;
    request.action = row.action;
    request.context = share(std::move(context));
    auto call = core.make_call();
    call->prepare(std::move(request));
    call->observers = nullptr;
    call->tool = &tool;
    call->claim_id = row.call_id;
    call->fix_deadline();
    return call;
}

/// One run of reconcile().
class Reconciler {
public:
    explicit Reconciler(Runtime::Core& core) : core_(core) {}

    Result<ReconcileReport> run() {
        CALLGATE_TRY_ASSIGN(const auto in_doubt, core_.ledger().in_doubt());
        for (const ledger::CallRow& row : in_doubt) {
            begin(row);
            if (probes_.size() >= core_.options.batch_concurrency) end_oldest();
        }
        while (!probes_.empty()) end_oldest();
        return report_;
    }

private:
    void begin(const ledger::CallRow& row) {
        auto tool = tool_for(core_, row);
        if (!tool) {
            ++report_.no_tool;
            return;
        }
        // Without what it was called with, a probe would be asked about another call.
        if (!row.arguments || !row.arguments->is_object()) {
            ++report_.cannot_tell;
            return;
        }
        AuditEvent event = event_about(row, "tool_call.reconciling", "info",
                                       "The program that sent it is gone; its probe is asked.");
        event.connector_id = tool->contract().connector_id;
        ledger::AdoptReply adopted;
        ledger::BlockingWaiter waiter;
        waiter.wait(core_.ledger().adopt({row.call_id, core_.owner, event}, adopted, waiter));
        if (adopted.error) {
            ++report_.unrecorded;
            return;
        }
        if (!adopted.row) return;  // somebody else was quicker
        event.sequence = adopted.first_event;
        project_audit(core_, event);
        core_.counters.claim.reconciled.add();
        ++report_.probed;
        auto call = stand_in(core_, *tool, *adopted.row);
        probes_.push_back(std::make_shared<Probe>(std::move(call), std::move(tool), std::move(*adopted.row)));
        probes_.back()->begin();
    }

    void end_oldest() {
        const auto probe = std::move(probes_.front());
        probes_.pop_front();
        Reconciliation answer = probe->wait();
        const Reconciliation::Verdict verdict = answer.verdict;
        if (!conclude(*probe, answer)) {
            ++report_.unrecorded;
            return;
        }
        switch (verdict) {
            case Reconciliation::Verdict::applied: ++report_.applied; break;
            case Reconciliation::Verdict::not_applied: ++report_.not_applied; break;
            case Reconciliation::Verdict::cannot_tell: ++report_.cannot_tell; break;
        }
    }

    bool conclude(const Probe& probe, const Reconciliation& answer) {
        const ledger::CallRow& row = probe.row();
        ledger::ConcludeRequest request;
        request.call_id = row.call_id;
        request.epoch = row.epoch;
        request.verdict = answer.verdict;
        std::string_view found = "Its probe cannot tell whether it took effect.";
        if (answer.verdict == Reconciliation::Verdict::applied) {
            found = "Its probe found that it took effect.";
            auto stored = stored_for(row);
            stored->error = unwritable(answer.result, row.key.tool);
            if (!stored->error) {
                stored->succeeded = true;
                stored->state = State::succeeded;
                stored->result = without_parsed(answer.result);
            }
            request.outcome = std::move(stored);
        } else if (answer.verdict == Reconciliation::Verdict::not_applied) {
            found = "Its probe found that it had no effect.";
        }
        AuditEvent event = event_about(row, "tool_call.resolved", "info", found);
        event.connector_id = probe.tool().contract().connector_id;
        request.events.push_back(event);
        ledger::ConcludeReply reply;
        ledger::BlockingWaiter waiter;
        waiter.wait(core_.ledger().conclude(std::move(request), reply, waiter));
        if (reply.error || !reply.accepted) return false;
        event.sequence = reply.first_event;
        project_audit(core_, event);
        return answer.verdict != Reconciliation::Verdict::not_applied || release(probe);
    }

    // It is claimed again, by us, and nobody is there to make it.
    bool release(const Probe& probe) {
        const ledger::CallRow& row = probe.row();
        ledger::SettleRequest request;
        request.call_id = row.call_id;
        request.epoch = row.epoch;
        request.attempt = row.attempt;
        request.end = ledger::AttemptEnd::not_applied;
        auto stored = stored_for(row);
        stored->error =
            Error(ErrorCode::tool_error, "The program that made this call ended, and the call had no effect.",
                  {{"reason", "reconciled_not_applied"}});
        request.outcome = std::move(stored);
        AuditEvent event =
            event_about(row, "tool_call.failed", "failure", "It had no effect, and its key is free again.");
        event.connector_id = probe.tool().contract().connector_id;
        request.events.push_back(event);
        ledger::SettleReply reply;
        ledger::BlockingWaiter waiter;
        waiter.wait(core_.ledger().settle(std::move(request), reply, waiter));
        if (reply.error || !reply.settled.accepted) return false;
        event.sequence = reply.first_event;
        project_audit(core_, event);
        return true;
    }

    static std::shared_ptr<ledger::StoredOutcome> stored_for(const ledger::CallRow& row) {
        auto stored = std::make_shared<ledger::StoredOutcome>();
        stored->attempts = row.attempt;
        stored->approval_id = row.approval_id;
        stored->call_id = row.call_id;
        return stored;
    }

    Runtime::Core& core_;
    ReconcileReport report_;
    std::deque<std::shared_ptr<Probe>> probes_;
};

}  // namespace

Result<ReconcileReport> reconcile(Runtime::Core& core) {
    const WorkerPool::Waiting waiting;
    return Reconciler(core).run();
}

}  // namespace callgate::pipeline
