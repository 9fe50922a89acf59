// What the runtime reports about calls while they happen: audit events, telemetry, log lines, progress.
//
// All of it comes from one transition point, already redacted. Each call gives `start` and then exactly one
// of `stop` and `exception`; the audit has one terminal event per call; the log has one TOOL_CALL and one
// TOOL_SUCCESS or TOOL_FAILED. Views point into the call and are valid only during the function that gets
// them.
//
// Threads: an observer's functions are called on the callers' own threads and on threads that exist for such
// code: several at once, those of one call one at a time and in order. They may block and may call the
// runtime: only the caller that is itself being notified waits for them. What they throw is dropped and
// counted.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <callgate/context.h>
#include <callgate/json.h>
#include <callgate/outcome.h>
#include <callgate/tool.h>

namespace callgate {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
std::string_view to_string(LogLevel level) noexcept;  ///< "DEBUG" …

/// What one line of the audit says: what happened to which call, with what result. All texts are borrowed.
struct AuditFacts {
    std::uint64_t sequence = 0;  ///< dense, set by the ledger; 0: it is written with the next batch
    std::chrono::system_clock::time_point at;
    std::string_view type;  ///< e.g. "tool_call.succeeded"; a constant of the library, as the next three are
    std::string_view outcome;     ///< success, failure, suppressed, info
    std::string_view stage;       ///< the pipeline's stage that spoke
    std::string_view error_code;  ///< e.g. "tool.timeout"
    Risk risk = Risk::low;
    Autonomy autonomy = Autonomy::a2;
    bool has_key = false;
    std::uint32_t attempt = 0;
    std::chrono::nanoseconds latency{0};
    CallId call_id{};
    CallId parent_call_id{};
    std::string_view trace_id;  ///< "" stands for the call id; trace() is never empty
    std::string_view approval_id;
    std::string_view tenant;
    std::string_view principal;
    std::string_view run_id;
    std::string_view task_id;
    std::string_view step_id;
    std::string_view tool;
    std::string_view action;
    std::string_view connector_id;
    std::string_view request_hash;  ///< hex; "" except for calls with a key or an approval
    std::string_view detail;        ///< one sentence, redacted; may be empty

    std::string trace() const;
    /// One line for people: type, tool, action, and what went wrong.
    std::string summary() const;
    Object to_json() const;
};

/// One line of the audit. The event that an observer is given borrows its texts from the call, and is good
/// until the observer's function returns. A copy owns its texts.
struct AuditEvent : AuditFacts {
    AuditEvent() noexcept {}  // NOLINT(modernize-use-equals-default): spares clearing it first
    explicit AuditEvent(const AuditFacts& facts) : AuditFacts(facts) { own(); }
    AuditEvent(const AuditEvent& other) : AuditFacts(other) { own(); }
    AuditEvent(AuditEvent&& other)  // NOLINT(performance-noexcept-move-constructor): may have to copy texts
        : AuditFacts(other), texts_(std::move(other.texts_)) {
        if (!texts_) own();
    }
    AuditEvent& operator=(AuditEvent other) noexcept {
        static_cast<AuditFacts&>(*this) = other;
        texts_ = std::move(other.texts_);
        return *this;
    }
    ~AuditEvent() = default;

private:
    void own();

    std::unique_ptr<char[]> texts_;  // null: borrowed, or there are none
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

    /// Which of these the observer wants; what no observer wants is not built. Asked once, when it is
    /// attached.
    virtual bool wants_audit() const { return true; }
    virtual bool wants_telemetry() const { return true; }
    virtual bool wants_log() const { return true; }
};

}  // namespace callgate
