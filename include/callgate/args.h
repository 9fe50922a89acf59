// The arguments of a call, in whichever form the caller has them: an object, JSON text, or none.
//
// They own what they hold: they may be kept, handed on to other threads and awaited. Only Runtime::call(), if
// it is given text itself, borrows that text from its caller until it returns.
//
// Threads: a plain value.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/json/value_ref.hpp>

#include <callgate/json.h>

namespace callgate {

/// JSON text in any form that a caller has it: a literal, std::string, std::string_view …
template <class T>
concept JsonText = std::convertible_to<const T&, std::string_view> && !std::is_null_pointer_v<T>;

class Args {
public:
    /// None: the tool gets {}.
    Args() = default;
    // NOLINTBEGIN(google-explicit-constructor)
    Args(std::nullptr_t) {}
    Args(Object object) : held_(Value(std::move(object))) {}
    /// A string is taken as JSON text, null as no arguments. The call refuses any other value that is no
    /// object.
    Args(Value value) : held_(std::move(value)) {}
    Args(std::string json_text) : held_(std::move(json_text)) {}
    Args(const char* json_text) : held_(std::string(json_text)) {}
    Args(std::string_view json_text) : held_(std::string(json_text)) {}
    // NOLINTEND(google-explicit-constructor)
    Args(std::initializer_list<std::pair<boost::json::string_view, boost::json::value_ref>> members)
        : held_(Value(Object(members))) {}

    bool absent() const noexcept { return std::holds_alternative<std::monostate>(held_); }
    /// The JSON text, if they came as such.
    std::optional<std::string_view> text() const noexcept {
        if (const auto* own = std::get_if<std::string>(&held_)) return *own;
        if (const auto* callers = std::get_if<std::string_view>(&held_)) return *callers;
        return std::nullopt;
    }
    Value* value() noexcept { return std::get_if<Value>(&held_); }
    const Value* value() const noexcept { return std::get_if<Value>(&held_); }

private:
    friend class Runtime;  // the only one that borrows text, for as long as call() lasts
    struct Borrowed {
        std::string_view text;
    };
    explicit Args(Borrowed callers) : held_(callers.text) {}

    std::variant<std::monostate, Value, std::string, std::string_view> held_;
};

}  // namespace callgate
