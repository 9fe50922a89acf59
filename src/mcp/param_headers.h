// Arguments that a client repeats in headers (`x-mcp-header` in a tool's schema), so that what stands between
// can see them without reading bodies. Who acts on such a header must know that it says what the body says:
// that is judged here.
//
// Threads: the server's home thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/json.h>

#include "mcp/exchange.h"

namespace callgate::mcp {

/// Where an argument stands, and the name of its header behind "Mcp-Param-".
struct ParamHeader {
    std::vector<std::string> path;
    std::string name;
};

/// The headers of a schema: of strings, integers and truth values that are reached by `properties` alone.
/// Nothing where a declaration breaks a rule: then none of them holds.
std::optional<std::vector<ParamHeader>> param_headers_of(const Value& schema);

/// What is wrong with a request's headers for these arguments; nothing: they say the same.
std::optional<std::string> header_fault(const std::vector<ParamHeader>& headers, const RequestHeaders& given,
                                        const Object& arguments);

/// Those of a registry's tools, found once for a revision.
class ParamHeaders {
public:
    const std::vector<ParamHeader>& of(std::uint64_t revision, std::string_view tool, const Value& schema);

private:
    std::uint64_t revision_ = 0;
    std::map<std::string, std::vector<ParamHeader>, std::less<>> known_;
};

}  // namespace callgate::mcp
