// What comes: of which era it is, whether its envelope is whole, and who deals with it.
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"
#include "mcp/envelope.h"
#include "mcp/members.h"
#include "mcp/server_core.h"
#include "wire/header_value.h"

namespace callgate::mcp {
namespace {

Fault unsupported_version(std::string_view requested) {
    Array supported;
    for (const Codec* one : codecs()) {
        if (one->modern()) supported.emplace_back(one->revision());
    }
    return {codes::kUnsupportedVersion, fmt::format("This server does not speak \"{}\".", requested),
            Object{{"supported", supported}, {"requested", requested}}};
}

// The header that repeats what the request is about, by method: MCP's Mcp-Name.
std::string_view named_by(std::string_view method) {
    if (method == "tools/call" || method == "prompts/get") return "name";
    if (method == "resources/read") return "uri";
    if (method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel") return "taskId";
    return {};
}

std::optional<std::string> name_fault(const Exchange& exchange) {
    const std::string_view member = named_by(exchange.method);
    if (member.empty() || exchange.headers == nullptr) return std::nullopt;
    const auto header = exchange.headers->find("Mcp-Name");
    if (!header) return "The header Mcp-Name is missing.";
    const auto decoded = wire::decode_value(*header);
    if (!decoded) return "The header Mcp-Name cannot be read.";
    if (*decoded != string_member(exchange.params, member))
        return fmt::format("The header Mcp-Name does not say what params.{} says.", member);
    return std::nullopt;
}

// Out of the parameters, where nothing else looks for it.
void take_meta(Exchange& exchange) {
    Value* meta = exchange.params.if_contains("_meta");
    if (meta == nullptr || !meta->is_object()) return;
    exchange.meta = std::make_shared<const Object>(std::move(meta->get_object()));
    exchange.params.erase("_meta");
    if (const Value* token = exchange.meta->if_contains("progressToken")) exchange.progress_token = *token;
}

Fault no_such_method(std::string_view method) {
    constexpr std::size_t kShown = 200;
    return {codes::kMethodNotFound,
            fmt::format("There is no method \"{}\".", base::truncate_to_bytes(method, kShown))};
}

Fault header_mismatch(std::string what) {
    return {codes::kHeaderMismatch, std::move(what)};
}

// A client of the legacy era has answered a question. An answer that does not fit ends the question: the
// client will not answer it again.
void settle_question(PendingInput& question, Message answer) {
    if (answer.error) {
        const std::string_view said = string_member(*answer.error, "message");
        (void)question.fail(Error(ErrorCode::unavailable, fmt::format("The client did not answer: {}", said),
                                  {{"reason", "caller_refused"}}));
        return;
    }
    auto read = read_answer(question.request().kind, std::move(answer.result));
    if (!read) {
        (void)question.fail(std::move(read.error()));
        return;
    }
    auto taken = question.answer(std::move(*read));
    if (!taken) (void)question.fail(std::move(taken.error()));
}

}  // namespace

void ServerCore::refuse_without_session(const Value& id, const Arrival& arrival) {
    const std::string_view why = arrival.names_session ? "This session has ended: begin one with initialize."
                                                       : "There is no session: begin one with initialize.";
    arrival.outlet->respond(error_text(id, {codes::kInvalidRequest, std::string(why)}),
                            arrival.names_session ? 404 : 400);
}

void ServerCore::refuse(const BadMessage& bad, const Arrival& arrival) {
    arrival.outlet->respond(error_text(bad.id, bad.fault), 400);
}

void ServerCore::take(Message message, const Arrival& arrival) {
    if (closed_) return;
    const Home::Turn turn(*home_);
    switch (message.kind) {
        case Message::Kind::request: take_request(std::move(message), arrival); return;
        case Message::Kind::notification: take_notification(message, arrival); return;
        case Message::Kind::response: take_response(std::move(message), arrival); return;
    }
}

// The body decides: a header alone never makes a request one of the stateless era, except to refuse it there.
void ServerCore::take_request(Message message, const Arrival& arrival) {
    const Object* meta = object_member(message.params, "_meta");
    if (meta != nullptr && meta->contains(envelope::kProtocolVersion)) {
        take_modern(std::move(message), arrival);
        return;
    }
    const auto header = arrival.headers ? arrival.headers->find("MCP-Protocol-Version") : std::nullopt;
    const Codec* named = header ? find_codec(*header) : nullptr;
    const bool modern_header =
        header && (named == nullptr || named->modern()) && message.method != "initialize";
    const bool modern_method =
        message.method == "server/discover" || message.method == "subscriptions/listen";
    if (modern_header || modern_method)
        take_modern(std::move(message), arrival);
    else
        take_legacy(std::move(message), arrival);
}

void ServerCore::take_modern(Message message, const Arrival& arrival) {
    auto exchange = std::make_shared<Exchange>();
    exchange->codec = &codec_2026_07_28();
    take_over(exchange->id, std::move(message.id));
    exchange->method = std::move(message.method);
    take_over(exchange->params, std::move(message.params));
    exchange->outlet = arrival.outlet;
    exchange->headers = arrival.headers;
    if (!arrival.http) exchange->session = arrival.session;
    if (arrival.in_batch) {
        fail(exchange, {codes::kInvalidRequest, "This revision has no batches: a message comes alone."}, 400);
        return;
    }

    take_meta(*exchange);
    const SharedObject& meta = exchange->meta;
    const Value* version = meta->if_contains(envelope::kProtocolVersion);
    const Object* capabilities = object_member(*meta, envelope::kClientCapabilities);
    if (version == nullptr || !version->is_string() || capabilities == nullptr) {
        fail(exchange,
             {codes::kInvalidParams, fmt::format("A request says in params._meta which revision it speaks "
                                                 "({}) and what its client can do ({}).",
                                                 envelope::kProtocolVersion, envelope::kClientCapabilities)},
             400);
        return;
    }
    exchange->capabilities = SharedObject(meta, capabilities);
    if (const Object* info = object_member(*meta, envelope::kClientInfo))
        exchange->client_info = SharedObject(meta, info);
    const std::string requested(version->get_string());
    if (exchange->headers != nullptr) {
        const auto header = exchange->headers->find("MCP-Protocol-Version");
        if (!header || *header != requested) {
            fail(exchange,
                 header_mismatch("The header MCP-Protocol-Version does not say what params._meta says."));
            return;
        }
    }
    const Codec* codec = find_codec(requested);
    if (codec == nullptr || !codec->modern()) {
        fail(exchange, unsupported_version(requested));
        return;
    }
    exchange->codec = codec;
    if (const Value* level = meta->if_contains(envelope::kLogLevel)) {
        exchange->log_level = level->is_string() ? log_level_from_string(level->get_string()) : std::nullopt;
        if (!exchange->log_level) {
            fail(exchange, {codes::kInvalidParams, "There is no such log level."}, 400);
            return;
        }
    }
    const auto method = methods().find(exchange->method);
    if (method == methods().end() || !method->second.modern) {
        fail(exchange, no_such_method(exchange->method));
        return;
    }
    if (exchange->headers != nullptr) {
        const auto header = exchange->headers->find("Mcp-Method");
        if (!header || *header != exchange->method) {
            fail(exchange, header_mismatch("The header Mcp-Method does not say what the message says."));
            return;
        }
    }
    if (auto fault = name_fault(*exchange)) {
        fail(exchange, header_mismatch(std::move(*fault)));
        return;
    }
    run(exchange, method->second);
}

void ServerCore::take_legacy(Message message, const Arrival& arrival) {
    auto exchange = std::make_shared<Exchange>();
    exchange->codec = &latest_legacy_codec();
    take_over(exchange->id, std::move(message.id));
    exchange->method = std::move(message.method);
    take_over(exchange->params, std::move(message.params));
    exchange->session = arrival.session;
    exchange->outlet = arrival.outlet;
    exchange->headers = arrival.headers;
    const bool begins = exchange->method == "initialize";
    const bool is_new = begins && exchange->session == nullptr && arrival.http;
    if (is_new) exchange->session = new_session();
    const auto session = exchange->session;
    if (session == nullptr && is_new) {
        fail(exchange, {codes::kInternal, "As many sessions as there may be are in use; try again later."},
             503);
        return;
    }
    if (session == nullptr) {
        refuse_without_session(exchange->id, arrival);
        return;
    }
    exchange->outlet->belongs_to(session, begins);
    if (session->codec != nullptr) exchange->codec = session->codec;
    if (session->codec == nullptr && !begins && exchange->method != "ping") {
        fail(exchange, {codes::kInvalidRequest,
                        "Begin with initialize, or say in params._meta which revision this request speaks."});
        return;
    }
    exchange->capabilities = session->capabilities;
    exchange->client_info = session->client_info;
    take_meta(*exchange);
    const auto method = methods().find(exchange->method);
    if (method == methods().end() || !method->second.legacy) {
        fail(exchange, no_such_method(exchange->method));
        return;
    }
    run(exchange, method->second);
    if (is_new && session->codec == nullptr) end_session(session);  // it was refused
}

void ServerCore::take_notification(const Message& message, const Arrival& arrival) {
    const auto& session = arrival.session;
    if (session == nullptr && arrival.names_session) {
        refuse_without_session(nullptr, arrival);
        return;
    }
    if (session != nullptr && message.method == "notifications/initialized") {
        session->initialized = true;
    } else if (session != nullptr && message.method == "notifications/cancelled") {
        if (const Value* id = message.params.if_contains("requestId")) {
            const auto it = session->requests.find(request_key(*id));
            // `initialize` is answered in the turn it came in, so it is never found here.
            if (it != session->requests.end()) {
                const auto exchange = it->second;
                call_off(exchange);
                exchange->outlet->drop();
            }
        }
    }
    arrival.outlet->acknowledge();
}

void ServerCore::take_response(Message message, const Arrival& arrival) {
    const auto& session = arrival.session;
    if (session == nullptr) {
        refuse_without_session(nullptr, arrival);
        return;
    }
    if (message.id.is_int64()) {
        const auto it = session->questions.find(message.id.get_int64());
        if (it != session->questions.end()) {
            const auto question = std::move(it->second.question);
            session->questions.erase(it);
            settle_question(*question, std::move(message));
        }
    }
    arrival.outlet->acknowledge();
}

}  // namespace callgate::mcp
