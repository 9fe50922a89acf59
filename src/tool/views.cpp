// Outcomes in the forms of the earlier systems, and as text for a model. Shapes for large results:
// model_view.cpp.
#include <callgate/views.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/error_views.h"
#include "base/utf8.h"
#include "tool/blocks.h"
#include "tool/cut.h"
#include "tool/iso_time.h"

namespace callgate::views {
namespace {

constexpr std::size_t kS0OutputCharacters = 2'000;
constexpr std::size_t kS2ContentCharacters = 1'000;
constexpr std::string_view kS2Marker = "... (truncated)";
/// Names of unknown tools are the caller's text.
constexpr std::size_t kToolNameBytes = 256;

base::CallFacts facts_of(const Outcome& outcome) {
    const OutcomeData& data = outcome.data();
    return {.in_process = data.in_process, .dispatched = data.dispatched, .effectful = data.effectful};
}

std::string name_of(const Outcome& outcome) {
    return cut_to_bytes(outcome.tool(), kToolNameBytes, "...");
}

Object partial_of(const Partial& partial, Value content) {
    Object out;
    out.emplace("content", std::move(content));
    out.emplace("content_type", partial.content.is_string() ? "text" : "json");
    out.emplace("bytes", partial.bytes);
    out.emplace("complete", false);
    out.emplace("received_at", iso_utc(partial.received_at));
    return out;
}

/// What S2 calls content, and its type: the first block decides.
struct S2Content {
    Value content;
    std::string_view type = "text";
};

S2Content s2_content(const Outcome& outcome) {
    const ToolResult& result = outcome.data().result;
    if (result.blocks.empty()) {
        const bool text = result.value.is_string() || result.value.is_null();
        return {result.value, text ? "text" : "json"};
    }
    const Block& first = result.blocks.front();
    const std::string_view type = to_string(first.kind);
    if (result.blocks.size() > 1) {
        std::string kept;
        const bool some_text = std::any_of(result.blocks.begin(), result.blocks.end(),
                                           [&](const Block& b) { return text_of(b, kept) != nullptr; });
        return {some_text ? Value(joined_text(result.blocks)) : outcome.content(), type};
    }
    switch (first.kind) {
        case BlockKind::text: return {Value(first.text), type};
        case BlockKind::json:
        case BlockKind::custom: return {first.json, type};
        case BlockKind::image:
        case BlockKind::audio: return {Value(base::base64_encode(first.data)), type};
        default: return {to_mcp(first), type};
    }
}

/// The value, or its text cut; `length` is set where it was.
Value s2_cut(const Value& value, std::optional<std::size_t>& length) {
    std::string kept;
    std::string_view text;
    if (const auto* string = value.if_string()) {
        text = *string;
    } else {
        kept = json::write(value);
        text = kept;
    }
    if (has_more_characters(text, kS2ContentCharacters)) {
        length = base::count_code_points(text);
        return Value(cut_to_bytes(text, kS2ContentCharacters, kS2Marker));
    }
    return value.is_string() ? Value(cut_to_characters(text, kS2ContentCharacters)) : value;
}

std::string block_for_model(const Block& block) {
    std::string kept;
    if (const std::string* const text = text_of(block, kept)) return *text;
    switch (block.kind) {
        case BlockKind::image:
        case BlockKind::audio:
            return fmt::format("[{} {}, {} bytes]", to_string(block.kind), block.mime_type,
                               block.data.size());
        case BlockKind::resource:
            if (!block.data.empty()) {
                return fmt::format("[resource {} {}, {} bytes]", block.uri, block.mime_type,
                                   block.data.size());
            }
            return fmt::format("[resource {}]\n{}", block.uri, block.text);
        case BlockKind::link: return fmt::format("[link {} {}]", block.name, block.uri);
        default: return json::write(block.json);
    }
}

std::string as_text(const Value& value) {
    const auto* const text = value.if_string();
    return text != nullptr ? std::string(text->data(), text->size()) : json::write(value);
}

std::string joined_for_model(const std::vector<Block>& blocks) {
    std::string all;
    for (const Block& block : blocks) {
        if (!all.empty()) all += '\n';
        all += block_for_model(block);
    }
    return all;
}

std::string result_for_model(const Outcome& outcome, const Limits& limits) {
    const ToolResult& result = outcome.data().result;
    if (result.blocks.empty()) return as_text(model(result.value, limits));
    return as_text(model(Value(joined_for_model(result.blocks)), limits));
}

bool is_unknown(const Outcome& outcome) {
    const Error* const error = outcome.error();
    return outcome.state() == State::unknown ||
           (error != nullptr && error->code == ErrorCode::outcome_unknown);
}

std::string sentence(std::string text) {
    const char last = text.empty() ? '.' : text.back();
    if (last != '.' && last != '!' && last != '?') text += '.';
    return text;
}

/// The error and what to do next; a long message gives way, the next step never does.
std::string error_for_model(const Outcome& outcome, std::size_t room) {
    const Error fallback(ErrorCode::internal, fmt::format("Tool '{}' failed", name_of(outcome)));
    const Error& error = outcome.error() != nullptr ? *outcome.error() : fallback;
    const auto compose = [&](std::string message) {
        if (!is_unknown(outcome)) return base::model_text(Error(error.code, std::move(message)));
        return fmt::format(
            "Outcome unknown: {} The call of '{}' may have been done. Do not call again; ask a person.",
            sentence(std::move(message)), name_of(outcome));
    };
    const std::size_t frame = compose(".").size() + 2;
    return compose(cut_to_bytes(error.message, room - std::min(room, frame), "..."));
}

/// A titled paragraph, if there is room for something worth reading.
void add_section(std::string& out, std::string_view title, const Value& content, const Limits& limits) {
    constexpr std::size_t kWorthIt = 300;
    const std::size_t used = out.size() + title.size() + 1;
    if (limits.model_bytes < used + kWorthIt) return;
    Limits left = limits;
    left.model_bytes -= used;
    std::string text = as_text(model(content, left));
    if (text.size() > left.model_bytes) return;
    out += '\n';
    out += title;
    out += text;
}

// What the tool said beside the error; null where that is nothing new.
Value content_of_failure(const Outcome& outcome) {
    const ToolResult& result = outcome.data().result;
    Value said = result.value;
    if (!result.blocks.empty()) {
        said = joined_for_model(result.blocks);
    } else if (said.is_null() && result.structured) {
        said = *result.structured;
    }
    const Error* const error = outcome.error();
    return error != nullptr && said == Value(error->message) ? Value() : said;
}

std::string failure_for_model(const Outcome& outcome, const Limits& limits) {
    const Value said = content_of_failure(outcome);
    const bool more = outcome.partial() || outcome.preview() || !said.is_null();
    std::string out = error_for_model(outcome, more ? limits.model_bytes / 2 : limits.model_bytes);
    if (!said.is_null()) add_section(out, "The tool said: ", said, limits);
    if (const auto& preview = outcome.preview()) {
        add_section(out, "Preview: ", Value(preview->summary), limits);
        if (preview->diff) add_section(out, "Changes: ", *preview->diff, limits);
    }
    if (const auto& partial = outcome.partial()) {
        add_section(
            out,
            fmt::format("Partial result ({} bytes received, the call did not complete): ", partial->bytes),
            partial->content, limits);
    }
    return out;
}

}  // namespace

std::string model_text(const Outcome& outcome, const Limits& given) {
    constexpr std::size_t kMinTextBytes = 1'000;
    if (outcome.ok()) return result_for_model(outcome, given);
    Limits limits = given;
    limits.model_bytes = std::max(limits.model_bytes, kMinTextBytes);
    return failure_for_model(outcome, limits);
}

Object s0(const Outcome& outcome) {
    Object out;
    out.emplace("tool_name", outcome.tool());
    out.emplace("success", outcome.ok());
    out.emplace("output", cut_to_characters(outcome.text(), kS0OutputCharacters));
    out.emplace("latency_ms", outcome.latency_ms());
    if (outcome.ok()) {
        out.emplace("error", nullptr);
    } else {
        out.emplace("error", s0_error(outcome));
    }
    return out;
}

Object s1(const Outcome& outcome) {
    Object out;
    const Error* const error = outcome.error();
    if (outcome.ok() || error == nullptr) return out;
    out.emplace("error", base::s1_text(*error, outcome.tool()));
    out.emplace("tool_name", outcome.tool());
    out.emplace("type", base::error_row(error->code).s1_type);
    Object details = base::s1_details(*error);
    for (const std::string_view name : {"timeout_ms", "exception_type", "kind"}) {
        if (const Value* const fact = details.if_contains(name)) out.emplace(name, *fact);
    }
    if (const auto& partial = outcome.partial()) {
        details["partial"] = partial_of(*partial, model(partial->content));
    }
    if (!details.empty()) out.emplace("details", std::move(details));
    return out;
}

Object s2(const Outcome& outcome) {
    Object out;
    out.emplace("tool_name", outcome.tool());
    out.emplace("server", outcome.server());
    out.emplace("arguments", outcome.arguments());
    out.emplace("success", outcome.ok());
    const S2Content content = outcome.ok() ? s2_content(outcome) : S2Content();
    out.emplace("content_type", content.type);
    out.emplace("duration_ms",
                std::chrono::duration_cast<std::chrono::milliseconds>(outcome.duration()).count());
    out.emplace("timestamp", iso_utc(outcome.timestamp()));
    if (!content.content.is_null()) {
        std::optional<std::size_t> length;
        out.emplace("content", s2_cut(content.content, length));
        if (length) out.emplace("content_length", *length);
    }
    if (const Error* const error = outcome.error(); error != nullptr && !outcome.ok()) {
        const base::CallFacts facts = facts_of(outcome);
        Object shown;
        shown.emplace("code", base::s2_code(error->code, facts));
        shown.emplace("message", base::s2_text(*error, outcome.tool()));
        Object details = base::s2_details(*error, facts);
        if (const auto& partial = outcome.partial()) {
            std::optional<std::size_t> length;
            details["partial"] = partial_of(*partial, s2_cut(partial->content, length));
        }
        shown.emplace("details", std::move(details));
        out.emplace("error", std::move(shown));
    }
    return out;
}

std::string s0_error(const Outcome& outcome) {
    const Error* const error = outcome.error();
    return outcome.ok() || error == nullptr ? std::string() : base::s0_text(*error, outcome.tool());
}

std::string s4_error(const Outcome& outcome) {
    const Error* const error = outcome.error();
    return outcome.ok() || error == nullptr ? std::string() : base::s4_text(*error, outcome.tool());
}

}  // namespace callgate::views
