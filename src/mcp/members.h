// Members of JSON objects that a message may lack, or have as something else than what is wanted.
//
// Threads: pure functions; what they give is good for as long as the object is.
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <callgate/json.h>

namespace callgate::mcp {

/// "" where there is no such member, or it is no string.
inline std::string_view string_member(const Object& object, std::string_view member) {
    const Value* value = object.if_contains(member);
    return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                  : std::string_view();
}

/// Null where there is no such member, or it is no object.
inline const Object* object_member(const Object& object, std::string_view member) {
    const Value* value = object.if_contains(member);
    return value == nullptr ? nullptr : value->if_object();
}

/// A move that brings the memory along, too, in which the members of `from` are. An assignment would copy
/// them where `to` has memory of another kind.
template <class What>
void take_over(What& to, std::type_identity_t<What>&& from) noexcept {
    std::destroy_at(&to);
    std::construct_at(&to, std::move(from));
}

}  // namespace callgate::mcp
