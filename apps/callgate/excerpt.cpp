#include "excerpt.h"

#include <algorithm>

#include <fmt/format.h>

#include <boost/json/value.hpp>

#include "base/utf8.h"

namespace callgate::cli {

namespace {

// Bytes of the line shown on either side of the place.
constexpr std::size_t kBefore = 50;
constexpr std::size_t kAfter = 25;

std::optional<std::size_t> number_in(const Error& error, std::string_view name) {
    const boost::json::value* value = error.details.if_contains(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_uint64()) return value->get_uint64();
    if (value->is_int64() && value->get_int64() >= 0) return static_cast<std::size_t>(value->get_int64());
    return std::nullopt;
}

}  // namespace

std::optional<Excerpt> excerpt_of(std::string_view text, const Error& error) {
    const auto line_number = number_in(error, "line");
    const auto byte = number_in(error, "byte");
    if (!line_number || !byte || *byte > text.size()) return std::nullopt;

    const std::size_t place = *byte;
    const std::size_t newline = place == 0 ? std::string_view::npos : text.rfind('\n', place - 1);
    const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
    const std::size_t line_end = std::min(text.find_first_of("\r\n", place), text.size());
    if (text.substr(line_begin, line_end - line_begin).find_first_not_of(" \t\r") == std::string_view::npos)
        return std::nullopt;

    std::size_t begin = place - line_begin > kBefore ? place - kBefore : line_begin;
    while (begin > line_begin && begin < place && base::is_utf8_continuation(text[begin])) ++begin;
    std::size_t end = std::min(line_end, place + kAfter);
    while (end > place && end < line_end && base::is_utf8_continuation(text[end])) --end;

    Excerpt excerpt;
    excerpt.line = *line_number;
    if (begin > line_begin) {
        excerpt.text = "…";
        excerpt.column = 1;
    }
    for (std::size_t at = begin; at < end;) {
        const Glyph glyph = first_glyph(text.substr(at, end - at));
        excerpt.text += glyph.shown;
        at += glyph.bytes;
        if (at <= place) excerpt.column += glyph.columns;
    }
    if (end < line_end) excerpt.text += "…";
    return excerpt;
}

std::string render(const Excerpt& excerpt, const Style& style) {
    constexpr std::size_t kLead = 9;  // "     1 | "
    std::string text = excerpt.text;
    std::size_t column = excerpt.column;
    if (style.width > kLead) {
        const std::size_t room = style.width - kLead;
        // The place stays in sight.
        if (columns_of(text) > room && column >= room) {
            const std::size_t half = room / 2;
            std::string_view rest = text;
            while (column > half) {
                const Glyph glyph = first_glyph(rest);
                column -= std::min(column, glyph.columns);
                rest.remove_prefix(glyph.bytes);
            }
            text = "…" + std::string(rest);
            ++column;
        }
        text = clipped(text, room);
    }
    const std::string number = fmt::format("{:>6}", excerpt.line);
    return fmt::format("{} {}\n{} {}{}\n", style.dim(number + " |"), text, style.dim("       |"),
                       std::string(column, ' '), style.red("^"));
}

}  // namespace callgate::cli
