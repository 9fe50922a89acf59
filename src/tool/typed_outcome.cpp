#include <callgate/typed_outcome.h>

#include <algorithm>
#include <string>

#include "tool/blocks.h"

namespace callgate {

namespace typed {

std::optional<Value> GivenResult::form(std::size_t which) const {
    if (which == 0) return as_given();
    if (!has_text()) return std::nullopt;
    const std::string text = outcome_.text();
    if (which == 1) return Value(text);
    // It was within the runtime's limits when it was returned.
    constexpr std::size_t kMostNodes = 1'000'000;
    const json::ParseLimits limits(text.size(), json::ParseLimits().max_depth, kMostNodes);
    auto parsed = json::parse(text, limits);
    if (!parsed) return std::nullopt;
    return std::move(*parsed);
}

std::optional<Value> GivenResult::as_given() const {
    const ToolResult& result = outcome_.data().result;
    if (result.structured) return result.structured;
    if (result.blocks.empty()) return result.value;
    if (result.blocks.size() == 1 && result.blocks.front().kind == BlockKind::json)
        return result.blocks.front().json;
    const bool only_text =
        std::ranges::all_of(result.blocks, [](const Block& block) { return block.kind == BlockKind::text; });
    if (only_text) return std::nullopt;
    return outcome_.content();
}

bool GivenResult::has_text() const {
    const ToolResult& result = outcome_.data().result;
    if (result.blocks.empty()) return result.value.is_string();
    return std::ranges::any_of(result.blocks,
                               [](const Block& block) { return block.kind == BlockKind::text; });
}

}  // namespace typed

Error Outcome::failure() const {
    if (d_->error) return *d_->error;
    return {ErrorCode::internal, "There is no outcome: nothing was called."};
}

}  // namespace callgate
