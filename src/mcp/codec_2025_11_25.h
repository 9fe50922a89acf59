// MCP 2025-11-25, the last of the legacy era: added icons, elicitation by URL, streams that are polled, and
// says faults of arguments in results. Members that nobody knows are passed on. Its tasks are not served.
//
// Threads: constant.
#pragma once

#include "mcp/codec_2025_06_18.h"

namespace callgate::mcp {

class Codec20251125 : public Codec20250618 {
public:
    std::string_view revision() const noexcept override { return "2025-11-25"; }
    bool stream_polling() const noexcept override { return true; }
    bool argument_faults_are_results() const noexcept override { return true; }
    InputAbilities abilities(const Object& capabilities) const override;
    Object client_capabilities(const InputAbilities& can) const override;
    std::string call_result(const Outcome& outcome) const override;

protected:
    bool has_content(std::string_view type) const noexcept override;
    bool has_member(std::string_view member) const noexcept override;
};

}  // namespace callgate::mcp
