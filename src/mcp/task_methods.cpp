// tasks/get, tasks/update and tasks/cancel.
#include <utility>

#include "mcp/approval_question.h"
#include "mcp/envelope.h"
#include "mcp/server_core.h"

namespace callgate::mcp {
namespace {

bool is_gone(const Error& why) {
    const Value* reason = why.details.if_contains("reason");
    return why.code == ErrorCode::denied && reason != nullptr && *reason == "no_such_call";
}

// What became of it is not known now: its client asks again, and must not believe that it has ended.
Fault not_looked_up(const Error& why) {
    Object data = why.details;
    data["code"] = to_string(why.code);
    data["retryable"] = true;
    return {codes::kInternal, why.message, std::move(data)};
}

}  // namespace

std::optional<std::string> ServerCore::task_of(const std::shared_ptr<Exchange>& exchange) {
    if (!tasks_.known_to(*exchange)) {
        fail(exchange, {codes::kMissingCapability, "A client says in each request that it knows tasks.",
                        Object{{"requiredCapabilities", envelope::needs_tasks()}}});
        return std::nullopt;
    }
    const Value* id = exchange->params.if_contains("taskId");
    auto call_id = id != nullptr && id->is_string() ? tasks_.call_of(id->get_string()) : std::nullopt;
    if (!call_id) fail(exchange, {codes::kInvalidParams, "There is no such task."});
    return call_id;
}

void ServerCore::get_task(const std::shared_ptr<Exchange>& exchange) {
    const auto call_id = task_of(exchange);
    if (!call_id) return;
    if (const auto live = tasks_.find(*call_id)) {
        respond(exchange, json::write(Value(tasks_.describe(*live))));
        return;
    }
    tasks_.look_up(*call_id, [self = shared_from_this(), exchange,
                              id = *call_id](const Result<CallStatus>& status) {
        if (status) {
            if (status->is == CallStatus::Is::waits_for_approval && status->approved) self->resume_task(id);
            self->respond(exchange, json::write(Value(self->tasks_.describe(id, *status, *exchange->codec))));
        } else if (is_gone(status.error())) {
            self->respond(exchange, json::write(Value(self->tasks_.describe_gone(id))));
        } else {
            self->fail(exchange, not_looked_up(status.error()));
        }
    });
}

void ServerCore::update_task(const std::shared_ptr<Exchange>& exchange) {
    const auto call_id = task_of(exchange);
    if (!call_id) return;
    Value* answers = exchange->params.if_contains("inputResponses");
    if (answers == nullptr || !answers->is_object()) {
        fail(exchange, {codes::kInvalidParams, "tasks/update has inputResponses, an object."});
        return;
    }
    if (const auto live = tasks_.find(*call_id)) live->answer(std::move(answers->get_object()));
    respond(exchange, "{}");
}

void ServerCore::cancel_task(const std::shared_ptr<Exchange>& exchange) {
    const auto call_id = task_of(exchange);
    if (!call_id) return;
    if (const auto live = tasks_.find(*call_id)) {
        live->cancel();
        respond(exchange, "{}");
        return;
    }
    tasks_.look_up(*call_id, [self = shared_from_this(), exchange](const Result<CallStatus>& status) {
        if (!status && !is_gone(status.error())) {
            self->fail(exchange, not_looked_up(status.error()));
            return;
        }
        if (status && status->is == CallStatus::Is::waits_for_approval) {
            self->take_back(exchange, status->approval_id);
            return;
        }
        if (status && status->is != CallStatus::Is::ended)
            (void)self->runtime_.cancel(status->call_id, self->options_.context);
        self->respond(exchange, "{}");
    });
}

// It waits for an approval, and nothing here follows it: the server that did has ended.
void ServerCore::take_back(const std::shared_ptr<Exchange>& exchange, const std::string& approval_id) {
    runtime_.approvals().start_revoke(
        approval_id, client_as_person(options_.context),
        [self = shared_from_this(), exchange](const Result<Approval>& revoked) {
            // Where it was used or has ended meanwhile there is nothing to take back.
            if (revoked || revoked.error().code != ErrorCode::ledger_unavailable)
                self->respond(exchange, "{}");
            else
                self->fail(exchange, not_looked_up(revoked.error()));
        },
        run_at_home_);
}

void ServerCore::resume_task(const std::string& call_id) {
    if (closed_) return;
    tasks_.resume(call_id, [self = shared_from_this(), call_id](const Outcome& outcome) {
        if (!self->tasks_.resumed(call_id, outcome) || self->listeners_.size() == 0) return;
        CallStatus status;
        status.is = CallStatus::Is::ended;
        status.outcome = outcome;
        self->listeners_.task_changed(self->tasks_.id_of(call_id),
                                      self->tasks_.describe(call_id, status, codec_2026_07_28()));
    });
}

void ServerCore::task_changed(const Conversation& conversation) {
    if (!conversation.is_task() || listeners_.size() == 0) return;
    listeners_.task_changed(tasks_.id_of(conversation.call_id()), tasks_.describe(conversation));
}

}  // namespace callgate::mcp
