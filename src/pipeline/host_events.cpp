#include "pipeline/host_events.h"

#include <memory>
#include <utility>

#include "base/utf8.h"
#include "pipeline/projection.h"

namespace callgate::pipeline {
namespace {

std::string_view word_of(HostEvent::Result result) {
    switch (result) {
        case HostEvent::Result::info: return "info";
        case HostEvent::Result::success: return "success";
        case HostEvent::Result::failure: return "failure";
    }
    return "info";
}

void cut(std::string& text) {
    constexpr std::size_t kLongest = 1'000;
    if (text.size() > kLongest) text = std::string(base::truncate_to_bytes(text, kLongest));
}

// Its texts are the given event's.
AuditEvent to_audit(const Runtime::Core& core, const HostEvent& event) {
    AuditFacts facts;
    facts.at = core.clock().wall_now();
    facts.type = event.type.name();
    facts.outcome = word_of(event.result);
    facts.stage = "host";
    facts.call_id = event.call_id;
    facts.trace_id = event.trace_id;
    facts.tenant = event.tenant;
    facts.principal = event.principal;
    facts.run_id = event.run_id;
    facts.task_id = event.task_id;
    facts.step_id = event.step_id;
    facts.tool = event.tool;
    facts.detail = event.detail;
    return AuditEvent(facts);
}

// One event until the ledger has answered; it keeps itself.
class Recording final : public ledger::Waiter,
                        public PoolTask,
                        public std::enable_shared_from_this<Recording> {
public:
    Recording(std::shared_ptr<Runtime::Core> core, const AuditEvent& event,
              std::function<void(Result<std::uint64_t>)> done, Executor executor)
        : core_(std::move(core)), event_(event), done_(std::move(done)), executor_(std::move(executor)) {}

    void begin() {
        as_turn_ = core_->expect_turn();  // the runtime does not go before the ledger has answered
        kept_ = shared_from_this();
        const auto self = kept_;
        if (core_->ledger().record(event_, reply_, *this) == ledger::Io::pending) return;
        kept_ = nullptr;
        run();
    }
    // On the ledger's thread, which runs no code of a host's.
    void wake() override {
        const auto self = std::move(kept_);
        if (core_->host.submit(self) != WorkerPool::Submitted::taken) self->drop();
    }
    void run() override {
        if (std::exchange(as_turn_, false)) core_->turn_came();
        Result<std::uint64_t> number = event_.sequence;
        if (reply_.error) {
            number = tl::unexpected(std::move(*reply_.error));
        } else {
            project_audit(*core_, event_);
        }
        if (!done_) return;
        auto report = [done = std::move(done_), number = std::move(number)] { done(number); };
        if (executor_) {
            core_->run_on(executor_, std::move(report));
        } else {
            core_->notify(std::move(report));
        }
    }
    // The runtime has gone.
    void drop() override {
        const base::FreedThread freed;
        run();
    }

private:
    const std::shared_ptr<Runtime::Core> core_;
    AuditEvent event_;
    std::function<void(Result<std::uint64_t>)> done_;
    Executor executor_;
    ledger::Reply reply_;
    std::shared_ptr<Recording> kept_;
    bool as_turn_ = false;
};

}  // namespace

void record_host_event(const std::shared_ptr<Runtime::Core>& core, HostEvent event,
                       std::function<void(Result<std::uint64_t>)> done, Executor executor) {
    if (event.principal.empty()) event.principal = kLocalPrincipal;
    for (std::string* text : {&event.tenant, &event.principal, &event.trace_id, &event.run_id, &event.task_id,
                              &event.step_id, &event.tool, &event.detail})
        cut(*text);
    std::make_shared<Recording>(core, to_audit(*core, event), std::move(done), std::move(executor))->begin();
}

void record_event(const std::shared_ptr<Runtime::Core>& core, const AuditFacts& facts) {
    std::make_shared<Recording>(core, AuditEvent(facts), nullptr, nullptr)->begin();
}

}  // namespace callgate::pipeline
