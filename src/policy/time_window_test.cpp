#include "policy/time_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;
using testing::HasSubstr;

base::WallTime utc(int year, unsigned month, unsigned day, std::chrono::minutes at) {
    return sys_days{std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day)} + at;
}

CompiledWindow window(std::chrono::minutes from, std::chrono::minutes until, std::string zone = "UTC",
                      std::vector<int> weekdays = {}) {
    TimeWindow made(from, until, std::move(zone));
    made.weekdays = std::move(weekdays);
    return CompiledWindow::compile(made).value();
}

std::string refusal(const TimeWindow& bad) {
    const auto made = CompiledWindow::compile(bad);
    if (made) return "accepted";
    EXPECT_EQ(made.error().code, ErrorCode::config_error);
    return reason_of(made.error()) + ": " + made.error().message;
}

TEST(TimeWindow, BeginsWithItsFirstMinuteAndEndsBeforeItsLast) {
    const auto office = window(9h, 17h + 30min);
    EXPECT_FALSE(office.contains(utc(2026, 1, 1, 9h) - 1us));
    EXPECT_TRUE(office.contains(utc(2026, 1, 1, 9h)));
    EXPECT_TRUE(office.contains(utc(2026, 1, 1, 17h + 30min) - 1us));
    EXPECT_FALSE(office.contains(utc(2026, 1, 1, 17h + 30min)));
}

TEST(TimeWindow, MaySpanMidnight) {
    const auto night = window(22h, 7h);
    EXPECT_TRUE(night.contains(utc(2026, 1, 1, 22h)));
    EXPECT_TRUE(night.contains(utc(2026, 1, 2, 0h)));
    EXPECT_TRUE(night.contains(utc(2026, 1, 2, 6h + 59min)));
    EXPECT_FALSE(night.contains(utc(2026, 1, 2, 7h)));
    EXPECT_FALSE(night.contains(utc(2026, 1, 2, 12h)));
}

TEST(TimeWindow, MayEndAtMidnightOrLastTheWholeDay) {
    EXPECT_TRUE(window(22h, 24h).contains(utc(2026, 1, 1, 23h + 59min)));
    EXPECT_FALSE(window(22h, 24h).contains(utc(2026, 1, 2, 0h)));
    EXPECT_FALSE(window(22h, 0h).contains(utc(2026, 1, 2, 0h)));
    for (auto at = 0min; at < 24h; at += 30min) EXPECT_TRUE(window(0h, 24h).contains(utc(2026, 1, 1, at)));
}

TEST(TimeWindow, FollowsTheClockOfItsZone) {
    const auto night = window(22h, 7h, "Asia/Tokyo");
    EXPECT_TRUE(night.contains(utc(2026, 6, 1, 13h)));   // 22:00 there
    EXPECT_FALSE(night.contains(utc(2026, 6, 1, 22h)));  // 07:00 there
    EXPECT_TRUE(window(22h, 23h, "Asia/Kolkata").contains(utc(2026, 6, 1, 16h + 30min)));
}

TEST(TimeWindow, FollowsSummerTime) {
    const auto quiet = window(22h, 7h, "Europe/Berlin");
    EXPECT_FALSE(quiet.contains(utc(2026, 1, 15, 20h)));  // 21:00 in winter
    EXPECT_TRUE(quiet.contains(utc(2026, 7, 15, 20h)));   // 22:00 in summer
    // The night of 29 March 2026: 07:00 comes an hour earlier.
    EXPECT_TRUE(quiet.contains(utc(2026, 3, 28, 5h + 59min)));
    EXPECT_FALSE(quiet.contains(utc(2026, 3, 28, 6h)));
    EXPECT_TRUE(quiet.contains(utc(2026, 3, 29, 4h + 59min)));
    EXPECT_FALSE(quiet.contains(utc(2026, 3, 29, 5h)));
    // 25 October 2026: the hour from 2 to 3 happens twice, and both belong to the window.
    const auto hour = window(2h, 3h, "Europe/Berlin");
    EXPECT_FALSE(hour.contains(utc(2026, 10, 24, 23h + 59min)));
    EXPECT_TRUE(hour.contains(utc(2026, 10, 25, 0h)));
    EXPECT_TRUE(hour.contains(utc(2026, 10, 25, 1h + 59min)));
    EXPECT_FALSE(hour.contains(utc(2026, 10, 25, 2h)));
    // And does not happen at all in March.
    for (auto at = 0min; at < 24h; at += 10min) EXPECT_FALSE(hour.contains(utc(2026, 3, 29, at)));
}

TEST(TimeWindow, CountsWeekdaysFromWhereItBegan) {
    const auto friday_night = window(22h, 7h, "UTC", {5});
    EXPECT_TRUE(friday_night.contains(utc(2026, 1, 2, 23h)));   // Friday
    EXPECT_TRUE(friday_night.contains(utc(2026, 1, 3, 6h)));    // Saturday morning
    EXPECT_FALSE(friday_night.contains(utc(2026, 1, 3, 23h)));  // Saturday night
    EXPECT_FALSE(friday_night.contains(utc(2026, 1, 2, 6h)));   // Friday morning
    const auto sunday_night = window(22h, 7h, "UTC", {7});
    EXPECT_TRUE(sunday_night.contains(utc(2026, 1, 5, 3h)));  // Monday morning
    const auto monday = window(0h, 24h, "Pacific/Auckland", {1});
    EXPECT_TRUE(monday.contains(utc(2026, 1, 4, 12h)));  // Sunday noon in UTC
    const auto thursday = window(0h, 24h, "UTC", {4});
    EXPECT_TRUE(thursday.contains(utc(1970, 1, 1, 0h)));
    EXPECT_FALSE(thursday.contains(utc(1969, 12, 31, 12h)));
}

TEST(TimeWindow, RefusesWhatMeansNothing) {
    EXPECT_THAT(refusal(TimeWindow(22h, 7h, "Europe/Atlantis")),
                HasSubstr("unknown_zone: Time zone 'Europe/Atlantis'"));
    EXPECT_THAT(refusal(TimeWindow(22h, 7h, "")), HasSubstr("unknown_zone"));
    EXPECT_THAT(refusal(TimeWindow(22h, 7h, "../../etc/passwd")), HasSubstr("unknown_zone"));
    EXPECT_THAT(refusal(TimeWindow(22h, 7h, std::string(1'000'000, 'x'))), HasSubstr("unknown_zone"));
    EXPECT_THAT(refusal(TimeWindow(7h, 7h, "UTC")), HasSubstr("bad_window"));
    EXPECT_THAT(refusal(TimeWindow(24h, 7h, "UTC")), HasSubstr("bad_window"));
    EXPECT_THAT(refusal(TimeWindow(-1min, 7h, "UTC")), HasSubstr("bad_window"));
    EXPECT_THAT(refusal(TimeWindow(1h, 25h, "UTC")), HasSubstr("bad_window"));
    TimeWindow weekday(1h, 2h, "UTC");
    weekday.weekdays = {1, 8};
    EXPECT_THAT(refusal(weekday), HasSubstr("Weekday 8 does not exist"));
}

RC_GTEST_PROP(TimeWindow, AMomentIsInAWindowOrInTheRestOfTheDay, (std::uint32_t seconds)) {
    const int from = *rc::gen::inRange(0, 24 * 60);
    const int until = *rc::gen::inRange(0, 24 * 60);
    RC_PRE(from != until);
    const auto zone =
        *rc::gen::element<std::string>("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe");
    const base::WallTime at{std::chrono::seconds(seconds)};
    RC_ASSERT(window(std::chrono::minutes(from), std::chrono::minutes(until), zone).contains(at) !=
              window(std::chrono::minutes(until), std::chrono::minutes(from), zone).contains(at));
}

}  // namespace
}  // namespace callgate::policy
