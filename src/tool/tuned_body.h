// A body with something said about it afterwards: where it runs, how it is previewed, how it is asked what
// became of an earlier call. All else is the body's own.
//
// Threads: immutable; as safe as the body inside.
#pragma once

#include <memory>
#include <optional>

#include <callgate/tool.h>

namespace callgate {

struct Tuning {
    std::optional<RunMode> mode;
    PreviewFunction preview;
    ProbeFunction probe;
};

class TunedBody final : public ToolBody {
public:
    /// `body` may be null; such a tool is refused at registration.
    TunedBody(std::shared_ptr<ToolBody> body, Tuning tuning);

    /// What is wrong with it, for registration; null if nothing is.
    const char* fault() const noexcept;
    const std::shared_ptr<ToolBody>& inner() const noexcept { return body_; }
    const Tuning& tuning() const noexcept { return tuning_; }

    RunMode mode() const noexcept override;
    ToolReturn run(const Object& arguments, CallContext& context) override;
    void start(std::shared_ptr<Attempt> attempt) override;
    bool enters_later() const noexcept override { return body_->enters_later(); }
    bool has_preview() const noexcept override;
    Result<Preview> preview(const Object& arguments, CallContext& context) override;
    bool has_probe() const noexcept override;
    Reconciliation reconcile(std::string_view call_id, const Object& arguments,
                             CallContext& context) override;
    std::vector<std::string> actions() const override;
    ScopeSet scopes_required(std::string_view action) const override;
    const ActionHooks* hooks() const noexcept override;

private:
    std::shared_ptr<ToolBody> body_;
    Tuning tuning_;
};

}  // namespace callgate
