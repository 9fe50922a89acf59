// A person at the client decides about a call that needs an approval: a question of the server's own, put as
// a tool's would be.
//
// Threads: the server's home thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <callgate/context.h>
#include <callgate/input.h>
#include <callgate/outcome.h>

namespace callgate::mcp {

/// Whether a client's word is enough for this approval, A1 of one person, and all that it is about can be
/// shown to them.
bool client_may_decide(const Outcome& asked);
/// As whom a client's person is on the record.
std::string client_as_person(const Context& context);
/// It was not resumed, since its approval had been used for that already: the record has what came of it.
bool was_used_elsewhere(const Outcome& outcome);
/// The request for its approval was taken back.
bool was_taken_back(const Outcome& outcome);

class ApprovalQuestion final : public PendingInput {
public:
    /// `decided`: true, the person allowed it; false, they refused it; nothing, nobody has decided.
    ApprovalQuestion(const Outcome& asked, std::function<void(std::optional<bool>)> decided);

    const InputRequest& request() const noexcept override { return request_; }
    std::string call_id() const override { return call_id_; }
    std::uint32_t round() const noexcept override { return 1; }
    Result<void> answer(InputAnswer answer) override;
    Result<void> fail(Error why) override;
    void on_withdrawn(std::function<void()> function) override;

private:
    void decide(std::optional<bool> allowed);

    InputRequest request_;
    std::string call_id_;
    std::function<void(std::optional<bool>)> decided_;
};

}  // namespace callgate::mcp
