// C++ values from JSON and JSON from C++ values, for typed tools (typed.h).
//
// Reading never misbehaves, whatever the JSON is: it fills the value, or says which part was wrong. What the
// JSON gives replaces all that was there: initialisers add nothing to it. A std::optional member that is
// absent is what its own struct's initialiser says (the schema's default), and empty without one; in a struct
// that is given, the initialiser of the member that holds it does not count.
//
// A std::variant takes the first of its alternatives that fits exactly, and where none does, the first that
// fits. Exactly means: a whole number that is written as one (5) is an integer, any other (5.0, 0.5) is
// floating point, and an object has no member that the struct does not have.
//
// Threads: all functions may be called from any thread; a Fault belongs to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>
#include <callgate/result.h>
#include <callgate/typed_schema.h>

namespace callgate::typed {

/// Where and why a value could not be read. The functions that note a fault return false.
class Fault {
public:
    bool wrong_type(std::string_view expected, const Value& got);
    bool out_of_range(std::int64_t lowest, std::uint64_t highest);
    bool too_large(double highest);
    bool not_one_of(std::string_view names);
    bool wrong_length(std::size_t expected, std::size_t got);
    bool repeated();
    bool missing(std::string_view name);
    bool unusable_path();
    bool no_alternative(const Value& got);
    bool unknown_member(std::string_view name);

    /// The fault lies inside this member or item: called from the inside out.
    bool inside(std::string_view name);
    bool inside(std::size_t index);

    std::string message() const;
    /// invalid_arguments, details {reason, parameter}; nothing was applied.
    ToolFailure failure() const;
    /// The same about what a tool returned: output_invalid, details {reason, path}.
    Error of_result() const;

    bool has_place() const noexcept { return !path_.empty(); }

    /// Whether only what fits exactly may be read now.
    bool exact() const noexcept { return exact_; }
    /// For one alternative of a variant: a fault of its own. False when too many have been tried inside
    /// others.
    bool may_try() noexcept;
    Fault attempt(bool exactly) const;
    void tried(const Fault& alternative) noexcept { tries_left_ = alternative.tries_left_; }

private:
    bool because(std::string_view reason, std::string text);

    std::string path_;  // "items/3/name"
    std::string text_;
    std::string_view reason_;
    bool exact_ = false;
    bool nested_ = false;  // inside an alternative that is being tried
    // Variants inside variants could be tried in more ways than anybody can wait for.
    std::size_t tries_left_ = 200'000;
};

/// Null if there is none. Arguments mostly come in the order of the parameters, so the place is tried first.
inline const Value* find_member(const Object& object, std::string_view name, std::size_t place) {
    if (place < object.size()) {
        const auto& member = object.begin()[static_cast<std::ptrdiff_t>(place)];
        if (std::string_view(member.key()) == name) return &member.value();
    }
    return object.if_contains(name);
}

/// The whole number that a value is, 5.0 included; false if it is none or does not fit.
bool whole_number(const Value& value, std::int64_t& out) noexcept;
bool whole_number(const Value& value, std::uint64_t& out) noexcept;
/// Any JSON number.
bool real_number(const Value& value, double& out) noexcept;

template <class T>
bool read(const Value& value, T& out, Fault& fault);

/// The first member of the object that is none of these.
std::optional<std::string_view> first_unknown(const Object& object, std::span<const std::string_view> names);

template <class T>
bool knows_members(const Object& object, Fault& fault) {
    std::string_view names[boost::mp11::mp_size<Members<T>>::value + 1];
    std::size_t count = 0;
    boost::mp11::mp_for_each<Members<T>>([&](auto member) { names[count++] = member.name; });
    const auto unknown = first_unknown(object, std::span(names, count));
    return !unknown || fault.unknown_member(*unknown);
}

template <class T>
bool read_all(const Object& object, T& out, Fault& fault) {
    if constexpr (std::is_same_v<T, Object>) {
        out = object;
        return true;
    } else {
        bool good = !fault.exact() || knows_members<T>(object, fault);
        boost::mp11::mp_for_each<Members<T>>([&](auto member) {
            if (!good) return;
            auto& slot = out.*decltype(member)::pointer;
            if (const Value* const value = object.if_contains(member.name)) {
                good = read(*value, slot, fault) || fault.inside(member.name);
            } else if constexpr (!kOptional<std::remove_cvref_t<decltype(slot)>>) {
                good = fault.missing(member.name);
            }
        });
        return good;
    }
}

template <class T>
bool read_integer(const Value& value, T& out, Fault& fault) {
    using Widest = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    if (const std::int64_t* const i = value.if_int64(); i != nullptr && std::in_range<T>(*i)) [[likely]] {
        out = static_cast<T>(*i);
        return true;
    }
    Widest number{};
    if (fault.exact() && value.is_double()) return fault.wrong_type("integer", value);
    if (whole_number(value, number) && std::in_range<T>(number)) {
        out = static_cast<T>(number);
        return true;
    }
    if (!value.is_number()) return fault.wrong_type("integer", value);
    return fault.out_of_range(static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                              static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
}

template <class T>
bool read_enum(const Value& value, T& out, Fault& fault) {
    const auto* const text = value.if_string();
    if (text == nullptr) return fault.wrong_type("string", value);
    bool found = false;
    std::string names;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto item) {
        if (!found && *text == item.name) {
            out = item.value;
            found = true;
        }
    });
    if (found) return true;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto item) {
        if (!names.empty()) names += ", ";
        names += item.name;
    });
    return fault.not_one_of(names);
}

template <class T>
bool read_tuple(const Array& items, T& out, Fault& fault) {
    if (items.size() != std::tuple_size_v<T>) return fault.wrong_length(std::tuple_size_v<T>, items.size());
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return ((read(items[I], std::get<I>(out), fault) || fault.inside(I)) && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
}

template <class T>
bool read_items(const Array& items, T& out, Fault& fault) {
    out.clear();
    if constexpr (requires { out.reserve(items.size()); }) out.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        typename T::value_type item{};
        if (!read(items[i], item, fault)) return fault.inside(i);
        if constexpr (kSet<T>) {
            if (!out.insert(std::move(item)).second) return fault.repeated() || fault.inside(i);
        } else {
            out.push_back(std::move(item));
        }
    }
    return true;
}

template <class T, std::size_t I = 0>
bool read_alternative(const Value& value, T& out, Fault& fault, bool exactly) {
    if constexpr (I == std::variant_size_v<T>) {
        return false;
    } else {
        if (!fault.may_try()) return false;
        Fault own = fault.attempt(exactly);
        std::variant_alternative_t<I, T> alternative{};
        const bool good = read(value, alternative, own);
        fault.tried(own);
        if (!good) return read_alternative<T, I + 1>(value, out, fault, exactly);
        out.template emplace<I>(std::move(alternative));
        return true;
    }
}

template <class T>
bool read_variant(const Value& value, T& out, Fault& fault) {
    return read_alternative(value, out, fault, true) ||
           (!fault.exact() && read_alternative(value, out, fault, false)) || fault.no_alternative(value);
}

template <class T>
bool read(const Value& value, T& out, Fault& fault) {
    if constexpr (std::is_same_v<T, Value>) {
        out = value;
        return true;
    } else if constexpr (std::is_same_v<T, bool>) {
        const bool* const b = value.if_bool();
        if (b == nullptr) return fault.wrong_type("boolean", value);
        out = *b;
        return true;
    } else if constexpr (kInteger<T>) {
        return read_integer(value, out, fault);
    } else if constexpr (std::is_floating_point_v<T>) {
        double number = 0;
        if (!real_number(value, number) || (fault.exact() && !value.is_double())) {
            return fault.wrong_type("number", value);
        }
        if constexpr (sizeof(T) < sizeof(double)) {
            constexpr double kLargest = std::numeric_limits<T>::max();
            if (number > kLargest || number < -kLargest) return fault.too_large(kLargest);
            if (fault.exact() && static_cast<double>(static_cast<T>(number)) != number)
                return fault.wrong_type("number", value);
        }
        out = static_cast<T>(number);
        return true;
    } else if constexpr (kText<T>) {
        const auto* const text = value.if_string();
        if (text == nullptr) return fault.wrong_type("string", value);
        out = T(text->data(), text->size());
        return true;
    } else if constexpr (kPath<T>) {
        const auto* const text = value.if_string();
        if (text == nullptr) return fault.wrong_type("string", value);
        const std::string_view name(text->data(), text->size());
        if (name.find('\0') != std::string_view::npos) return fault.unusable_path();
        out = T(name);
        return true;
    } else if constexpr (kNothing<T>) {
        return value.is_null() || fault.wrong_type("null", value);
    } else if constexpr (kVariant<T>) {
        return read_variant(value, out, fault);
    } else if constexpr (kEnum<T>) {
        return read_enum(value, out, fault);
    } else if constexpr (kOptional<T>) {
        out.reset();
        return value.is_null() || read(value, out.emplace(), fault);
    } else if constexpr (std::is_same_v<T, Object> || kDescribed<T>) {
        const Object* const object = value.if_object();
        if (object == nullptr) return fault.wrong_type("object", value);
        if constexpr (kDescribed<T> && std::is_default_constructible_v<T>) out = T{};
        return read_all(*object, out, fault);
    } else if constexpr (kMap<T>) {
        const Object* const object = value.if_object();
        if (object == nullptr) return fault.wrong_type("object", value);
        out.clear();
        for (const auto& member : *object) {
            typename T::mapped_type item{};
            if (!read(member.value(), item, fault)) return fault.inside(member.key());
            out.emplace(std::string(member.key()), std::move(item));
        }
        return true;
    } else {
        const Array* const array = value.if_array();
        if (array == nullptr) return fault.wrong_type("array", value);
        if constexpr (std::is_same_v<T, Array>) {
            out = *array;
            return true;
        } else if constexpr (kTuple<T>) {
            return read_tuple(*array, out, fault);
        } else if constexpr (kSet<T> || kList<T>) {
            return read_items(*array, out, fault);
        } else {
            refuse_type<T>();
        }
    }
}

template <class T>
Value struct_to_value(const T& from) {
    Object out;
    boost::mp11::mp_for_each<Members<T>>([&](auto member) {
        const auto& slot = from.*decltype(member)::pointer;
        if constexpr (kOptional<std::remove_cvref_t<decltype(slot)>>) {
            if (slot) {
                out.emplace(member.name, to_value(*slot));
            } else if (starts_with_value<T, decltype(member)>()) {
                out.emplace(member.name, nullptr);
            }
        } else {
            out.emplace(member.name, to_value(slot));
        }
    });
    return out;
}

template <class T>
Value enum_to_value(T from) {
    const char* name = nullptr;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto item) {
        if (item.value == from) name = item.name;
    });
    if (name != nullptr) return Value(name);
    return Value(static_cast<std::int64_t>(from));
}

template <class T>
Value to_value(const T& from) {
    if constexpr (kJson<T>) {
        return Value(from);
    } else if constexpr (kNothing<T>) {
        return nullptr;
    } else if constexpr (kPath<T>) {
        return Value(from.string());
    } else if constexpr (kVariant<T>) {
        return std::visit([](const auto& held) { return to_value(held); }, from);
    } else if constexpr (std::is_same_v<T, bool>) {
        return Value(from);
    } else if constexpr (kInteger<T>) {
        return Value(static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(from));
    } else if constexpr (std::is_floating_point_v<T>) {
        return Value(static_cast<double>(from));
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
        const std::string_view text = from;
        return Value(text);
    } else if constexpr (kEnum<T>) {
        return enum_to_value(from);
    } else if constexpr (kOptional<T>) {
        return from ? to_value(*from) : Value(nullptr);
    } else if constexpr (kDescribed<T>) {
        return struct_to_value(from);
    } else if constexpr (kMap<T>) {
        Object out;
        for (const auto& [name, item] : from) out.emplace(name, to_value(item));
        return out;
    } else if constexpr (kTuple<T>) {
        Array out;
        std::apply([&](const auto&... item) { (out.push_back(to_value(item)), ...); }, from);
        return out;
    } else if constexpr (kSet<T> || kList<T>) {
        Array out;
        out.reserve(from.size());
        for (const auto& item : from) out.push_back(to_value<typename T::value_type>(item));
        return out;
    } else {
        refuse_type<T>();
    }
}

/// What a callable returned, as what a tool returns.
template <class T>
ToolReturn to_return(T&& from) {
    using R = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<R, ToolReturn> || std::is_same_v<R, ToolResult>) {
        return std::forward<T>(from);
    } else if constexpr (kExpected<R>) {
        if (!from) return tl::unexpected(ToolFailure(std::forward<T>(from).error()));
        if constexpr (std::is_void_v<typename R::value_type>) {
            return ToolResult();
        } else {
            return to_return(*std::forward<T>(from));
        }
    } else if constexpr (std::is_same_v<R, std::vector<Block>>) {
        return ToolResult(std::forward<T>(from));
    } else if constexpr (std::is_same_v<R, Block>) {
        std::vector<Block> blocks;
        blocks.push_back(std::forward<T>(from));
        return ToolResult(std::move(blocks));
    } else if constexpr (kJson<R>) {
        return ToolReturn(tl::in_place, Value(std::forward<T>(from)));
    } else {
        return ToolReturn(tl::in_place, to_value(from));
    }
}

}  // namespace callgate::typed
