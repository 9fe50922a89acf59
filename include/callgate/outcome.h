// The outcome: the one terminal state of a call, with its result or error and everything a caller needs to go
// on.
//
// Every answer says whether it was replayed, how often the tool was tried, and whether a new idempotency key
// would be safe. Results are kept whole (bounded by the runtime's limits, secrets masked); views.h cuts them
// for others.
//
// Threads: immutable; copies may be used from any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>
#include <callgate/result.h>

namespace callgate {

enum class State : std::uint8_t {
    succeeded,
    failed,     ///< the tool ran and failed, or failed before it could run
    timed_out,  ///< out of time, and nothing can have been changed
    cancelled,  ///< called off, and nothing can have been changed
    unknown,    ///< the effect may or may not have happened
    not_found,
    unavailable,  ///< down, resting, quarantined or switched off
    scope_denied,
    invalid,  ///< the arguments
    denied,   ///< by a rule, the matrix, a person, or an expired or unfit approval
    needs_approval,
    previewed,
    suppressed,    ///< anti-flap or storm
    limited,       ///< a rate, budget, concurrency or loop limit
    replayed,      ///< the stored outcome of the same key; ok() is that outcome's
    in_progress,   ///< the same key is still running elsewhere
    key_conflict,  ///< the key belongs to another request, or is spent
};
inline constexpr std::size_t kStateCount = static_cast<std::size_t>(State::key_conflict) + 1;

std::string_view to_string(State state) noexcept;

/// A call's id; text only where somebody reads it.
using CallId = std::array<std::uint8_t, 16>;

/// What one stage decided; kept only when the context asks for a trace.
struct StageNote {
    std::string stage;
    std::string decision;  ///< e.g. "allow"
    std::string reason;
};

/// Partial content of a call that did not complete.
struct Partial {
    Value content;
    std::size_t bytes = 0;
    std::chrono::system_clock::time_point received_at;
};

struct OutcomeData {
    State state = State::failed;
    bool succeeded = false;  ///< of the outcome itself, or of the one that was replayed
    std::optional<Error> error;
    CallId call_id{};
    CallId parent_call_id{};  ///< all zero when nothing called it
    std::string tool;
    std::string server;  ///< "" for native tools, "unknown" when the tool is
    std::string action;
    std::shared_ptr<const Value> arguments;  ///< normalised, or as they came if they were refused
    ToolResult result;                       ///< of a failure: what its tool said beside the error
    std::optional<Partial> partial;
    std::string approval_id;  ///< needs_approval, previewed, and calls that used one
    std::optional<Preview> preview;
    std::uint32_t attempts = 0;
    /// It is proven that a call with a new key cannot repeat an effect of this one, or of another with its
    /// key. True only if the call had no key and its tool was not entered, or if the ledger's own answer to
    /// this call showed that the key is free or that the call was not applied.
    bool safe_new_key = false;
    bool dispatched = false;  ///< the tool was entered
    bool effectful = true;    ///< it was not a call of effect class `read`
    bool in_process = true;   ///< of a native tool
    std::chrono::system_clock::time_point timestamp;
    std::chrono::nanoseconds duration{0};
    std::vector<StageNote> trace;
};

/// A handle: copies share one OutcomeData.
class Outcome {
public:
    Outcome();
    explicit Outcome(OutcomeData data);
    explicit Outcome(std::shared_ptr<const OutcomeData> data) noexcept : d_(std::move(data)) {}

    bool ok() const noexcept { return d_->succeeded; }
    explicit operator bool() const noexcept { return ok(); }
    State state() const noexcept { return d_->state; }
    /// Null when ok().
    const Error* error() const noexcept { return d_->error ? &*d_->error : nullptr; }

    const std::string& tool() const noexcept { return d_->tool; }
    const std::string& server() const noexcept { return d_->server; }
    const std::string& action() const noexcept { return d_->action; }
    const Value& arguments() const noexcept;
    /// 36 characters, UUID version 7.
    std::string call_id() const;
    /// "" unless a tool made this call.
    std::string parent_call_id() const;
    const std::string& approval_id() const noexcept { return d_->approval_id; }
    const std::optional<Preview>& preview() const noexcept { return d_->preview; }
    const std::optional<Partial>& partial() const noexcept { return d_->partial; }

    bool replayed() const noexcept { return d_->state == State::replayed; }
    std::uint32_t attempts() const noexcept { return d_->attempts; }
    bool safe_new_key() const noexcept { return d_->safe_new_key; }
    std::chrono::system_clock::time_point timestamp() const noexcept { return d_->timestamp; }
    std::chrono::nanoseconds duration() const noexcept { return d_->duration; }
    double latency_ms() const noexcept {
        return std::chrono::duration<double, std::milli>(d_->duration).count();
    }
    const std::vector<StageNote>& trace() const noexcept { return d_->trace; }

    /// The content as text: strings as they are, other values as JSON, text blocks joined by line breaks; ""
    /// on failure.
    std::string text() const;
    /// The content as one value: what the tool returned, or its blocks in MCP's form. Of a failure: what its
    /// tool said beside the error (ToolFailure::content), usually nothing.
    Value content() const;
    /// The content as blocks, whatever form the tool gave it in.
    std::vector<Block> blocks() const;
    const std::optional<Value>& structured() const noexcept { return d_->result.structured; }
    const std::string& raw() const noexcept { return d_->result.raw; }

    /// The result as a C++ value: any type that a typed tool may take (typed.h), ToolResult,
    /// std::vector<Block>, or void. It is read from the structured content if there is some, otherwise from
    /// what the tool returned; where that does not fit and the tool returned text (a string, or text blocks),
    /// from the text, and last from the JSON that the text is. What text() writes of another value is not
    /// read: 5 is no std::string. Numbers are those that were returned, also in a replay.
    /// A call that did not succeed gives its own error, and a result that does not fit gives output_invalid
    /// with details {reason, path}. Defined in typed_outcome.h, which callgate.h includes.
    template <class T>
    Result<T> as() const;

    const OutcomeData& data() const noexcept { return *d_; }

private:
    Error failure() const;

    std::shared_ptr<const OutcomeData> d_;
};

}  // namespace callgate
