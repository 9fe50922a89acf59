#include "mcp/server_core.h"

#include <future>
#include <utility>

#include "mcp/completion.h"
#include "mcp/envelope.h"

namespace callgate::mcp {
namespace {

constexpr std::chrono::milliseconds kStateGoodFor{900'000};

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
        if (!session->requests.emplace(request_key(exchange->id), exchange).second) {
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
    const auto it = exchange->session->requests.find(request_key(exchange->id));
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
