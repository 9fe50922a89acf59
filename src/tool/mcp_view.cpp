// views::mcp(): an outcome as MCP's CallToolResult. Text is written as it goes; the usual result, one short
// text, costs one pass and one allocation.
#include <callgate/views.h>

#include "json/text.h"
#include "tool/blocks.h"

namespace callgate::views {
namespace {

constexpr std::string_view kTextBlock = R"({"type":"text","text":)";

void put_text_block(json::TextSink& sink, std::string_view text) {
    sink.put_token(kTextBlock);
    sink.put_string(text);
    sink.put('}');
}

/// Numbers and booleans as text: nothing in them needs an escape.
void put_scalar_block(json::TextSink& sink, const Value& value) {
    sink.put_token(kTextBlock);
    sink.put('"');
    if (const auto* i = value.if_int64()) {
        sink.put_integer(*i);
    } else if (const auto* u = value.if_uint64()) {
        sink.put_integer(*u);
    } else if (const auto* d = value.if_double()) {
        sink.put_double(*d);
    } else {
        sink.put_token(value.get_bool() ? "true" : "false");
    }
    sink.put_token("\"}");
}

/// JSON that is longer than a token goes straight to the text.
void put_json(json::TextSink& sink, std::string& out, std::string_view json) {
    sink.finish();
    out += json;
}

// Apart from the usual case, which then stays small.
[[gnu::noinline]] void put_blocks(json::TextSink& sink, std::string& out, const std::vector<Block>& blocks) {
    bool first = true;
    for (const Block& block : blocks) {
        if (!first) sink.put(',');
        first = false;
        if (block.kind == BlockKind::text) {
            put_text_block(sink, block.text);
        } else {
            put_json(sink, out, json::write(to_mcp(block)));
        }
    }
}

[[gnu::noinline]] void put_structured(json::TextSink& sink, std::string& out, const ToolResult& result) {
    // An object stands as structured content too: a tool with an output schema owes it.
    std::string object;
    if (!result.blocks.empty()) {
        put_blocks(sink, out, result.blocks);
    } else if (const auto* text = result.value.if_string()) {
        put_text_block(sink, *text);
    } else if (result.value.is_structured()) {
        object = json::write(result.value);
        put_text_block(sink, object);
    } else if (!result.value.is_null()) {
        put_scalar_block(sink, result.value);
    }
    sink.put(']');
    if (result.structured) {
        sink.put_token(R"(,"structuredContent":)");
        put_json(sink, out, json::write(*result.structured));
    } else if (result.value.is_object() && result.blocks.empty()) {
        sink.put_token(R"(,"structuredContent":)");
        put_json(sink, out, object);
    }
}

void put_success(json::TextSink& sink, std::string& out, const ToolResult& result) {
    if (!result.blocks.empty() || result.structured || result.value.is_structured()) {
        return put_structured(sink, out, result);
    }
    if (const auto* text = result.value.if_string()) {
        put_text_block(sink, *text);
    } else if (!result.value.is_null()) {
        put_scalar_block(sink, result.value);
    }
    sink.put(']');
}

}  // namespace

[[gnu::hot]] std::string mcp(const Outcome& outcome) {
    std::string out;
    json::TextSink sink(out);
    sink.put_token(R"({"content":[)");
    if (outcome.ok()) {
        put_success(sink, out, outcome.data().result);
        sink.put('}');
    } else {
        put_text_block(sink, model_text(outcome));
        sink.put_token(R"(],"isError":true})");
    }
    sink.finish();
    return out;
}

}  // namespace callgate::views
