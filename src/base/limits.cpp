#include "base/limits.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace callgate::base {
namespace {

constexpr std::uint64_t kKiB = 1u << 10;
constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kGiB = 1u << 30;
constexpr std::uint64_t kDayMs = 86'400'000;

constexpr std::array kSpecs{
    LimitSpec{"message_bytes", &Limits::message_bytes, kKiB, kGiB, "bytes"},
    LimitSpec{"json_depth", &Limits::json_depth, 4, 512, "levels"},
    LimitSpec{"json_nodes", &Limits::json_nodes, 100, 100'000'000, "values"},
    LimitSpec{"batch_calls", &Limits::batch_calls, 1, 10'000, "calls"},
    LimitSpec{"tool_name_bytes", &Limits::tool_name_bytes, 8, kKiB, "bytes"},
    LimitSpec{"idempotency_key_bytes", &Limits::idempotency_key_bytes, 16, 4 * kKiB, "bytes"},
    LimitSpec{"config_bytes", &Limits::config_bytes, kKiB, 64 * kMiB, "bytes"},
    LimitSpec{"header_bytes", &Limits::header_bytes, kKiB, kMiB, "bytes"},
    LimitSpec{"result_bytes", &Limits::result_bytes, kKiB, kGiB, "bytes"},
    LimitSpec{"model_view_bytes", &Limits::model_view_bytes, 256, 64 * kMiB, "bytes"},
    LimitSpec{"base64_bytes", &Limits::base64_bytes, 0, 7'500, "bytes"},
    LimitSpec{"map_view_keys", &Limits::map_view_keys, 1, 1'000, "keys"},
    LimitSpec{"list_view_items", &Limits::list_view_items, 1, 1'000, "items"},
    LimitSpec{"output_view_chars", &Limits::output_view_chars, 16, kMiB, "characters"},
    LimitSpec{"content_view_chars", &Limits::content_view_chars, 16, kMiB, "characters"},
    LimitSpec{"log_preview_chars", &Limits::log_preview_chars, 0, 10'000, "characters"},
    LimitSpec{"violations", &Limits::violations, 1, 10'000, "errors"},
    LimitSpec{"tools", &Limits::tools, 1, 1'000'000, "tools"},
    LimitSpec{"concurrent_calls", &Limits::concurrent_calls, 1, 1'000'000, "calls"},
    LimitSpec{"queued_events", &Limits::queued_events, 16, 10'000'000, "events"},
    LimitSpec{"tool_rounds", &Limits::tool_rounds, 1, 1'000, "rounds"},
    LimitSpec{"call_timeout_ms", &Limits::call_timeout_ms, 1, kDayMs, "milliseconds"},
    LimitSpec{"call_timeout_max_ms", &Limits::call_timeout_max_ms, 1, kDayMs, "milliseconds"},
    LimitSpec{"shutdown_grace_ms", &Limits::shutdown_grace_ms, 0, 600'000, "milliseconds"},
    LimitSpec{"approval_ttl_ms", &Limits::approval_ttl_ms, 1'000, kDayMs, "milliseconds"},
};
static_assert(sizeof(Limits) == kSpecs.size() * sizeof(std::uint64_t),
              "each field of Limits needs its LimitSpec");

std::optional<Error> out_of_range(const LimitSpec& spec, std::int64_t value) {
    if (value >= 0 && static_cast<std::uint64_t>(value) >= spec.min &&
        static_cast<std::uint64_t>(value) <= spec.max) {
        return std::nullopt;
    }
    return Error(ErrorCode::config_error,
                 fmt::format("limits.{} = {} is out of range: give a value from {} to {} ({}).", spec.name,
                             value, spec.min, spec.max, spec.unit),
                 {{"reason", "limit_out_of_range"},
                  {"limit", spec.name},
                  {"value", value},
                  {"min", spec.min},
                  {"max", spec.max}});
}

tl::unexpected<Error> misfit(std::string_view lower, std::uint64_t low, std::string_view upper,
                             std::uint64_t high) {
    return fail(ErrorCode::config_error,
                fmt::format("limits.{} = {} is above limits.{} = {}: lower the first or raise the second.",
                            lower, low, upper, high),
                {{"reason", "limits_do_not_fit"}, {"limit", lower}, {"value", low}, {"max", high}});
}

}  // namespace

std::span<const LimitSpec> limit_specs() noexcept {
    return kSpecs;
}

Result<void> Limits::set(std::string_view name, std::int64_t value) {
    std::string known;
    for (const auto& spec : kSpecs) {
        if (spec.name == name) {
            if (auto error = out_of_range(spec, value)) {
                return tl::unexpected(std::move(*error));
            }
            this->*spec.field = static_cast<std::uint64_t>(value);
            return {};
        }
        known.append(known.empty() ? "" : ", ").append(spec.name);
    }
    return fail(ErrorCode::config_error,
                fmt::format("There is no limit named '{}'. Known limits: {}.", name, known),
                {{"reason", "unknown_limit"}, {"limit", name}});
}

Result<void> Limits::validate() const {
    for (const auto& spec : kSpecs) {
        const std::uint64_t value = this->*spec.field;
        // Beyond int64 every field is out of range anyway.
        const bool huge = value > static_cast<std::uint64_t>(INT64_MAX);
        if (auto error = out_of_range(spec, huge ? INT64_MAX : static_cast<std::int64_t>(value))) {
            return tl::unexpected(std::move(*error));
        }
    }
    if (call_timeout_ms > call_timeout_max_ms) {
        return misfit("call_timeout_ms", call_timeout_ms, "call_timeout_max_ms", call_timeout_max_ms);
    }
    if (model_view_bytes > result_bytes) {
        return misfit("model_view_bytes", model_view_bytes, "result_bytes", result_bytes);
    }
    return {};
}

}  // namespace callgate::base
