#include "tool/iso_time.h"

#include <fmt/format.h>

namespace callgate {

std::string iso_utc(std::chrono::system_clock::time_point at) {
    namespace chrono = std::chrono;
    const auto whole = chrono::floor<chrono::microseconds>(at);
    const auto day = chrono::floor<chrono::days>(whole);
    const chrono::year_month_day date(day);
    const chrono::hh_mm_ss time(whole - day);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       time.hours().count(), time.minutes().count(), time.seconds().count(),
                       time.subseconds().count());
}

}  // namespace callgate
