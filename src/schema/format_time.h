// Dates and times of RFC 3339: date-time, date, time (section 5.6) and duration (appendix A).
//
// Threads: pure functions, no allocation.
#pragma once

#include <string_view>

namespace callgate::schema {

/// A leap second counts only where it can occur: at 23:59:60 UTC, after taking off the offset.
bool is_date_time(std::string_view text) noexcept;
bool is_date(std::string_view text) noexcept;
bool is_time(std::string_view text) noexcept;

/// Numbers may have any length. The letters' case is free, as in every ABNF string (RFC 5234 section 2.3).
bool is_duration(std::string_view text) noexcept;

}  // namespace callgate::schema
