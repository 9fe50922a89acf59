#include "schema/format_mail.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "schema/format_net.h"
#include "schema/format_text.h"
#include "schema/idna.h"

namespace callgate::schema {
namespace {

constexpr std::size_t kMaxLocalPartOctets = 64;

enum class Beyond : std::uint8_t { refused, allowed };

constexpr bool is_atext(char c, Beyond beyond) noexcept {
    constexpr std::string_view kMarks = "!#$%&'*+-/=?^_`{|}~";
    if (!is_ascii(c)) return beyond == Beyond::allowed;
    return is_ascii_alnum(c) || kMarks.find(c) != std::string_view::npos;
}

bool is_dot_string(std::string_view text, Beyond beyond) noexcept {
    bool atom = false;  // whether the current atom has a character yet
    for (const char c : text) {
        if (c == '.') {
            if (!atom) return false;
            atom = false;
        } else {
            if (!is_atext(c, beyond)) return false;
            atom = true;
        }
    }
    return atom;
}

// Where the quoted string that opens the text ends (past its closing quote).
std::optional<std::size_t> quoted_string_end(std::string_view text, Beyond beyond) noexcept {
    for (std::size_t i = 1; i < text.size() && i <= kMaxLocalPartOctets; ++i) {
        if (text[i] == '"') return i + 1;
        if (text[i] == '\\') {
            if (++i == text.size() || text[i] < ' ' || text[i] > '~') return std::nullopt;
        } else if (is_ascii(text[i]) ? text[i] < ' ' || text[i] > '~' : beyond == Beyond::refused) {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

// The part after the '@'; nullopt when what stands before it is no local part.
std::optional<std::string_view> domain_of(std::string_view text, Beyond beyond) noexcept {
    std::size_t end = 0;
    if (text.starts_with('"')) {
        const auto quoted = quoted_string_end(text, beyond);
        if (!quoted) return std::nullopt;
        end = *quoted;
    } else {
        end = text.find('@');
        if (end == std::string_view::npos || !is_dot_string(text.substr(0, end), beyond)) return std::nullopt;
    }
    if (end > kMaxLocalPartOctets || end >= text.size() || text[end] != '@') return std::nullopt;
    return text.substr(end + 1);
}

// RFC 5321 section 4.1.3. IPv6 is the only tag that IANA lists for General-address-literal.
bool is_address_literal(std::string_view domain) noexcept {
    if (domain.size() < 2 || domain.front() != '[' || domain.back() != ']') return false;
    const std::string_view inside = domain.substr(1, domain.size() - 2);
    constexpr std::string_view kTag = "ipv6:";
    const bool tagged = inside.size() >= kTag.size() &&
                        std::equal(kTag.begin(), kTag.end(), inside.begin(), [](char tag, char c) {
                            return c == tag || (is_ascii_alpha(c) && static_cast<char>(c | 0x20) == tag);
                        });
    return tagged ? is_ipv6(inside.substr(kTag.size())) : is_ipv4(inside);
}

}  // namespace

bool is_email(std::string_view text) noexcept {
    const auto domain = domain_of(text, Beyond::refused);
    return domain && (is_ldh_name(*domain) || is_address_literal(*domain));
}

bool is_idn_email(std::string_view text) {
    const auto domain = domain_of(text, Beyond::allowed);
    return domain &&
           (is_ldh_name(*domain) || is_address_literal(*domain) || is_idn_name(*domain, IdnInput::mail));
}

}  // namespace callgate::schema
