#include "mcp/client.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "mcp/client_errors.h"
#include "mcp/client_questions.h"
#include "mcp/envelope.h"
#include "mcp/exchange.h"
#include "mcp/members.h"

namespace callgate::mcp {
namespace {

constexpr std::array<std::string_view, kServerFaults> kFaultNames{
    "not_a_message",     "too_large",          "unknown_answer",   "repeated_answer",  "unknown_progress",
    "too_much_progress", "unexpected_request", "too_many_changes", "bad_notification", "bad_stream"};

std::optional<InputRequest::Kind> kind_asked(const Message& request) {
    if (request.method == "sampling/createMessage") return InputRequest::Kind::sampling;
    if (request.method == "roots/list") return InputRequest::Kind::roots;
    if (request.method != "elicitation/create") return std::nullopt;
    return string_member(request.params, "mode") == "url" ? InputRequest::Kind::url
                                                          : InputRequest::Kind::form;
}

}  // namespace

std::string_view to_string(ServerFault fault) noexcept {
    return kFaultNames[static_cast<std::size_t>(fault)];
}

std::string_view to_string(ClientState state) noexcept {
    switch (state) {
        case ClientState::disconnected: return "disconnected";
        case ClientState::connecting: return "connecting";
        case ClientState::connected: return "connected";
        case ClientState::error: return "error";
    }
    return {};
}

std::shared_ptr<Client> Client::make(std::shared_ptr<net::LoopThread> thread, ClientOptions options,
                                     Open open) {
    return std::shared_ptr<Client>(new Client(std::move(thread), std::move(options), std::move(open)));
}

Client::Client(std::shared_ptr<net::LoopThread> thread, ClientOptions options, Open open)
    : thread_(std::move(thread)),
      options_(std::move(options)),
      open_(std::move(open)),
      requests_(*thread_, options_.limits,
                [this](ServerFault kind, std::string_view what) { fault(kind, what); }),
      lists_(*thread_, options_,
             {[this](ClientRequest request, ClientDone done) {
                  (void)start(std::move(request), std::move(done));
              },
              [this](ServerFault kind, std::string_view what) { fault(kind, what); }}),
      parts_{thread_, options_, requests_, lists_, {}, false} {}

Client::~Client() {
    const Error gone(ErrorCode::cancelled, "The client is at its end.", {{"reason", "client_gone"}});
    drop_connection({gone, true, 0}, ClientState::disconnected, std::nullopt);
    end_connecting(tl::unexpected(gone));
}

Client::Ticket Client::start(ClientRequest request, ClientDone done) {
    const Ticket ticket = ++last_ticket_;
    if (state_ != ClientState::connected || calls_.size() >= options_.limits.max_requests) {
        const bool many = state_ == ClientState::connected;
        Error error(ErrorCode::unavailable,
                    many ? fmt::format("{} requests to this server are under way.", calls_.size())
                         : "There is no connection to the server.",
                    {{"reason", many ? "too_many_requests" : "not_connected"}});
        thread_->post([done = std::move(done), failure = not_sent(std::move(error))] {
            done(tl::unexpected(failure));
        });
        return ticket;
    }
    auto call = std::make_shared<ClientCall>(
        parts_, std::move(request),
        [weak = weak_from_this(), ticket, done = std::move(done)](ClientAnswer answer) {
            if (const auto self = weak.lock()) self->calls_.erase(ticket);
            done(std::move(answer));
        });
    calls_.emplace(ticket, call);
    call->begin();
    return ticket;
}

void Client::cancel(Ticket ticket, std::string_view reason) {
    const auto it = calls_.find(ticket);
    if (it == calls_.end()) return;
    const auto call = it->second;
    call->cancel(reason);
}

void Client::list(ListKind kind, ClientLists::Done done) {
    if (state_ == ClientState::connected) {
        lists_.list(kind, std::move(done));
        return;
    }
    thread_->post([done = std::move(done)] {
        done(fail(ErrorCode::unavailable, "There is no connection to the server.",
                  {{"reason", "not_connected"}}));
    });
}

void Client::arrived(std::string_view text, std::uint64_t of, int status) {
    const auto self = shared_from_this();
    const std::uint64_t connection = connection_;
    heard_ = true;
    ReadMessages read = read_messages(text, options_.limits.message);
    if (read.batch) {
        const bool may = state_ == ClientState::connected && parts_.facts.codec->batches();
        if (!may || read.all.size() > options_.limits.max_requests) {
            fault(ServerFault::not_a_message, "The server has sent several messages as one.");
            return;
        }
        for (ReadMessage& one : read.all) {
            if (connection == connection_) take(one, {}, of, status);
        }
        return;
    }
    take(read.all.front(), text, of, status);
}

void Client::take(ReadMessage& read, std::string_view text, std::uint64_t of, int status) {
    if (const auto* bad = std::get_if<BadMessage>(&read)) {
        fault(ServerFault::not_a_message, bad->fault.message);
        return;
    }
    auto& message = std::get<Message>(read);
    switch (message.kind) {
        case Message::Kind::response: requests_.take(message, text, of, status); return;
        case Message::Kind::request: take_request(message, of); return;
        case Message::Kind::notification: take_notification(message); return;
    }
}

void Client::take_request(Message& request, std::uint64_t of) {
    if (state_ == ClientState::connected && parts_.facts.codec->modern()) {
        fault(ServerFault::unexpected_request, "The server sends a request, which its era has not.");
        return;
    }
    if (request.method == "ping") {
        send_text(response_text(request.id, {"{}"}));
    } else if (kind_asked(request) && state_ == ClientState::connected) {
        put_question(request, of);
    } else {
        fault(ServerFault::unexpected_request, "The server sends a request that a client does not know.");
        send_text(error_text(request.id, {codes::kMethodNotFound, "There is no such method here."}));
    }
}

void Client::take_notification(const Message& message) {
    const std::string_view method = message.method;
    if (method == "notifications/progress") {
        requests_.take_progress(message.params);
    } else if (method == "notifications/tools/list_changed") {
        lists_.changed(ListKind::tools);
    } else if (method == "notifications/prompts/list_changed") {
        lists_.changed(ListKind::prompts);
    } else if (method == "notifications/resources/list_changed") {
        lists_.changed(ListKind::resources);
        lists_.changed(ListKind::resource_templates);
    } else if (method == "notifications/resources/updated") {
        if (options_.watcher) options_.watcher->resource_updated(string_member(message.params, "uri"));
    } else if (method == "notifications/message") {
        if (options_.watcher) options_.watcher->log(message.params);
    } else if (method == "notifications/cancelled") {
        // It has withdrawn a question of its own: nobody waits for the answer.
        const Value* id = message.params.if_contains("requestId");
        const auto it = id == nullptr ? questions_.end() : questions_.find(request_key(*id));
        if (it == questions_.end()) return;
        requests_.go_on(it->second.request);
        questions_.erase(it);
    }
}

// Over lines nothing says which request of ours a question belongs to.
std::shared_ptr<ClientCall> Client::whom_it_asks(InputRequest::Kind kind, std::uint64_t of) const {
    std::shared_ptr<ClientCall> found;
    for (const auto& [ticket, call] : calls_) {
        const bool can = call->questions() != nullptr && call->questions()->abilities().has(kind);
        if (of != 0 && call->id() == of) return can ? call : nullptr;
        if (!can || call->id() == 0) continue;
        if (found) return nullptr;
        found = call;
    }
    return of == 0 ? found : nullptr;
}

void Client::put_question(Message& request, std::uint64_t of) {
    auto question = read_question(request.method, request.params);
    if (!question) {
        send_text(error_text(request.id, {codes::kInvalidParams, question.error().message}));
        return;
    }
    const std::string key = request_key(request.id);
    const auto call = whom_it_asks(question->kind, of);
    const auto& whom = call ? call->questions() : options_.questions;
    if (whom == nullptr || !whom->abilities().has(question->kind)) {
        send_text(error_text(request.id, {codes::kMethodNotFound, "Nobody here can be asked that."}));
        return;
    }
    if (questions_.size() >= options_.limits.max_questions || questions_.contains(key)) {
        fault(ServerFault::unexpected_request, "The server asks too much at once, or the same twice.");
        send_text(error_text(request.id, {codes::kInvalidRequest, "Too many questions are open."}));
        return;
    }
    questions_.emplace(key, OpenQuestion{call ? call->id() : 0});
    if (call) requests_.pause(call->id());
    ask_on(thread_, whom, std::move(*question),
           [weak = weak_from_this(), connection = connection_, key, id = request.id](Result<Value> answer) {
               const auto self = weak.lock();
               if (self && self->connection_ == connection) self->answer_question(key, id, std::move(answer));
           });
}

void Client::answer_question(const std::string& key, const Value& id, Result<Value> answer) {
    const auto it = questions_.find(key);
    if (it == questions_.end()) return;  // withdrawn
    requests_.go_on(it->second.request);
    questions_.erase(it);
    if (answer)
        send_text(response_text(id, {json::write(*answer)}));
    else
        send_text(error_text(
            id, {answer.error().code == ErrorCode::denied ? -1 : codes::kInternal, answer.error().message}));
}

void Client::send_text(std::string text) {
    OutgoingMessage message;
    message.text = std::move(text);
    message.codec = parts_.facts.codec;
    if (transport_) (void)transport_->send(std::move(message));
}

void Client::lost(std::uint64_t request, TransportLoss loss) {
    const auto self = shared_from_this();
    requests_.lose(request, std::move(loss));
}

// Once for each kind in the life of a connection.
void Client::fault(ServerFault fault, std::string_view what) {
    const std::uint32_t bit = 1u << static_cast<unsigned>(fault);
    if ((faults_ & bit) != 0) return;
    faults_ |= bit;
    if (options_.watcher) options_.watcher->server_fault(fault, what);
}

}  // namespace callgate::mcp
