// What a call gave, as a C++ value: Outcome::as<T>() (outcome.h).
//
// The same types and the same rules as for a typed tool's arguments (typed_value.h).
//
// Threads: as Outcome.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>
#include <callgate/outcome.h>
#include <callgate/result.h>
#include <callgate/typed_value.h>

namespace callgate {
namespace typed {

/// What a tool returned, in the forms that a reader is offered one after the other: as it was given, as text,
/// and as the JSON that its text is.
class GivenResult {
public:
    static constexpr std::size_t kForms = 3;

    explicit GivenResult(const Outcome& outcome) : outcome_(outcome) {}
    /// None if it does not have this form.
    std::optional<Value> form(std::size_t which) const;

private:
    std::optional<Value> as_given() const;
    bool has_text() const;

    const Outcome& outcome_;
};

template <class T>
Result<T> read_result(const Outcome& outcome) {
    const GivenResult given(outcome);
    std::optional<Fault> why;
    for (std::size_t i = 0; i < GivenResult::kForms; ++i) {
        const std::optional<Value> form = given.form(i);
        if (!form) continue;
        T out{};
        Fault fault;
        if (read(*form, out, fault)) return out;
        if (!why || fault.has_place()) why = std::move(fault);  // the one that says most
    }
    return tl::unexpected(why.value_or(Fault()).of_result());
}

}  // namespace typed

template <class T>
Result<T> Outcome::as() const {
    static_assert(std::is_same_v<T, std::remove_cvref_t<T>> && !typed::borrows<T>(),
                  "callgate: an outcome is read into a value of its own, such as std::string: a "
                  "std::string_view would look into what is gone");
    if (!ok()) return tl::unexpected(failure());
    if constexpr (std::is_void_v<T>) {
        return {};
    } else if constexpr (std::is_same_v<T, ToolResult>) {
        return data().result;
    } else if constexpr (std::is_same_v<T, std::vector<Block>>) {
        return blocks();
    } else {
        return typed::read_result<T>(*this);
    }
}

}  // namespace callgate
