// Arguments that a client repeats in headers, as the tool's schema says (`x-mcp-header`).
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>

#include "mcp/param_headers.h"

namespace callgate::mcp {

/// What a tool's schema says about headers; config_error {reason: bad_header} where it breaks a rule: a tool
/// like that is not called over HTTP. A declaration that is not reached by `properties` alone breaks one.
Result<std::vector<ParamHeader>> read_param_headers(const Value& schema);

/// Names and values, encoded. invalid_arguments {reason: header_value}: an argument that no header can say.
Result<std::vector<std::pair<std::string, std::string>>> write_param_headers(
    const std::vector<ParamHeader>& headers, const Object& arguments);

/// Mcp-Name: what the request is about; "": it has none.
std::string_view name_header_of(std::string_view method, const Object& params);

}  // namespace callgate::mcp
