#include "tool/blocks.h"

#include <utility>

#include "base/encoding.h"

namespace callgate {
namespace {

Object of_type(std::string_view type) {
    Object out;
    out.emplace("type", type);
    return out;
}

void add_unless_empty(Object& out, std::string_view name, std::string_view text) {
    if (!text.empty()) out.emplace(name, text);
}

Object with_data(std::string_view type, const Block& block) {
    Object out = of_type(type);
    out.emplace("data", base::base64_encode(block.data));
    out.emplace("mimeType", block.mime_type);
    return out;
}

Object resource(const Block& block) {
    Object inner;
    inner.emplace("uri", block.uri);
    add_unless_empty(inner, "mimeType", block.mime_type);
    if (block.data.empty()) {
        inner.emplace("text", block.text);
    } else {
        inner.emplace("blob", base::base64_encode(block.data));
    }
    Object out = of_type("resource");
    out.emplace("resource", std::move(inner));
    return out;
}

Object link(const Block& block) {
    Object out = of_type("resource_link");
    out.emplace("uri", block.uri);
    out.emplace("name", block.name.empty() ? block.uri : block.name);
    add_unless_empty(out, "mimeType", block.mime_type);
    return out;
}

Object text(std::string_view what) {
    Object out = of_type("text");
    out.emplace("text", what);
    return out;
}

Object own_members(const Block& block) {
    switch (block.kind) {
        case BlockKind::text: return text(block.text);
        case BlockKind::json: return text(json::write(block.json));
        case BlockKind::image: return with_data("image", block);
        case BlockKind::audio: return with_data("audio", block);
        case BlockKind::resource: return resource(block);
        case BlockKind::link: return link(block);
        case BlockKind::custom: break;
    }
    // An item must be an object with a type, whatever came.
    return block.json.is_object() ? block.json.get_object() : text(json::write(block.json));
}

// What is there already stays.
void add_missing(Object& out, const Object& more) {
    for (const auto& member : more) out.emplace(member.key(), member.value());
}

// Takes the text out of the object; "" where there is none, or something else.
std::string taken(Object& from, std::string_view name) {
    const Value* const value = from.if_contains(name);
    if (value == nullptr || !value->is_string()) return {};
    std::string text(value->get_string());
    from.stable_erase(from.find(name));
    return text;
}

std::string taken_bytes(Object& from, std::string_view name) {
    const Value* const value = from.if_contains(name);
    if (value == nullptr || !value->is_string()) return {};
    auto bytes = base::base64_decode(value->get_string());
    if (!bytes) return {};
    from.stable_erase(from.find(name));
    return std::move(*bytes);
}

void take_resource(Block& block, Object& rest) {
    Value* const found = rest.if_contains("resource");
    Object* const inner = found == nullptr ? nullptr : found->if_object();
    if (inner == nullptr) return;
    block.uri = taken(*inner, "uri");
    block.mime_type = taken(*inner, "mimeType");
    block.text = taken(*inner, "text");
    block.data = taken_bytes(*inner, "blob");
    if (inner->empty()) rest.stable_erase(rest.find("resource"));
}

// As far as it goes: whether it says the same is for others to find out.
Block known_kind(Object rest) {
    Block block;
    const std::string type = taken(rest, "type");
    if (type == "text") {
        block.text = taken(rest, "text");
    } else if (type == "image" || type == "audio") {
        block.kind = type == "image" ? BlockKind::image : BlockKind::audio;
        block.data = taken_bytes(rest, "data");
        block.mime_type = taken(rest, "mimeType");
    } else if (type == "resource") {
        block.kind = BlockKind::resource;
        take_resource(block, rest);
    } else if (type == "resource_link") {
        block.kind = BlockKind::link;
        block.uri = taken(rest, "uri");
        block.name = taken(rest, "name");
        block.mime_type = taken(rest, "mimeType");
    }
    block.extra = std::move(rest);
    return block;
}

}  // namespace

Value to_mcp(const Block& block) {
    Object out = own_members(block);
    if (block.extra.empty()) return out;
    if (block.kind == BlockKind::resource) {
        const Value* const inside = block.extra.if_contains("resource");
        if (inside != nullptr && inside->is_object())
            add_missing(out.at("resource").get_object(), inside->get_object());
    }
    add_missing(out, block.extra);
    return out;
}

Block Block::of_mcp(Value item) {
    if (const Object* const object = item.if_object()) {
        Block block = known_kind(*object);
        if (to_mcp(block) == item) return block;
    }
    return of_custom(std::move(item));
}

bool has_content(const ToolResult& result) noexcept {
    return !result.blocks.empty() || result.structured || !result.value.is_null() || !result.extra.empty();
}

const std::string* text_of(const Block& block, std::string& kept) {
    if (block.kind == BlockKind::text) return &block.text;
    if (block.kind != BlockKind::json) return nullptr;
    kept = json::write(block.json);
    return &kept;
}

std::string joined_text(const std::vector<Block>& blocks) {
    std::string out;
    std::string kept;
    bool first = true;
    for (const Block& block : blocks) {
        const std::string* const part = text_of(block, kept);
        if (part == nullptr) continue;
        if (!first) out += '\n';
        first = false;
        out += *part;
    }
    return out;
}

}  // namespace callgate
