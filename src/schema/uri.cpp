#include "schema/uri.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "schema/format_net.h"
#include "schema/format_text.h"

namespace callgate::schema {
namespace {

// One bit per place where an ASCII character may stand by itself (RFC 3986 appendix A).
enum CharClass : std::uint8_t {
    kUnreservedOrSubDelim = 1,  // reg-name
    kUserinfo = 2,              // and IPvFuture: the above and ':'
    kPathChar = 4,              // pchar and '/'
    kQueryChar = 8,             // pchar, '/' and '?': query and fragment
    kSchemeChar = 16,
};

constexpr std::array<std::uint8_t, 128> make_char_classes() {
    std::array<std::uint8_t, 128> table{};
    const auto add = [&table](std::string_view chars, unsigned bits) {
        for (const char c : chars) {
            auto& entry = table[static_cast<unsigned char>(c)];
            entry = static_cast<std::uint8_t>(entry | bits);
        }
    };
    constexpr unsigned everywhere = kUnreservedOrSubDelim | kUserinfo | kPathChar | kQueryChar;
    add("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.", everywhere | kSchemeChar);
    add("+", everywhere | kSchemeChar);
    add("_~!$&'()*,;=", everywhere);
    add(":", kUserinfo | kPathChar | kQueryChar);
    add("@/", kPathChar | kQueryChar);
    add("?", kQueryChar);
    return table;
}

constexpr auto kCharClasses = make_char_classes();

constexpr bool is_in(char c, CharClass bits) noexcept {
    return is_ascii(c) && (kCharClasses[static_cast<unsigned char>(c)] & bits) != 0;
}

enum class Repertoire : std::uint8_t { ascii, ucschar, ucschar_and_private };

// RFC 3987 section 4.1: these must not be in an IRI, though the grammar has them.
constexpr bool is_bidi_formatting(char32_t c) noexcept {
    return c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E);
}

bool all_allowed(std::string_view text, CharClass bits, Repertoire repertoire) noexcept {
    std::size_t i = 0;
    while (i < text.size()) {
        const char c = text[i];
        if (is_in(c, bits)) {
            ++i;
        } else if (is_percent_triplet(text, i)) {
            i += 3;
        } else {
            if (is_ascii(c) || repertoire == Repertoire::ascii) return false;
            const char32_t code = next_code_point(text, i);
            const bool private_use = repertoire == Repertoire::ucschar_and_private && is_iprivate(code);
            if ((!is_ucschar(code) || is_bidi_formatting(code)) && !private_use) return false;
        }
    }
    return true;
}

bool is_scheme(std::string_view text) noexcept {
    if (text.empty() || !is_ascii_alpha(text[0])) return false;
    for (const char c : text) {
        if (!is_in(c, kSchemeChar)) return false;
    }
    return true;
}

bool is_ip_literal(std::string_view inside) noexcept {
    if (inside.empty() || (inside[0] != 'v' && inside[0] != 'V')) return is_ipv6(inside);
    const std::size_t dot = inside.find('.');
    if (dot == std::string_view::npos || dot < 2 || dot + 1 == inside.size()) return false;
    for (const char c : inside.substr(1, dot - 1)) {
        if (!is_hex_digit(c)) return false;
    }
    for (const char c : inside.substr(dot + 1)) {
        if (!is_in(c, kUserinfo)) return false;
    }
    return true;
}

bool is_port(std::string_view text) noexcept {
    for (const char c : text) {
        if (!is_ascii_digit(c)) return false;
    }
    return true;
}

bool is_authority(std::string_view text, Repertoire repertoire) noexcept {
    if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
        if (!all_allowed(text.substr(0, at), kUserinfo, repertoire)) return false;
        text.remove_prefix(at + 1);
    }
    if (!text.empty() && text[0] == '[') {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos || !is_ip_literal(text.substr(1, end - 1))) return false;
        text.remove_prefix(end + 1);
        return text.empty() || (text[0] == ':' && is_port(text.substr(1)));
    }
    // A reg-name holds no ':', so the first one starts the port. An IPv4 address is also a reg-name.
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos && !is_port(text.substr(colon + 1))) return false;
    return all_allowed(text.substr(0, colon), kUnreservedOrSubDelim, repertoire);
}

bool is_reference(std::string_view text, Repertoire repertoire, bool scheme_needed) noexcept {
    const UriParts parts = split_uri(text);
    if (parts.has_scheme ? !is_scheme(parts.scheme) : scheme_needed) return false;
    // split_uri finds no scheme in ":a"; path-noscheme forbids it. Any other early ':' was taken for a
    // scheme's end.
    if (!parts.has_scheme && !parts.has_authority && parts.path.starts_with(':')) return false;
    if (parts.has_authority && !is_authority(parts.authority, repertoire)) return false;
    const auto query_repertoire =
        repertoire == Repertoire::ascii ? Repertoire::ascii : Repertoire::ucschar_and_private;
    return all_allowed(parts.path, kPathChar, repertoire) &&
           all_allowed(parts.query, kQueryChar, query_repertoire) &&
           all_allowed(parts.fragment, kQueryChar, repertoire);
}

// RFC 3986 section 5.2.4. Each ".." takes back only what was written once: linear.
std::string without_dot_segments(std::string_view path) {
    std::string out;
    out.reserve(path.size() + 2);
    while (path.starts_with("./") || path.starts_with("../")) path.remove_prefix(path.find('/') + 1);
    if (path == "." || path == "..") return out;

    std::size_t position = std::min(path.find('/'), path.size());
    out += path.substr(0, position);
    while (position < path.size()) {
        const std::size_t end = std::min(path.find('/', position + 1), path.size());
        const std::string_view segment = path.substr(position + 1, end - position - 1);
        const bool up = segment == "..";
        if (up) {
            while (!out.empty() && out.back() != '/') out.pop_back();
            if (!out.empty()) out.pop_back();
        }
        if (up || segment == ".") {
            if (end == path.size()) out += '/';
        } else {
            out += path.substr(position, end - position);
        }
        position = end;
    }
    return out;
}

// Section 5.2.3.
std::string merge_paths(const UriParts& base, std::string_view path) {
    std::string merged;
    if (base.has_authority && base.path.empty()) {
        merged = "/";
    } else if (const std::size_t slash = base.path.rfind('/'); slash != std::string_view::npos) {
        merged = base.path.substr(0, slash + 1);
    }
    merged += path;
    return merged;
}

void keep_readable_as_path(std::string& path, const UriParts& target) {
    if (target.has_authority) return;
    if (path.starts_with("//")) {
        path.insert(0, "/.");
    } else if (!target.has_scheme &&
               std::string_view(path).substr(0, path.find('/')).find(':') != path.npos) {
        path.insert(0, "./");
    }
}

}  // namespace

UriParts split_uri(std::string_view uri) noexcept {
    UriParts parts;
    const std::size_t special = uri.find_first_of(":/?#");
    if (special != std::string_view::npos && special > 0 && uri[special] == ':') {
        parts.has_scheme = true;
        parts.scheme = uri.substr(0, special);
        uri.remove_prefix(special + 1);
    }
    if (const std::size_t hash = uri.find('#'); hash != std::string_view::npos) {
        parts.has_fragment = true;
        parts.fragment = uri.substr(hash + 1);
        uri = uri.substr(0, hash);
    }
    if (const std::size_t mark = uri.find('?'); mark != std::string_view::npos) {
        parts.has_query = true;
        parts.query = uri.substr(mark + 1);
        uri = uri.substr(0, mark);
    }
    if (uri.starts_with("//")) {
        const std::size_t end = std::min(uri.find('/', 2), uri.size());
        parts.has_authority = true;
        parts.authority = uri.substr(2, end - 2);
        uri.remove_prefix(end);
    }
    parts.path = uri;
    return parts;
}

std::string resolve_reference(std::string_view base_text, std::string_view reference_text) {
    const UriParts base = split_uri(base_text);
    UriParts target = split_uri(reference_text);
    std::string path;
    if (target.has_scheme || target.has_authority) {
        path = without_dot_segments(target.path);
    } else {
        if (target.path.empty()) {
            path = base.path;
            if (!target.has_query) {
                target.has_query = base.has_query;
                target.query = base.query;
            }
        } else if (target.path.starts_with('/')) {
            path = without_dot_segments(target.path);
        } else {
            path = without_dot_segments(merge_paths(base, target.path));
        }
        target.has_authority = base.has_authority;
        target.authority = base.authority;
    }
    if (!target.has_scheme) {
        target.has_scheme = base.has_scheme;
        target.scheme = base.scheme;
    }
    keep_readable_as_path(path, target);

    std::string out;
    out.reserve(base_text.size() + reference_text.size() + 4);
    if (target.has_scheme) out.append(target.scheme).append(":");
    if (target.has_authority) out.append("//").append(target.authority);
    out += path;
    if (target.has_query) out.append("?").append(target.query);
    if (target.has_fragment) out.append("#").append(target.fragment);
    return out;
}

std::pair<std::string_view, std::string_view> split_fragment(std::string_view uri) noexcept {
    const std::size_t hash = uri.find('#');
    if (hash == std::string_view::npos) return {uri, {}};
    return {uri.substr(0, hash), uri.substr(hash + 1)};
}

std::string percent_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_percent_triplet(text, i)) {
            out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

bool is_uri(std::string_view text) noexcept {
    return is_reference(text, Repertoire::ascii, true);
}

bool is_uri_reference(std::string_view text) noexcept {
    return is_reference(text, Repertoire::ascii, false);
}

bool is_iri(std::string_view text) noexcept {
    return is_reference(text, Repertoire::ucschar, true);
}

bool is_iri_reference(std::string_view text) noexcept {
    return is_reference(text, Repertoire::ucschar, false);
}

}  // namespace callgate::schema
