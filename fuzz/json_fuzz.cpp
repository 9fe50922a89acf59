// Any text: the parser refuses it, or what it read survives writing and reading unchanged.
#include <cstdint>
#include <string_view>

#include <callgate/json.h>

#include "json/equal.h"
#include "require.h"

using namespace callgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const Result<Value> value = json::parse(input);
    if (!value) {
        const auto* byte = value.error().details.if_contains("byte");
        require(value.error().code == ErrorCode::invalid_arguments,
                "a refusal has the code invalid_arguments");
        require(!value.error().message.empty(), "a refusal says why");
        require(byte != nullptr && byte->to_number<std::size_t>() <= size,
                "a refusal names a byte of the text");
        return 0;
    }

    const std::string text = json::write(*value);
    const Result<Value> again = json::parse(text);
    require(again.has_value(), "what is written can be read");
    require(json::equal(*value, *again), "what is read back is equal");
    require(json::hash(*value, 1) == json::hash(*again, 1), "equal values have the same hash");
    require(json::write(*again) == text, "it is written the same again");

    const Result<Value> pretty = json::parse(json::write_pretty(*value));
    require(pretty.has_value() && json::write(*pretty) == text, "indented text says the same");

    const std::string canonical = json::canonical(*value);
    const Result<Value> normal = json::parse(canonical);
    require(normal.has_value(), "the canonical form can be read");
    require(json::equal(*value, *normal), "the canonical form is equal");
    require(json::canonical(*normal) == canonical, "the canonical form is its own canonical form");
    return 0;
}
