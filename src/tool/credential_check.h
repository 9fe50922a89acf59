// Refuses tools that carry a credential in plain sight.
//
// A definition goes to models and a contract into listings and records, so neither may hold a secret: a tool
// asks for secrets by connector when it runs. Looked at are all strings of the contract, the annotations, and
// what a schema gives away as a value (`default`, `const`, `enum`, `examples`, `x-` members). A credential is
// recognised by its form (private keys, tokens of known makers, `Bearer …`, user:password in a URL,
// `?token=…`) or by the name of the member it stands under (redact/key_rules.h). Placeholders such as
// ${TOKEN} or <token> are none. Prose, that is descriptions, is not read.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <callgate/tool.h>

namespace callgate {

struct CredentialFinding {
    std::string place;  ///< e.g. "contract.config_ref", "input_schema/properties/key/default"
    std::string form;   ///< what it looks like, e.g. "a URL with a password"; never the value
};

/// Definitions nested deeper than 256 are not searched below that; registration refuses them before.
std::optional<CredentialFinding> find_credential(const Tool& tool);

/// What kind of credential the text has the form of; nothing if of none.
std::optional<std::string_view> credential_form(std::string_view text);

}  // namespace callgate
