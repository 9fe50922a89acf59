// Any bytes as a header's value: what is decoded can be encoded and decoded again, and what is encoded is a
// value.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "require.h"
#include "wire/header_value.h"

using namespace callgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (const auto text = wire::decode_value(bytes)) {
        const auto again = wire::decode_value(wire::encode_value(*text));
        require(!base::is_valid_utf8(*text) || (again && *again == *text), "a text comes back");
        (void)wire::says(bytes, Value(*text));
    }
    if (base::is_valid_utf8(bytes)) {
        const std::string value = wire::encode_value(bytes);
        require(wire::is_value(value), "what is encoded is a value");
        const auto text = wire::decode_value(value);
        require(text && *text == bytes, "what was encoded comes back");
    }
    (void)wire::is_token(bytes);
    return 0;
}
