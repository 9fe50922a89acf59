// An error as every verb shows it: for people and for programs.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <callgate/error.h>
#include <callgate/json.h>
#include <callgate/result.h>

#include "excerpt.h"
#include "terminal.h"

namespace callgate::cli {

/// config_error {reason}: what somebody gave cannot be used.
tl::unexpected<Error> unusable(std::string_view reason, std::string message);

/// {code, message, details}
Value json_of(const Error& error);

/// "✗ …" for standard error, with the lines the error speaks of.
std::string error_text(const Error& error, const std::optional<Excerpt>& excerpt, const Style& style);

/// Unusable input of any verb but validate, on the stream where it belongs: {error} with `json`, else its
/// text.
void print_error(const Error& error, const std::optional<Excerpt>& excerpt, bool json, ColorMode color,
                 const Console& console);

}  // namespace callgate::cli
