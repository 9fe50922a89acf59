#include "policy/time_window.h"

#include <exception>
#include <string>

// Debian's library is built to read the system's zone files, which its header does not know.
#ifndef USE_OS_TZDB
#define USE_OS_TZDB 1
#endif
#include <date/tz.h>
#include <fmt/format.h>

namespace callgate::policy {

namespace {

constexpr std::int32_t kMinutesOfDay = 24 * 60;
constexpr std::size_t kLongestZone = 64;
constexpr std::uint8_t kEveryDay = 0x7F;

auto bad_window(std::string message) {
    return fail(ErrorCode::config_error, std::move(message), {{"reason", "bad_window"}});
}

const date::time_zone* find_zone(const std::string& name) {
    try {
        const date::time_zone* zone = date::locate_zone(name);
        // The zone's file is read at first use: a broken one must show now, not during a call.
        static_cast<void>(zone->get_info(date::sys_seconds{}));
        return zone;
    } catch (const std::exception&) {
        return nullptr;
    }
}

}  // namespace

Result<CompiledWindow> CompiledWindow::compile(const TimeWindow& window) {
    if (window.from.count() < 0 || window.from.count() >= kMinutesOfDay || window.until.count() < 0 ||
        window.until.count() > kMinutesOfDay) {
        return bad_window(fmt::format(
            "The window from minute {} until minute {} leaves the day; give times from 00:00 to 24:00.",
            window.from.count(), window.until.count()));
    }
    if (window.from == window.until) {
        return bad_window(
            "The window begins and ends at the same time; for a whole day give 00:00 until 24:00.");
    }
    CompiledWindow made;
    made.from_ = static_cast<std::int32_t>(window.from.count());
    made.until_ = static_cast<std::int32_t>(window.until.count());
    for (const int day : window.weekdays) {
        if (day < 1 || day > 7) {
            return bad_window(fmt::format("Weekday {} does not exist; 1 is Monday and 7 is Sunday.", day));
        }
        made.weekdays_ = static_cast<std::uint8_t>(made.weekdays_ | 1U << (day - 1));
    }
    if (window.weekdays.empty()) made.weekdays_ = kEveryDay;
    if (window.zone == "UTC" || window.zone == "Etc/UTC") return made;

    try {
        static_cast<void>(date::get_tzdb());
    } catch (const std::exception&) {
        return fail(
            ErrorCode::config_error,
            "This machine has no time zone database; install the package tzdata, or give times in UTC.",
            {{"reason", "no_zone_database"}});
    }
    if (window.zone.size() <= kLongestZone) made.zone_ = find_zone(window.zone);
    if (made.zone_ == nullptr) {
        return fail(ErrorCode::config_error,
                    fmt::format("Time zone '{}' is unknown; use an IANA name such as Europe/Berlin or UTC.",
                                window.zone.substr(0, kLongestZone)),
                    {{"reason", "unknown_zone"}});
    }
    return made;
}

bool CompiledWindow::contains(base::WallTime now) const {
    using std::chrono::floor;
    std::chrono::seconds since_epoch = floor<std::chrono::seconds>(now).time_since_epoch();
    if (zone_ != nullptr) since_epoch += zone_->get_info(date::sys_seconds(since_epoch)).offset;
    const auto day = floor<std::chrono::days>(since_epoch);
    const auto minute = static_cast<std::int32_t>((since_epoch - day) / std::chrono::minutes(1));
    // 1970-01-01 was a Thursday.
    const auto weekday = static_cast<unsigned>(((day.count() + 3) % 7 + 7) % 7);
    const auto on = [this](unsigned which) { return (weekdays_ >> which & 1U) != 0; };
    if (from_ < until_) return on(weekday) && minute >= from_ && minute < until_;
    return (on(weekday) && minute >= from_) || (on((weekday + 6) % 7) && minute < until_);
}

}  // namespace callgate::policy
