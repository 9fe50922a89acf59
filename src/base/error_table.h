// The one table that knows what each ErrorCode is called elsewhere: JSON-RPC code, HTTP status, the five seed
// systems' names and texts, the audit event, the telemetry event, and what a model should do next.
//
// Every code has exactly one row (checked when this is compiled). error_views.h turns a row and an Error into
// what others see.
//
// Threads: the table is constant; all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <callgate/error.h>

namespace callgate::base {

inline constexpr std::size_t kErrorCodeCount = static_cast<std::size_t>(ErrorCode::internal) + 1;

/// The telemetry event that ends the call.
enum class TelemetryEnd : std::uint8_t {
    stop,      ///< refused, or completed with an error of the tool's own
    exception  ///< execution began and did not complete
};

/// One row. The defaults are those of a refusal or a failure that its message explains.
struct ErrorRow {
    ErrorCode code;
    std::string_view name;
    int json_rpc;
    int http;
    bool retryable = false;  ///< what Error::retryable starts as; false where only who knows more may say yes
    // Texts are templates over {tool}, {message}, {kind}, {seconds} and {ms}.
    std::string_view s0_text = "{message}";
    std::string_view s1_type = "execution_error";
    std::string_view s1_text = "{message}";
    std::string_view s2_code = "tool_error";
    std::string_view s2_text = "{message}";
    std::string_view s3_event = "tool_call.failed";
    std::string_view s3_code = {};
    std::string_view s3_outcome = "failure";  ///< or info, suppressed
    std::string_view s4_text = "{message}";
    std::string_view gate = {};  ///< details.gate of the S1 and S2 views; empty where no gate spoke
    TelemetryEnd telemetry = TelemetryEnd::stop;
    std::string_view next_step = {};  ///< one sentence, addressed to the model
};

std::span<const ErrorRow, kErrorCodeCount> error_table() noexcept;

const ErrorRow& error_row(ErrorCode code) noexcept;

/// The code with this spelling, or nothing.
std::optional<ErrorCode> error_code_from_string(std::string_view name) noexcept;

}  // namespace callgate::base
