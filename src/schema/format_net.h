// Addresses and host names: ipv4, ipv6, hostname, idn-hostname. Also used by the URI and mail checks.
//
// Threads: pure functions. Memory is allocated only for labels that are not ASCII or that start with "xn--".
#pragma once

#include <string_view>

namespace callgate::schema {

/// RFC 2673 section 3.2, "dotted quad": four decimal octets without leading zeros.
bool is_ipv4(std::string_view text) noexcept;

/// RFC 4291 section 2.2, all three text forms; no zone id.
bool is_ipv6(std::string_view text) noexcept;

/// RFC 1034 section 3.5 as widened by RFC 1123 section 2.1: letters, digits and inner hyphens; labels of at
/// most 63 octets, at most 253 in all, no final dot.
bool is_ldh_name(std::string_view text) noexcept;

/// An LDH name. Labels that start with "xn--" must be A-labels (RFC 5890 section 2.3.2.1).
bool is_hostname(std::string_view text);

/// A hostname, or a name in the sense of RFC 5890 section 2.3.2.3; U+002E, U+3002, U+FF0E and U+FF61 separate
/// labels (RFC 3490 section 3.1).
bool is_idn_hostname(std::string_view text);

}  // namespace callgate::schema
