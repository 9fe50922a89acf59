#include "mcp/codec_2025_03_26.h"

namespace callgate::mcp {

bool Codec20250326::has_content(std::string_view type) const noexcept {
    return type == "audio" || Codec20241105::has_content(type);
}

bool Codec20250326::has_member(std::string_view member) const noexcept {
    return member == "annotations";
}

Object Codec20250326::capabilities() const {
    Object all = Codec20241105::capabilities();
    all["completions"] = Object{};
    return all;
}

const Codec& codec_2025_03_26() {
    static const Codec20250326 codec;
    return codec;
}

}  // namespace callgate::mcp
