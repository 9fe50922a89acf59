// The bounds on what anybody may send, ask for or keep, in one place, with the values used when the operator
// says nothing.
//
// Every field has a smallest and a largest sensible value; a configured value outside them is refused with a
// sentence that names the field, the value and the range. There is no "unlimited".
//
// Threads: a plain value.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include <callgate/error.h>

namespace callgate::base {

struct Limits {
    // What comes in.
    std::uint64_t message_bytes = 4u << 20;
    std::uint64_t json_depth = 64;
    std::uint64_t json_nodes = 100'000;
    std::uint64_t batch_calls = 128;
    std::uint64_t tool_name_bytes = 128;
    std::uint64_t idempotency_key_bytes = 255;
    std::uint64_t config_bytes = 1u << 20;
    std::uint64_t header_bytes = 64u << 10;

    // What a tool gives back.
    std::uint64_t result_bytes = 16u << 20;  ///< kept whole up to here
    std::uint64_t model_view_bytes = 10'000;
    std::uint64_t base64_bytes = 1'000;  ///< larger binary data is described, not encoded
    std::uint64_t map_view_keys = 10;
    std::uint64_t list_view_items = 3;
    std::uint64_t output_view_chars = 2'000;
    std::uint64_t content_view_chars = 1'000;
    std::uint64_t log_preview_chars = 100;
    std::uint64_t violations = 100;  ///< validation errors told at once

    // How much at a time.
    std::uint64_t tools = 10'000;
    std::uint64_t concurrent_calls = 1'024;
    std::uint64_t queued_events = 10'000;  ///< per stream, then the producer waits
    std::uint64_t tool_rounds = 5;         ///< per turn of the model

    // How long, in milliseconds.
    std::uint64_t call_timeout_ms = 30'000;
    std::uint64_t call_timeout_max_ms = 3'600'000;
    std::uint64_t shutdown_grace_ms = 5'000;
    std::uint64_t approval_ttl_ms = 900'000;

    /// Sets one field by its name. config_error for an unknown name or a value out of range, details
    /// {reason, limit, value, min, max}; the limits are then unchanged.
    Result<void> set(std::string_view name, std::int64_t value);

    /// Every field within its range, and the fields fit together (no default above its own maximum, no view
    /// larger than what is kept).
    Result<void> validate() const;

    std::chrono::milliseconds call_timeout() const { return std::chrono::milliseconds(call_timeout_ms); }
    std::chrono::milliseconds shutdown_grace() const { return std::chrono::milliseconds(shutdown_grace_ms); }
    std::chrono::milliseconds approval_ttl() const { return std::chrono::milliseconds(approval_ttl_ms); }
};

/// What the operator's manual and `set` know about a field.
struct LimitSpec {
    std::string_view name;
    std::uint64_t Limits::* field;
    std::uint64_t min;
    std::uint64_t max;
    std::string_view unit;
};

std::span<const LimitSpec> limit_specs() noexcept;

}  // namespace callgate::base
