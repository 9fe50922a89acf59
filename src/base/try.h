// CALLGATE_TRY: stops a function at the first Result that failed, and returns that failure.
//
//   Result<Row> load(Id id) {
//       CALLGATE_TRY(check(id));                          // a Result<void>, or one whose value nobody wants
//       CALLGATE_TRY_ASSIGN(auto text, read(id));         // the value, moved out
//       return parse(text);
//   }
//
// The function must return a tl::expected whose error can be made from the error of the one that failed.
// CALLGATE_TRY_ASSIGN is more than one statement: an `if` before it needs braces.
#pragma once

#include <utility>

#include <tl/expected.hpp>

#define CALLGATE_TRY_NAME_(prefix, line) prefix##line
#define CALLGATE_TRY_NAME(prefix, line) CALLGATE_TRY_NAME_(prefix, line)

#define CALLGATE_TRY(...)                                                      \
    do {                                                                       \
        if (auto callgate_tried = (__VA_ARGS__); !callgate_tried) [[unlikely]] \
            return ::tl::make_unexpected(std::move(callgate_tried.error()));   \
    } while (false)

#define CALLGATE_TRY_ASSIGN_(tried, target, ...)                \
    auto tried = (__VA_ARGS__);                                 \
    if (!tried) [[unlikely]]                                    \
        return ::tl::make_unexpected(std::move(tried.error())); \
    target = *std::move(tried)

#define CALLGATE_TRY_ASSIGN(target, ...) \
    CALLGATE_TRY_ASSIGN_(CALLGATE_TRY_NAME(callgate_tried_, __LINE__), target, __VA_ARGS__)
