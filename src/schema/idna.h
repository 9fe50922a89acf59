// Internationalized names after IDNA2008 (RFC 5890 to 5893): which labels are A-labels or U-labels, which
// names hold.
//
// libidn2 answers for a single label as a registrar would: code points, NFC, hyphens, leading marks, CONTEXTJ
// and CONTEXTO, punycode that encodes back to itself. The Bidi rule is checked here, since it also binds the
// other labels of the name. Inputs that are too long to be a name are refused before any work.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace callgate::schema {

inline constexpr std::size_t kMaxLabelOctets = 63;
inline constexpr std::size_t kMaxNameOctets = 253;  ///< RFC 1035 section 3.1: 255 on the wire

/// Letters, digits and inner hyphens, 1 to 63 of them.
bool is_ldh_label(std::string_view label) noexcept;

/// True when the label starts with "xn--" in any case.
bool has_ace_prefix(std::string_view label) noexcept;

/// `label` is an LDH label with the ACE prefix. True when it is the punycode of a valid U-label.
bool is_a_label(std::string_view label);

enum class IdnInput : std::uint8_t {
    any_full_stop,  ///< U+3002, U+FF0E and U+FF61 separate labels too (RFC 3490 section 3.1)
    mail,           ///< only '.' separates; labels are brought into NFC first, as a look-up does (RFC 5891
                    ///< section 5.2)
};

/// Every label an A-label, a U-label or LDH, and the name as a whole within the Bidi rule and the lengths of
/// DNS.
bool is_idn_name(std::string_view text, IdnInput input);

}  // namespace callgate::schema
