// tasks/get, tasks/update and tasks/cancel.
#include <utility>

#include <fmt/format.h>

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
    if (const auto live = tasks_.find(*call_id)) live->cancel();
    respond(exchange, "{}");
}

void ServerCore::task_changed(const Conversation& conversation) {
    if (!conversation.is_task() || listeners_.size() == 0) return;
    listeners_.task_changed(tasks_.id_of(conversation.call_id()), tasks_.describe(conversation));
}

}  // namespace callgate::mcp
