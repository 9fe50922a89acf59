#include "mcp/client_requests.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "mcp/client_errors.h"
#include "mcp/member_text.h"
#include "mcp/members.h"

namespace callgate::mcp {
namespace {

constexpr std::size_t kMaxGivenUp = 1'000;

std::optional<double> number_member(const Object& object, std::string_view member) {
    const Value* value = object.if_contains(member);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    return value->to_number<double>();
}

std::uint64_t id_in(const Value& id) {
    if (id.is_int64()) return id.get_int64() > 0 ? static_cast<std::uint64_t>(id.get_int64()) : 0;
    return id.is_uint64() ? id.get_uint64() : 0;
}

}  // namespace

ClientRequests::ClientRequests(net::LoopThread& thread, const ClientLimits& limits, Faults faults)
    : thread_(thread),
      limits_(limits),
      faults_(std::move(faults)),
      timer_(std::make_shared<boost::asio::steady_timer>(thread.context())) {}

void ClientRequests::use(std::shared_ptr<ClientTransport> transport, bool modern) {
    transport_ = std::move(transport);
    modern_ = modern;
    given_up_.clear();
}

void ClientRequests::begin(ClientRound round) {
    const std::uint64_t id = round.message.request;
    if (open_.size() >= limits_.max_requests) {
        finish_later(std::move(round.done),
                     not_sent(Error(ErrorCode::unavailable,
                                    fmt::format("{} requests to this server are under way.", open_.size()),
                                    {{"reason", "too_many_requests"}})));
        return;
    }
    if (round.message.text.size() > limits_.message.max_bytes) {
        finish_later(std::move(round.done),
                     not_sent(Error(ErrorCode::invalid_arguments,
                                    fmt::format("A message to a server has at most {} bytes.",
                                                limits_.message.max_bytes),
                                    {{"reason", "too_large"}})));
        return;
    }
    if (round.timeout.count() <= 0) {
        finish_later(std::move(round.done),
                     not_sent(Error(ErrorCode::timed_out, "No time is left for a request.",
                                    {{"reason", "no_time_left"}})));
        return;
    }
    Result<void> sent = transport_ ? transport_->send(std::move(round.message))
                                   : fail(ErrorCode::unavailable, "There is no connection to the server.",
                                          {{"reason", "not_connected"}});
    if (!sent) {
        finish_later(std::move(round.done), not_sent(std::move(sent.error())));
        return;
    }
    round.message = OutgoingMessage{};
    const auto timeout = round.timeout;
    Open& open = open_[id];
    open.round = std::move(round);
    set_deadline(id, open, base::later(std::chrono::steady_clock::now(), timeout));
}

void ClientRequests::finish_later(ClientDone done, ClientFailure failure) {
    thread_.post([done = std::move(done), failure = std::move(failure)]() mutable {
        done(tl::unexpected(std::move(failure)));
    });
}

ClientRequests::Node ClientRequests::remove(std::uint64_t id) {
    auto node = open_.extract(id);
    if (!node.empty()) deadlines_.erase({node.mapped().deadline, id});
    return node;
}

void ClientRequests::call_off(std::uint64_t id, Error why) {
    Node node = remove(id);
    if (node.empty()) return;
    given_up_.insert(id);
    if (given_up_.size() > kMaxGivenUp) given_up_.erase(given_up_.begin());
    tell_server(id, node.mapped().round, why.message);
    ClientFailure failure;
    failure.error = std::move(why);
    node.mapped().round.done(tl::unexpected(std::move(failure)));
}

// Where a request has a connection of its own and no session, closing that calls it off.
void ClientRequests::tell_server(std::uint64_t id, const ClientRound& round, std::string_view why) {
    if (!transport_) return;
    if (transport_->forget(id, modern_) || !round.can_be_called_off) return;
    OutgoingMessage message;
    message.method = "notifications/cancelled";
    message.text = notification_text(message.method, Object{{"requestId", id}, {"reason", why}});
    (void)transport_->send(std::move(message));
}

void ClientRequests::set_deadline(std::uint64_t id, Open& open, base::MonotonicTime at) {
    if (open.deadline != base::MonotonicTime::max()) deadlines_.erase({open.deadline, id});
    open.deadline = at;
    if (at == base::MonotonicTime::max()) return;
    deadlines_.emplace(at, id);
    if (at < armed_for_) arm();
}

void ClientRequests::arm() {
    armed_for_ = deadlines_.empty() ? base::MonotonicTime::max() : deadlines_.begin()->first;
    if (deadlines_.empty()) return;
    timer_->expires_at(armed_for_);
    timer_->async_wait([this, timer = std::weak_ptr(timer_)](const boost::system::error_code& error) {
        if (!error && !timer.expired()) look_at_deadlines();
    });
}

void ClientRequests::look_at_deadlines() {
    const auto now = std::chrono::steady_clock::now();
    const std::weak_ptr<boost::asio::steady_timer> alive(timer_);
    armed_for_ = base::MonotonicTime::max();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        call_off(
            deadlines_.begin()->second,
            Error(ErrorCode::timed_out, "The server has not answered in time.", {{"reason", "no_answer"}}));
        if (alive.expired()) return;  // whoever waited has dropped the client
    }
    arm();
}

void ClientRequests::pause(std::uint64_t id) {
    const auto it = open_.find(id);
    if (it == open_.end() || it->second.pauses++ > 0) return;
    Open& open = it->second;
    if (open.deadline == base::MonotonicTime::max()) return;
    open.left = open.deadline - std::chrono::steady_clock::now();
    set_deadline(id, open, base::MonotonicTime::max());
}

void ClientRequests::go_on(std::uint64_t id) {
    const auto it = open_.find(id);
    if (it == open_.end() || it->second.pauses == 0 || --it->second.pauses > 0) return;
    Open& open = it->second;
    if (!open.left) return;
    const auto left = *std::exchange(open.left, std::nullopt);
    set_deadline(id, open, std::chrono::steady_clock::now() + left);
}

// An error without an id, in the answer to one request, is that one's.
std::optional<std::uint64_t> ClientRequests::find(const Message& response, std::uint64_t of) {
    if (response.id.is_null()) {
        if (response.error && of != 0 && open_.contains(of)) return of;
        faults_(ServerFault::unknown_answer, "The server has answered without an id.");
        return std::nullopt;
    }
    const std::uint64_t id = id_in(response.id);
    if (id != 0 && open_.contains(id)) return id;
    if (id == 0 || id > last_id_) {
        faults_(ServerFault::unknown_answer, "The server has answered what was not asked.");
    } else if (given_up_.erase(id) == 0) {
        faults_(ServerFault::repeated_answer, "The server has answered a second time.");
    }
    return std::nullopt;
}

void ClientRequests::take(Message& response, std::string_view text, std::uint64_t of, int status) {
    const auto id = find(response, of);
    if (!id) return;
    Node node = remove(*id);
    Open& open = node.mapped();
    if (response.error) {
        open.round.done(tl::unexpected(failure_of(*response.error, open.progressed > 0, status)));
        return;
    }
    if (!response.result.is_object()) {
        open.round.done(tl::unexpected(bad_result("The server's result is no object.", "not_an_object")));
        return;
    }
    ClientResult result;
    const std::string_view received = member_text(text, "result");
    result.received = received.empty() ? json::write(response.result) : std::string(received);
    result.value = std::move(response.result);
    open.round.done(std::move(result));
}

// Our tokens are the requests' ids.
void ClientRequests::take_progress(const Object& params) {
    const Value* token = params.if_contains("progressToken");
    const std::uint64_t id = token == nullptr ? 0 : id_in(*token);
    const auto it = open_.find(id);
    if (it == open_.end()) {
        if (id == 0 || id > last_id_)
            faults_(ServerFault::unknown_progress, "The server reports progress of what was not asked.");
        return;
    }
    Open& open = it->second;
    const auto value = number_member(params, "progress");
    if (!value || (open.progressed > 0 && *value < open.last_progress)) {
        faults_(ServerFault::unknown_progress, "The server reports progress that is none, or goes back.");
        return;
    }
    if (open.progressed >= limits_.max_progress) {
        faults_(ServerFault::too_much_progress,
                fmt::format("The server reports progress more than {} times.", limits_.max_progress));
        return;
    }
    ++open.progressed;
    open.last_progress = *value;
    if (!open.round.progress) return;
    const auto tell = open.round.progress;  // it may end the request
    tell(ClientProgress{*value, number_member(params, "total"), std::string(string_member(params, "message")),
                        params});
}

void ClientRequests::lose(std::uint64_t id, TransportLoss loss) {
    Node node = remove(id);
    if (!node.empty()) node.mapped().round.done(tl::unexpected(failure_of(std::move(loss))));
}

std::vector<ClientDone> ClientRequests::take_all() {
    transport_.reset();
    deadlines_.clear();
    std::vector<ClientDone> all;
    for (auto& [id, open] : std::exchange(open_, {})) all.push_back(std::move(open.round.done));
    return all;
}

}  // namespace callgate::mcp
