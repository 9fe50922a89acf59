#include <callgate/observer.h>

#include "base/ids.h"
#include "tool/audit_texts.h"
#include "tool/iso_time.h"

namespace callgate {
namespace {

bool is_zero(const CallId& id) {
    return id == CallId{};
}

std::string text_of(const CallId& id) {
    return base::Uuid{id}.to_string();
}

void add_text(Object& out, std::string_view name, std::string_view text) {
    if (!text.empty()) out.emplace(name, text);
}

}  // namespace

std::string_view to_string(LogLevel level) noexcept {
    switch (level) {
        case LogLevel::debug: return "DEBUG";
        case LogLevel::info: return "INFO";
        case LogLevel::warning: return "WARNING";
        case LogLevel::error: return "ERROR";
    }
    return "ERROR";
}

std::string_view to_string(TelemetryEvent::Name name) noexcept {
    switch (name) {
        case TelemetryEvent::Name::start: return "start";
        case TelemetryEvent::Name::stop: return "stop";
        case TelemetryEvent::Name::exception: return "exception";
        case TelemetryEvent::Name::retry: return "retry";
        case TelemetryEvent::Name::progress: return "progress";
    }
    return "stop";
}

void AuditEvent::own() {
    const std::size_t bytes = text_bytes(*this);
    if (bytes == 0) return;
    texts_ = std::make_unique_for_overwrite<char[]>(bytes);
    char* next = texts_.get();
    for (const auto text : kAuditTexts) {
        std::string_view& view = this->*text;
        view = {next, view.copy(next, view.size())};
        next += view.size();
    }
}

std::string AuditFacts::trace() const {
    return trace_id.empty() ? text_of(call_id) : std::string(trace_id);
}

std::string AuditFacts::summary() const {
    std::string out(type);
    if (!tool.empty()) {
        out += ' ';
        out += tool;
        if (!action.empty() && action != "call") {
            out += '/';
            out += action;
        }
    }
    if (!error_code.empty()) {
        out += ": ";
        out += error_code;
    }
    if (!detail.empty()) {
        out += error_code.empty() ? ": " : ", ";
        out += detail;
    }
    return out;
}

Object AuditFacts::to_json() const {
    Object out;
    out.emplace("sequence", sequence);
    out.emplace("timestamp", iso_utc(at));
    out.emplace("trace_id", trace());
    out.emplace("type", type);
    out.emplace("outcome", outcome);
    out.emplace("summary", summary());
    add_text(out, "stage", stage);
    if (!is_zero(call_id)) out.emplace("call_id", text_of(call_id));
    if (!is_zero(parent_call_id)) out.emplace("parent_call_id", text_of(parent_call_id));
    add_text(out, "tool_name", tool);
    add_text(out, "action", action);
    add_text(out, "connector_id", connector_id);
    add_text(out, "tenant", tenant);
    add_text(out, "principal", principal);
    add_text(out, "run_id", run_id);
    add_text(out, "task_id", task_id);
    add_text(out, "step_id", step_id);
    out.emplace("risk_level", to_string(risk));
    out.emplace("autonomy_level", to_string(autonomy));
    out.emplace("has_key", has_key);
    out.emplace("attempt", attempt);
    out.emplace("latency_ms", std::chrono::duration<double, std::milli>(latency).count());
    add_text(out, "approval_id", approval_id);
    add_text(out, "request_hash", request_hash);
    add_text(out, "error_code", error_code);
    add_text(out, "detail", detail);
    return out;
}

}  // namespace callgate
