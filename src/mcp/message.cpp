#include "mcp/message.h"

#include <utility>

#include <fmt/format.h>

#include "json/document_memory.h"
#include "mcp/members.h"

namespace callgate::mcp {
namespace {

constexpr std::size_t kMaxIdBytes = 1'024;

BadMessage bad(Value id, std::string text) {
    return {std::move(id), Fault(codes::kInvalidRequest, std::move(text))};
}

bool is_id(const Value& value) {
    return value.is_int64() || value.is_uint64() ||
           (value.is_string() && value.get_string().size() <= kMaxIdBytes);
}

// A response that breaks a rule is never answered with its id: it is that of a request of ours, and whoever
// sent it would take it for one of its own, and for the end of that.
ReadMessage read_response(Object& object, Value id) {
    Message message;
    message.kind = Message::Kind::response;
    take_over(message.id, std::move(id));
    Value* result = object.if_contains("result");
    Value* error = object.if_contains("error");
    if ((result == nullptr) == (error == nullptr))
        return bad(nullptr, "A response has either a result or an error.");
    if (result != nullptr) {
        take_over(message.result, std::move(*result));
    } else {
        if (!error->is_object()) return bad(nullptr, "A response's error is no object.");
        message.error.emplace(std::move(error->get_object()));
    }
    return message;
}

ReadMessage read_object(Object& object) {
    Value id;
    if (Value* given = object.if_contains("id")) {
        // Some older peers answer what they could not read with an id of null.
        if (is_id(*given))
            take_over(id, std::move(*given));
        else if (!given->is_null() || object.contains("method"))
            return bad(nullptr, "An id is a string (up to 1,024 bytes) or an integer.");
    }
    Value* method = object.if_contains("method");
    if (string_member(object, "jsonrpc") != "2.0")
        return bad(method == nullptr ? Value() : std::move(id), "A message says \"jsonrpc\": \"2.0\".");
    if (method == nullptr) return read_response(object, std::move(id));
    if (!method->is_string()) return bad(std::move(id), "A method is a string.");
    Message message;
    message.kind = id.is_null() ? Message::Kind::notification : Message::Kind::request;
    message.method = method->get_string();
    if (Value* params = object.if_contains("params")) {
        if (!params->is_object()) {
            return BadMessage{std::move(id), Fault(codes::kInvalidParams, "Parameters are an object.")};
        }
        take_over(message.params, std::move(params->get_object()));
    }
    take_over(message.id, std::move(id));
    return message;
}

ReadMessage read_one(Value& value) {
    if (!value.is_object()) return bad(nullptr, "A message is an object.");
    return read_object(value.get_object());
}

// Where no id could be read there is none: a null is not an id.
void append_head(std::string& out, const Value& id) {
    out += R"({"jsonrpc":"2.0")";
    if (id.is_null()) return;
    out += ",\"id\":";
    json::write(id, out);
}

}  // namespace

ReadMessages read_messages(std::string_view text, const json::ParseLimits& limits) {
    ReadMessages read;
    const auto memory = json::DocumentMemory::make();
    auto value = json::parse(text, limits, memory.storage);
    memory.document->seal();
    if (!value) {
        read.all.emplace_back(
            BadMessage{nullptr, Fault(codes::kParse, value.error().message, value.error().details)});
        return read;
    }
    if (!value->is_array()) {
        read.all.emplace_back(read_one(*value));
        return read;
    }
    read.batch = true;
    for (Value& one : value->get_array()) {
        read.all.emplace_back(read_one(one));
    }
    if (read.all.empty()) {
        read.batch = false;  // it is answered as one message that is none
        read.all.emplace_back(bad(nullptr, "A batch has at least one message."));
    }
    return read;
}

std::string response_text(const Value& id, std::initializer_list<std::string_view> result) {
    std::size_t size = 64;
    for (const std::string_view part : result) {
        size += part.size();
    }
    std::string out;
    out.reserve(size);
    append_head(out, id);
    out += ",\"result\":";
    for (const std::string_view part : result) {
        out += part;
    }
    out += '}';
    return out;
}

std::string error_text(const Value& id, const Fault& fault) {
    Object error{{"code", fault.code}, {"message", fault.message}};
    if (!fault.data.is_null()) error["data"] = fault.data;
    std::string out;
    append_head(out, id);
    out += ",\"error\":";
    json::write(error, out);
    out += '}';
    return out;
}

std::string notification_text(std::string_view method, const Value& params) {
    std::string out = R"({"jsonrpc":"2.0","method":)";
    json::write(Value(method), out);
    if (!params.is_null()) {
        out += ",\"params\":";
        json::write(params, out);
    }
    out += '}';
    return out;
}

std::string request_text(const Value& id, std::string_view method, const Value& params) {
    std::string out;
    append_head(out, id);
    out += ",\"method\":";
    json::write(Value(method), out);
    if (!params.is_null()) {
        out += ",\"params\":";
        json::write(params, out);
    }
    out += '}';
    return out;
}

}  // namespace callgate::mcp
