// What a tool gives back: content, or a failure that says whether anything was changed.
//
// Threads: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include <callgate/error.h>
#include <callgate/json.h>

namespace callgate {

enum class BlockKind : std::uint8_t { text, json, image, audio, resource, link, custom };

std::string_view to_string(BlockKind kind) noexcept;

/// One piece of content. Which members mean something depends on the kind.
struct Block {
    BlockKind kind = BlockKind::text;
    std::string text;       ///< text; resource: its text
    Value json;             ///< json: the value; custom: the whole item as it came
    std::string data;       ///< image, audio, resource: raw bytes (base64 only on the wire)
    std::string mime_type;  ///< image, audio, resource, link
    std::string uri;        ///< resource, link
    std::string name;       ///< link
    /// What its item in MCP has beside: `annotations`, `_meta`, `title`, `size`, `icons`, …; in "resource"
    /// what the resource inside it has beside. Written as it came, and never instead of the block's own.
    Object extra;

    static Block of_text(std::string text);
    static Block of_json(Value value);
    static Block of_image(std::string bytes, std::string mime_type);
    static Block of_audio(std::string bytes, std::string mime_type);
    static Block of_resource(std::string uri, std::string text, std::string mime_type = {});
    static Block of_binary_resource(std::string uri, std::string bytes, std::string mime_type);
    static Block of_link(std::string uri, std::string name, std::string mime_type = {});
    static Block of_custom(Value item);
    /// An item of MCP's CallToolResult.content: written again it says the same. What no other kind can say so
    /// is custom.
    static Block of_mcp(Value item);

    Block() = default;
};

/// What is known of a result's `raw`.
enum class RawIs : std::uint8_t {
    other,      ///< nothing
    value,      ///< JSON text of the result's value, which is all of it
    mcp_result  ///< the result as MCP's CallToolResult
};

/// A tool's answer. Most tools give one value: text if it is a string, JSON otherwise. Those that need more
/// give blocks, and structured content beside them.
struct ToolResult {
    Value value;  ///< the content, when there are no blocks
    std::vector<Block> blocks;
    std::optional<Value> structured;  ///< judged by the output schema; absent means `value` is judged
    /// What the provider sent, unparsed; empty for native tools. Where it says just what the result says, as
    /// JSON or as MCP's CallToolResult, views::mcp() gives its bytes, and it alone is stored.
    std::string raw;
    RawIs raw_is = RawIs::other;  ///< found out by the runtime, whatever a tool puts here
    Object extra;                 ///< what a CallToolResult has beside: `_meta`, …

    ToolResult() = default;
    ToolResult(Value content) : value(std::move(content)) {}  // NOLINT(google-explicit-constructor)
    ToolResult(std::vector<Block> content)
        : blocks(std::move(content)) {}  // NOLINT(google-explicit-constructor)
};

/// What is known about the effect of a call that failed.
enum class Applied : std::uint8_t {
    no,       ///< proven: nothing was changed, it may be tried again
    maybe,    ///< sent, and then no answer: the outcome is unknown
    answered  ///< the tool itself said that it failed: definite, and never repeated on our own initiative
};

struct ToolFailure {
    Error error;
    Applied applied = Applied::answered;
    std::optional<std::chrono::milliseconds> retry_after;  ///< when a rate limit resets
    /// What the tool said of it, beside the error: it is kept, masked and bounded as a result is, and it is
    /// what views::mcp() shows of the failure. Where it has NaN in it, or is nested too deep, it is left out,
    /// and the error's `content_left_out` says so.
    std::optional<ToolResult> content;

    ToolFailure() = default;
    ToolFailure(Error what, Applied was_applied = Applied::answered)  // NOLINT(google-explicit-constructor)
        : error(std::move(what)), applied(was_applied) {}

    /// The tool answered with an error.
    static ToolFailure answered(std::string message, Object details = {});
    /// Refused or failed before anything happened.
    static ToolFailure not_applied(std::string message, Object details = {});
    /// Could not be reached; nothing was sent.
    static ToolFailure unreachable(std::string message);
    /// Sent, then the connection was lost.
    static ToolFailure lost(std::string message);
    static ToolFailure rate_limited(std::string message, std::chrono::milliseconds retry_after);

    ToolFailure& with_content(ToolResult what) & {
        content = std::move(what);
        return *this;
    }
    ToolFailure with_content(ToolResult what) && { return std::move(with_content(std::move(what))); }
};

using ToolReturn = tl::expected<ToolResult, ToolFailure>;

/// A provider's answer to tools/call as it was received, {"content", "structuredContent"?, "isError"?, …},
/// read strictly, kept as `raw`. What `isError` marks is a failure that has it as its content, and what is no
/// such answer is one with output_invalid {reason: not_a_result}.
ToolReturn read_mcp_result(std::string received, const json::ParseLimits& limits = {});

/// An exception that remembers where it was made. A tool may throw anything; this one leaves a stack in the
/// host's error (`details.stack`) and in the log. No view for a model ever has it.
class TracedError : public std::runtime_error {
public:
    explicit TracedError(const std::string& message,
                         std::source_location where = std::source_location::current());
    /// At most 5 frames, the innermost first.
    const std::vector<std::string>& stack() const noexcept { return *stack_; }

private:
    std::shared_ptr<const std::vector<std::string>> stack_;  // copying an exception must not throw
};

/// Inside a catch block: what the exception in flight means as a tool's answer. An Error or a ToolFailure is
/// the answer itself, as if it had been returned; any other std::exception is a definite failure; after any
/// other thrown value it is open what was done. The exceptions nested in it go to `details.stack`, after the
/// frames of a TracedError.
ToolFailure failure_from_exception();

/// What would happen, without its happening.
struct Preview {
    std::string summary;
    std::optional<Value> diff;
    bool supported = true;

    Preview() = default;
    explicit Preview(std::string text, std::optional<Value> change = {})
        : summary(std::move(text)), diff(std::move(change)) {}
};

/// A probe's verdict about an earlier call with an unknown outcome.
struct Reconciliation {
    enum class Verdict : std::uint8_t { applied, not_applied, cannot_tell };
    Verdict verdict = Verdict::cannot_tell;
    ToolResult result;  ///< where applied

    Reconciliation() = default;
    Reconciliation(Verdict what, ToolResult content = {})  // NOLINT(google-explicit-constructor)
        : verdict(what), result(std::move(content)) {}
};

}  // namespace callgate
