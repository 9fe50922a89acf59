// What a callable takes and returns, for typed tools (typed.h), and member functions as callables.
//
// Functions, objects with one operator(), what std::bind_front makes of these, and member(object, function).
// What has no one signature, such as a generic lambda, is refused where it is compiled, in words.
//
// Threads: member() gives a callable that may be used from many threads if its object's function may.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace callgate {
namespace typed {

template <class T>
struct Signature;
template <class R, class... A>
struct Signature<R (*)(A...)> {
    using Type = R(A...);
};
template <class R, class... A>
struct Signature<R (*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)&> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const&> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) & noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const & noexcept> : Signature<R (*)(A...)> {};

/// A signature without its first n arguments, as bind_front leaves it.
template <std::size_t N, class Function>
struct Bound {
    static_assert(N == 0, "callgate::tool: std::bind_front was given more arguments than the function takes");
    using Type = Function;
};
template <std::size_t N, class R, class First, class... A>
    requires(N > 0)
struct Bound<N, R(First, A...)> : Bound<N - 1, R(A...)> {};

/// A member function as a function whose first argument is the object.
template <class M>
struct Unbound;
template <class C, class M>
struct Unbound<M C::*> {
    template <class Function>
    struct With;
    template <class R, class... A>
    struct With<R(A...)> {
        using Type = R(C&, A...);
    };
    using Type = typename With<typename Signature<M C::*>::Type>::Type;
};

/// What std::bind_front returned; its type has no name, but the shape Some<Function, Bound...>.
template <class T>
struct BoundFront {
    static constexpr bool kIs = false;
};
template <template <class...> class Some, class F, class... A>
struct BoundFront<Some<F, A...>> {
    static constexpr bool kIs = [] {
        if constexpr (requires { std::bind_front(std::declval<F>(), std::declval<A>()...); }) {
            return std::is_same_v<Some<F, A...>,
                                  decltype(std::bind_front(std::declval<F>(), std::declval<A>()...))>;
        }
        return false;
    }();
    using Inner = F;
    static constexpr std::size_t kCount = sizeof...(A);
};

template <class F>
auto signature_of() {
    if constexpr (std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>) {
        return Signature<F>();
    } else if constexpr (std::is_member_function_pointer_v<F>) {
        static_assert(sizeof(F) == 0,
                      "callgate::tool: a member function needs its object: member(object, &Class::function)");
    } else if constexpr (BoundFront<F>::kIs) {
        using Inner = typename BoundFront<F>::Inner;
        if constexpr (std::is_member_function_pointer_v<Inner>) {
            return Bound<BoundFront<F>::kCount, typename Unbound<Inner>::Type>();
        } else {
            return Bound<BoundFront<F>::kCount, typename decltype(signature_of<Inner>())::Type>();
        }
    } else {
        static_assert(
            requires { &F::operator(); },
            "callgate::tool: the callable must be a function, or an object with one operator() that is no "
            "template: give a generic lambda's parameters their types");
        return Signature<decltype(&F::operator())>();
    }
}

template <class T>
inline constexpr bool kReference = false;
template <class T>
inline constexpr bool kReference<std::reference_wrapper<T>> = true;

template <class Holder>
inline constexpr bool kHolds = kReference<Holder>;
template <class T>
inline constexpr bool kHolds<T*> = true;
template <class T>
inline constexpr bool kHolds<std::shared_ptr<T>> = true;
template <class T, class D>
inline constexpr bool kHolds<std::unique_ptr<T, D>> = true;

template <class Holder, class M, class Function>
class Member;
template <class Holder, class M, class R, class... A>
class Member<Holder, M, R(A...)> {
public:
    Member(Holder object, M function) : object_(std::move(object)), function_(function) {}

    R operator()(A... arguments) const { return ((*object_).*function_)(static_cast<A&&>(arguments)...); }

private:
    Holder object_;
    M function_;
};

}  // namespace typed

/// A member function of an object, as a callable. std::shared_ptr and std::unique_ptr keep the object; one
/// behind a pointer or std::ref is the host's, and must be there for as long as the tool.
/// Throws std::invalid_argument for a pointer that is null.
template <class Holder, class M>
auto member(Holder object, M function) {
    static_assert(std::is_member_function_pointer_v<M>,
                  "callgate::member: give the object and then its function: member(mailer, &Mailer::send)");
    static_assert(typed::kHolds<Holder>,
                  "callgate::member: say who keeps the object: give a std::shared_ptr or std::unique_ptr to "
                  "it, or a pointer or std::ref if the host keeps it; an object by value would be a copy");
    using Function = typename typed::Signature<M>::Type;
    if constexpr (typed::kReference<Holder>) {
        return typed::Member<decltype(&object.get()), M, Function>(&object.get(), function);
    } else {
        if (!object) throw std::invalid_argument("callgate::member: the object's pointer is null");
        return typed::Member<Holder, M, Function>(std::move(object), function);
    }
}

}  // namespace callgate
