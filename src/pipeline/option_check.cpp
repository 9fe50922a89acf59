#include "pipeline/option_check.h"

#include <cstdint>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace callgate::pipeline {
namespace {

struct Range {
    std::string_view option;
    std::string_view unit;
    std::int64_t given;
    std::int64_t least;
    std::int64_t most;
};

template <class Count>
constexpr std::int64_t whole(Count count) noexcept {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(count) > kMost ? kMost : count);
}

constexpr std::int64_t kDay = 24 * 60 * 60 * 1'000;  // in milliseconds
constexpr std::int64_t kCentury = 100 * 365 * 24;    // in hours

}  // namespace

Result<void> check_options(const RuntimeOptions& options) {
    const Range ranges[] = {
        {"default_timeout", " ms", options.default_timeout.count(), 1, 7 * kDay},
        {"shutdown_grace", " ms", options.shutdown_grace.count(), 0, kDay},
        {"disk_hung_after", " ms", options.disk_hung_after.count(), 1, kDay},
        {"key_ttl", " h", options.key_ttl.count(), 0, kCentury},
        {"tombstone_ttl", " h", options.tombstone_ttl.count(), 0, kCentury},
        {"pool_threads", "", whole(options.pool_threads), 0, 10'000},
        {"callback_threads", "", whole(options.callback_threads), 1, 10'000},
        {"ledger_readers", "", whole(options.ledger_readers), 1, 64},
        {"batch_concurrency", "", whole(options.batch_concurrency), 1, 10'000},
        {"max_input_time", " ms", options.max_input_time.count(), 1, 7 * kDay},
        {"max_input_rounds", "", whole(options.max_input_rounds), 0, 10'000},
        {"max_suspended_calls", "", whole(options.max_suspended_calls), 0, 10'000'000},
        {"max_input_threads", "", whole(options.max_input_threads), 0, 10'000},
        {"max_nesting", "", whole(options.max_nesting), 0, 1'000},
    };
    for (const Range& range : ranges) {
        if (range.given >= range.least && range.given <= range.most) continue;
        return fail(ErrorCode::config_error,
                    fmt::format("RuntimeOptions::{} is {}{} and must be from {} to {}{}.", range.option,
                                range.given, range.unit, range.least, range.most, range.unit),
                    {{"reason", "option_out_of_range"},
                     {"option", range.option},
                     {"least", range.least},
                     {"most", range.most}});
    }
    return {};
}

}  // namespace callgate::pipeline
