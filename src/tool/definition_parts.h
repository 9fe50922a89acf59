// One tool definition of a form that is known, read member by member. definition_reader.cpp finds out
// what a document holds, and in which form.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <callgate/definitions.h>

namespace callgate {

/// config_error {reason, place}; the message begins with the place, if there is one.
tl::unexpected<Error> not_read(std::string_view reason, std::string_view place, std::string_view message);

/// JSON pointers, one step longer.
std::string step_in(std::string place, std::string_view token);
std::string step_in(std::string place, std::size_t index);

/// "" if there is none, or it is no text.
std::string_view text_member(const Object& object, std::string_view member);

/// Null if absent. An explicit null is the same to every vendor.
const Value* given_in(const Object& object, std::string_view member);

/// The same for Gemini's members, which its SDKs also take with underscores.
const Value* gemini_member(const Object& object, std::string_view member);

/// A definition's object, and where in the document its parts stand.
struct FoundForm {
    DefinitionForm form;
    const Object* parts;
    std::string place;
};

/// `outside` is the object around the parts; they themselves, if the form has no wrapper.
Result<ReadDefinition> read_definition_parts(const FoundForm& found, const Object& outside);

}  // namespace callgate
