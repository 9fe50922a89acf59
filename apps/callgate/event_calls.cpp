#include "event_calls.h"

#include <algorithm>
#include <utility>

namespace callgate::cli {

namespace {

constexpr std::int64_t kEventsAtOnce = 1'000;

// How a call ended, by the event that says so.
std::string end_state(const Value& event) {
    const std::string type = text_at(event, "type");
    const std::string code = text_at(event, "error_code");
    const bool ran = number_at(event, "attempt") != 0;
    if (type == "tool_call.succeeded" || type == "tool_call.deduped") return "succeeded";
    if (type == "tool_call.cancelled" || code == "tool.cancelled") return "cancelled";
    if (type == "tool_call.unknown") return ran ? "unknown" : "refused";
    if (type == "gate.preview") return "previewed";
    if (type == "gate.required") return "waiting";
    if (code == "tool.timeout") return "timed_out";
    return ran ? "failed" : "refused";
}

// What the call came to, by its last event that says so.
std::string state_of(const Array& events) {
    std::string state = "unknown";
    for (const Value& event : events) {
        const std::string type = text_at(event, "type");
        if (text_at(event, "stage") == "settle") {
            state = end_state(event);
        } else if (type == "tool_call.attempted" || type == "gate.allowed") {
            state = "dispatched";
        } else if (type == "tool_call.unknown") {
            state = "unknown";
        } else if (type == "tool_call.gap") {
            state = "not_applied";
        } else if (type == "tool_call.resolved") {
            state = text_at(event, "detail").starts_with("not ") ? "not_applied" : "succeeded";
        } else if (type == "gate.required") {
            state = "waiting";
        } else if (type == "gate.preview") {
            state = "previewed";
        } else if (type == "gate.denied") {
            state = "refused";
        } else if (type == "approval.revoked") {
            state = "revoked";
        } else if (type == "approval.superseded") {
            state = "superseded";
        }
    }
    return state;
}

}  // namespace

Object call_from_events(const Array& events) {
    const auto first = [&](const char* member) {
        for (const Value& event : events)
            if (std::string text = text_at(event, member); !text.empty()) return text;
        return std::string();
    };
    std::int64_t attempts = 0;
    for (const Value& event : events) attempts = std::max(attempts, number_at(event, "attempt"));
    const std::string state = state_of(events);
    const bool goes_on = state == "waiting" || state == "dispatched";
    return {{"call_id", first("call_id")},
            {"state", state},
            {"tool", first("tool_name")},
            {"action", first("action")},
            {"effect", ""},
            {"tenant", first("tenant")},
            {"principal", first("principal")},
            {"idempotency_key", ""},
            {"attempts", attempts},
            {"approval_id", first("approval_id")},
            {"fingerprint", first("request_hash")},
            {"error_code", events.empty() ? std::string() : text_at(events.back(), "error_code")},
            {"created_at", first("timestamp")},
            {"ended_at", goes_on || events.empty() ? Value() : Value(text_at(events.back(), "timestamp"))},
            {"recorded", "events"}};
}

void say_what_became(OperatorRun& run, Object& call) {
    const Value shown(call);
    const std::string id = text_at(shown, "approval_id");
    if (text_at(shown, "state") != "waiting" || id.empty()) return;
    const auto found = run.ask({{"verb", "approvals.show"}, {"id", id}});
    // An approval is kept for longer than anybody may use it.
    if (!found) {
        if (text_at(found.error().details, "reason") == "not_found") call["state"] = "expired";
        return;
    }
    const Value& approval = value_at(*found, "approval");
    std::string state = text_at(approval, "state");
    if (state == "pending") return;
    if (state == "denied") state = "refused";
    if (state == "consumed") {
        state = "resumed";
        call["runs_as"] = text_at(approval, "consumed_by");
    }
    call["state"] = state;
}

bool repeats_an_unknown(const Value& call) {
    return text_at(call, "recorded") == "events" && text_at(call, "state") == "refused" &&
           text_at(call, "error_code") == "call.outcome_unknown";
}

std::optional<Value> earlier_call(OperatorRun& run, const Value& call, const Array& events) {
    const std::string said = events.empty() ? std::string() : text_at(events.back(), "detail");
    const auto page = run.ask({{"verb", "calls.list"}, {"tool", text_at(call, "tool")}, {"limit", 1'000}});
    if (!page) return std::nullopt;
    std::optional<Value> same_request;
    for (const Value& row : list_at(*page, "calls")) {
        if (text_at(row, "fingerprint") != text_at(call, "fingerprint")) continue;
        // The same request under several keys: the event names the one that it is about.
        if (text_at(row, "principal") == text_at(call, "principal") &&
            text_at(row, "tenant") == text_at(call, "tenant") &&
            said.find('\'' + text_at(row, "idempotency_key") + '\'') != std::string::npos)
            return row;
        if (!same_request && text_at(row, "state") == "unknown") same_request = row;
    }
    return same_request;
}

bool EventCalls::read_back(std::uint64_t events) {
    for (std::uint64_t read = 0; read < events && next_ != 0;) {
        Object request{{"verb", "audit.events"}, {"limit", kEventsAtOnce}};
        if (next_ > 0) {
            request["from"] = std::max<std::int64_t>(next_ - kEventsAtOnce + 1, 1);
            request["limit"] = std::min(next_, kEventsAtOnce);
        }
        const auto page = run_.ask(request);
        if (!page || list_at(*page, "events").empty()) {
            next_ = 0;
            break;
        }
        const Array& list = list_at(*page, "events");
        const std::int64_t first = number_at(list.front(), "sequence");
        if (next_ > 0 && first > next_) {
            next_ = 0;  // what was asked for is archived: later events came in its place
            break;
        }
        read += list.size();
        next_ = std::max<std::int64_t>(first - 1, 0);
        std::map<std::string, Array> earlier;
        for (const Value& event : list)
            if (const std::string id = text_at(event, "call_id"); !id.empty()) earlier[id].push_back(event);
        for (auto& [id, own] : earlier) {
            for (Value& event : events_[id]) own.push_back(std::move(event));
            events_[id] = std::move(own);
        }
    }
    return next_ == 0;
}

std::vector<std::string> EventCalls::ids() const {
    std::vector<std::string> out;
    for (const auto& [id, events] : events_) out.push_back(id);
    return out;
}

}  // namespace callgate::cli
