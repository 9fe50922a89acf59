// Names of tools as a model's vendor takes them (NameRules), and back.
//
// A name that does not fit gets a stem, in which '_' stands for each character that is not allowed and which
// is cut to the length, and a suffix: the tool's tag, 80 bits of the SHA-256 of its canonical name, written
// with allowed characters. Nobody can choose a canonical name for another's tag; so the suffix says which
// tool is meant, and nothing need be remembered to read it, in this process or the next.
//
// Where lower-case letters, digits and '_' are allowed, as with all vendors, the suffix is "_0" and 16
// characters of a-z and 2-7: the *usual* suffix. No name is given as it is that ends like that.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/definitions.h>
#include <callgate/error.h>

namespace callgate {

struct NameTag {
    std::uint64_t high = 0;
    std::uint16_t low = 0;
    friend bool operator==(const NameTag&, const NameTag&) = default;
};

NameTag tag_of(std::string_view canonical);

/// It may stand in a list for this vendor as it is.
bool fits(std::string_view name, const NameRules& rules);

/// The name with the tag, in these rules. config_error {reason: name_rules_too_narrow} where they leave no
/// room for a suffix.
Result<std::string> fit(std::string_view name, const NameTag& tag, const NameRules& rules);

/// What the end of the name says, if it was made under these rules.
std::optional<NameTag> tag_in(std::string_view name, const NameRules& rules);

/// The tag of a usual suffix, and what stands before it.
struct UsualSuffix {
    std::string_view stem;
    NameTag tag;
};
std::optional<UsualSuffix> usual_suffix(std::string_view name);
/// fit() under some rules with usual suffixes may have made this stem of the name.
/// The name is given in pieces.
bool may_be_stem(std::string_view stem, std::initializer_list<std::string_view> name);

}  // namespace callgate
