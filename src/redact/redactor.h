// The one redactor: what goes to logs, telemetry, the audit, stored results and people passes through it.
//
// Two rules. By name: a member whose name announces a secret (key_rules.h) has its scalar or list replaced by
// `[REDACTED]`; an object under such a name is searched further instead. By value: every form of every
// registered secret is masked in every string, member name and text. Neither rule ever makes a document
// larger than a marker per masked place, and both work on any depth without recursion; below `max_depth`
// everything is masked.
//
// Threads: immutable; may be shared.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <callgate/json.h>

#include "redact/secret_set.h"
#include "redact/stream_redactor.h"

namespace callgate::redact {

enum class Rules : std::uint8_t {
    names_and_values,
    values_only,  ///< for results that are kept whole: names are not the gateway's to judge there
};

class Redactor {
public:
    static constexpr std::size_t kDefaultMaxDepth = 512;

    explicit Redactor(std::shared_ptr<const SecretIndex> secrets = nullptr,
                      std::size_t max_depth = kDefaultMaxDepth)
        : secrets_(std::move(secrets)), max_depth_(max_depth) {}

    /// A masked copy. Members keep their order; member names that become equal by masking are numbered.
    Value redact(const Value& value, Rules rules = Rules::names_and_values,
                 boost::json::storage_ptr memory = {}) const;
    /// The same in place; what needs no masking is not touched.
    void redact_in_place(Value& value, Rules rules = Rules::names_and_values) const;

    std::string redact_text(std::string_view text) const;
    /// Without registered secrets only names are masked.
    bool knows_secrets() const noexcept { return secrets_ != nullptr; }
    /// Whether any form of a registered secret is in the text.
    bool finds_secret(std::string_view text) const;

    StreamRedactor stream() const { return StreamRedactor(secrets_); }

private:
    bool masks_by_name(std::string_view name, const Value& value, Rules rules) const;
    bool masks_number(const Value& value) const;
    bool has_masked_name(const Object& object) const;
    void rename(Object& object) const;
    bool may_match(std::string_view text) const;
    std::string unique_name(std::string_view name, const Object& taken, std::size_t& number) const;

    std::shared_ptr<const SecretIndex> secrets_;
    std::size_t max_depth_;
};

}  // namespace callgate::redact
