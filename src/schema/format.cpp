#include "schema/format.h"

#include <array>
#include <utility>

#include "schema/format_mail.h"
#include "schema/format_net.h"
#include "schema/format_pointer.h"
#include "schema/format_time.h"
#include "schema/regex.h"
#include "schema/uri.h"

namespace callgate::schema {
namespace {

constexpr std::array<std::pair<std::string_view, Format>, 19> kNames{{
    {"date-time", Format::date_time},
    {"date", Format::date},
    {"time", Format::time},
    {"duration", Format::duration},
    {"email", Format::email},
    {"idn-email", Format::idn_email},
    {"hostname", Format::hostname},
    {"idn-hostname", Format::idn_hostname},
    {"ipv4", Format::ipv4},
    {"ipv6", Format::ipv6},
    {"uri", Format::uri},
    {"uri-reference", Format::uri_reference},
    {"iri", Format::iri},
    {"iri-reference", Format::iri_reference},
    {"uuid", Format::uuid},
    {"uri-template", Format::uri_template},
    {"json-pointer", Format::json_pointer},
    {"relative-json-pointer", Format::relative_json_pointer},
    {"regex", Format::regex},
}};

}  // namespace

std::optional<Format> format_by_name(std::string_view name) noexcept {
    for (const auto& [known, format] : kNames) {
        if (known == name) return format;
    }
    return std::nullopt;
}

std::string_view format_name(Format format) noexcept {
    for (const auto& [name, known] : kNames) {
        if (known == format) return name;
    }
    return {};
}

bool matches_format(Format format, std::string_view text) {
    switch (format) {
        case Format::date_time: return is_date_time(text);
        case Format::date: return is_date(text);
        case Format::time: return is_time(text);
        case Format::duration: return is_duration(text);
        case Format::email: return is_email(text);
        case Format::idn_email: return is_idn_email(text);
        case Format::hostname: return is_hostname(text);
        case Format::idn_hostname: return is_idn_hostname(text);
        case Format::ipv4: return is_ipv4(text);
        case Format::ipv6: return is_ipv6(text);
        case Format::uri: return is_uri(text);
        case Format::uri_reference: return is_uri_reference(text);
        case Format::iri: return is_iri(text);
        case Format::iri_reference: return is_iri_reference(text);
        case Format::uuid: return is_uuid(text);
        case Format::uri_template: return is_uri_template(text);
        case Format::json_pointer: return is_json_pointer(text);
        case Format::relative_json_pointer: return is_relative_json_pointer(text);
        case Format::regex: return Regex::is_valid(text);
    }
    return false;
}

}  // namespace callgate::schema
