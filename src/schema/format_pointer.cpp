#include "schema/format_pointer.h"

#include <cstddef>

#include "schema/format_text.h"

namespace callgate::schema {
namespace {

// "0", or digits that do not start with "0".
bool skip_integer(std::string_view text, std::size_t& position) noexcept {
    if (position == text.size() || !is_ascii_digit(text[position])) return false;
    if (text[position++] == '0') return true;
    while (position < text.size() && is_ascii_digit(text[position])) ++position;
    return true;
}

constexpr bool is_template_literal(char32_t c) noexcept {
    if (c >= 0x80) return is_ucschar(c) || is_iprivate(c);
    constexpr std::string_view kRefused = "\"%<>\\^`{|}";
    return c > ' ' && c < 0x7F && kRefused.find(static_cast<char>(c)) == std::string_view::npos;
}

bool skip_varchar(std::string_view text, std::size_t& position) noexcept {
    if (position == text.size()) return false;
    if (is_ascii_alnum(text[position]) || text[position] == '_') {
        ++position;
        return true;
    }
    if (!is_percent_triplet(text, position)) return false;
    position += 3;
    return true;
}

// varname [ ":" max-length | "*" ]
bool is_varspec(std::string_view text) noexcept {
    std::size_t i = 0;
    if (!skip_varchar(text, i)) return false;
    while (true) {
        const bool dot = i < text.size() && text[i] == '.';
        if (dot) ++i;
        if (!skip_varchar(text, i)) {
            if (dot) return false;
            break;
        }
    }
    const std::string_view modifier = text.substr(i);
    if (modifier.empty() || modifier == "*") return true;
    if (modifier[0] != ':' || modifier.size() < 2 || modifier.size() > 5 || modifier[1] == '0') return false;
    for (const char c : modifier.substr(1)) {
        if (!is_ascii_digit(c)) return false;
    }
    return true;
}

// What stands between the braces.
bool is_expression(std::string_view text) noexcept {
    constexpr std::string_view kOperators = "+#./;?&=,!@|";
    if (!text.empty() && kOperators.find(text[0]) != std::string_view::npos) text.remove_prefix(1);
    while (true) {
        const std::size_t comma = text.find(',');
        if (!is_varspec(text.substr(0, comma))) return false;
        if (comma == std::string_view::npos) return true;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace

bool is_json_pointer(std::string_view text) noexcept {
    if (text.empty()) return true;
    if (text[0] != '/') return false;
    for (std::size_t i = text.find('~'); i != std::string_view::npos; i = text.find('~', i + 2)) {
        if (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1')) return false;
    }
    return true;
}

bool is_relative_json_pointer(std::string_view text) noexcept {
    std::size_t i = 0;
    if (!skip_integer(text, i)) return false;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) {
        ++i;
        if (!skip_integer(text, i)) return false;
    }
    const std::string_view rest = text.substr(i);
    return rest == "#" || is_json_pointer(rest);
}

bool is_uri_template(std::string_view text) noexcept {
    std::size_t i = 0;
    while (i < text.size()) {
        if (text[i] == '{') {
            const std::size_t close = text.find('}', i);
            if (close == std::string_view::npos || !is_expression(text.substr(i + 1, close - i - 1)))
                return false;
            i = close + 1;
        } else if (is_percent_triplet(text, i)) {
            i += 3;
        } else if (!is_template_literal(next_code_point(text, i))) {
            return false;
        }
    }
    return true;
}

bool is_uuid(std::string_view text) noexcept {
    if (text.size() != 36) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (hyphen ? text[i] != '-' : !is_hex_digit(text[i])) return false;
    }
    return true;
}

}  // namespace callgate::schema
