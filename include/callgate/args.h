// The arguments of a call, in whichever form the caller has them: an object, JSON text, or none.
//
// Threads: a plain value.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <boost/json/value_ref.hpp>

#include <callgate/json.h>

namespace callgate {

class Args {
public:
    /// None: the tool gets {}.
    Args() = default;
    Args(std::nullptr_t) {}                                   // NOLINT(google-explicit-constructor)
    Args(Object object) : held_(Value(std::move(object))) {}  // NOLINT(google-explicit-constructor)
    /// A string value is taken as JSON text; null as none; anything else that is no object is refused by the
    /// call.
    Args(Value value) : held_(std::move(value)) {}                // NOLINT(google-explicit-constructor)
    Args(std::string json_text) : held_(std::move(json_text)) {}  // NOLINT(google-explicit-constructor)
    Args(const char* json_text)
        : held_(std::string_view(json_text)) {}  // NOLINT(google-explicit-constructor)
    /// The text must outlive the call's first step, as an argument of call() does.
    Args(std::string_view json_text) : held_(json_text) {}  // NOLINT(google-explicit-constructor)
    Args(std::initializer_list<std::pair<boost::json::string_view, boost::json::value_ref>> members)
        : held_(Value(Object(members))) {}

    bool absent() const noexcept { return std::holds_alternative<std::monostate>(held_); }
    /// The JSON text, if it came as such.
    const std::string_view* view() const noexcept { return std::get_if<std::string_view>(&held_); }
    const std::string* text() const noexcept { return std::get_if<std::string>(&held_); }
    Value* value() noexcept { return std::get_if<Value>(&held_); }
    const Value* value() const noexcept { return std::get_if<Value>(&held_); }
    /// Makes the arguments independent of text they only point to.
    void own();

private:
    std::variant<std::monostate, Value, std::string, std::string_view> held_;
};

}  // namespace callgate
