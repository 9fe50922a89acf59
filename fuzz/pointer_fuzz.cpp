// Any text as a pointer, its first line; the rest is the document it points into, or a fixed one.
#include <cstdint>
#include <string_view>

#include <callgate/json.h>

#include "json/pointer.h"
#include "require.h"

using namespace callgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t line_end = input.find('\n');
    const std::string_view text = input.substr(0, line_end);
    Value root = {{"a", {0, {{"b/c", 1}, {"~", 2}}}}, {"", {{"", 3}}}, {"0", 4}};
    if (line_end != std::string_view::npos)
        if (auto given = json::parse(input.substr(line_end + 1))) root = std::move(*given);

    const Value* found = json::find(root, text);
    const Result<json::Pointer> pointer = json::Pointer::parse(text);
    if (!pointer) {
        const auto* byte = pointer.error().details.if_contains("byte");
        require(pointer.error().code == ErrorCode::invalid_arguments,
                "a refusal has the code invalid_arguments");
        require(byte != nullptr && byte->to_number<std::size_t>() <= text.size(), "a refusal names a byte");
        require(found == nullptr || text.size() > json::Pointer::kMaxBytes,
                "what is no pointer finds nothing");
        return 0;
    }
    require(pointer->to_string() == text, "a pointer's text is what it was read from");
    require(json::find(root, *pointer) == found, "text and pointer find the same");

    std::string rebuilt;
    for (const std::string& token : pointer->tokens()) {
        if (const auto index = json::array_index(token))
            json::append_index(rebuilt, *index);
        else
            json::append_token(rebuilt, token);
    }
    require(rebuilt == text, "a pointer can be put together from its tokens");
    return 0;
}
