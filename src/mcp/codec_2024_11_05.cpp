#include "mcp/codec_2024_11_05.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <callgate/views.h>

#include "mcp/members.h"

namespace callgate::mcp {
namespace {

// The schema as a root may be: an object's.
Value object_schema(const Value& schema) {
    if (!schema.is_object()) return Object{{"type", "object"}};
    if (schema.get_object().contains("type")) return schema;
    Object whole{{"type", "object"}};
    for (const auto& [key, value] : schema.get_object()) {
        whole[key] = value;
    }
    return whole;
}

// What a contract says about a tool and its definition leaves open. Only what somebody has declared, and
// nothing that speaks against the definition: a tool that may destroy is not said to be read-only.
void add_hints(Object& annotations, const Contract& contract) {
    if (!contract.effect.declared() || annotations.contains("readOnlyHint")) return;
    const bool reads = contract.effect == EffectClass::read &&
                       std::ranges::all_of(contract.effect_map, [](const auto& action) {
                           return action.second == EffectClass::read;
                       });
    const Value* destroys = annotations.if_contains("destructiveHint");
    if (reads && destroys != nullptr && *destroys == true) return;
    annotations["readOnlyHint"] = reads;
}

}  // namespace

InputAbilities Codec20241105::abilities(const Object& capabilities) const {
    InputAbilities can;
    can.sampling = capabilities.contains("sampling");
    can.roots = capabilities.contains("roots");
    return can;
}

bool Codec20241105::has_content(std::string_view type) const noexcept {
    return type == "text" || type == "image" || type == "resource";
}

bool Codec20241105::has_structured(const Value& /*structured*/) const noexcept {
    return false;
}

bool Codec20241105::has_member(std::string_view /*member*/) const noexcept {
    return false;
}

void Codec20241105::add_members(Object& to, const Object& from) const {
    for (const auto& [key, value] : from) {
        if (has_member(key) && !to.contains(key)) to[key] = value;
    }
}

Object Codec20241105::tool(const ListedTool& listed) const {
    const ToolDefinition& definition = *listed.definition;
    Object tool{{"name", listed.name}};
    if (!definition.title.empty() && has_member("title")) tool["title"] = definition.title;
    if (!definition.description.empty()) tool["description"] = definition.description;
    tool["inputSchema"] = object_schema(definition.input_schema);
    if (definition.output_schema && has_member("outputSchema")) {
        const Value* type = definition.output_schema->is_object()
                                ? definition.output_schema->get_object().if_contains("type")
                                : nullptr;
        // Before 2026-07-28 a result's structured content is an object.
        if (modern() || (type != nullptr && *type == "object"))
            tool["outputSchema"] = *definition.output_schema;
    }
    if (has_member("annotations")) {
        Object annotations = definition.annotations;
        add_hints(annotations, *listed.contract);
        if (!annotations.empty()) tool["annotations"] = std::move(annotations);
    }
    add_members(tool, definition.extra);
    return tool;
}

Value Codec20241105::content(Value item) const {
    if (!item.is_object()) return item;
    const Object& object = item.get_object();
    const std::string type(string_member(object, "type"));
    if (has_content(type)) return item;
    std::string words;
    if (type == "resource_link") {
        words = fmt::format("{}: {}", string_member(object, "name"), string_member(object, "uri"));
    } else {
        words = fmt::format("[{} content ({}), which this revision of the protocol cannot carry]", type,
                            string_member(object, "mimeType"));
    }
    return Object{{"type", "text"}, {"text", words}};
}

// What the tool sent leaves as it came, unless this revision cannot say a part of it. Text is what each can
// say: that is most results, and they are not read again.
std::string Codec20241105::call_result(const Outcome& outcome) const {
    std::string text = views::mcp(outcome);
    const ToolResult& kept = outcome.data().result;
    if (kept.blocks.empty() && kept.extra.empty() && !kept.structured && !kept.value.is_object() &&
        kept.raw.empty())
        return text;
    auto parsed = json::parse(text, json::ParseLimits(text.size() + 1, 1'024, text.size() + 1));
    if (!parsed || !parsed->is_object()) return text;
    Object& result = parsed->get_object();
    bool changed = false;
    if (Value* items = result.if_contains("content"); items != nullptr && items->is_array()) {
        for (Value& item : items->get_array()) {
            if (item.is_object() && has_content(string_member(item.get_object(), "type"))) continue;
            item = content(std::move(item));
            changed = true;
        }
    }
    if (const Value* structured = result.if_contains("structuredContent");
        structured != nullptr && !has_structured(*structured)) {
        result.erase("structuredContent");
        changed = true;
    }
    changed = result.erase("resultType") > 0 || changed;
    return changed ? json::write(*parsed) : text;
}

// Also what every revision has of a resource, and this one of nothing else.
void Codec20241105::add_resource_members(Object& to, const Object& from) const {
    for (const std::string_view always : {"size", "annotations"}) {
        if (const Value* value = from.if_contains(always)) to[always] = *value;
    }
    add_members(to, from);
}

Object Codec20241105::resource(const Resource& resource) const {
    Object listed{{"uri", resource.uri}, {"name", resource.name}};
    if (!resource.title.empty() && has_member("title")) listed["title"] = resource.title;
    if (!resource.description.empty()) listed["description"] = resource.description;
    if (!resource.mime_type.empty()) listed["mimeType"] = resource.mime_type;
    add_resource_members(listed, resource.extra);
    return listed;
}

Object Codec20241105::resource_template(const ResourceTemplate& pattern) const {
    Object listed{{"uriTemplate", pattern.uri_template}, {"name", pattern.name}};
    if (!pattern.title.empty() && has_member("title")) listed["title"] = pattern.title;
    if (!pattern.description.empty()) listed["description"] = pattern.description;
    if (!pattern.mime_type.empty()) listed["mimeType"] = pattern.mime_type;
    add_resource_members(listed, pattern.extra);
    return listed;
}

Object Codec20241105::prompt(const Prompt& prompt) const {
    Object listed{{"name", prompt.name}};
    if (!prompt.title.empty() && has_member("title")) listed["title"] = prompt.title;
    if (!prompt.description.empty()) listed["description"] = prompt.description;
    Array arguments;
    for (const PromptArgument& one : prompt.arguments) {
        Object argument{{"name", one.name}};
        if (!one.title.empty() && has_member("title")) argument["title"] = one.title;
        if (!one.description.empty()) argument["description"] = one.description;
        argument["required"] = one.required;
        arguments.push_back(std::move(argument));
    }
    listed["arguments"] = std::move(arguments);
    add_members(listed, prompt.extra);
    return listed;
}

Object Codec20241105::capabilities() const {
    return {{"tools", Object{{"listChanged", true}}},
            {"resources", Object{{"subscribe", true}, {"listChanged", true}}},
            {"prompts", Object{{"listChanged", true}}},
            {"logging", Object{}}};
}

Object Codec20241105::info(const ServerOptions& options) const {
    Object info{{"name", options.name}, {"version", options.version}};
    if (!options.title.empty() && has_member("title")) info["title"] = options.title;
    for (const auto& [key, value] : options.info_extra) {
        if (has_member(key)) info[key] = value;
    }
    return info;
}

Object Codec20241105::client_capabilities(const InputAbilities& can) const {
    Object all;
    if (can.roots) all["roots"] = Object{};
    if (can.sampling) all["sampling"] = Object{};
    return all;
}

const Codec& codec_2024_11_05() {
    static const Codec20241105 codec;
    return codec;
}

}  // namespace callgate::mcp
