// JSON-RPC 2.0 messages, as MCP has them: one object, an id that is a string or an integer, parameters that
// are an object. What breaks a rule is a fault with the code that JSON-RPC has for it, and a request's id
// where it can be read, so that the answer finds who asked.
//
// Threads: pure functions.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>

namespace callgate::mcp {

/// A JSON-RPC error.
struct Fault {
    int code = 0;
    std::string message;
    Value data;  ///< null: none

    Fault(int number, std::string text, Value more = {})
        : code(number), message(std::move(text)), data(std::move(more)) {}
};

namespace codes {
inline constexpr int kParse = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternal = -32603;
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;
inline constexpr int kResourceNotFound = -32002;  ///< before 2026-07-28
inline constexpr int kUrlsWanted = -32042;        ///< 2025-11-25: pages are to be opened before
}  // namespace codes

struct Message {
    enum class Kind : std::uint8_t { request, notification, response };
    Kind kind = Kind::request;
    Value id;            ///< null of a notification
    std::string method;  ///< "" of a response
    Object params;       ///< of a request or notification
    Value result;        ///< of a response that is no error
    std::optional<Object> error;
};

struct BadMessage {
    Value id;  ///< null: none could be read
    Fault fault;
};

/// One message or, where they are allowed, several in an array.
using ReadMessage = std::variant<Message, BadMessage>;
struct ReadMessages {
    bool batch = false;
    std::vector<ReadMessage> all;  ///< one, unless it is a batch
};
ReadMessages read_messages(std::string_view text, const json::ParseLimits& limits);

/// The parts of `result` are, one after the other, JSON text of an object.
std::string response_text(const Value& id, std::initializer_list<std::string_view> result);
std::string error_text(const Value& id, const Fault& fault);
std::string notification_text(std::string_view method, const Value& params);
std::string request_text(const Value& id, std::string_view method, const Value& params);

}  // namespace callgate::mcp
