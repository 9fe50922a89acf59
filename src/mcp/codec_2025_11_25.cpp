#include "mcp/codec_2025_11_25.h"

#include <callgate/views.h>

namespace callgate::mcp {

// `elicitation: {}` means forms only.
InputAbilities Codec20251125::abilities(const Object& capabilities) const {
    InputAbilities can = Codec20250618::abilities(capabilities);
    const Value* elicitation = capabilities.if_contains("elicitation");
    if (elicitation == nullptr || !elicitation->is_object() || elicitation->get_object().empty()) return can;
    can.form = elicitation->get_object().contains("form");
    can.url = elicitation->get_object().contains("url");
    return can;
}

Object Codec20251125::client_capabilities(const InputAbilities& can) const {
    Object all = Codec20250618::client_capabilities(can);
    Object elicitation;
    if (can.form) elicitation["form"] = Object{};
    if (can.url) elicitation["url"] = Object{};
    if (!elicitation.empty()) all["elicitation"] = std::move(elicitation);
    return all;
}

std::string Codec20251125::call_result(const Outcome& outcome) const {
    const bool as_it_is = (!outcome.structured() || has_structured(*outcome.structured())) &&
                          !outcome.data().result.extra.contains("resultType");
    return as_it_is ? views::mcp(outcome) : Codec20250618::call_result(outcome);
}

bool Codec20251125::has_content(std::string_view /*type*/) const noexcept {
    return true;
}

bool Codec20251125::has_member(std::string_view member) const noexcept {
    return member != "execution";  // it promises tasks, and those of this revision are not served
}

const Codec& codec_2025_11_25() {
    static const Codec20251125 codec;
    return codec;
}

}  // namespace callgate::mcp
