#include "tool/received.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "base/utf8.h"
#include "json/size.h"
#include "tool/blocks.h"

namespace callgate {
namespace {

constexpr std::size_t kMaxMessage = 4'096;

struct McpResult {
    ToolResult result;
    bool is_error = false;
    bool has_content = false;  ///< it should; not all have
};

tl::unexpected<Error> not_a_result(const std::string& what) {
    return fail(ErrorCode::output_invalid, "What the tool answered is no result of a tool: " + what,
                {{"reason", "not_a_result"}});
}

Result<McpResult> read_members(Object& document) {
    McpResult read;
    for (auto& member : document) {
        const std::string_view name = member.key();
        Value& value = member.value();
        if (name == "content") {
            read.has_content = true;
            if (!value.is_array())
                return not_a_result("its content is " + std::string(json::kind_with_article(value)) +
                                    " and should be an array.");
            for (Value& item : value.get_array()) {
                if (!item.is_object())
                    return not_a_result("an item of its content is " +
                                        std::string(json::kind_with_article(item)) +
                                        " and should be an object.");
                read.result.blocks.push_back(Block::of_mcp(std::move(item)));
            }
        } else if (name == "structuredContent") {
            read.result.structured = std::move(value);
        } else if (name == "isError") {
            if (!value.is_bool()) return not_a_result("its isError is neither true nor false.");
            read.is_error = value.get_bool();
        } else {
            read.result.extra.emplace(name, std::move(value));
        }
    }
    return read;
}

Result<McpResult> read_text(std::string_view text, const json::ParseLimits& limits) {
    auto document = json::parse(text, limits);
    if (!document) return not_a_result(document.error().message);
    if (!document->is_object() || (!document->get_object().contains("content") &&
                                   !document->get_object().contains("structuredContent")))
        return not_a_result("it has no content.");
    return read_members(document->get_object());
}

bool same(const Block& a, const Block& b) {
    return a.kind == b.kind && a.text == b.text && a.json == b.json && a.data == b.data &&
           a.mime_type == b.mime_type && a.uri == b.uri && a.name == b.name && a.extra == b.extra;
}

bool same(const ToolResult& a, const ToolResult& b) {
    if (a.blocks.size() != b.blocks.size() || a.value != b.value || a.structured != b.structured ||
        a.extra != b.extra)
        return false;
    for (std::size_t i = 0; i < a.blocks.size(); ++i) {
        if (!same(a.blocks[i], b.blocks[i])) return false;
    }
    return true;
}

bool is_value_alone(const ToolResult& result) noexcept {
    return result.blocks.empty() && !result.structured && result.extra.empty();
}

}  // namespace

RawIs raw_says(const ToolResult& result, bool failed) {
    if (result.raw.empty()) return RawIs::other;
    if (is_value_alone(result)) {
        const auto value = json::parse(result.raw, json::any_size());
        return value && *value == result.value ? RawIs::value : RawIs::other;
    }
    const auto read = read_text(result.raw, json::any_size());
    const bool says_it = read && read->has_content && read->is_error == failed && same(read->result, result);
    return says_it ? RawIs::mcp_result : RawIs::other;
}

ToolResult without_parsed(const ToolResult& result) {
    if (result.raw_is == RawIs::other) return result;
    ToolResult kept;
    kept.raw = result.raw;
    kept.raw_is = result.raw_is;
    return kept;
}

std::optional<ToolResult> with_parsed(const ToolResult& kept) {
    if (kept.raw_is == RawIs::other) return kept;
    ToolResult result;
    if (kept.raw_is == RawIs::value) {
        auto value = json::parse(kept.raw, json::any_size());
        if (!value) return std::nullopt;
        result.value = std::move(*value);
    } else {
        auto read = read_text(kept.raw, json::any_size());
        if (!read) return std::nullopt;
        result = std::move(read->result);
    }
    result.raw = kept.raw;
    result.raw_is = kept.raw_is;
    return result;
}

bool leaves_as_received(const ToolResult& result) noexcept {
    // Outside of strings, where JSON allows no line break.
    return result.raw_is != RawIs::other && result.raw.find_first_of("\r\n") == std::string::npos;
}

ToolReturn read_mcp_result(std::string received, const json::ParseLimits& limits) {
    auto read = read_text(received, limits);
    if (!read) return tl::unexpected(ToolFailure(std::move(read.error()), Applied::answered));
    ToolResult& result = read->result;
    result.raw = std::move(received);
    if (!read->is_error) return std::move(result);
    std::string message = joined_text(result.blocks);
    if (message.empty()) message = "The tool answered with an error.";
    return tl::unexpected(ToolFailure::answered(std::string(base::truncate_to_bytes(message, kMaxMessage)))
                              .with_content(std::move(result)));
}

}  // namespace callgate
