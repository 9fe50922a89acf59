#include "schema/format_time.h"

#include <cctype>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schema/format_test_cases.h"

namespace callgate::schema {
namespace {

std::string two_digits(int value) {
    return {static_cast<char>('0' + value / 10), static_cast<char>('0' + value % 10)};
}

// RFC 3339 section 5.6 the slow way: the shape as a string, the values through <chrono>.
bool slow_is_date_time(const std::string& text) {
    std::string shape;
    for (const char c : text) {
        shape += c >= '0' && c <= '9' ? 'd' : c == 'd' ? '?' : c == 'T' ? 't' : c == 'Z' ? 'z' : c;
    }
    std::size_t fraction = 0;
    if (shape.size() > 20 && shape.substr(19, 2) == ".d") {
        fraction = shape.find_first_not_of('d', 20);
        if (fraction == std::string::npos) return false;
        fraction -= 19;
        shape.erase(19, fraction);
    }
    const bool zulu = shape == "dddd-dd-ddtdd:dd:ddz";
    if (!zulu && shape != "dddd-dd-ddtdd:dd:dd+dd:dd" && shape != "dddd-dd-ddtdd:dd:dd-dd:dd") return false;

    const auto number = [&text](std::size_t at, std::size_t count) {
        return std::stoi(text.substr(at, count));
    };
    using namespace std::chrono;
    const year_month_day date{year{number(0, 4)}, month{static_cast<unsigned>(number(5, 2))},
                              day{static_cast<unsigned>(number(8, 2))}};
    const int hour_of_day = number(11, 2);
    const int minute_of_hour = number(14, 2);
    const int second_of_minute = number(17, 2);
    if (!date.ok() || hour_of_day > 23 || minute_of_hour > 59 || second_of_minute > 60) return false;
    minutes offset{0};
    if (!zulu) {
        const std::size_t sign = 19 + fraction;
        if (number(sign + 1, 2) > 23 || number(sign + 4, 2) > 59) return false;
        offset = hours{number(sign + 1, 2)} + minutes{number(sign + 4, 2)};
        if (text[sign] == '-') offset = -offset;
    }
    const auto utc = sys_days{date} + hours{hour_of_day} + minutes{minute_of_hour} - offset;
    return second_of_minute < 60 || utc - floor<days>(utc) == hours{23} + minutes{59};
}

std::string any_date_time() {
    std::string text = two_digits(*rc::gen::inRange(0, 100)) + two_digits(*rc::gen::inRange(0, 100)) + "-" +
                       two_digits(*rc::gen::inRange(1, 13)) + "-" + two_digits(*rc::gen::inRange(1, 32)) +
                       "T" + two_digits(*rc::gen::element(0, 15, 22, 23)) + ":" +
                       two_digits(*rc::gen::element(0, 29, 59)) + ":" +
                       two_digits(*rc::gen::element(0, 59, 60));
    if (*rc::gen::arbitrary<bool>()) text += "." + std::to_string(*rc::gen::inRange(0, 1'000'000));
    const std::string zone =
        *rc::gen::element<std::string>("Z", "z", "+00:00", "-08:00", "+23:30", "-00:30", "+05:45");
    return text + zone;
}

TEST(DateTimeFormat, is_rfc_3339_section_5_6) {
    expect_all(true, is_date_time,
               {
                   {"2024-02-29T00:00:00Z", "5.7 leap year"},
                   {"2000-02-29T23:59:59.5-23:59", "5.7 every fourth century"},
                   {"0000-01-01t00:00:00z", "5.6 note: t and z may be lower case"},
                   {"9999-12-31T23:59:59.123456789012345678901234567890+00:00", "5.6 fraction of any length"},
                   {"2016-12-31T23:59:60Z", "5.7 leap second"},
                   {"2017-01-01T05:29:60.9+05:30", "5.7 leap second at an offset, next local day"},
                   {"2016-12-31T18:59:60-05:00", "5.7 leap second at an offset"},
                   {"2020-01-01T00:00:00-00:00", "4.3 unknown local offset"},
               });
    expect_all(false, is_date_time,
               {
                   {"", "5.6"},
                   {"2024-02-29", "5.6 time is required"},
                   {"2024-02-29T00:00:00", "5.6 offset is required"},
                   {"2024-02-29 00:00:00Z", "5.6 T"},
                   {"2023-02-29T00:00:00Z", "5.7 no leap year"},
                   {"1900-02-29T00:00:00Z", "5.7 centuries are no leap years"},
                   {"2024-04-31T00:00:00Z", "5.7 thirty days"},
                   {"2024-13-01T00:00:00Z", "5.6 month"},
                   {"2024-00-01T00:00:00Z", "5.6 month"},
                   {"2024-01-00T00:00:00Z", "5.6 day"},
                   {"2024-01-01T24:00:00Z", "5.6 hour"},
                   {"2024-01-01T00:60:00Z", "5.6 minute"},
                   {"2024-01-01T00:00:60Z", "5.7 leap second at midnight"},
                   {"2016-12-31T23:59:60+01:00", "5.7 leap second in the wrong hour of UTC"},
                   {"2024-01-01T00:00Z", "5.6 seconds are required"},
                   {"2024-01-01T00:00:00.Z", "5.6 fraction has digits"},
                   {"2024-01-01T00:00:00,5Z", "5.6 fraction after a full stop"},
                   {"2024-01-01T00:00:00+0100", "5.6 colon in the offset"},
                   {"2024-01-01T00:00:00+24:00", "5.6 offset hour"},
                   {"2024-01-01T00:00:00+01:60", "5.6 offset minute"},
                   {"2024-01-01T00:00:00Zulu", "5.6 nothing follows"},
                   {"２024-01-01T00:00:00Z", "5.6 ASCII digits"},
                   {std::string_view("2024-01-01T00:00:00Z\0", 21), "5.6 nothing follows"},
               });
}

RC_GTEST_PROP(DateTimeFormat, agrees_with_a_slow_check_on_every_mutation, ()) {
    const std::string text = any_date_time();
    RC_ASSERT(is_date_time(text) == slow_is_date_time(text));
    for_each_mutation(text, "0123456789-:.+TtZz dx/;", [](const std::string& changed) {
        if (is_date_time(changed) != slow_is_date_time(changed)) RC_FAIL(changed);
    });
}

RC_GTEST_PROP(DateTimeFormat, is_a_date_a_t_and_a_time, ()) {
    const std::string text = any_date_time();
    RC_ASSERT(is_date_time(text) == (is_date(text.substr(0, 10)) && is_time(text.substr(11))));
}

TEST(DateFormat, is_full_date_of_rfc_3339) {
    expect_all(true, is_date, {{"1970-01-01", "5.6"}, {"2400-02-29", "5.7"}, {"2023-11-30", "5.7"}});
    expect_all(false, is_date,
               {{"70-01-01", "5.6 four digits"},
                {"1970-1-01", "5.6 two digits"},
                {"1970/01/01", "5.6 hyphens"},
                {"1970-01-01Z", "5.6 nothing follows"},
                {"-970-01-01", "5.6 no sign"},
                {"2023-11-31", "5.7"},
                {"2023-06-31", "5.7"},
                {"2023-09-31", "5.7"},
                {"1970-001", "5.6 no ordinal dates"}});
}

TEST(TimeFormat, is_full_time_of_rfc_3339) {
    expect_all(true, is_time,
               {{"00:00:00Z", "5.6"},
                {"23:59:59.000z", "5.6"},
                {"12:00:00+14:00", "5.6"},
                {"23:59:60Z", "5.7 leap second"},
                {"00:14:60+00:15", "5.7 leap second over midnight"},
                {"23:44:60-00:15", "5.7 leap second over midnight"}});
    expect_all(false, is_time,
               {{"12:00:00", "5.6 offset is required"},
                {"12:00Z", "5.6 seconds"},
                {"T12:00:00Z", "5.6"},
                {"12:00:00+1:00", "5.6 two digits"},
                {"12:00:00 Z", "5.6"},
                {"00:00:60Z", "5.7"},
                {"23:59:61Z", "5.7"},
                {"12:00:00±01:00", "5.6 sign"}});
}

// RFC 3339 appendix A, one function per production.
struct SlowDuration {
    std::string_view rest;

    bool number(char unit) {
        std::size_t digits = 0;
        while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
        if (digits == 0 || digits == rest.size() || std::toupper(rest[digits]) != unit) return false;
        rest.remove_prefix(digits + 1);
        return true;
    }
    bool letter(char wanted) {
        if (rest.empty() || std::toupper(rest[0]) != wanted) return false;
        rest.remove_prefix(1);
        return true;
    }
    bool second() { return number('S'); }
    bool minute() { return number('M') && (second(), true); }
    bool hour() { return number('H') && (minute(), true); }
    bool day() { return number('D'); }
    bool month() { return number('M') && (day(), true); }
    bool year() { return number('Y') && (month(), true); }
    bool time() { return letter('T') && (hour() || minute() || second()); }
    bool date() { return (day() || month() || year()) && (rest.empty() || time()); }
    bool is(bool (SlowDuration::*production)()) {
        SlowDuration copy = *this;
        return (copy.*production)() && copy.rest.empty();
    }
    bool week() { return number('W'); }
    bool all() {
        return letter('P') && (is(&SlowDuration::date) || is(&SlowDuration::time) || is(&SlowDuration::week));
    }
};

TEST(DurationFormat, is_rfc_3339_appendix_a) {
    expect_all(true, is_duration,
               {{"P3Y6M4DT12H30M5S", "all units"},
                {"P00W", "dur-week"},
                {"PT90M", "dur-minute"},
                {"P2M4D", "dur-month with dur-day"},
                {"P7DT1S", "dur-date with dur-time"},
                {"p1dt2h", "RFC 5234 section 2.3: case is free"},
                {"PT99999999999999999999999999S", "numbers have any length"}});
    expect_all(false, is_duration,
               {{"", "P"},
                {"P", "one unit at least"},
                {"PT", "one unit at least"},
                {"P1", "unit"},
                {"P1DT", "one unit after T"},
                {"P1Y4D", "no unit left out inside"},
                {"PT1H5S", "no unit left out inside"},
                {"P1D1Y", "order"},
                {"P1D1D", "once each"},
                {"P1W1D", "weeks stand alone"},
                {"P1H", "T before hours"},
                {"PT1.5S", "whole numbers"},
                {"-P1D", "no sign"},
                {"P 1D", "no space"},
                {"P١D", "ASCII digits"}});
}

RC_GTEST_PROP(DurationFormat, agrees_with_the_grammar_read_slowly, ()) {
    const auto parts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("1Y", "2M", "3D", "4W", "T", "5H", "6M", "7S", "08", "y", "P"));
    std::string text = "P";
    for (const std::string& part : parts) text += part;
    RC_ASSERT(is_duration(text) == SlowDuration{text}.all());
}

RC_GTEST_PROP(DurationFormat, accepts_every_unbroken_run_of_units, ()) {
    const auto run = [](std::string_view units) {
        const auto first = *rc::gen::inRange<std::size_t>(0, units.size());
        const auto last = *rc::gen::inRange(first, units.size());
        std::string out;
        for (const char unit : units.substr(first, last - first + 1)) {
            out += std::to_string(*rc::gen::inRange(0, 1000)) + unit;
        }
        return out;
    };
    const int kind = *rc::gen::inRange(0, 3);
    const std::string text = "P" + (kind == 1 ? "" : run("YMD")) + (kind == 0 ? "" : "T" + run("HMS"));
    RC_ASSERT(is_duration(text));
    RC_ASSERT(SlowDuration{text}.all());
}

}  // namespace
}  // namespace callgate::schema
