#include "mcp/server_core.h"

#include <algorithm>
#include <future>
#include <utility>

#include <fmt/format.h>

#include "mcp/completion.h"
#include "mcp/envelope.h"
#include "wire/header_value.h"

namespace callgate::mcp {
namespace {

constexpr std::chrono::milliseconds kStateGoodFor{900'000};

std::string key_of(const Value& id) {
    return json::write(id);
}

std::string_view string_in(const Object& object, std::string_view member) {
    const Value* value = object.if_contains(member);
    return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                  : std::string_view();
}

const Object* object_in(const Object& object, std::string_view member) {
    const Value* value = object.if_contains(member);
    return value == nullptr ? nullptr : value->if_object();
}

int status_of(const Exchange& exchange, const Fault& fault, int given) {
    if (given != 0) return given;
    if (!exchange.modern()) return 200;
    switch (fault.code) {
        case codes::kMethodNotFound: return 404;
        case codes::kHeaderMismatch:
        case codes::kMissingCapability:
        case codes::kUnsupportedVersion:
        case codes::kInvalidRequest: return 400;
        default: return 200;
    }
}

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
    if (*decoded != string_in(exchange.params, member))
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

Fault header_mismatch(std::string what) {
    return {codes::kHeaderMismatch, std::move(what)};
}

// A client of the legacy era has answered a question. An answer that does not fit ends the question: the
// client will not answer it again.
void settle_question(PendingInput& question, Message answer) {
    if (answer.error) {
        const std::string_view said = string_in(*answer.error, "message");
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

ServerCore::ServerCore(Runtime& runtime, net::Loop& loop, ServerOptions options)
    : runtime_(runtime),
      loop_(loop),
      options_(std::move(options)),
      home_(std::make_shared<Home>(loop.thread())),
      run_at_home_(home_->executor()),
      states_(kStateGoodFor),
      completer_(make_completer(catalogue_)),
      sessions_(options_.limits),
      kept_(kStateGoodFor, options_.limits.max_requests),
      tasks_(runtime_, options_, run_at_home_) {
    const Object meta{{envelope::kServerInfo, codec_2026_07_28().info(options_)}};
    modern_info_ = "\"_meta\":" + json::write(Value(meta));
}

ServerCore::~ServerCore() = default;

const std::map<std::string_view, ServerCore::Method>& ServerCore::methods() {
    static const std::map<std::string_view, Method> all{
        {"initialize", {&ServerCore::initialize, true, false}},
        {"ping", {&ServerCore::ping, true, false}},
        {"logging/setLevel", {&ServerCore::set_level, true, false}},
        {"resources/subscribe", {&ServerCore::subscribe, true, false}},
        {"resources/unsubscribe", {&ServerCore::unsubscribe, true, false}},
        {"server/discover", {&ServerCore::discover, false, true}},
        {"subscriptions/listen", {&ServerCore::listen, false, true}},
        {"tools/list", {&ServerCore::list_tools}},
        {"tools/call", {&ServerCore::call_tool}},
        {"resources/list", {&ServerCore::list_resources}},
        {"resources/templates/list", {&ServerCore::list_templates}},
        {"resources/read", {&ServerCore::read_resource}},
        {"prompts/list", {&ServerCore::list_prompts}},
        {"prompts/get", {&ServerCore::get_prompt}},
        {"completion/complete", {&ServerCore::complete}},
        {"tasks/get", {&ServerCore::get_task, false, true}},
        {"tasks/update", {&ServerCore::update_task, false, true}},
        {"tasks/cancel", {&ServerCore::cancel_task, false, true}},
    };
    return all;
}

void ServerCore::begin() {
    watches_registry_ = runtime_.tools().on_change([weak = weak_from_this()](const RegistryChange& change) {
        const auto self = weak.lock();
        if (self && change.what == RegistryChange::What::tools)
            self->lists_changed("notifications/tools/list_changed");
    });
}

void ServerCore::close() {
    watches_registry_.reset();
    std::promise<void> closed;
    at_home([&] {
        closed_ = true;
        for (const auto& session : sessions_.all()) {
            end_session(session);
        }
        tasks_.end();
        for (const auto& exchange : listeners_.exchanges()) {
            end_listener(exchange);
        }
        for (const auto& conversation : kept_.take_all()) {
            conversation->end();
        }
        closed.set_value();
    });
    closed.get_future().wait();
}

// The specification asks for both: the cancellation first, then the answer.
void ServerCore::end_listener(const std::shared_ptr<Exchange>& exchange) {
    listeners_.remove(exchange);
    const Object meta{{envelope::kSubscriptionId, exchange->id}};
    exchange->outlet->message(notification_text(
        "notifications/cancelled",
        Object{{"requestId", exchange->id}, {"reason", "the server ends this stream"}, {"_meta", meta}}));
    respond(exchange, json::write(Value(Object{{"_meta", meta}})));
}

void ServerCore::end_listening(Transport& by) {
    std::promise<void> ended;
    at_home([&] {
        by.drains = true;
        for (const auto& exchange : listeners_.exchanges(&by)) {
            end_listener(exchange);
        }
        for (const auto& session : sessions_.all()) {
            if (session->side && session->side->transport() == &by) session->side_stream->detach();
        }
        ended.set_value();
    });
    ended.get_future().wait();
}

std::shared_ptr<void> ServerCore::place_to_listen() {
    if (listeners_.size() + *listening_ >= options_.limits.max_listeners) return nullptr;
    ++*listening_;
    return {static_cast<void*>(listening_.get()), [count = listening_](void*) { --*count; }};
}

void ServerCore::lists_changed(std::string_view method) {
    at_home([self = shared_from_this(), method] {
        self->listeners_.lists_changed(method);
        for (const auto& session : self->sessions_.all()) {
            if (session->side && session->initialized)
                session->side->message(notification_text(method, nullptr));
        }
    });
}

void ServerCore::resource_updated(std::string uri) {
    at_home([self = shared_from_this(), uri = std::move(uri)] {
        self->listeners_.resource_updated(uri);
        for (const auto& session : self->sessions_.all()) {
            if (session->side && session->subscriptions.contains(uri))
                session->side->message(
                    notification_text("notifications/resources/updated", Object{{"uri", uri}}));
        }
    });
}

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
    const Object* meta = object_in(message.params, "_meta");
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
    exchange->id = std::move(message.id);
    exchange->method = std::move(message.method);
    exchange->params = std::move(message.params);
    exchange->outlet = arrival.outlet;
    exchange->headers = arrival.headers;
    if (!arrival.http) exchange->session = arrival.session;

    take_meta(*exchange);
    const SharedObject& meta = exchange->meta;
    const Value* version = meta->if_contains(envelope::kProtocolVersion);
    const Object* capabilities = object_in(*meta, envelope::kClientCapabilities);
    if (version == nullptr || !version->is_string() || capabilities == nullptr) {
        fail(exchange,
             {codes::kInvalidParams, fmt::format("A request says in params._meta which revision it speaks "
                                                 "({}) and what its client can do ({}).",
                                                 envelope::kProtocolVersion, envelope::kClientCapabilities)},
             400);
        return;
    }
    exchange->capabilities = SharedObject(meta, capabilities);
    if (const Object* info = object_in(*meta, envelope::kClientInfo))
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
        fail(exchange, {codes::kMethodNotFound, fmt::format("There is no method \"{}\".", exchange->method)});
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
    exchange->id = std::move(message.id);
    exchange->method = std::move(message.method);
    exchange->params = std::move(message.params);
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
        fail(exchange, {codes::kMethodNotFound, fmt::format("There is no method \"{}\".", exchange->method)});
        return;
    }
    run(exchange, method->second);
    if (is_new && session->codec == nullptr) end_session(session);  // it was refused
}

void ServerCore::run(const std::shared_ptr<Exchange>& exchange, const Method& method) {
    const Value& token = exchange->progress_token;
    if (!token.is_null() && !token.is_string() && !token.is_int64() && !token.is_uint64()) {
        fail(exchange, {codes::kInvalidParams, "A progress token is a string or an integer."});
        return;
    }
    if (!admit(exchange)) return;
    (this->*method.handler)(exchange);
}

// Counts it in, if there is room for it and its id is not that of another one under way.
bool ServerCore::admit(const std::shared_ptr<Exchange>& exchange) {
    if (requests_now_ >= options_.limits.max_requests) {
        fail(exchange, {codes::kInternal, "The server is busy; try again later."}, 503);
        return false;
    }
    if (const auto& session = exchange->session) {
        if (session->requests.size() >= options_.limits.max_requests_per_client) {
            fail(exchange, {codes::kInternal, "Too many requests of this client are under way."});
            return false;
        }
        if (!session->requests.emplace(key_of(exchange->id), exchange).second) {
            fail(exchange, {codes::kInvalidRequest, "A request with this id is under way."});
            return false;
        }
    }
    ++requests_now_;
    exchange->counted = true;
    exchange->outlet->on_gone([weak = weak_from_this(), about = std::weak_ptr(exchange)] {
        const auto self = weak.lock();
        const auto gone = about.lock();
        if (self && gone) self->call_off(gone);
    });
    return true;
}

void ServerCore::finished(const std::shared_ptr<Exchange>& exchange) {
    exchange->ended = true;
    if (!exchange->counted) return;
    exchange->counted = false;
    if (!exchange->listens) --requests_now_;
    if (exchange->session == nullptr) return;
    const auto it = exchange->session->requests.find(key_of(exchange->id));
    if (it != exchange->session->requests.end() && it->second == exchange)
        exchange->session->requests.erase(it);
}

// The client does not want the answer any more.
void ServerCore::call_off(const std::shared_ptr<Exchange>& exchange) {
    if (exchange->ended) return;
    finished(exchange);
    listeners_.remove(exchange);
    if (const auto conversation = exchange->conversation.lock()) conversation->call_off(exchange);
}

void ServerCore::respond(const std::shared_ptr<Exchange>& exchange, std::string_view result, Meta meta) {
    if (exchange->ended) return;
    finished(exchange);
    if (!exchange->modern()) {
        exchange->outlet->respond(response_text(exchange->id, {result}), 200);
        return;
    }
    // What each result says in this era is put in front of its own members.
    const std::string_view members = result.substr(result.find('{') + 1);
    const bool has_type = members.starts_with(R"("resultType")");
    const bool has_meta = meta == Meta::own || members.starts_with(R"("_meta")");
    const std::string_view comma = has_meta || members == "}" ? "" : ",";
    exchange->outlet->respond(
        response_text(exchange->id, {"{", has_type ? "" : R"("resultType":"complete",)",
                                     has_meta ? std::string_view() : modern_info_, comma, members}),
        200);
}

void ServerCore::fail(const std::shared_ptr<Exchange>& exchange, const Fault& fault, int status) {
    if (exchange->ended) return;
    finished(exchange);
    exchange->outlet->respond(error_text(exchange->id, fault), status_of(*exchange, fault, status));
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
            const auto it = session->requests.find(key_of(*id));
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

std::shared_ptr<Session> ServerCore::find_session(std::string_view id) {
    auto session = sessions_.find(id);
    if (session) sessions_.used(*session, std::chrono::steady_clock::now());
    return session;
}

std::shared_ptr<Session> ServerCore::new_session() {
    const auto now = std::chrono::steady_clock::now();
    for (const auto& session : sessions_.make_room(now)) {
        end_session(session);
    }
    return sessions_.new_session(now);
}

void ServerCore::answers_no_more(Session& session) {
    session.answers = false;
    const auto questions = std::exchange(session.questions, {});
    for (const auto& [id, open] : questions) {
        (void)open.question->fail(
            Error(ErrorCode::unavailable, "The client has gone.", {{"reason", "caller_gone"}}));
    }
}

void ServerCore::end_session(const std::shared_ptr<Session>& session) {
    sessions_.remove(session);
    if (session->ended) return;
    session->ended = true;
    answers_no_more(*session);
    const auto requests = session->requests;
    for (const auto& [id, exchange] : requests) {
        call_off(exchange);
        exchange->outlet->drop();
    }
    if (session->side) session->side->drop();
    session->side.reset();
}

void ServerCore::keep(const std::shared_ptr<Conversation>& conversation) {
    kept_.keep(conversation, std::chrono::steady_clock::now());
}

void ServerCore::forget(const Conversation& conversation) {
    kept_.forget(conversation.call_id());
}

}  // namespace callgate::mcp
