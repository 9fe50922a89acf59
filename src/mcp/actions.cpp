#include "mcp/actions.h"

#include <algorithm>
#include <string_view>

#include "mcp/members.h"

namespace callgate::mcp {
namespace {

constexpr std::string_view kUsual = "call";

std::string_view argument_of(const Value& input_schema) {
    const Object* schema = input_schema.if_object();
    const Object* properties = schema == nullptr ? nullptr : object_member(*schema, "properties");
    return properties != nullptr && properties->contains("action") ? "callgate_action" : "action";
}

}  // namespace

Value with_action(const Value& input_schema, std::span<const std::string> actions) {
    const std::string_view argument = argument_of(input_schema);
    Object schema = input_schema.is_object() ? input_schema.get_object() : Object{{"type", "object"}};
    Object properties{{argument, Object{{"type", "string"},
                                        {"enum", Array(actions.begin(), actions.end())},
                                        {"description", "What the tool is to do"}}}};
    if (const Object* own = object_member(schema, "properties")) {
        for (const auto& [name, property] : *own) properties[name] = property;
    }
    schema["properties"] = std::move(properties);
    if (std::ranges::find(actions, kUsual) != actions.end()) return schema;
    Array required{argument};
    if (const Value* own = schema.if_contains("required"); own != nullptr && own->is_array())
        required.insert(required.end(), own->get_array().begin(), own->get_array().end());
    schema["required"] = std::move(required);
    return schema;
}

std::string take_action(Object& arguments, const Value& input_schema, std::span<const std::string> actions) {
    if (actions.empty()) return std::string(kUsual);
    const auto named = arguments.find(argument_of(input_schema));
    if (named == arguments.end()) return std::string(kUsual);
    // What is no string names no action that there is, and is refused as such.
    std::string action =
        named->value().is_string() ? std::string(named->value().get_string()) : json::write(named->value());
    arguments.erase(named);
    return action;
}

}  // namespace callgate::mcp
