#include "base/error_views.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

namespace callgate::base {
namespace {

const boost::json::value* detail(const Error& error, std::string_view name) {
    return error.details.if_contains(name);
}

std::optional<double> number(const boost::json::value* value) {
    if (value == nullptr) {
        return std::nullopt;
    }
    if (const auto* i = value->if_int64()) {
        return static_cast<double>(*i);
    }
    if (const auto* u = value->if_uint64()) {
        return static_cast<double>(*u);
    }
    if (const auto* d = value->if_double()) {
        return *d;
    }
    return std::nullopt;
}

std::optional<std::string> placeholder(std::string_view name, const Error& error, std::string_view tool) {
    if (name == "tool") {
        return std::string(tool);
    }
    if (name == "message") {
        return error.message;
    }
    if (name == "kind") {
        const auto* kind = detail(error, "kind");
        return kind != nullptr && kind->is_string() ? std::string(kind->get_string()) : std::string("error");
    }
    const auto timeout = number(detail(error, "timeout_ms"));
    if (!timeout) {
        return std::nullopt;
    }
    return fmt::format("{}", name == "seconds" ? *timeout / 1000 : *timeout);
}

// A template whose facts are missing from the error falls back to the message.
std::string expand(std::string_view text, const Error& error, std::string_view tool) {
    std::string out;
    while (!text.empty()) {
        const auto open = text.find('{');
        out.append(text.substr(0, open));
        if (open == std::string_view::npos) {
            break;
        }
        const auto close = text.find('}', open);
        const auto value = placeholder(text.substr(open + 1, close - open - 1), error, tool);
        if (!value) {
            return error.message;
        }
        out.append(*value);
        text.remove_prefix(close + 1);
    }
    return out;
}

boost::json::object details_without_stack(const Error& error) {
    boost::json::object out;
    for (const auto& member : error.details) {
        if (member.key() != "stack" && member.key() != "stacktrace") {
            out.emplace(member.key(), member.value());
        }
    }
    return out;
}

constexpr std::string_view kStorm = "gate.storm_block";

bool suppressed_by_storm(const Error& error) {
    const auto* reason = detail(error, "reason");
    return error.code == ErrorCode::suppressed && reason != nullptr && reason->is_string() &&
           reason->get_string() == "storm";
}

bool effect_possible(ErrorCode code, const CallFacts& facts) {
    switch (code) {
        case ErrorCode::transport: return facts.dispatched;
        case ErrorCode::timed_out:
        case ErrorCode::caught: return facts.dispatched && facts.effectful;
        default: return false;
    }
}

}  // namespace

std::string s0_text(const Error& error, std::string_view tool) {
    return expand(error_row(error.code).s0_text, error, tool);
}

std::string s1_text(const Error& error, std::string_view tool) {
    return expand(error_row(error.code).s1_text, error, tool);
}

boost::json::object s1_details(const Error& error) {
    auto out = details_without_stack(error);
    const auto& row = error_row(error.code);
    if (!row.gate.empty()) {
        out["gate"] = row.gate;
    }
    if (row.s1_type == "caught" && error.code != ErrorCode::caught) {
        out["kind"] = "exit";
    }
    return out;
}

std::string_view s2_code(ErrorCode code, const CallFacts& facts) noexcept {
    if (code == ErrorCode::exception && !facts.in_process) {
        return "tool_error";
    }
    return error_row(code).s2_code;
}

std::string s2_text(const Error& error, std::string_view tool) {
    return expand(error_row(error.code).s2_text, error, tool);
}

boost::json::object s2_details(const Error& error, const CallFacts& facts) {
    auto out = details_without_stack(error);
    const auto& row = error_row(error.code);
    if (!row.gate.empty()) {
        out["gate"] = row.gate;
    }
    if (s2_code(error.code, facts) == "tool_error" && error.code != ErrorCode::tool_error) {
        if (const auto* former = out.if_contains("reason")) {
            boost::json::value moved = *former;
            out["case"] = std::move(moved);
        }
        out["reason"] = row.name;
    }
    if (const auto timeout = number(detail(error, "timeout_ms"));
        timeout && error.code == ErrorCode::timed_out) {
        out["timeout_seconds"] = *timeout / 1000;
    }
    return out;
}

std::string_view s3_event(const Error& error, const CallFacts& facts) noexcept {
    if (effect_possible(error.code, facts)) {
        return "tool_call.unknown";
    }
    return suppressed_by_storm(error) ? kStorm : error_row(error.code).s3_event;
}

std::string_view s3_code(const Error& error) noexcept {
    return suppressed_by_storm(error) ? kStorm : error_row(error.code).s3_code;
}

std::string s4_text(const Error& error, std::string_view tool) {
    return expand(error_row(error.code).s4_text, error, tool);
}

std::string model_text(const Error& error) {
    std::string out = error.message;
    while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) {
        out.pop_back();
    }
    if (!out.empty()) {
        const char last = out.back();
        out += last == '.' || last == '!' || last == '?' ? " " : ". ";
    }
    out += error_row(error.code).next_step;
    return out;
}

}  // namespace callgate::base
