// A result of a tool in the words of every revision, and a client's answer to a question: what a revision
// cannot say is said otherwise, and what is written is JSON.
#include <cstdint>
#include <string>
#include <string_view>

#include <callgate/outcome.h>
#include <callgate/result.h>
#include <callgate/tool.h>

#include "mcp/codec.h"
#include "require.h"

using namespace callgate;
using namespace callgate::mcp;

namespace {

bool may_say(const Codec& codec, std::string_view type) {
    if (type == "audio") return codec.revision() >= "2025-03-26";
    if (type == "resource_link") return codec.revision() >= "2025-06-18";
    return true;
}

void check_result(const Codec& codec, const Outcome& outcome) {
    const std::string text = codec.call_result(outcome);
    const auto parsed = json::parse(text, json::ParseLimits(64u << 20, 512, 10'000'000));
    require(parsed && parsed->is_object(), "a result is an object");
    const Object& result = parsed->get_object();
    const Value* content = result.if_contains("content");
    require(content != nullptr && content->is_array(), "with content");
    for (const Value& item : content->get_array()) {
        const Value* type = item.is_object() ? item.get_object().if_contains("type") : nullptr;
        if (type != nullptr && type->is_string())
            require(may_say(codec, type->get_string()), "of types that the revision has");
    }
    const Value* structured = result.if_contains("structuredContent");
    require(structured == nullptr || codec.modern() ||
                (structured->is_object() && codec.revision() >= "2025-06-18"),
            "structured content is what the revision allows");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    auto read = read_mcp_result(std::string(text), json::ParseLimits(1u << 20, 32, 10'000));
    if (read) {
        OutcomeData ended;
        ended.state = State::succeeded;
        ended.succeeded = true;
        ended.result = *read;
        const Outcome outcome(std::move(ended));
        for (const Codec* codec : codecs()) {
            check_result(*codec, outcome);
        }
    }
    auto value = json::parse(text, json::ParseLimits(1u << 20, 32, 10'000));
    if (!value) return 0;
    for (const auto kind : {InputRequest::Kind::form, InputRequest::Kind::url, InputRequest::Kind::sampling,
                            InputRequest::Kind::roots}) {
        const auto answer = read_answer(kind, *value);
        require(answer || answer.error().code == ErrorCode::invalid_arguments,
                "an answer is one, or is refused");
    }
    if (value->is_object()) {
        for (const Codec* codec : codecs()) {
            (void)codec->abilities(value->get_object());
            const ToolDefinition definition("name", "", *value);
            const Contract contract;
            require(codec->tool({"name", &definition, &contract, {}}).contains("inputSchema"),
                    "a tool has a schema");
        }
    }
    return 0;
}
