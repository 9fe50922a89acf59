#include <callgate/result.h>

namespace callgate {

std::string_view to_string(BlockKind kind) noexcept {
    switch (kind) {
        case BlockKind::text: return "text";
        case BlockKind::json: return "json";
        case BlockKind::image: return "image";
        case BlockKind::audio: return "audio";
        case BlockKind::resource: return "resource";
        case BlockKind::link: return "link";
        case BlockKind::custom: return "custom";
    }
    return "custom";
}

Block Block::of_text(std::string text) {
    Block block;
    block.text = std::move(text);
    return block;
}

Block Block::of_json(Value value) {
    Block block;
    block.kind = BlockKind::json;
    block.json = std::move(value);
    return block;
}

Block Block::of_image(std::string bytes, std::string mime_type) {
    Block block;
    block.kind = BlockKind::image;
    block.data = std::move(bytes);
    block.mime_type = std::move(mime_type);
    return block;
}

Block Block::of_audio(std::string bytes, std::string mime_type) {
    Block block = of_image(std::move(bytes), std::move(mime_type));
    block.kind = BlockKind::audio;
    return block;
}

Block Block::of_resource(std::string uri, std::string text, std::string mime_type) {
    Block block;
    block.kind = BlockKind::resource;
    block.uri = std::move(uri);
    block.text = std::move(text);
    block.mime_type = std::move(mime_type);
    return block;
}

Block Block::of_binary_resource(std::string uri, std::string bytes, std::string mime_type) {
    Block block;
    block.kind = BlockKind::resource;
    block.uri = std::move(uri);
    block.data = std::move(bytes);
    block.mime_type = std::move(mime_type);
    return block;
}

Block Block::of_link(std::string uri, std::string name, std::string mime_type) {
    Block block;
    block.kind = BlockKind::link;
    block.uri = std::move(uri);
    block.name = std::move(name);
    block.mime_type = std::move(mime_type);
    return block;
}

Block Block::of_custom(Value item) {
    Block block;
    block.kind = BlockKind::custom;
    block.json = std::move(item);
    return block;
}

ToolFailure ToolFailure::answered(std::string message, Object details) {
    return {Error(ErrorCode::tool_error, std::move(message), std::move(details)), Applied::answered};
}

ToolFailure ToolFailure::not_applied(std::string message, Object details) {
    ToolFailure failure(Error(ErrorCode::tool_error, std::move(message), std::move(details)), Applied::no);
    failure.error.retryable = true;
    return failure;
}

ToolFailure ToolFailure::unreachable(std::string message) {
    ToolFailure failure(Error(ErrorCode::transport, std::move(message)), Applied::no);
    failure.error.retryable = true;
    return failure;
}

ToolFailure ToolFailure::lost(std::string message) {
    return {Error(ErrorCode::transport, std::move(message)), Applied::maybe};
}

ToolFailure ToolFailure::rate_limited(std::string message, std::chrono::milliseconds retry_after) {
    ToolFailure failure(
        Error(ErrorCode::rate_limited, std::move(message), Object{{"retry_after_ms", retry_after.count()}}),
        Applied::no);
    failure.retry_after = retry_after;
    return failure;
}

}  // namespace callgate
