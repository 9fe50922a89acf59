#include "mcp/codec_2026_07_28.h"

#include <callgate/views.h>

#include "mcp/envelope.h"
#include "mcp/message.h"

namespace callgate::mcp {

int Codec20260728::resource_not_found() const noexcept {
    return codes::kInvalidParams;
}

std::string Codec20260728::call_result(const Outcome& outcome) const {
    std::string text = views::mcp(outcome);
    if (!outcome.data().result.extra.contains("resultType")) return text;
    // It came from a server of this revision; but whether a call is complete is ours to say.
    auto parsed = json::parse(text, json::ParseLimits(text.size() + 1, 1'024, text.size() + 1));
    if (!parsed || !parsed->is_object()) return text;
    parsed->get_object().erase("resultType");
    return json::write(*parsed);
}

Object Codec20260728::capabilities() const {
    Object all = Codec20251125::capabilities();
    all["extensions"] = envelope::needs_tasks()["extensions"];
    return all;
}

bool Codec20260728::has_structured(const Value& /*structured*/) const noexcept {
    return true;
}

const Codec& codec_2026_07_28() {
    static const Codec20260728 codec;
    return codec;
}

}  // namespace callgate::mcp
