// A tool asks its caller: the question while it is open, and what it does to the call.
//
// While a question is open the call's time stands still, and that of the calls it was made from. It is closed
// once: by its answer, by its own time, by the end of the call, or because nobody has it any more. Who closes
// it lets the time go on, puts that on the record, and then the tool is notified: where the answer was given,
// or, if there is none, on a thread of core->stops, since the tool's function may block there.
//
// Threads: may be used from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <callgate/input.h>
#include <callgate/observer.h>
#include <callgate/schema.h>

#include "base/mutex.h"
#include "pipeline/call.h"

namespace callgate::pipeline {

using Answered = std::function<void(Result<InputAnswer>)>;

/// What the record says of a call whose tool asks, except type, time and detail. Made before its tool runs:
/// later the call's facts belong to the thread that runs it.
AuditEvent asking_facts(const Call& call);

/// Whether this caller can be asked for this.
bool can_ask(const Call& call, InputRequest::Kind kind);

/// Asks the caller of a call that is watched. `answered` is called once, on this thread if nobody was asked.
void ask(const std::shared_ptr<Call>& call, const AuditEvent& facts, InputRequest request, Answered answered);

/// The call has ended, or was called off: what its tool asked is withdrawn.
[[gnu::cold]] void withdraw_questions(Call& call);

class Question final : public PendingInput, public std::enable_shared_from_this<Question> {
public:
    Question(const std::shared_ptr<Call>& call, const AuditEvent& facts, InputRequest request,
             std::optional<schema::Schema> form, std::uint32_t round, Answered answered);
    ~Question() override;

    const InputRequest& request() const noexcept override { return request_; }
    std::string call_id() const override;
    std::uint32_t round() const noexcept override { return round_; }
    Result<void> answer(InputAnswer answer) override;
    Result<void> fail(Error why) override;
    void on_withdrawn(std::function<void()> function) override;

    /// From now on it is open, until it is closed.
    void open();
    /// Nobody will answer any more, and this is why.
    void withdraw(Error why);

private:
    enum class Phase : std::uint8_t { open, answered, withdrawn };

    /// What is to be notified; nothing: it was closed before.
    struct Closed {
        std::shared_ptr<Call> call;
        Answered answered;
        std::function<void()> on_withdrawn;
    };
    std::optional<Closed> close(Phase how, std::string_view detail);
    Result<void> check(const InputAnswer& answer) const;
    Result<void> not_open();
    void record(const std::shared_ptr<Call>& call, std::string_view type, std::string_view detail) const;
    void give_up(Error why, std::string_view detail);

    const CallId id_;
    const std::size_t max_bytes_;
    const std::weak_ptr<Runtime::Core> core_;
    const AuditEvent facts_;
    const InputRequest request_;
    const std::optional<schema::Schema> form_;
    const std::uint32_t round_;

    base::Mutex mutex_;
    // The call, and those it was made from, until it is closed: a channel may keep it for longer, and the
    // call has the channel.
    std::vector<std::shared_ptr<Call>> calls_ CALLGATE_GUARDED_BY(mutex_);
    TimerId timer_ CALLGATE_GUARDED_BY(mutex_);
    Phase phase_ CALLGATE_GUARDED_BY(mutex_) = Phase::open;
    Answered answered_ CALLGATE_GUARDED_BY(mutex_);
    std::function<void()> on_withdrawn_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::pipeline
