// What is told about calls while they happen: audit events, telemetry, log lines, progress.
//
// All of it comes from one transition point, already redacted. Each call gives `start` and then exactly one
// of `stop` and `exception`; the audit has one terminal event per call; the log has one TOOL_CALL and one
// TOOL_SUCCESS or TOOL_FAILED. Views point into the call and are valid only during the function that gets
// them.
//
// Threads: an observer's functions are called from the threads that calls run on, several at once. They must
// not throw; what they throw is dropped and counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <callgate/context.h>
#include <callgate/json.h>
#include <callgate/outcome.h>
#include <callgate/tool.h>

namespace callgate {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
std::string_view to_string(LogLevel level) noexcept;  ///< "DEBUG" …

/// One line of the audit: what happened, to which call, with what result. Append-only.
struct AuditEvent {
    std::uint64_t sequence = 0;  ///< dense, set by the ledger; 0 in what an observer is told
    std::chrono::system_clock::time_point at;
    std::string_view type;     ///< e.g. "tool_call.succeeded"; like the other views a constant of the library
    std::string_view outcome;  ///< success, failure, suppressed, info
    std::string_view stage;    ///< the pipeline's stage that spoke
    std::string_view error_code;  ///< e.g. "tool.timeout"
    Risk risk = Risk::low;
    Autonomy autonomy = Autonomy::a2;
    bool has_key = false;
    std::uint32_t attempt = 0;
    std::chrono::nanoseconds latency{0};
    CallId call_id{};
    CallId parent_call_id{};
    std::string trace_id;  ///< "" stands for the call id; trace() is never empty
    std::string approval_id;
    std::string tenant;
    std::string principal;
    std::string run_id;
    std::string task_id;
    std::string step_id;
    std::string tool;
    std::string action;
    std::string connector_id;
    std::string request_hash;  ///< hex; only where a digest was computed: calls with a key or an approval
    std::string detail;        ///< one sentence, redacted; may be empty

    AuditEvent() = default;

    std::string trace() const;
    /// One line for people: type, tool, action, and what went wrong.
    std::string summary() const;
    Object to_json() const;
};

/// A redacted value that is made when somebody looks.
class LazyValue {
public:
    virtual ~LazyValue() = default;
    virtual Value get() const = 0;
};

/// One telemetry event.
struct TelemetryEvent {
    enum class Name : std::uint8_t { start, stop, exception, retry, progress };
    Name name = Name::start;
    std::string_view tool;
    std::string_view action;
    CallId call_id{};
    std::string_view trace_id;
    std::chrono::system_clock::time_point at;  ///< start
    std::chrono::nanoseconds duration{0};      ///< stop, exception
    State state = State::failed;               ///< stop, exception
    std::string_view reason;                   ///< exception: the error code
    std::uint32_t attempt = 0;                 ///< retry
    const LazyValue* params = nullptr;         ///< start: the arguments
    const LazyValue* result = nullptr;         ///< stop: the result
};
std::string_view to_string(TelemetryEvent::Name name) noexcept;

class Observer {
public:
    virtual ~Observer() = default;
    virtual void on_audit(const AuditEvent&) {}
    virtual void on_telemetry(const TelemetryEvent&) {}
    virtual void on_log(LogLevel, std::string_view /*line*/) {}
    virtual void on_progress(const Progress&) {}

    /// Which of them are wanted: what nobody wants is not built. Asked once, when the observer is attached.
    virtual bool wants_audit() const { return true; }
    virtual bool wants_telemetry() const { return true; }
    virtual bool wants_log() const { return true; }
};

}  // namespace callgate
