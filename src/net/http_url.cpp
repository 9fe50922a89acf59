#include "net/http_url.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/try.h"
#include "net/address.h"
#include "net/http_head.h"

namespace callgate::net {
namespace {

constexpr std::size_t kMostHostBytes = 253;
constexpr std::size_t kMostLabelBytes = 63;

tl::unexpected<Error> bad_url(const char* why) {
    return fail(ErrorCode::invalid_arguments, fmt::format("The URL cannot be used: {}.", why),
                {{"reason", "bad_url"}});
}

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

bool is_of_a_label(char c) noexcept {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
}

// Some readers take such a name for an address of IPv4, in octal or with parts left out.
bool looks_like_a_number(std::string_view label) noexcept {
    return is_digit(label.front()) && (std::ranges::all_of(label, is_digit) || label.starts_with("0x"));
}

const char* fault_of_name(std::string_view host) noexcept {
    if (host.size() > kMostHostBytes) return "its host is too long";
    for (std::string_view rest = host;;) {
        const std::size_t dot = rest.find('.');
        const std::string_view label = rest.substr(0, dot);
        if (label.empty()) return "a part of its host is empty";
        if (label.size() > kMostLabelBytes) return "a part of its host is too long";
        if (!std::ranges::all_of(label, is_of_a_label))
            return "its host has a character that no name has; write international names as xn--";
        if (dot == std::string_view::npos) {
            if (looks_like_a_number(label)) return "its host is neither a name nor an address like 192.0.2.1";
            return nullptr;
        }
        rest.remove_prefix(dot + 1);
    }
}

Result<void> read_host(HttpUrl& url, std::string_view text) {
    if (text.starts_with('[')) {
        const auto address = IpAddress::parse(text.substr(1, text.size() - 2));
        if (!address || !address->six) return bad_url("what stands in brackets is no address of IPv6");
        url.host = address->text();
        url.literal = true;
        return {};
    }
    url.host.resize(text.size());
    std::ranges::transform(text, url.host.begin(), base::ascii_lower);
    if (const auto address = IpAddress::parse(url.host); address && !address->six) {
        url.literal = true;
        return {};
    }
    if (const char* fault = fault_of_name(url.host)) return bad_url(fault);
    return {};
}

Result<void> read_authority(HttpUrl& url, std::string_view text) {
    if (text.empty()) return bad_url("it has no host");
    if (text.find('@') != std::string_view::npos) return bad_url("it has credentials in front of its host");
    std::size_t end = text.find(':');
    if (text.starts_with('[')) {
        const std::size_t bracket = text.find(']');
        if (bracket == std::string_view::npos) return bad_url("a bracket is not closed");
        end = bracket + 1;
    }
    CALLGATE_TRY(read_host(url, text.substr(0, end)));
    if (end >= text.size()) return {};
    const std::string_view port = text.substr(end + 1);
    const bool digits = !port.empty() && port.size() <= 5 && std::ranges::all_of(port, is_digit);
    unsigned number = 0;
    std::from_chars(port.data(), port.data() + port.size(), number);
    if (text[end] != ':' || !digits || number == 0 || number > 65'535) return bad_url("its port is no port");
    url.port = static_cast<std::uint16_t>(number);
    return {};
}

Result<void> check_bytes(std::string_view text) {
    if (text.size() > HttpUrl::kMostBytes) return bad_url("it is too long");
    if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127 && c != '\\'; }))
        return bad_url("it has a space, a control character, a backslash or something beyond ASCII");
    return {};
}

// "https" of "https://…", where a scheme stands at all.
std::optional<std::string_view> scheme_of(std::string_view text) noexcept {
    const std::size_t colon = text.find_first_of(":/?#");
    if (colon == std::string_view::npos || text[colon] != ':') return std::nullopt;
    return text.substr(0, colon);
}

void set_target(HttpUrl& url, std::string_view path_and_query) {
    url.target = path_and_query.starts_with('/') ? "" : "/";
    url.target += path_and_query;
}

// RFC 3986, 5.2.4, of a path that begins with a slash.
std::string without_dots(std::string_view path) {
    std::string done;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/', 1), path.size());
        const std::string_view part = path.substr(0, end);
        const bool last = end == path.size();
        path.remove_prefix(end);
        if (part == "/..") done.resize(std::min(done.rfind('/'), done.size()));
        if (part != "/." && part != "/..") {
            done += part;
        } else if (last) {
            done += '/';
        }
    }
    return done;
}

}  // namespace

std::string HttpUrl::authority() const {
    std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
    if (port != (secure ? 443 : 80)) text += ":" + std::to_string(port);
    return text;
}

std::string HttpUrl::origin() const {
    return (secure ? "https://" : "http://") + authority();
}

std::string HttpUrl::text() const {
    return origin() + target;
}

Result<HttpUrl> parse_url(std::string_view text) {
    CALLGATE_TRY(check_bytes(text));
    HttpUrl url;
    const auto scheme = scheme_of(text);
    url.secure = scheme && same_ignoring_case(*scheme, "https");
    if (!url.secure && !(scheme && same_ignoring_case(*scheme, "http")))
        return bad_url("it begins neither with http:// nor with https://");
    url.port = url.secure ? 443 : 80;
    text.remove_prefix(scheme->size() + 1);
    if (!text.starts_with("//")) return bad_url("its host has to follow on two slashes");
    text.remove_prefix(2);
    text = text.substr(0, text.find('#'));
    const std::size_t end = std::min(text.find_first_of("/?"), text.size());
    CALLGATE_TRY(read_authority(url, text.substr(0, end)));
    set_target(url, text.substr(end));
    return url;
}

Result<HttpUrl> resolve_url(const HttpUrl& base, std::string_view reference) {
    CALLGATE_TRY(check_bytes(reference));
    reference = reference.substr(0, reference.find('#'));
    if (scheme_of(reference)) return parse_url(reference);
    if (reference.starts_with("//"))
        return parse_url((base.secure ? "https:" : "http:") + std::string(reference));
    HttpUrl url = base;
    if (reference.empty()) return url;
    const std::string_view base_path = std::string_view(base.target).substr(0, base.target.find('?'));
    const std::size_t mark = std::min(reference.find('?'), reference.size());
    const std::string_view path = reference.substr(0, mark);
    const std::string_view query = reference.substr(mark);
    if (path.empty()) {
        url.target = base_path;
    } else if (path.starts_with('/')) {
        url.target = without_dots(path);
    } else {
        std::string merged(base_path.substr(0, base_path.rfind('/') + 1));
        url.target = without_dots(merged.append(path));
    }
    url.target += query;
    if (url.target.size() > HttpUrl::kMostBytes) return bad_url("it is too long");
    return url;
}

}  // namespace callgate::net
