#include <callgate/outcome.h>

#include <algorithm>

#include "base/ids.h"
#include "tool/blocks.h"

namespace callgate {

std::string_view to_string(State state) noexcept {
    switch (state) {
        case State::succeeded: return "succeeded";
        case State::failed: return "failed";
        case State::timed_out: return "timed_out";
        case State::cancelled: return "cancelled";
        case State::unknown: return "unknown";
        case State::not_found: return "not_found";
        case State::unavailable: return "unavailable";
        case State::scope_denied: return "scope_denied";
        case State::invalid: return "invalid";
        case State::denied: return "denied";
        case State::needs_approval: return "needs_approval";
        case State::previewed: return "previewed";
        case State::suppressed: return "suppressed";
        case State::limited: return "limited";
        case State::replayed: return "replayed";
        case State::in_progress: return "in_progress";
        case State::key_conflict: return "key_conflict";
    }
    return "failed";
}

Outcome::Outcome() {
    static const auto kNone = std::make_shared<const OutcomeData>();
    d_ = kNone;
}

Outcome::Outcome(OutcomeData data) : d_(std::make_shared<const OutcomeData>(std::move(data))) {}

const Value& Outcome::arguments() const noexcept {
    static const Value kNone = Object();
    return d_->arguments ? *d_->arguments : kNone;
}

std::string Outcome::call_id() const {
    return base::Uuid{d_->call_id}.to_string();
}

std::string Outcome::parent_call_id() const {
    const bool none = std::all_of(d_->parent_call_id.begin(), d_->parent_call_id.end(),
                                  [](std::uint8_t byte) { return byte == 0; });
    return none ? std::string() : base::Uuid{d_->parent_call_id}.to_string();
}

std::string Outcome::text() const {
    if (!ok()) return {};
    const ToolResult& result = d_->result;
    if (!result.blocks.empty()) return joined_text(result.blocks);
    if (const auto* text = result.value.if_string()) return {text->data(), text->size()};
    return result.value.is_null() ? std::string() : json::write(result.value);
}

Value Outcome::content() const {
    const ToolResult& result = d_->result;
    if (result.blocks.empty()) return result.value;
    Array out;
    out.reserve(result.blocks.size());
    for (const Block& block : result.blocks) out.push_back(to_mcp(block));
    return out;
}

std::vector<Block> Outcome::blocks() const {
    const ToolResult& result = d_->result;
    if (!result.blocks.empty() || result.value.is_null()) return result.blocks;
    std::vector<Block> out;
    if (const auto* text = result.value.if_string()) {
        out.push_back(Block::of_text({text->data(), text->size()}));
    } else {
        out.push_back(Block::of_json(result.value));
    }
    return out;
}

}  // namespace callgate
