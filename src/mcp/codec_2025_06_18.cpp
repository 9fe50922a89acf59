#include "mcp/codec_2025_06_18.h"

namespace callgate::mcp {

InputAbilities Codec20250618::abilities(const Object& capabilities) const {
    InputAbilities can = Codec20250326::abilities(capabilities);
    can.form = capabilities.contains("elicitation");
    return can;
}

Object Codec20250618::client_capabilities(const InputAbilities& can) const {
    Object all = Codec20250326::client_capabilities(can);
    if (can.form) all["elicitation"] = Object{};
    return all;
}

bool Codec20250618::has_content(std::string_view type) const noexcept {
    return type == "resource_link" || Codec20250326::has_content(type);
}

bool Codec20250618::has_structured(const Value& structured) const noexcept {
    return structured.is_object();
}

bool Codec20250618::has_member(std::string_view member) const noexcept {
    return member == "title" || member == "outputSchema" || member == "_meta" ||
           Codec20250326::has_member(member);
}

const Codec& codec_2025_06_18() {
    static const Codec20250618 codec;
    return codec;
}

}  // namespace callgate::mcp
