// MCP 2025-03-26: added audio, annotations of tools, progress messages, the completions capability and
// batches.
//
// Threads: constant.
#pragma once

#include "mcp/codec_2024_11_05.h"

namespace callgate::mcp {

class Codec20250326 : public Codec20241105 {
public:
    std::string_view revision() const noexcept override { return "2025-03-26"; }
    bool progress_message() const noexcept override { return true; }
    bool batches() const noexcept override { return true; }
    Object capabilities() const override;

protected:
    bool has_content(std::string_view type) const noexcept override;
    bool has_member(std::string_view member) const noexcept override;
};

}  // namespace callgate::mcp
