// One run of a tool's own code for a call: the tool itself, its preview, its probe, or the undoing of what
// failed.
//
// It begins once or never: enter() and abandon() decide between them, in one step, whether the code was
// entered. It ends once. Whoever is first decides: the code's answer, or the call giving up on it. What the
// code answers after it was given up is a late answer, which can still settle an unknown outcome.
//
// Threads: may be used from any thread. An abandoned run touches only this object and what is constant of its
// call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include <callgate/tool.h>

#include "base/mutex.h"
#include "pipeline/call.h"
#include "pipeline/inside.h"
#include "pipeline/worker_pool.h"

namespace callgate::pipeline {

/// What running code sees of its call.
class RunContext : public CallContext {
public:
    /// `inlined`: on the thread that runs the call.
    RunContext(Call& call, std::uint32_t number, bool inlined = false)
        : call_(call), holds_(call.cold_if()), number_(number), watch_(inlined) {
        if (inlined) runner_ = std::this_thread::get_id();
        if (holds_ != nullptr) [[unlikely]]
            note_places();
        if (call.request.context->input != nullptr) [[unlikely]]
            note_channel();
    }

    const Context& caller() const override;
    std::string call_id() const override;
    const std::string& action() const override;
    std::uint32_t attempt() const override { return number_; }
    std::chrono::nanoseconds time_left() const override;
    std::stop_token cancel() const override;
    void progress(std::string_view message, std::optional<double> done, std::optional<double> total) override;
    void partial(Value content) override;
    void partial_more(Value piece) override;
    Result<void> with_secret(std::string_view key, const std::function<void(const Secret&)>& use) override;
    Outcome call(std::string_view tool, Args args) override;
    void start(std::string_view tool, Args args, std::function<void(Outcome)> done,
               std::stop_token also) override;

    bool can_ask(InputRequest::Kind kind) const override;
    void ask(InputRequest request, std::function<void(Result<InputAnswer>)> answered) override;
    Result<InputAnswer> ask(InputRequest request) override;

    const std::shared_ptr<Runtime::Core>& core() const noexcept { return call_.core; }
    /// A call that this body makes, but not through this context: it is its child for the limits on depth,
    /// resources and places; who asks and until when is what its own context says.
    void adopt(Origin& from) const;
    /// To look later whether it has ended. On the thread its body runs on.
    std::weak_ptr<Call> call_for_later() const;

private:
    Request nested(std::string_view tool, Args args);
    [[gnu::cold]] void note_places();
    [[gnu::cold]] void note_channel();

    Call& call_;
    const ColdState* holds_;  // what the call holds while it runs; null: nothing
    std::unique_ptr<const std::vector<std::string>> places_;  // of limits, likewise; null: none
    std::unique_ptr<const AuditEvent> asking_;  // where the caller can be asked: what the record says of it
    std::uint32_t number_;
    bool watch_;
    std::thread::id runner_{};  // of an inlined run; a tool may speak from other threads as well
};

enum class AttemptKind : std::uint8_t { run, preview, probe, compensate };

using Answer = std::variant<std::monostate, ToolReturn, Result<Preview>, Reconciliation, Result<void>>;

class AttemptState final : public PoolTask, public std::enable_shared_from_this<AttemptState> {
public:
    AttemptState(std::shared_ptr<Call> call, AttemptKind kind, std::uint32_t number,
                 std::string probed_call = {});

    void run() override;
    void drop() override;
    std::size_t bytes() const noexcept override { return bytes_; }

    /// The code is about to be entered. False: it was given up before, and must not be.
    bool enter();
    /// The first answer counts; later ones, and all after abandon(), are late.
    void finish(Answer answer);
    /// The answer, once there is one.
    std::optional<Answer> take();
    enum class GivenUp : std::uint8_t {
        answered,     ///< it was too late to give up
        never_began,  ///< and never will
        runs_on
    };
    GivenUp abandon();
    /// Whether the code was entered.
    bool began() const;
    /// It no longer holds a thread; counts once.
    void let_go() noexcept;

    CallContext& context() noexcept { return context_; }
    RunContext& run_context() noexcept { return context_; }
    /// Where its coroutine runs, if it is one.
    std::shared_ptr<IoHost> make_io();
    /// Whether the runtime is about to end.
    bool closing() const noexcept;
    bool keeps_lent_thread() const noexcept;
    const Object& arguments() const noexcept { return arguments_->get_object(); }

private:
    void late(Answer answer);

    enum class Phase : std::uint8_t { waiting, running, answered, abandoned, taken };
    const std::shared_ptr<Call> call_;
    const std::shared_ptr<const ToolEntry> tool_;
    const std::shared_ptr<const Value> arguments_;
    const AttemptKind kind_;
    const std::uint32_t number_;
    const std::string probed_call_;
    const Error failure_;  // what is to be undone
    RunContext context_;
    std::atomic<bool> holds_thread_{false};  // counted with the tool
    std::size_t bytes_ = 0;
    mutable base::Mutex mutex_;
    Phase phase_ CALLGATE_GUARDED_BY(mutex_) = Phase::waiting;
    bool began_ CALLGATE_GUARDED_BY(mutex_) = false;
    Answer answer_ CALLGATE_GUARDED_BY(mutex_);
};

/// Begins an attempt of this kind in the way the tool runs: an inline one has answered when this returns. The
/// call's `attempt` is set. An error means that it could not begin.
std::optional<Error> begin(Call& call, AttemptKind kind, std::uint32_t number, std::string probed_call = {});

/// Gives up on what runs, or was about to run, for the call. True: its code was entered.
bool give_up(Call& call);

/// No room in the pool's queue: nothing was run, and trying again is safe.
Error queue_full(const Call& call);

/// The tool's code with everything it may throw turned into a failure.
[[gnu::hot]] ToolReturn run_guarded(ToolBody& body, const Object& arguments, CallContext& context);

}  // namespace callgate::pipeline
