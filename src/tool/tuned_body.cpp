#include "tool/tuned_body.h"

#include <utility>

namespace callgate {

TunedBody::TunedBody(std::shared_ptr<ToolBody> body, Tuning tuning)
    : body_(std::move(body)), tuning_(std::move(tuning)) {}

const char* TunedBody::fault() const noexcept {
    if (body_ == nullptr) return "it has a preview, a probe or a way to run, but no body; give it one first";
    if (tuning_.mode && *tuning_.mode != body_->mode() && body_->mode() == RunMode::async)
        return "its body completes later and cannot run inline; leave out run_inline()";
    return nullptr;
}

RunMode TunedBody::mode() const noexcept {
    if (tuning_.mode) return *tuning_.mode;
    return body_ ? body_->mode() : ToolBody::mode();
}

ToolReturn TunedBody::run(const Object& arguments, CallContext& context) {
    return body_ ? body_->run(arguments, context) : ToolBody::run(arguments, context);
}

void TunedBody::start(std::shared_ptr<Attempt> attempt) {
    if (body_) {
        body_->start(std::move(attempt));
    } else {
        ToolBody::start(std::move(attempt));
    }
}

bool TunedBody::has_preview() const noexcept {
    return tuning_.preview != nullptr || (body_ && body_->has_preview());
}

Result<Preview> TunedBody::preview(const Object& arguments, CallContext& context) {
    if (tuning_.preview) return tuning_.preview(arguments, context);
    return body_ ? body_->preview(arguments, context) : ToolBody::preview(arguments, context);
}

bool TunedBody::has_probe() const noexcept {
    return tuning_.probe != nullptr || (body_ && body_->has_probe());
}

Reconciliation TunedBody::reconcile(std::string_view call_id, const Object& arguments, CallContext& context) {
    if (tuning_.probe) return tuning_.probe(call_id, arguments, context);
    return body_ ? body_->reconcile(call_id, arguments, context)
                 : ToolBody::reconcile(call_id, arguments, context);
}

std::vector<std::string> TunedBody::actions() const {
    return body_ ? body_->actions() : ToolBody::actions();
}

ScopeSet TunedBody::scopes_required(std::string_view action) const {
    return body_ ? body_->scopes_required(action) : ToolBody::scopes_required(action);
}

const ActionHooks* TunedBody::hooks() const noexcept {
    return body_ ? body_->hooks() : nullptr;
}

}  // namespace callgate
