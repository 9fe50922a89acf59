// The approvals of one runtime, as people meet them.
#pragma once

#include <memory>

#include <callgate/approvals.h>

#include "pipeline/core.h"

namespace callgate::pipeline {

class RuntimeApprovals final : public Approvals {
public:
    explicit RuntimeApprovals(std::shared_ptr<Runtime::Core> core) : core_(std::move(core)) {}

    Result<std::vector<Approval>> list(std::optional<ApprovalState> state) const override;
    Result<Approval> get(std::string_view id) const override;
    Result<Approval> approve(std::string_view id, std::string_view approver, Assurance assurance,
                             std::string_view reason) override;
    Result<Approval> deny(std::string_view id, std::string_view approver, std::string_view reason) override;
    void start_approve(std::string id, std::string approver, Decided done, Executor executor,
                       Assurance assurance, std::string reason) override;
    void start_deny(std::string id, std::string approver, Decided done, Executor executor,
                    std::string reason) override;
    Result<Approval> revoke(std::string_view id, std::string_view by) override;
    void start_revoke(std::string id, std::string by, Decided done, Executor executor) override;
    Result<Approval> approve_edited(std::string_view id, Args arguments, std::string_view approver,
                                    Assurance assurance, std::string_view reason) override;
    Result<Approval> wait(std::string_view id, std::optional<std::chrono::milliseconds> timeout,
                          std::stop_token cancel) override;
    void when_decided(std::string id, std::function<void(Result<Approval>)> done,
                      std::optional<std::chrono::milliseconds> timeout, std::stop_token cancel) override;
    Result<std::shared_ptr<void>> on_change(Listener listener) override;

private:
    Result<Approval> vote(std::string_view id, Vote vote);
    void start_vote(std::string id, Vote vote, Decided done, Executor executor);
    Result<void> would_count(Approval approval, std::string_view approver, Assurance assurance) const;

    std::shared_ptr<Runtime::Core> core_;
};

}  // namespace callgate::pipeline
