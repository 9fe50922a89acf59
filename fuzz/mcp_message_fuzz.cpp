// Bytes as a message of JSON-RPC: whatever comes is one or a fault with a code, a message that was read can
// be written and is read as the same again, and ids come back as they were.
#include <cstdint>
#include <string>
#include <string_view>

#include "mcp/message.h"
#include "require.h"

using namespace callgate;
using namespace callgate::mcp;

namespace {

std::string written(const Message& message) {
    switch (message.kind) {
        case Message::Kind::request: return request_text(message.id, message.method, message.params);
        case Message::Kind::notification: return notification_text(message.method, message.params);
        case Message::Kind::response: break;
    }
    if (message.error) {
        const Value* code = message.error->if_contains("code");
        const int number = code != nullptr && code->is_int64() ? static_cast<int>(code->get_int64()) : 0;
        return error_text(message.id, Fault(number, "m"));
    }
    return response_text(message.id, {json::write(message.result)});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const json::ParseLimits limits(1u << 20, 32, 10'000);
    const ReadMessages read = read_messages(text, limits);
    require(!read.all.empty(), "something is always said of what came");
    require(read.batch || read.all.size() == 1, "what is no batch is one message");
    for (const ReadMessage& one : read.all) {
        if (const auto* bad = std::get_if<BadMessage>(&one)) {
            require(bad->fault.code <= -32600 && bad->fault.code >= -32700, "a fault has a code of JSON-RPC");
            require(!bad->fault.message.empty(), "and says what is wrong");
            continue;
        }
        const auto& message = std::get<Message>(one);
        require((message.kind == Message::Kind::notification) ==
                    (message.kind != Message::Kind::response && message.id.is_null()),
                "a notification is what has a method and no id");
        const ReadMessages again = read_messages(written(message), json::ParseLimits(8u << 20, 64, 100'000));
        require(again.all.size() == 1 && std::holds_alternative<Message>(again.all.front()),
                "it is read again");
        const auto& same = std::get<Message>(again.all.front());
        require(same.kind == message.kind && same.id == message.id && same.method == message.method &&
                    same.params == message.params,
                "as the same");
    }
    return 0;
}
