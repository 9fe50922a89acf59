// What a tool takes, for people: its parameters, and a compact form such as
// `send_mail(to: string[], subject: string, cc?: string[])`.
//
// A reading aid, not a verdict: it follows local references a few steps and says "any" where a type is not
// plain.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <callgate/json.h>

namespace callgate::cli {

struct Parameter {
    std::string name;
    std::string type;
    std::string description;
    bool required = false;
};

/// In the schema's order; what is required but not described comes last.
std::vector<Parameter> parameters_of(const Value& schema);

/// The type of the values a schema accepts: "string", "integer[]", "\"a\" | \"b\"", "object | null", "any".
std::string type_of(const Value& schema);

std::string compact_form(std::string_view name, const std::vector<Parameter>& parameters);

}  // namespace callgate::cli
