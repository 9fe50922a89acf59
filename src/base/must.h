// For tests and programs that end at the first fault: what a Result holds, or an exception with its error.
#pragma once

#include <stdexcept>
#include <utility>

#include <callgate/error.h>

namespace callgate {

/// By value, so that a loop may run over it.
template <class T>
T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
}

}  // namespace callgate
