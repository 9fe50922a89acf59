// The JSON Schema of a C++ type, for typed tools (typed.h).
//
// Members stand in the order of their declaration. A struct that contains itself is described down to itself,
// and as any object below that.
//
// A std::optional that is a parameter or a member may be absent. Anywhere else (an item, a map's value, a
// variant's alternative) something has to stand there, and the schema allows null. A member whose struct
// starts it with a value shows that as its default, and takes null as well: null is none, absent is the
// value.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>
#include <tl/expected.hpp>

#include <callgate/json.h>

namespace callgate::typed {

// What a type is. The order of the questions below is the order of these lines.
template <class T>
inline constexpr bool kJson =
    std::is_same_v<T, Value> || std::is_same_v<T, Object> || std::is_same_v<T, Array>;
template <class T>
inline constexpr bool kText = std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;
template <class T>
inline constexpr bool kCharacter =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
template <class T>
inline constexpr bool kInteger = std::is_integral_v<T> && !std::is_same_v<T, bool> && !kCharacter<T>;
template <class T>
inline constexpr bool kEnum = std::is_enum_v<T>;
template <class T>
inline constexpr bool kOptional = false;
template <class T>
inline constexpr bool kOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kVariant = false;
template <class... T>
inline constexpr bool kVariant<std::variant<T...>> = true;
template <class T>
inline constexpr bool kNothing = std::is_same_v<T, std::monostate> || std::is_same_v<T, std::nullptr_t>;
template <class T>
inline constexpr bool kPath = std::is_same_v<T, std::filesystem::path>;
template <class T>
inline constexpr bool kDescribed = [] {
    if constexpr (std::is_class_v<T>) return boost::describe::has_describe_members<T>::value;
    return false;
}();
template <class T>
inline constexpr bool kMap = requires {
    typename T::mapped_type;
    requires std::is_same_v<typename T::key_type, std::string>;
};
template <class T>
inline constexpr bool kSet = requires(T set, typename T::key_type item) {
    requires std::is_same_v<typename T::key_type, typename T::value_type>;
    set.insert(std::move(item)).second;
};
template <class T>
inline constexpr bool kTuple = requires { std::tuple_size<T>::value; };
template <class T>
inline constexpr bool kFixed = kTuple<T> && requires { typename T::value_type; };  // std::array
template <class T>
inline constexpr bool kList =
    requires(T list, typename T::value_type item) { list.push_back(std::move(item)); };

template <class T>
using Members =
    boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

/// Whether a value of the type looks into what it was read from: a std::string_view is somewhere inside.
/// `Outer` are the structs that it is inside of.
template <class T, class... Outer>
constexpr bool borrows() {
    if constexpr ((std::is_same_v<T, Outer> || ...)) {
        return false;
    } else if constexpr (std::is_same_v<T, std::string_view>) {
        return true;
    } else if constexpr (kVariant<T>) {
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return (borrows<std::variant_alternative_t<I, T>, Outer...>() || ...);
        }(std::make_index_sequence<std::variant_size_v<T>>());
    } else if constexpr (kDescribed<T>) {
        bool any = false;
        boost::mp11::mp_for_each<Members<T>>([&any](auto member) {
            using M = std::remove_cvref_t<decltype(std::declval<T&>().*decltype(member)::pointer)>;
            any = any || borrows<M, T, Outer...>();
        });
        return any;
    } else if constexpr (kJson<T> || kText<T> || kPath<T>) {
        return false;
    } else if constexpr (kMap<T>) {
        return borrows<typename T::mapped_type, Outer...>();
    } else if constexpr (kTuple<T>) {
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return (borrows<std::tuple_element_t<I, T>, Outer...>() || ...);
        }(std::make_index_sequence<std::tuple_size_v<T>>());
    } else if constexpr (kOptional<T> || kSet<T> || kList<T>) {
        return borrows<typename T::value_type, Outer...>();
    } else {
        return false;
    }
}

/// The one place that says so: instantiated only for a type that is none of these.
template <class T>
void refuse_type() {
    static_assert(
        sizeof(T) == 0,
        "callgate::tool: this type has no JSON form. Use bool, integers, floating point, std::string, "
        "std::filesystem::path, std::optional, std::variant, std::vector, std::array, std::tuple, std::set, "
        "std::map<std::string, T>, callgate::Value, an enum with BOOST_DESCRIBE_ENUM or a struct with "
        "BOOST_DESCRIBE_STRUCT");
}

/// The structs a schema is being made inside of, innermost first.
struct Within {
    const void* type;
    const Within* outer;
};
bool is_within(const void* type, const Within* within) noexcept;

template <class T>
inline constexpr char kTypeMark = 0;

Object empty_object_schema();
void add_member(Object& schema, std::string_view name, Value of_member, bool required);
Value integer_schema(std::optional<std::int64_t> lowest, std::optional<std::uint64_t> highest);
Value of_type(std::string_view name);
Value list_schema(Value items);
Value set_schema(Value items);
Value fixed_schema(Value items, std::size_t count);
Value tuple_schema(Array items);
Value map_schema(Value values);
Value enum_schema(Array names);
/// The schema, and null.
Value nullable_schema(Value schema);
void add_default(Value& schema, Value initial);
Value any_of_schema(Array alternatives);

template <class T>
Value schema_of(const Within* within = nullptr);
template <class T>
Value to_value(const T& from);  // typed_value.h

/// Of what may be absent: a parameter or a member.
template <class T>
Value schema_of_member(const Within* within = nullptr) {
    if constexpr (kOptional<T>) {
        return schema_of<typename T::value_type>(within);
    } else {
        return schema_of<T>(within);
    }
}

/// Whether the struct's own initialiser gives this std::optional a value.
template <class T, class Member>
bool starts_with_value() {
    if constexpr (std::is_default_constructible_v<T>) {
        static const bool is = [] {
            const T initial{};
            return (initial.*Member::pointer).has_value();
        }();
        return is;
    } else {
        return false;
    }
}

/// Without a word on members it does not name: at the top that is the contract's to say.
template <class T>
Object struct_schema(const Within* outer) {
    const Within within{&kTypeMark<T>, outer};
    Object out = empty_object_schema();
    boost::mp11::mp_for_each<Members<T>>([&](auto member) {
        using M = std::remove_cvref_t<decltype(std::declval<T&>().*decltype(member)::pointer)>;
        Value schema = schema_of_member<M>(&within);
        if constexpr (kOptional<M>) {
            if (starts_with_value<T, decltype(member)>()) {
                const T initial{};
                schema = nullable_schema(std::move(schema));
                add_default(schema, to_value(initial.*decltype(member)::pointer));
            }
        }
        add_member(out, member.name, std::move(schema), !kOptional<M>);
    });
    return out;
}

template <class T>
Value schema_of([[maybe_unused]] const Within* within) {
    if constexpr (std::is_same_v<T, Value>) {
        return Object();
    } else if constexpr (std::is_same_v<T, Object>) {
        return of_type("object");
    } else if constexpr (std::is_same_v<T, Array>) {
        return of_type("array");
    } else if constexpr (std::is_same_v<T, bool>) {
        return of_type("boolean");
    } else if constexpr (kInteger<T>) {
        using Bounds = std::numeric_limits<T>;
        std::optional<std::int64_t> lowest;
        std::optional<std::uint64_t> highest;
        if constexpr (std::is_unsigned_v<T> || sizeof(T) < sizeof(std::int64_t)) {
            lowest = static_cast<std::int64_t>(Bounds::min());
        }
        if constexpr (sizeof(T) < sizeof(std::int64_t)) highest = static_cast<std::uint64_t>(Bounds::max());
        return integer_schema(lowest, highest);
    } else if constexpr (std::is_floating_point_v<T>) {
        return of_type("number");
    } else if constexpr (kText<T> || kPath<T>) {
        return of_type("string");
    } else if constexpr (kNothing<T>) {
        return of_type("null");
    } else if constexpr (kEnum<T>) {
        static_assert(
            boost::describe::has_describe_enumerators<T>::value,
            "callgate::tool: describe this enum with BOOST_DESCRIBE_ENUM, so that its names are known");
        Array names;
        boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
            [&](auto item) { names.emplace_back(item.name); });
        return enum_schema(std::move(names));
    } else if constexpr (kOptional<T>) {
        return nullable_schema(schema_of<typename T::value_type>(within));
    } else if constexpr (kVariant<T>) {
        Array alternatives;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (alternatives.push_back(schema_of<std::variant_alternative_t<I, T>>(within)), ...);
        }(std::make_index_sequence<std::variant_size_v<T>>());
        return any_of_schema(std::move(alternatives));
    } else if constexpr (kDescribed<T>) {
        if (is_within(&kTypeMark<T>, within)) return of_type("object");
        Object out = struct_schema<T>(within);
        out.emplace("additionalProperties", false);
        return out;
    } else if constexpr (kMap<T>) {
        return map_schema(schema_of<typename T::mapped_type>(within));
    } else if constexpr (kSet<T>) {
        return set_schema(schema_of<typename T::key_type>(within));
    } else if constexpr (kFixed<T>) {
        return fixed_schema(schema_of<typename T::value_type>(within), std::tuple_size_v<T>);
    } else if constexpr (kTuple<T>) {
        Array items;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (items.push_back(schema_of<std::tuple_element_t<I, T>>(within)), ...);
        }(std::make_index_sequence<std::tuple_size_v<T>>());
        return tuple_schema(std::move(items));
    } else if constexpr (kList<T>) {
        return list_schema(schema_of<typename T::value_type>(within));
    } else {
        refuse_type<T>();
    }
}

template <class T>
inline constexpr bool kExpected = false;
template <class T, class E>
inline constexpr bool kExpected<tl::expected<T, E>> = true;

template <class R>
std::optional<Value> output_schema_of() {
    using T = std::remove_cvref_t<R>;
    if constexpr (kExpected<T>) {
        return output_schema_of<typename T::value_type>();
    } else if constexpr (kDescribed<T>) {
        return Value(struct_schema<T>(nullptr));
    }
    return std::nullopt;
}

template <class Function>
struct ReturnOf;
template <class R, class... A>
struct ReturnOf<R(A...)> {
    using Type = R;
};

template <class Function>
std::optional<Value> output_schema() {
    return output_schema_of<typename ReturnOf<Function>::Type>();
}

}  // namespace callgate::typed
