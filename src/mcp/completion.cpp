#include "mcp/completion.h"

#include <algorithm>
#include <utility>

#include "base/must.h"
#include "mcp/members.h"
#include "tool/tool_entry.h"

namespace callgate::mcp {
namespace {

constexpr std::size_t kMaxValues = 100;

const Object& object_or_none(const Object& object, std::string_view member) {
    static const Object none;
    const Object* found = object_member(object, member);
    return found == nullptr ? none : *found;
}

Completer completer_of(const Catalogue& catalogue, const Object& ref, std::string_view argument) {
    const auto find = [&](const auto& completers) {
        const auto it = completers.find(argument);
        return it == completers.end() ? Completer() : it->second;
    };
    if (string_member(ref, "type") == "ref/prompt") {
        const auto prompt = catalogue.prompt(string_member(ref, "name"));
        return prompt == nullptr ? Completer() : find(prompt->prompt.complete);
    }
    const auto pattern = catalogue.resource_template(string_member(ref, "uri"));
    return pattern == nullptr ? Completer() : find(pattern->pattern.complete);
}

ToolReturn complete_with(const Catalogue& catalogue, const Object& arguments) {
    const Object& argument = object_or_none(arguments, "argument");
    Variables others;
    for (const auto& [key, value] : object_or_none(object_or_none(arguments, "context"), "arguments")) {
        if (value.is_string()) others.emplace(key, value.get_string());
    }
    const Completer completer =
        completer_of(catalogue, object_or_none(arguments, "ref"), string_member(argument, "name"));
    const std::vector<std::string> found =
        completer ? completer(string_member(argument, "value"), others) : std::vector<std::string>();
    Array values;
    for (std::size_t i = 0; i < std::min(found.size(), kMaxValues); ++i) {
        values.emplace_back(found[i]);
    }
    return ToolResult(Value(Object{{"completion", Object{{"values", std::move(values)},
                                                         {"total", found.size()},
                                                         {"hasMore", found.size() > kMaxValues}}}}));
}

}  // namespace

bool can_complete(const Catalogue& catalogue, const Object& ref) {
    const std::string_view type = string_member(ref, "type");
    if (type == "ref/prompt") return catalogue.prompt(string_member(ref, "name")) != nullptr;
    return type == "ref/resource" && (catalogue.resource_template(string_member(ref, "uri")) != nullptr ||
                                      catalogue.resource(string_member(ref, "uri")) != nullptr);
}

std::shared_ptr<const ToolEntry> make_completer(std::shared_ptr<const Catalogue> catalogue) {
    auto tool = schema_tool(ToolDefinition("completion.complete", "", Object{{"type", "object"}}),
                            [catalogue = std::move(catalogue)](const Object& arguments, CallContext&) {
                                return complete_with(*catalogue, arguments);
                            })
                    .read_only()
                    .open_arguments();
    return must(ToolEntry::make(std::move(tool)));
}

}  // namespace callgate::mcp
