// What a tool takes, for people and models: its parameters, and a compact form such as
// `send_mail(to: string[], subject: string, cc?: string[])`.
//
// A reading aid, not a verdict: it follows local references a few steps and says "any" where a type is not
// plain. Its cost is bounded whatever the schema.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <callgate/json.h>

namespace callgate {

struct ParameterSummary {
    std::string name;
    std::string type;
    std::string description;  ///< as it stands in the schema
    bool required = false;
};

/// In the schema's order; what is required but not described comes last.
std::vector<ParameterSummary> summarize_parameters(const Value& schema);

/// The type of the values a schema accepts: "string", "integer[]", "\"a\" | \"b\"", "object | string", "any".
/// Where null may stand instead of something, that something is shown.
std::string type_text(const Value& schema);

std::string compact_form(std::string_view name, const std::vector<ParameterSummary>& parameters);

}  // namespace callgate
