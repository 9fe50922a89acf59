#include "mcp/param_headers.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "wire/header_value.h"

namespace callgate::mcp {
namespace {

constexpr std::string_view kKeyword = "x-mcp-header";
constexpr std::size_t kMaxDepth = 64;

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), base::ascii_lower);
    return out;
}

bool is_simple(const Object& schema) {
    const Value* type = schema.if_contains("type");
    return type != nullptr && (*type == "string" || *type == "integer" || *type == "boolean");
}

struct Found {
    std::vector<ParamHeader> headers;
    std::set<std::string, std::less<>> names;
    bool broken = false;
};

void find_in(const Value& schema, std::vector<std::string>& path, Found& found) {
    if (!schema.is_object() || path.size() > kMaxDepth) return;
    const Object& object = schema.get_object();
    if (const Value* name = object.if_contains(kKeyword)) {
        if (!name->is_string() || path.empty() || !wire::is_token(name->get_string()) || !is_simple(object) ||
            !found.names.insert(lower(name->get_string())).second) {
            found.broken = true;
            return;
        }
        found.headers.push_back({path, std::string(name->get_string())});
    }
    const Value* properties = object.if_contains("properties");
    if (properties == nullptr || !properties->is_object()) return;
    for (const auto& [key, value] : properties->get_object()) {
        path.emplace_back(key);
        find_in(value, path, found);
        path.pop_back();
    }
}

struct Argument {
    const Value* value = nullptr;  // null: there is none
    // What stands above it is no object. Text may become one before it is validated, so nobody knows yet what
    // the argument is.
    bool hidden = false;
};

Argument argument_at(const std::vector<std::string>& path, const Object& arguments) {
    const Object* in = &arguments;
    const Value* value = nullptr;
    for (const std::string& key : path) {
        if (in == nullptr) return {nullptr, true};
        value = in->if_contains(key);
        if (value == nullptr || value->is_null()) return {};
        in = value->if_object();
    }
    return {value, false};
}

}  // namespace

std::optional<std::vector<ParamHeader>> param_headers_of(const Value& schema) {
    Found found;
    std::vector<std::string> path;
    find_in(schema, path, found);
    if (found.broken) return std::nullopt;
    return std::move(found.headers);
}

std::optional<std::string> header_fault(const std::vector<ParamHeader>& headers, const RequestHeaders& given,
                                        const Object& arguments) {
    for (const ParamHeader& one : headers) {
        const Argument argument = argument_at(one.path, arguments);
        const std::string name = "Mcp-Param-" + one.name;
        if (argument.hidden || (argument.value != nullptr && !wire::value_of(*argument.value)))
            return fmt::format("The header {} cannot say what the arguments say.", name);
        const auto header = given.find(name);
        if (argument.value == nullptr) {
            if (header) return fmt::format("The header {} says something that the arguments do not.", name);
            continue;
        }
        if (!header) return fmt::format("The header {} is missing.", name);
        const auto same = wire::says(*header, *argument.value);
        if (!same) return fmt::format("The header {} cannot be read: {}", name, same.error().message);
        if (!*same) return fmt::format("The header {} does not say what the arguments say.", name);
    }
    return std::nullopt;
}

const std::vector<ParamHeader>& ParamHeaders::of(std::uint64_t revision, std::string_view tool,
                                                 const Value& schema) {
    if (revision != revision_) {
        known_.clear();
        revision_ = revision;
    }
    const auto it = known_.find(tool);
    if (it != known_.end()) return it->second;
    return known_.emplace(tool, param_headers_of(schema).value_or(std::vector<ParamHeader>{})).first->second;
}

}  // namespace callgate::mcp
