// MCP 2026-07-28: stateless. Each request says who asks and what they can do, and each result what it is
// (`resultType`) and how long it holds; structured content is any value.
//
// Threads: constant.
#pragma once

#include "mcp/codec_2025_11_25.h"

namespace callgate::mcp {

class Codec20260728 final : public Codec20251125 {
public:
    std::string_view revision() const noexcept override { return "2026-07-28"; }
    bool modern() const noexcept override { return true; }
    bool stream_polling() const noexcept override { return false; }
    int resource_not_found() const noexcept override;
    std::string call_result(const Outcome& outcome) const override;
    Object capabilities() const override;

protected:
    bool has_structured(const Value& structured) const noexcept override;
};

}  // namespace callgate::mcp
