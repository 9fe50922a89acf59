// How a client comes to a connection, keeps it, and loses it.
#include <algorithm>
#include <utility>

#include "mcp/client.h"
#include "mcp/client_errors.h"
#include "mcp/envelope.h"
#include "mcp/members.h"

namespace callgate::mcp {
namespace {

constexpr int kLongestListenPause = 30;  // times the first

bool has_true(const Object& capabilities, std::string_view of, std::string_view member) {
    const Object* one = object_member(capabilities, of);
    const Value* value = one == nullptr ? nullptr : one->if_contains(member);
    return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace

void Client::connect(std::function<void(Result<void>)> done) {
    if (state_ == ClientState::connected) {
        thread_->post([done = std::move(done)] { done({}); });
        return;
    }
    connecting_.push_back(std::move(done));
    if (state_ == ClientState::connecting) return;
    set_state(ClientState::connecting, std::nullopt);
    faults_ = 0;
    const EraChoice era =
        options_.era == EraChoice::automatic ? verdict_.value_or(EraChoice::automatic) : options_.era;
    // In a turn of its own: whoever opens may do so at once.
    thread_->post([weak = weak_from_this(), era, number = ++connection_] {
        const auto self = weak.lock();
        if (self && self->connection_ == number) self->open_transport(era);
    });
}

void Client::open_transport(EraChoice era) {
    open_([weak = weak_from_this(), era,
           number = ++connection_](Result<std::shared_ptr<ClientTransport>> transport) {
        const auto self = weak.lock();
        if (self && self->connection_ == number)
            self->opened(era, std::move(transport));
        else if (transport)
            (*transport)->close();
    });
}

void Client::opened(EraChoice era, Result<std::shared_ptr<ClientTransport>> transport) {
    if (!transport) {
        fail_connecting(transport.error());
        return;
    }
    transport_ = std::move(*transport);
    requests_.use(transport_, era != EraChoice::legacy);
    handshake_ = std::make_shared<ClientHandshake>(requests_, transport_, options_,
                                                   [weak = weak_from_this()](ClientHandshake::Ended ended) {
                                                       if (const auto self = weak.lock())
                                                           self->shook_hands(std::move(ended));
                                                   });
    transport_->begin(*this);
    handshake_->begin(era);
}

void Client::shook_hands(ClientHandshake::Ended ended) {
    handshake_.reset();
    if (ended.facts) {
        connected(std::move(*ended.facts));
        return;
    }
    if (ended.again_as_legacy) {
        if (transport_) std::exchange(transport_, nullptr)->close();
        (void)requests_.take_all();
        open_transport(EraChoice::legacy);
        return;
    }
    fail_connecting(ended.facts.error());
}

void Client::connected(ServerFacts facts) {
    const bool is_modern = facts.codec->modern();
    verdict_ = is_modern ? EraChoice::modern : EraChoice::legacy;
    requests_.modern(is_modern);
    parts_.has_headers = transport_->has_headers();
    parts_.facts = std::move(facts);
    lists_.begin(parts_.facts, parts_.has_headers && is_modern);
    listen_pause_ = options_.listen_again;
    heard_ = true;
    set_state(ClientState::connected, std::nullopt);
    if (is_modern)
        listen();
    else
        keep_alive();
    end_connecting({});
}

// What was found out about the era may be what is wrong now.
void Client::fail_connecting(const Error& why) {
    verdict_.reset();
    const auto waiting = std::exchange(connecting_, {});
    const auto self = shared_from_this();
    drop_connection({why, true, 0}, ClientState::error, why);
    for (const auto& done : waiting) done(tl::unexpected(why));
}

void Client::end_connecting(const Result<void>& result) {
    const auto waiting = std::exchange(connecting_, {});
    for (const auto& done : waiting) done(result);
}

void Client::disconnect() {
    const auto self = shared_from_this();
    const Error why(ErrorCode::cancelled, "The connection was ended here.", {{"reason", "disconnected"}});
    const auto waiting = std::exchange(connecting_, {});
    drop_connection({why, true, 0}, ClientState::disconnected, std::nullopt);
    for (const auto& done : waiting) done(tl::unexpected(why));
}

void Client::closed(TransportLoss loss) {
    const auto self = shared_from_this();
    if (handshake_) {
        // Whoever shakes hands decides what it means.
        transport_.reset();
        for (const ClientDone& done : requests_.take_all()) done(tl::unexpected(failure_of(loss)));
        return;
    }
    drop_connection(loss, ClientState::disconnected, loss.error);
}

// The state is first: who is called back may look at it, and connect again.
void Client::drop_connection(const TransportLoss& loss, ClientState state, std::optional<Error> why) {
    ++connection_;
    if (handshake_) std::exchange(handshake_, nullptr)->drop();
    alive_timer_.reset();
    listen_timer_.reset();
    questions_.clear();
    if (transport_) std::exchange(transport_, nullptr)->close();
    const auto calls = std::exchange(calls_, {});
    const auto lists = lists_.take_waiting();
    auto requests = requests_.take_all();
    set_state(state, std::move(why));
    for (const ClientDone& done : requests) done(tl::unexpected(failure_of(loss)));
    for (const auto& [ticket, call] : calls) call->lose(loss);
    for (const ClientLists::Done& done : lists) done(tl::unexpected(loss.error));
}

void Client::set_state(ClientState state, std::optional<Error> why) {
    state_ = state;
    why_ = std::move(why);
    if (options_.watcher) options_.watcher->state_changed(state_, why_ ? &*why_ : nullptr);
}

void Client::keep_alive() {
    if (options_.keep_alive.count() <= 0) return;
    alive_timer_ = std::make_shared<boost::asio::steady_timer>(thread_->context(), options_.keep_alive);
    alive_timer_->async_wait(
        [this, timer = std::weak_ptr(alive_timer_)](const boost::system::error_code& error) {
            if (error || timer.expired()) return;
            // A server that does one thing at a time does not answer meanwhile.
            if (!std::exchange(heard_, false) && requests_.under_way() == 0) ping();
            keep_alive();
        });
}

// Any answer is a sign of life.
void Client::ping() {
    ClientRound round;
    round.message.request = requests_.next_id();
    round.message.codec = parts_.facts.codec;
    round.message.method = "ping";
    round.message.text = request_text(round.message.request, round.message.method, nullptr);
    round.timeout = options_.keep_alive;
    round.can_be_called_off = false;
    round.done = [weak = weak_from_this(), number = connection_](const ClientAnswer& answer) {
        const auto self = weak.lock();
        if (!self || self->connection_ != number || answer || answer.error().code != 0) return;
        if (self->requests_.under_way() > 0) return;
        self->closed({Error(ErrorCode::transport, "The server does not answer any more.",
                            {{"reason", "no_sign_of_life"}}),
                      true, 0});
    };
    requests_.begin(std::move(round));
}

void Client::listen() {
    const Object& can = parts_.facts.capabilities;
    Object wanted;
    if (has_true(can, "tools", "listChanged")) wanted["toolsListChanged"] = true;
    if (has_true(can, "prompts", "listChanged")) wanted["promptsListChanged"] = true;
    if (has_true(can, "resources", "listChanged")) wanted["resourcesListChanged"] = true;
    if (wanted.empty()) return;
    ClientRound round;
    round.message.request = requests_.next_id();
    round.message.codec = parts_.facts.codec;
    round.message.method = "subscriptions/listen";
    round.message.text = request_text(
        round.message.request, round.message.method,
        Object{{"notifications", std::move(wanted)},
               {"_meta", client_envelope(*parts_.facts.codec, options_, default_abilities(options_))}});
    round.timeout = std::chrono::milliseconds::max();
    listens_since_ = std::chrono::steady_clock::now();
    round.done = [weak = weak_from_this(), number = connection_](const ClientAnswer& answer) {
        const auto self = weak.lock();
        if (!self || self->connection_ != number) return;
        // A server that says that it cannot is believed.
        if (!answer && answer.error().code != 0) return;
        self->listen_again();
    };
    requests_.begin(std::move(round));
}

// Nobody knows what has changed meanwhile.
void Client::listen_again() {
    // One that lasted is no sign of trouble.
    if (std::chrono::steady_clock::now() - listens_since_ > options_.listen_again * kLongestListenPause)
        listen_pause_ = options_.listen_again;
    const auto pause = listen_pause_;
    listen_pause_ = std::min(listen_pause_ * 2, options_.listen_again * kLongestListenPause);
    listen_timer_ = std::make_shared<boost::asio::steady_timer>(thread_->context(), pause);
    listen_timer_->async_wait(
        [this, timer = std::weak_ptr(listen_timer_)](const boost::system::error_code& error) {
            if (error || timer.expired()) return;
            listen();
            for (std::size_t i = 0; i < kListKinds; ++i) lists_.changed(static_cast<ListKind>(i));
        });
}

}  // namespace callgate::mcp
