#include "wire/header_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

#include "base/encoding.h"
#include "base/utf8.h"

namespace callgate::wire {
namespace {

constexpr std::string_view kBegin = "=?base64?";
constexpr std::string_view kEnd = "?=";
constexpr std::int64_t kExact = (std::int64_t{1} << 53) - 1;

bool is_space(char c) noexcept {
    return c == ' ' || c == '\t';
}

bool is_visible(char c) noexcept {
    return c > ' ' && c < '\x7f';
}

bool looks_encoded(std::string_view text) noexcept {
    return text.size() >= kBegin.size() + kEnd.size() && text.starts_with(kBegin) && text.ends_with(kEnd);
}

bool is_plain(std::string_view text) noexcept {
    if (text.empty()) return true;
    return !is_space(text.front()) && !is_space(text.back()) && !looks_encoded(text) &&
           std::ranges::all_of(text, [](char c) { return is_visible(c) || is_space(c); });
}

std::optional<std::int64_t> integer_of(const Value& argument) {
    if (argument.is_int64()) {
        const std::int64_t number = argument.get_int64();
        if (number >= -kExact && number <= kExact) return number;
    } else if (argument.is_uint64() && argument.get_uint64() <= static_cast<std::uint64_t>(kExact)) {
        return static_cast<std::int64_t>(argument.get_uint64());
    } else if (argument.is_double()) {
        const double number = argument.get_double();
        const bool exact = number >= static_cast<double>(-kExact) && number <= static_cast<double>(kExact);
        if (exact && std::trunc(number) == number) return static_cast<std::int64_t>(number);
    }
    return std::nullopt;
}

}  // namespace

bool is_token(std::string_view text) noexcept {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return (c >= '0' && c <= '9') || (base::ascii_lower(c) >= 'a' && base::ascii_lower(c) <= 'z') ||
               kMarks.find(c) != std::string_view::npos;
    });
}

std::string_view trim(std::string_view value) noexcept {
    while (!value.empty() && is_space(value.front())) value.remove_prefix(1);
    while (!value.empty() && is_space(value.back())) value.remove_suffix(1);
    return value;
}

bool is_value(std::string_view value) noexcept {
    return std::ranges::none_of(
        value, [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; });
}

std::string encode_value(std::string_view text) {
    if (is_plain(text)) return std::string(text);
    std::string value(kBegin);
    value += base::base64_encode(text);
    value += kEnd;
    return value;
}

Result<std::string> decode_value(std::string_view value) {
    value = trim(value);
    if (!looks_encoded(value)) return std::string(value);
    value.remove_prefix(kBegin.size());
    value.remove_suffix(kEnd.size());
    auto text = base::base64_decode(value);
    if (!text || !base::is_valid_utf8(*text)) {
        return fail(ErrorCode::invalid_arguments,
                    "A header's value is marked as base64 and is none, or no UTF-8.",
                    {{"reason", "header_value"}});
    }
    return std::move(*text);
}

std::optional<std::string> value_of(const Value& argument) {
    if (argument.is_string()) return encode_value(argument.get_string());
    if (argument.is_bool()) return argument.get_bool() ? "true" : "false";
    if (const auto number = integer_of(argument)) return std::to_string(*number);
    return std::nullopt;
}

Result<bool> says(std::string_view value, const Value& argument) {
    auto text = decode_value(value);
    if (!text) return tl::unexpected(std::move(text.error()));
    if (argument.is_string()) return std::string_view(argument.get_string()) == *text;
    if (argument.is_bool()) return *text == (argument.get_bool() ? "true" : "false");
    const auto number = integer_of(argument);
    std::int64_t said = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), said);
    return number && read.ec == std::errc() && read.ptr == text->data() + text->size() && said == *number;
}

}  // namespace callgate::wire
