// The `format` keyword as an assertion: each named format of JSON Schema as a yes/no question about a string.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace callgate::schema {

enum class Format : std::uint8_t {
    date_time,
    date,
    time,
    duration,
    email,
    idn_email,
    hostname,
    idn_hostname,
    ipv4,
    ipv6,
    uri,
    uri_reference,
    iri,
    iri_reference,
    uuid,
    uri_template,
    json_pointer,
    relative_json_pointer,
    regex,
};

/// nullopt for a name that is no known format: such a `format` never asserts.
std::optional<Format> format_by_name(std::string_view name) noexcept;

std::string_view format_name(Format format) noexcept;

/// `text` is valid UTF-8.
bool matches_format(Format format, std::string_view text);

}  // namespace callgate::schema
