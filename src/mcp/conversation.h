// A call of the runtime that serves a client: over one request, or over several where its tool asks and the
// client's era has an answer of its own for that (`input_required`).
//
// A client of the legacy era is asked by requests on the way back of its request. One of the stateless era
// gets all open questions as the answer to its request, with a sealed state; it asks again with the answers
// and that state, and the same call goes on. What a client can be asked is what its latest request said.
//
// What a client has called off has no effect any more that it had not yet: a decision that comes later does
// not run it.
//
// Threads: the server's home thread, except ask() and abilities(), and what Caller says.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include <callgate/approvals.h>
#include <callgate/input.h>
#include <callgate/outcome.h>

#include "mcp/exchange.h"

namespace callgate::mcp {

class ServerCore;

class Conversation final : public InputChannel, public std::enable_shared_from_this<Conversation> {
public:
    /// Answers the exchange with what came of the call.
    using Finish = std::function<void(const std::shared_ptr<Exchange>&, const Outcome&)>;

    Conversation(std::shared_ptr<ServerCore> core, std::shared_ptr<Exchange> exchange, std::string digest,
                 Finish finish);

    InputAbilities abilities() const override { return abilities_.load(); }
    void ask(std::shared_ptr<PendingInput> question) override;

    /// The call began under this id.
    void began(std::string call_id);
    const std::string& call_id() const noexcept { return call_id_; }
    /// Over which the state of a question is sealed: what was asked for, by whom.
    const std::string& digest() const noexcept { return digest_; }
    std::uint32_t round() const noexcept { return round_; }
    /// No request waits: the client has the questions.
    bool waits_for_client() const noexcept { return exchange_ == nullptr; }

    /// The client asks again: `answers` by the names of the questions.
    void go_on(std::shared_ptr<Exchange> exchange, Object answers);
    /// What its first request brought along, for questions that come.
    void offer(Object answers) { offered_ = std::move(answers); }
    /// The client has gone, or called the request off.
    void call_off(const std::shared_ptr<Exchange>& of);
    void done(Outcome outcome);
    void progress(const Progress& progress);
    void log(LogLevel level, Value data, const std::string& logger);
    void close_stream();
    void go_on_as_task();

    // Tasks: a call that goes on without the request it began with.
    /// For a call that may have to be resumed: in what context.
    void remember(Context context);
    /// Nobody will come back for it: what it asks is not answered any more, and no decision is waited for.
    void abandon();
    /// The same, and it is called off. A request for an approval stays open: the record has it.
    void end();
    void may_be_task(bool at_once);
    /// It is on the record under this id, so that its client may be given that. It is another call's where
    /// the key is one that an ended program left in doubt.
    void on_record(std::string call_id);
    bool is_task() const noexcept { return task_ == Task::yes; }
    /// Null: it has not ended.
    const Outcome* outcome() const noexcept { return outcome_ ? &*outcome_ : nullptr; }
    const Codec& codec() const noexcept { return *codec_; }
    Object questions() const;
    const std::string& status_message() const noexcept { return status_message_; }
    std::chrono::system_clock::time_point changed_at() const noexcept { return changed_at_; }
    /// Answers to its questions, by their names; what answers none of them is ignored.
    void answer(Object answers);
    /// Its client does not want it any more. Where it waits for an approval it ends now, and the request for
    /// that is taken back.
    void cancel();

private:
    struct Open {
        std::string name;
        std::shared_ptr<PendingInput> question;
    };
    enum class Task : std::uint8_t { no, possible, wanted, yes };
    /// A task that waits for a decision.
    struct Undecided {
        Outcome asked;
        std::stop_source stop;  ///< nobody waits for it any more
    };
    void become_task();
    void finish(Outcome outcome);
    /// False: nobody is asked, and nothing is waited for.
    bool wait_for_approval(const Outcome& asked);
    void follow_approval(const Outcome& asked);
    void decided(const Result<Approval>& approval);
    /// The client's person is asked about a call that needs an approval. False: they cannot be.
    bool ask_for_approval(const Outcome& asked);
    void answered(const Outcome& asked, std::optional<bool> allowed);
    void stop_waiting();
    void end_undecided(const Outcome& asked);
    void resume();
    void changed();
    void asked(const std::shared_ptr<PendingInput>& question);
    std::string name_for(const std::string& wanted);
    /// Answers open questions, those of these names.
    void settle(Object answers);
    void drop_what_cannot_be_asked();
    bool answer_from_offered(const Open& one);
    void put_modern();
    void put_soon();
    void put_legacy(const std::shared_ptr<PendingInput>& question);
    void withdrawn(const std::shared_ptr<PendingInput>& question);

    const std::shared_ptr<ServerCore> core_;
    std::shared_ptr<Exchange> exchange_;
    const bool modern_;
    const std::shared_ptr<Session> session_;
    const std::string digest_;
    std::atomic<InputAbilities> abilities_;
    const Finish finish_;
    std::string call_id_;
    std::vector<Open> open_;
    Object offered_;
    std::uint32_t round_ = 0;
    std::uint32_t names_ = 0;
    std::set<std::string, std::less<>> task_names_;  // in a task no name is used twice
    std::optional<double> last_progress_;            // of this request
    bool counts_itself_ = false;
    std::optional<Outcome> outcome_;
    Context context_;
    Task task_ = Task::no;
    bool on_record_ = false;
    bool cancelled_ = false;
    bool abandoned_ = false;
    std::optional<Undecided> undecided_;
    bool asked_for_approval_ = false;
    std::weak_ptr<PendingInput> approval_question_;
    const Codec* codec_;
    std::string running_id_;  // of the call that runs for it now: of a resumed one that of its resumption
    std::string status_message_;
    std::chrono::system_clock::time_point changed_at_{};
};

}  // namespace callgate::mcp
