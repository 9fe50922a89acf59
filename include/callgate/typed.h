// Typed tools: a C++ callable and the names of its parameters give the schema, the conversion and the result.
//
//     cg::tool("add", "Add two numbers", [](std::int64_t a, std::int64_t b) { return a + b; },
//              cg::param("a", "first addend"), cg::param("b", "second addend").default_to(0))
//         .risk(cg::Risk::low)
//         .read_only();
//
// Parameters may be bool, integers, floating point, std::string, std::filesystem::path, enums
// (BOOST_DESCRIBE_ENUM), std::optional, std::variant, vectors, arrays, tuples and pairs, sets, maps from
// std::string, structs (BOOST_DESCRIBE_STRUCT), Value and Object. CallContext& may stand anywhere and is no
// parameter. A callable whose only parameter is a described struct or an Object, with no param() given, takes
// the whole arguments object. std::optional and parameters with a default may be left out.
//
// A variant takes the first alternative that fits exactly (typed_value.h says what that means): put the
// narrower before the wider.
//
// The callable may be a function, a lambda with typed parameters, an object with one operator(), what
// std::bind_front makes of these, or a member function of an object:
//
//     cg::tool("send", "Send a message", cg::member(mailer, &Mailer::send), cg::param("to"))
//         .risk(cg::Risk::high)
//         .effect(cg::EffectClass::unsafe);
//
// It may return void, any of these types, ToolResult, ToolReturn, Result<T>, Block or std::vector<Block>. A
// described struct gives the tool an output schema.
//
// Threads: the callable is called from many threads at once.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <callgate/json.h>
#include <callgate/result.h>
#include <callgate/tool.h>
#include <callgate/typed_outcome.h>
#include <callgate/typed_signature.h>
#include <callgate/typed_value.h>

namespace callgate {

/// A parameter: its name, and what the C++ type does not say. Each function returns the parameter itself;
/// that of a temporary moves on into the result.
class Param {
public:
    explicit Param(std::string_view name, std::string_view description = {});

    /// Used when the argument is absent; also makes it one that may be.
    template <class T>
    Param& default_to(const T& value) & {
        return keyword("default", typed::to_value(value));
    }
    Param& minimum(Value lowest) & { return keyword("minimum", std::move(lowest)); }
    Param& maximum(Value highest) & { return keyword("maximum", std::move(highest)); }
    Param& min_length(std::size_t characters) & { return keyword("minLength", characters); }
    Param& max_length(std::size_t characters) & { return keyword("maxLength", characters); }
    Param& pattern(std::string_view expression) & { return keyword("pattern", Value(expression)); }
    Param& format(std::string_view name) & { return keyword("format", Value(name)); }
    Param& one_of(std::initializer_list<Value> values) & {
        return keyword("enum", Array(values.begin(), values.end()));
    }

    template <class T>
    Param default_to(const T& value) && {
        return std::move(default_to(value));
    }
    Param minimum(Value lowest) && { return std::move(minimum(std::move(lowest))); }
    Param maximum(Value highest) && { return std::move(maximum(std::move(highest))); }
    Param min_length(std::size_t characters) && { return std::move(min_length(characters)); }
    Param max_length(std::size_t characters) && { return std::move(max_length(characters)); }
    Param pattern(std::string_view expression) && { return std::move(pattern(expression)); }
    Param format(std::string_view name) && { return std::move(format(name)); }
    Param one_of(std::initializer_list<Value> values) && { return std::move(one_of(values)); }

    const std::string& name() const noexcept { return name_; }
    /// Null if there is none.
    const Value* fallback() const { return keywords_.if_contains("default"); }
    /// The schema of the type with what was said here; of the type's bound and the one said here the narrower
    /// one stays. What is said twice is as it was said last.
    Value schema(Value of_type) const;

private:
    Param& keyword(std::string_view name, Value value);

    std::string name_;
    Object keywords_;
};

inline Param param(std::string_view name, std::string_view description = {}) {
    return Param(name, description);
}

namespace typed {

template <class T>
inline constexpr bool kIsContext = std::is_same_v<std::remove_cvref_t<T>, CallContext>;

/// Stands where the callable takes the context, for which nothing is converted.
struct NoSlot {};
/// What one argument of the callable is converted into.
template <class A>
using Slot = std::conditional_t<kIsContext<A>, NoSlot, std::remove_cvref_t<A>>;

template <class T>
inline constexpr bool kTakesAll = kDescribed<T> || std::is_same_v<T, Object>;

/// Programming faults (an empty or repeated name): std::invalid_argument.
void check_names(std::string_view tool, const std::vector<Param>& params);
[[noreturn]] void refuse_default(std::string_view tool, const Param& param, const Fault& fault);

template <class F, class Function, std::size_t kNames>
class Body;

template <class F, class R, class... A, std::size_t kNames>
class Body<F, R(A...), kNames> {
    static constexpr std::size_t kParameters = (std::size_t{0} + ... + (kIsContext<A> ? 0 : 1));
    static constexpr bool kWhole =
        kNames == 0 && kParameters == 1 && ((kIsContext<A> || kTakesAll<Slot<A>>) && ...);
    static_assert(
        kWhole || kParameters == kNames,
        "callgate::tool: give one param() for each argument of the callable (CallContext& aside), in order; "
        "none at all only if its one argument is a described struct or an Object");
    static_assert(((!std::is_lvalue_reference_v<A> || std::is_const_v<std::remove_reference_t<A>> ||
                    kIsContext<A>) &&
                   ...),
                  "callgate::tool: take arguments by value or const reference");
    static_assert(((!kIsContext<A> ||
                    (std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>)) &&
                   ...),
                  "callgate::tool: take the context as CallContext&");

public:
    Body(std::string_view tool, F function, std::vector<Param> params)
        : function_(std::move(function)), params_(std::move(params)) {
        check_names(tool, params_);
        check_defaults(tool, std::index_sequence_for<A...>());
    }

    Value schema() const { return schema(std::index_sequence_for<A...>()); }

    /// The converted arguments. They must live as long as the callable may look at them.
    using Slots = std::tuple<Slot<A>...>;
    bool fill(const Object& arguments, Slots& slots, Fault& fault) const {
        return fill(arguments, slots, fault, std::index_sequence_for<A...>());
    }
    R call(Slots& slots, CallContext& context) {
        return call(slots, context, std::index_sequence_for<A...>());
    }

    ToolReturn run(const Object& arguments, CallContext& context) {
        Slots slots;
        Fault fault;
        if (!fill(arguments, slots, fault)) return tl::unexpected(fault.failure());
        if constexpr (std::is_void_v<R>) {
            call(slots, context);
            return ToolResult();
        } else {
            return to_return(call(slots, context));
        }
    }

private:
    /// Which param() belongs to the callable's argument `i`.
    static constexpr std::size_t param_of(std::size_t i) {
        constexpr bool is_context[] = {kIsContext<A>..., false};
        std::size_t n = 0;
        for (std::size_t k = 0; k < i; ++k) n += is_context[k] ? 0 : 1;
        return n;
    }

    template <std::size_t I, class T>
    bool fill(const Object& arguments, T& slot, Fault& fault) const {
        if constexpr (std::is_same_v<T, NoSlot>) {
            return true;
        } else if constexpr (kWhole) {
            return read_all(arguments, slot, fault);
        } else {
            const Param& param = params_[param_of(I)];
            const Value* value = find_member(arguments, param.name(), param_of(I));
            if (value == nullptr) value = param.fallback();
            if (value == nullptr) {
                if constexpr (kOptional<T>) return true;
                return fault.missing(param.name());
            }
            return read(*value, slot, fault) || fault.inside(param.name());
        }
    }

    template <class Argument>
    static decltype(auto) pass(Slot<Argument>& slot, CallContext& context) {
        if constexpr (kIsContext<Argument>) {
            return (context);
        } else {
            return static_cast<Argument&&>(slot);
        }
    }

    template <std::size_t... I>
    bool fill(const Object& arguments, [[maybe_unused]] Slots& slots, Fault& fault,
              std::index_sequence<I...>) const {
        return (fill<I>(arguments, std::get<I>(slots), fault) && ...);
    }

    template <std::size_t... I>
    R call([[maybe_unused]] Slots& slots, [[maybe_unused]] CallContext& context, std::index_sequence<I...>) {
        return function_(pass<A>(std::get<I>(slots), context)...);
    }

    template <std::size_t I, class T>
    void add_property(Object& schema) const {
        if constexpr (!std::is_same_v<T, NoSlot> && !kWhole) {
            const Param& param = params_[param_of(I)];
            add_member(schema, param.name(), param.schema(schema_of_member<T>()),
                       !kOptional<T> && param.fallback() == nullptr);
        }
    }

    template <class T>
    static Value schema_of_all() {
        if constexpr (std::is_same_v<T, Object>) return Object{{"type", "object"}};
        if constexpr (kDescribed<T>) return struct_schema<T>(nullptr);
        return nullptr;
    }

    template <std::size_t... I>
    Value schema(std::index_sequence<I...>) const {
        if constexpr (kWhole) {
            Value out;
            ((kIsContext<A> ? void() : void(out = schema_of_all<Slot<A>>())), ...);
            return out;
        } else {
            Object out = empty_object_schema();
            (add_property<I, Slot<A>>(out), ...);
            return out;
        }
    }

    template <std::size_t I, class T>
    void check_default(std::string_view tool) const {
        if constexpr (!std::is_same_v<T, NoSlot> && !kWhole) {
            const Param& param = params_[param_of(I)];
            T slot{};
            Fault fault;
            if (param.fallback() != nullptr && !read(*param.fallback(), slot, fault)) {
                refuse_default(tool, param, fault);
            }
        }
    }

    template <std::size_t... I>
    void check_defaults([[maybe_unused]] std::string_view tool, std::index_sequence<I...>) const {
        (check_default<I, Slot<A>>(tool), ...);
    }

    F function_;
    std::vector<Param> params_;
};

template <class F, class... P>
auto make_body(std::string_view tool, F&& callable, P... params) {
    using Callable = std::decay_t<F>;
    using Function = typename decltype(signature_of<Callable>())::Type;
    std::vector<Param> list;
    list.reserve(sizeof...(P));
    (list.push_back(std::move(params)), ...);
    return std::make_shared<Body<Callable, Function, sizeof...(P)>>(tool, std::forward<F>(callable),
                                                                    std::move(list));
}

}  // namespace typed

/// A tool from a callable. Throws std::invalid_argument for programming faults: a parameter without a name,
/// one named twice, or a default that does not fit its type.
template <class F, std::same_as<Param>... P>
Tool tool(std::string_view name, std::string_view description, F&& callable, P... params) {
    using Function = typename decltype(typed::signature_of<std::decay_t<F>>())::Type;
    auto body = typed::make_body(name, std::forward<F>(callable), std::move(params)...);
    ToolDefinition definition{std::string(name), std::string(description), body->schema()};
    definition.output_schema = typed::output_schema<Function>();
    return schema_tool(std::move(definition),
                       [body = std::move(body)](const Object& arguments, CallContext& context) {
                           return body->run(arguments, context);
                       });
}

}  // namespace callgate
