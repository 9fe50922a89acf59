// MCP 2025-06-18: added titles, structured content that is an object, links to resources, elicitation by form
// and
// `_meta` on what is listed; took batches away.
//
// Threads: constant.
#pragma once

#include "mcp/codec_2025_03_26.h"

namespace callgate::mcp {

class Codec20250618 : public Codec20250326 {
public:
    std::string_view revision() const noexcept override { return "2025-06-18"; }
    bool batches() const noexcept override { return false; }
    InputAbilities abilities(const Object& capabilities) const override;
    Object client_capabilities(const InputAbilities& can) const override;
    bool names_itself() const noexcept override { return true; }

protected:
    bool has_content(std::string_view type) const noexcept override;
    bool has_structured(const Value& structured) const noexcept override;
    bool has_member(std::string_view member) const noexcept override;
};

}  // namespace callgate::mcp
