#include "tool/blocks.h"

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

}  // namespace

Value to_mcp(const Block& block) {
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
    return block.json.is_object() ? block.json : Value(text(json::write(block.json)));
}

bool has_content(const ToolResult& result) noexcept {
    return !result.blocks.empty() || result.structured || !result.value.is_null();
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
