#include "mcp/tasks.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/encoding.h"
#include "base/ids.h"
#include "base/rng.h"
#include "mcp/approval_question.h"
#include "mcp/envelope.h"
#include "mcp/server_core.h"

namespace callgate::mcp {
namespace {

constexpr std::string_view kMarkPurpose = "callgate-mcp-task";
constexpr std::size_t kIdBytes = 16;
constexpr std::size_t kMarkBytes = 16;
constexpr int kPollIntervalMs = 500;

std::string time_text(std::chrono::system_clock::time_point when) {
    const auto ms = std::chrono::time_point_cast<std::chrono::milliseconds>(when);
    const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(ms);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), (ms - seconds).count());
}

std::string bytes_of(const base::Uuid& id) {
    return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

// As tools/call would have answered it, down to its resultType.
Value result_of(const Outcome& outcome, const Codec& codec) {
    Object whole{{"resultType", "complete"}};
    const std::string text = codec.call_result(outcome);
    auto result = json::parse(text, json::ParseLimits(text.size() + 1, 1'024, text.size() + 1));
    if (!result || !result->is_object()) {
        whole["content"] = Array{};
        return whole;
    }
    for (auto& [key, value] : result->get_object()) {
        whole[key] = std::move(value);
    }
    return whole;
}

// A request for an approval that was taken back is a call that nobody wants any more.
std::string_view status_of(const Outcome& outcome) {
    if (outcome.state() == State::cancelled || was_taken_back(outcome)) return "cancelled";
    return protocol_fault_of(outcome) ? "failed" : "completed";
}

}  // namespace

bool Tasks::known_to(const Exchange& exchange) const {
    if (!exchange.modern()) return false;
    const Value* extensions = exchange.capabilities->if_contains("extensions");
    return extensions != nullptr && extensions->is_object() &&
           extensions->get_object().contains(envelope::kTasks);
}

std::string Tasks::new_key() const {
    std::array<std::byte, kIdBytes> bytes{};
    base::SystemRng().fill(bytes);
    return "mcp-task-" + base::hex_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string Tasks::id_of(const std::string& call_id) const {
    const auto id = base::parse_uuid(call_id);
    if (!id) return call_id;
    const auto mark = runtime_.keyed_digest(
        kMarkPurpose,
        json::write(Value(Array{call_id, options_.context.tenant, options_.context.principal})));
    return base::base64_encode(
        bytes_of(*id) + std::string(reinterpret_cast<const char*>(mark.data()), kMarkBytes),
        base::Base64Alphabet::url, base::Base64Padding::without);
}

std::optional<std::string> Tasks::call_of(std::string_view id) const {
    const auto bytes = base::base64_decode(id, base::Base64Alphabet::url, base::Base64Padding::without);
    if (!bytes || bytes->size() != kIdBytes + kMarkBytes) return std::nullopt;
    base::Uuid uuid;
    std::copy_n(bytes->begin(), kIdBytes, uuid.bytes.begin());
    std::string call_id = uuid.to_string();
    if (id_of(call_id) != id) return std::nullopt;
    return call_id;
}

void Tasks::keep(std::shared_ptr<Conversation> conversation) {
    std::string id = conversation->call_id();
    live_.insert_or_assign(std::move(id), std::move(conversation));
}

void Tasks::ended(const std::string& call_id, const Outcome& outcome) {
    live_.erase(call_id);
    ended_.keep(call_id, outcome);
}

// Nobody can be asked: its client comes now and then, to see what became of it.
void Tasks::resume(const std::string& call_id, std::function<void(const Outcome&)> ended) {
    const auto [place, is_new] = resuming_.try_emplace(call_id);
    if (!is_new) return;
    Context context = options_.context;
    context.cancel_grace = options_.cancel_grace;
    place->second = runtime_.start_resume(call_id, std::move(context), Completion(std::move(ended), home_));
}

// What may go better another time has not ended the task.
bool Tasks::resumed(const std::string& call_id, const Outcome& outcome) {
    resuming_.erase(call_id);
    if (was_used_elsewhere(outcome) || (outcome.error() != nullptr && outcome.error()->retryable))
        return false;
    ended_.keep(call_id, outcome);
    return true;
}

void Tasks::look_up(const std::string& call_id, std::function<void(const Result<CallStatus>&)> found) const {
    if (const Outcome* outcome = ended_.find(call_id)) {
        CallStatus status;
        status.is = CallStatus::Is::ended;
        status.call_id = call_id;
        status.outcome = *outcome;
        found(status);
        return;
    }
    runtime_.start_outcome(call_id, options_.context, std::move(found), home_);
}

void Tasks::end() {
    const auto all = std::exchange(live_, {});
    for (const auto& [id, conversation] : all) {
        conversation->end();
    }
    for (const auto& [id, running] : resuming_) {
        (void)runtime_.cancel(running);
    }
}

std::shared_ptr<Conversation> Tasks::find(const std::string& call_id) const {
    const auto it = live_.find(call_id);
    return it == live_.end() ? nullptr : it->second;
}

Object Tasks::head(const std::string& call_id, std::string_view status,
                   std::chrono::system_clock::time_point changed) const {
    const auto id = base::parse_uuid(call_id);
    const std::chrono::system_clock::time_point created = id ? id->time() : changed;
    return {{"taskId", id_of(call_id)},
            {"status", status},
            {"createdAt", time_text(created)},
            {"lastUpdatedAt", time_text(std::max(created, changed))},
            {"ttlMs", options_.task_time.count()},
            {"pollIntervalMs", kPollIntervalMs}};
}

Object Tasks::describe(const Conversation& conversation) const {
    if (const Outcome* outcome = conversation.outcome())
        return describe(conversation.call_id(), *outcome, conversation.codec());
    Object questions = conversation.questions();
    Object task = head(conversation.call_id(), questions.empty() ? "working" : "input_required",
                       conversation.changed_at());
    if (!conversation.status_message().empty()) task["statusMessage"] = conversation.status_message();
    if (!questions.empty()) task["inputRequests"] = std::move(questions);
    return task;
}

Object Tasks::describe(const std::string& call_id, const CallStatus& status, const Codec& codec) const {
    if (status.outcome) return describe(call_id, *status.outcome, codec);
    Object task = head(call_id, "working", std::chrono::system_clock::now());
    if (status.is == CallStatus::Is::waits_for_approval && !status.approved)
        task["statusMessage"] = fmt::format("waits for approval {}", status.approval_id);
    return task;
}

Object Tasks::describe(const std::string& call_id, const Outcome& outcome, const Codec& codec) const {
    const auto ended = outcome.timestamp() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(outcome.duration());
    const std::string_view status = status_of(outcome);
    Object task = head(call_id, status, ended);
    if (const auto fault = protocol_fault_of(outcome)) {
        Object error{{"code", fault->code}, {"message", fault->message}};
        if (!fault->data.is_null()) error["data"] = fault->data;
        task["error"] = std::move(error);
    } else if (status == "completed") {
        task["result"] = result_of(outcome, codec);
    }
    return task;
}

Object Tasks::describe_gone(const std::string& call_id) const {
    Object task = head(call_id, "failed", std::chrono::system_clock::now());
    task["error"] = Object{{"code", codes::kInternal},
                           {"message",
                            "Nothing of it is on the record any more: it ended without an effect, or too "
                            "long ago."}};
    return task;
}

}  // namespace callgate::mcp
