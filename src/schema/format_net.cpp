#include "schema/format_net.h"

#include <algorithm>
#include <cstddef>

#include "schema/format_text.h"
#include "schema/idna.h"

namespace callgate::schema {

bool is_ipv4(std::string_view text) noexcept {
    std::size_t i = 0;
    for (int octet = 0; octet < 4; ++octet) {
        if (octet > 0 && (i == text.size() || text[i++] != '.')) return false;
        const std::size_t start = i;
        unsigned value = 0;
        while (i < text.size() && i - start < 3 && is_ascii_digit(text[i])) {
            value = value * 10 + static_cast<unsigned>(text[i++] - '0');
        }
        const std::size_t digits = i - start;
        if (digits == 0 || value > 255 || (digits > 1 && text[start] == '0')) return false;
    }
    return i == text.size();
}

bool is_ipv6(std::string_view text) noexcept {
    constexpr int kGroups = 8;
    int groups = 0;
    bool gap = text.starts_with("::");
    std::size_t i = gap ? 2 : 0;
    if (gap && text.size() == 2) return true;
    while (true) {
        const std::size_t start = i;
        while (i < text.size() && i - start < 5 && is_hex_digit(text[i])) ++i;
        if (i < text.size() && text[i] == '.') {
            groups += 2;
            return is_ipv4(text.substr(start)) && (gap ? groups < kGroups : groups == kGroups);
        }
        if (i == start || i - start > 4 || ++groups > kGroups) return false;
        if (i == text.size()) break;
        if (text[i++] != ':' || i == text.size()) return false;
        if (text[i] == ':') {
            if (gap) return false;
            gap = true;
            if (++i == text.size()) break;
        }
    }
    return gap ? groups < kGroups : groups == kGroups;
}

bool is_ldh_name(std::string_view text) noexcept {
    if (text.empty() || text.size() > kMaxNameOctets) return false;
    while (true) {
        const std::size_t end = std::min(text.find('.'), text.size());
        if (!is_ldh_label(text.substr(0, end))) return false;
        if (end == text.size()) return true;
        text.remove_prefix(end + 1);
    }
}

bool is_hostname(std::string_view text) {
    if (!is_ldh_name(text)) return false;
    while (true) {
        const std::size_t end = std::min(text.find('.'), text.size());
        const std::string_view label = text.substr(0, end);
        if (has_ace_prefix(label) && !is_a_label(label)) return false;
        if (end == text.size()) return true;
        text.remove_prefix(end + 1);
    }
}

bool is_idn_hostname(std::string_view text) {
    if (std::all_of(text.begin(), text.end(), is_ascii)) return is_hostname(text);
    return is_idn_name(text, IdnInput::any_full_stop);
}

}  // namespace callgate::schema
