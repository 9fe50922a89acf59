// views::mcp(): an outcome as MCP's CallToolResult. Text is written as it goes; the usual result, one short
// text, costs one pass and one allocation.
#include <algorithm>

#include <callgate/views.h>

#include "base/utf8.h"
#include "json/text.h"
#include "tool/blocks.h"
#include "tool/received.h"

namespace callgate::views {
namespace {

constexpr std::string_view kTextBlock = R"({"type":"text","text":)";
constexpr std::string_view kIsError = R"(,"isError":true)";

// Whether a failure is what its tool said of it. Where nobody knows what was done, that has to be said first.
bool shows_content(const Outcome& outcome) noexcept {
    return outcome.state() != State::unknown && has_content(outcome.data().result);
}

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
        if (block.kind == BlockKind::text && block.extra.empty()) {
            put_text_block(sink, block.text);
        } else {
            put_json(sink, out, json::write(to_mcp(block)));
        }
    }
}

// What is said already stays as it is.
void put_extra(json::TextSink& sink, std::string& out, const ToolResult& result) {
    for (const auto& member : result.extra) {
        const std::string_view name = member.key();
        if (name == "content" || name == "structuredContent" || name == "isError") continue;
        sink.put(',');
        sink.put_string(name);
        sink.put(':');
        put_json(sink, out, json::write(member.value()));
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
        object = leaves_as_received(result) ? result.raw : json::write(result.value);
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
    put_extra(sink, out, result);
}

// Whether there is text of the tool's in it.
bool put_content(json::TextSink& sink, std::string& out, const ToolResult& result) {
    if (!result.blocks.empty() || result.structured || result.value.is_structured() ||
        !result.extra.empty()) {
        put_structured(sink, out, result);
        return true;
    }
    const auto* const text = result.value.if_string();
    if (text != nullptr) {
        put_text_block(sink, *text);
    } else if (!result.value.is_null()) {
        put_scalar_block(sink, result.value);
    }
    sink.put(']');
    return text != nullptr;
}

// From here on: a result that may hold bytes which are not UTF-8.

constexpr std::string_view kReplaced =
    "Callgate: this result holds bytes that are not UTF-8; in JSON each of them is shown as U+FFFD.";

bool is_utf8(const Value& value);

bool is_utf8(const Object& object) {
    return std::ranges::all_of(object, [](const auto& member) {
        return base::is_valid_utf8({member.key().data(), member.key().size()}) && is_utf8(member.value());
    });
}

bool is_utf8(const Value& value) {
    if (const auto* text = value.if_string()) return base::is_valid_utf8({text->data(), text->size()});
    if (const auto* array = value.if_array())
        return std::ranges::all_of(*array, [](const Value& one) { return is_utf8(one); });
    const auto* const object = value.if_object();
    return object == nullptr || is_utf8(*object);
}

Block bytes_as_they_are(std::string bytes, std::string uri, std::string mime_type) {
    return Block::of_binary_resource(std::move(uri), std::move(bytes),
                                     mime_type.empty() ? "application/octet-stream" : std::move(mime_type));
}

// Text that JSON cannot carry goes as bytes; false: something else in the block cannot be carried.
bool make_carriable(Block& block, std::size_t number) {
    if (block.kind == BlockKind::text && !base::is_valid_utf8(block.text)) {
        block = bytes_as_they_are(std::move(block.text), "callgate:bytes/" + std::to_string(number), {});
    } else if (block.kind == BlockKind::resource && block.data.empty() && !base::is_valid_utf8(block.text)) {
        block = bytes_as_they_are(std::move(block.text), block.uri, block.mime_type);
    }
    return is_utf8(block.json) && is_utf8(block.extra) && base::is_valid_utf8(block.uri) &&
           base::is_valid_utf8(block.name) && base::is_valid_utf8(block.mime_type);
}

[[gnu::cold]] std::string mcp_of_bytes(const Outcome& outcome) {
    std::string out;
    json::TextSink sink(out);
    sink.put_token(R"({"content":[)");
    if (!outcome.ok() && !shows_content(outcome)) {
        put_text_block(sink, model_text(outcome));
        const Error* const error = outcome.error();
        if (error != nullptr && !(base::is_valid_utf8(error->message) && is_utf8(error->details))) {
            sink.put(',');
            put_text_block(sink, kReplaced);
        }
        sink.put_token(R"(],"isError":true})");
        sink.finish();
        return out;
    }
    const ToolResult& result = outcome.data().result;
    std::vector<Block> blocks = outcome.blocks();
    bool carried = (!result.structured || is_utf8(*result.structured)) && is_utf8(result.extra);
    for (std::size_t i = 0; i < blocks.size(); ++i) carried &= make_carriable(blocks[i], i);
    if (!carried) blocks.push_back(Block::of_text(std::string(kReplaced)));
    put_blocks(sink, out, blocks);
    sink.put(']');
    const bool object = result.value.is_object() && result.blocks.empty();
    if (result.structured || object) {
        sink.put_token(R"(,"structuredContent":)");
        put_json(sink, out, json::write(result.structured ? *result.structured : result.value));
    }
    put_extra(sink, out, result);
    if (!outcome.ok()) sink.put_token(kIsError);
    sink.put('}');
    sink.finish();
    return out;
}

}  // namespace

[[gnu::hot]] std::string mcp(const Outcome& outcome) {
    const ToolResult& result = outcome.data().result;
    if (result.raw_is == RawIs::mcp_result && leaves_as_received(result) &&
        (outcome.ok() || shows_content(outcome))) [[unlikely]]
        return result.raw;
    std::string out;
    json::TextSink sink(out);
    sink.put_token(R"({"content":[)");
    bool has_text = true;
    if (outcome.ok()) {
        has_text = put_content(sink, out, result);
        sink.put('}');
    } else if (shows_content(outcome)) {
        put_content(sink, out, result);
        sink.put_token(kIsError);
        sink.put('}');
    } else {
        put_text_block(sink, model_text(outcome));
        sink.put_token(R"(],"isError":true})");
    }
    sink.finish();
    // Written for a byte that is not UTF-8, or the tool's own; rare either way.
    if (has_text && out.find("\xEF\xBF\xBD") != std::string::npos) [[unlikely]]
        return mcp_of_bytes(outcome);
    return out;
}

}  // namespace callgate::views
