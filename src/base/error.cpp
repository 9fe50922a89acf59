#include <callgate/error.h>

#include <utility>

#include "base/error_table.h"

namespace callgate {

std::string_view to_string(ErrorCode code) noexcept {
    return base::error_row(code).name;
}

Error::Error(ErrorCode error_code, std::string text)
    : code(error_code), message(std::move(text)), retryable(base::error_row(error_code).retryable) {}

Error::Error(ErrorCode error_code, std::string text, boost::json::object facts)
    : code(error_code),
      message(std::move(text)),
      details(std::move(facts)),
      retryable(base::error_row(error_code).retryable) {}

}  // namespace callgate
