// Mail addresses: email (RFC 5321 section 4.1.2, Mailbox) and idn-email (RFC 6531 section 3.3).
//
// Threads: pure functions. is_email does not allocate.
#pragma once

#include <string_view>

namespace callgate::schema {

/// The local part may be quoted, the domain may be an address literal. Local parts beyond 64 octets are
/// refused (RFC 5321 section 4.5.3.1.1).
bool is_email(std::string_view text) noexcept;

/// As is_email, with any character beyond ASCII in the local part and U-labels in the domain.
bool is_idn_email(std::string_view text);

}  // namespace callgate::schema
