#include "schema/format_time.h"

#include <cstddef>

#include "schema/format_text.h"

namespace callgate::schema {
namespace {

constexpr unsigned kNoNumber = ~0u;

// `count` digits at `position`, which the caller knows to be inside the text; kNoNumber when one is none.
constexpr unsigned number_at(std::string_view text, std::size_t position, std::size_t count) noexcept {
    unsigned value = 0;
    for (const char c : text.substr(position, count)) {
        if (!is_ascii_digit(c)) return kNoNumber;
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value;
}

constexpr unsigned days_in_month(unsigned year, unsigned month) noexcept {
    if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

// One chain of duration units, each optional at the front and at the back but not in between: "1Y2M" and
// "2M3D" are in the grammar, "1Y3D" is not. Returns how many units were read and moves `position` past them.
int read_units(std::string_view text, std::size_t& position, std::string_view units) noexcept {
    int read = 0;
    std::size_t next_unit = 0;
    while (position < text.size() && is_ascii_digit(text[position])) {
        std::size_t end = position;
        while (end < text.size() && is_ascii_digit(text[end])) ++end;
        if (end == text.size()) break;
        const std::size_t unit = units.find(lower(text[end]));
        if (unit == std::string_view::npos || (read == 0 ? unit < next_unit : unit != next_unit)) break;
        next_unit = unit + 1;
        position = end + 1;
        ++read;
    }
    return read;
}

}  // namespace

bool is_date(std::string_view text) noexcept {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
    const unsigned year = number_at(text, 0, 4);
    const unsigned month = number_at(text, 5, 2);
    const unsigned day = number_at(text, 8, 2);
    return year != kNoNumber && month >= 1 && month <= 12 && day >= 1 && day <= days_in_month(year, month);
}

bool is_time(std::string_view text) noexcept {
    constexpr unsigned kMinutesPerDay = 24 * 60;
    if (text.size() < 9 || text[2] != ':' || text[5] != ':') return false;
    const unsigned hour = number_at(text, 0, 2);
    const unsigned minute = number_at(text, 3, 2);
    const unsigned second = number_at(text, 6, 2);
    if (hour > 23 || minute > 59 || second > 60) return false;

    std::size_t i = 8;
    if (text[i] == '.') {
        const std::size_t start = ++i;
        while (i < text.size() && is_ascii_digit(text[i])) ++i;
        if (i == start) return false;
    }
    const std::string_view zone = text.substr(i);
    unsigned utc_minute = hour * 60 + minute;
    if (zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':') {
        const unsigned offset_hour = number_at(zone, 1, 2);
        const unsigned offset_minute = number_at(zone, 4, 2);
        if (offset_hour > 23 || offset_minute > 59) return false;
        const unsigned offset = offset_hour * 60 + offset_minute;
        utc_minute = (utc_minute + (zone[0] == '+' ? kMinutesPerDay - offset : offset)) % kMinutesPerDay;
    } else if (zone.size() != 1 || lower(zone[0]) != 'z') {
        return false;
    }
    return second < 60 || utc_minute == kMinutesPerDay - 1;
}

bool is_date_time(std::string_view text) noexcept {
    return text.size() > 11 && lower(text[10]) == 't' && is_date(text.substr(0, 10)) &&
           is_time(text.substr(11));
}

bool is_duration(std::string_view text) noexcept {
    if (text.empty() || lower(text[0]) != 'p') return false;
    std::size_t i = 1;
    if (read_units(text, i, "w") > 0) return i == text.size();
    const int date_units = read_units(text, i, "ymd");
    if (i == text.size()) return date_units > 0;
    if (lower(text[i++]) != 't') return false;
    return read_units(text, i, "hms") > 0 && i == text.size();
}

}  // namespace callgate::schema
