// Gemini's `parameters`: schemas in a subset of OpenAPI 3.0, as JSON Schema.
//
// Types are upper case ("STRING"), counts may be texts ("maxItems": "5"), `nullable` stands for the type
// null, `example` for examples, and `propertyOrdering` becomes the order of the members. `enum` holds texts
// there whatever the type is: those of an INTEGER or a NUMBER become numbers. What the subset does not have
// is refused: Gemini would refuse it, too, and takes a JSON Schema under another name.
//
// Threads: pure functions.
#pragma once

#include <string>

#include <callgate/json.h>

namespace callgate {

struct SchemaFault {
    std::string place;    ///< JSON pointer within the schema
    std::string message;  ///< a sentence or two, with what to do
};

/// `given` must not be deeper than the caller's stack bears.
tl::expected<Value, SchemaFault> json_schema_of_gemini(const Value& given);

/// Whether it says that it is such a schema, by a type that only they have.
bool is_gemini_schema(const Value& schema);

}  // namespace callgate
