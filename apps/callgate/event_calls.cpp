#include "event_calls.h"

#include <algorithm>
#include <utility>

namespace callgate::cli {

namespace {

constexpr std::int64_t kEventsAtOnce = 1'000;

// What the call came to, by its last event that says so.
std::string state_of(const Array& events) {
    std::string state = "unknown";
    for (const Value& event : events) {
        const std::string type = text_at(event, "type");
        if (type == "tool_call.succeeded" || type == "tool_call.deduped") {
            state = "succeeded";
        } else if (type == "tool_call.failed") {
            state = number_at(event, "attempt") == 0 ? "refused" : "failed";
        } else if (type == "tool_call.cancelled") {
            state = "cancelled";
        } else if (type == "tool_call.unknown") {
            state = "unknown";
        } else if (type == "tool_call.attempted") {
            state = "dispatched";
        } else if (type == "gate.required") {
            state = "waiting";
        } else if (type == "gate.preview") {
            state = "previewed";
        } else if (type == "tool_call.denied" || type == "gate.denied" || type == "gate.hard_blocked" ||
                   type == "gate.storm_block") {
            state = "refused";
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
    return {{"call_id", first("call_id")},
            {"state", state_of(events)},
            {"tool", first("tool_name")},
            {"action", first("action")},
            {"effect", ""},
            {"tenant", first("tenant")},
            {"principal", first("principal")},
            {"idempotency_key", ""},
            {"attempts", attempts},
            {"approval_id", first("approval_id")},
            {"created_at", first("timestamp")},
            {"ended_at", events.empty() ? std::string() : text_at(events.back(), "timestamp")},
            {"recorded", "events"}};
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
