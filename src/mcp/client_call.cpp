#include "mcp/client_call.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "mcp/client_errors.h"
#include "mcp/client_handshake.h"
#include "mcp/client_headers.h"
#include "mcp/envelope.h"
#include "mcp/members.h"

namespace callgate::mcp {
namespace {

constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{5'000};

bool may_ask(std::string_view method) {
    return method == "tools/call" || method == "prompts/get" || method == "resources/read";
}

}  // namespace

ClientCall::ClientCall(const ClientParts& parts, ClientRequest request, ClientDone done)
    : parts_(parts),
      request_(std::move(request)),
      done_(std::move(done)),
      questions_(request_.questions ? request_.questions : parts.options.questions),
      left_(request_.timeout.value_or(parts.options.timeout)) {}

void ClientCall::begin() {
    since_ = std::chrono::steady_clock::now();
    if (wants_list())
        list_first(false);
    else
        send();
}

// Its arguments may be wanted in headers, and only the list says in which.
bool ClientCall::wants_list() const {
    return parts_.has_headers && parts_.facts.codec->modern() && request_.method == "tools/call" &&
           (parts_.lists.last(ListKind::tools) == nullptr ||
            parts_.lists.last(ListKind::tools)->tool(string_member(request_.params, "name")) == nullptr);
}

void ClientCall::list_first(bool again) {
    parts_.lists.list(
        ListKind::tools,
        [self = shared_from_this()](const Result<SharedList>& list) {
            if (self->over_) return;
            if (list)
                self->send();
            else
                self->finish(tl::unexpected(not_sent(list.error())));
        },
        again);
}

Object ClientCall::envelope_now() {
    Object meta;
    if (Value* given = request_.params.if_contains("_meta"); given != nullptr && given->is_object())
        meta = given->get_object();
    for (const std::string_view ours : {envelope::kProtocolVersion, envelope::kClientInfo,
                                        envelope::kClientCapabilities, envelope::kLogLevel})
        meta.erase(ours);
    if (parts_.facts.codec->modern()) {
        const InputAbilities can =
            request_.questions ? request_.questions->abilities() : default_abilities(parts_.options);
        for (const auto& [key, value] : client_envelope(*parts_.facts.codec, parts_.options, can))
            meta[key] = value;
        if (request_.log_level) meta[envelope::kLogLevel] = to_string(*request_.log_level);
    }
    meta.erase("progressToken");
    if (request_.progress) meta["progressToken"] = id_;
    return meta;
}

void ClientCall::send() {
    const auto now = std::chrono::steady_clock::now();
    if (left_ != std::chrono::milliseconds::max())
        left_ -= std::chrono::duration_cast<std::chrono::milliseconds>(now - since_);
    since_ = now;
    ClientRound round;
    OutgoingMessage& message = round.message;
    if (parts_.has_headers && parts_.facts.codec->modern()) {
        const std::string_view name = string_member(request_.params, "name");
        const SharedList& tools = parts_.lists.last(ListKind::tools);
        const ClientTool* tool =
            request_.method == "tools/call" && tools != nullptr ? tools->tool(name) : nullptr;
        const Object* arguments = object_member(request_.params, "arguments");
        if (tool != nullptr && arguments != nullptr) {
            auto headers = write_param_headers(tool->headers, *arguments);
            if (!headers) {
                parts_.thread->post(
                    [self = shared_from_this(), failure = not_sent(std::move(headers.error()))] {
                        self->finish(tl::unexpected(failure));
                    });
                return;
            }
            message.params = std::move(*headers);
        }
    }
    ++rounds_;
    id_ = parts_.requests.next_id();
    message.request = id_;
    message.codec = parts_.facts.codec;
    message.method = request_.method;
    message.name = name_header_of(request_.method, request_.params);
    Object params = request_.params;
    Object meta = envelope_now();
    if (meta.empty())
        params.erase("_meta");
    else
        params["_meta"] = std::move(meta);
    message.text = request_text(id_, request_.method, std::move(params));
    round.timeout = left_;
    round.progress = [self = weak_from_this()](const ClientProgress& progress) {
        const auto call = self.lock();
        if (!call || call->over_) return;
        call->begun_ = true;
        if (call->request_.progress) call->request_.progress(progress);
    };
    round.done = [self = shared_from_this()](ClientAnswer answer) { self->answered(std::move(answer)); };
    parts_.requests.begin(std::move(round));
}

void ClientCall::answered(ClientAnswer answer) {
    id_ = 0;
    if (over_) return;
    if (!answer) {
        take_failure(std::move(answer.error()));
        return;
    }
    answer->rounds = rounds_;
    if (!parts_.facts.codec->modern()) {
        finish(std::move(answer));
        return;
    }
    Object& result = answer->value.get_object();
    const Value* type = result.if_contains("resultType");
    if (type == nullptr || *type == "complete") {
        finish(std::move(answer));
    } else if (*type == "input_required" && may_ask(request_.method)) {
        take_questions(result);
    } else {
        finish(tl::unexpected(
            bad_result("The server's result is of a kind that was not asked for.", "unknown_result_type")));
    }
}

// The headers were those of an older list: nothing was done yet.
void ClientCall::take_failure(ClientFailure failure) {
    if (failure.code == codes::kHeaderMismatch && parts_.has_headers && request_.method == "tools/call" &&
        rounds_ == 1 && !begun_ && !std::exchange(listed_again_, true)) {
        rounds_ = 0;
        list_first(true);
        return;
    }
    if (failure.code == codes::kUrlsWanted && take_urls(failure)) return;
    finish(tl::unexpected(std::move(failure)));
}

// 2025-11-25: a request is refused until its person has opened pages, and is then made again. False: nobody
// can be asked that here.
bool ClientCall::take_urls(const ClientFailure& failure) {
    const Value* asked =
        failure.data.is_object() ? failure.data.get_object().if_contains("elicitations") : nullptr;
    if (parts_.facts.codec->modern() || asked == nullptr || !asked->is_array() ||
        asked->get_array().empty() || questions_ == nullptr || !questions_->abilities().url ||
        rounds_ >= parts_.options.limits.max_rounds)
        return false;
    Object requests;
    for (const Value& one : asked->get_array()) {
        if (!one.is_object() || string_member(one.get_object(), "mode") != "url") return false;
        requests[fmt::format("{}", requests.size())] =
            Object{{"method", "elicitation/create"}, {"params", one}};
    }
    auto round = QuestionRound::read(requests, parts_.options.limits.max_questions);
    if (!round) return false;
    ask(*round, [this, failure](const Result<Object>& answers) {
        const bool all = answers && std::all_of(answers->begin(), answers->end(), [](const auto& one) {
                             return string_member(one.value().get_object(), "action") == "accept";
                         });
        if (all)
            send();
        else
            finish(tl::unexpected(failure));
    });
    return true;
}

void ClientCall::take_questions(Object& result) {
    const Value* state = result.if_contains("requestState");
    const Value* asked = result.if_contains("inputRequests");
    if ((state != nullptr && !state->is_string()) || (asked != nullptr && !asked->is_object()) ||
        (state == nullptr && asked == nullptr)) {
        finish(
            tl::unexpected(bad_result("The server asks for input and does not say what.", "not_a_question")));
        return;
    }
    if (state != nullptr && state->get_string().size() > parts_.options.limits.max_state_bytes) {
        finish(
            tl::unexpected(bad_result("The server's state is too large to be carried.", "state_too_large")));
        return;
    }
    if (rounds_ >= parts_.options.limits.max_rounds) {
        finish(tl::unexpected(
            bad_result(fmt::format("The server has asked {} times.", rounds_), "too_many_rounds")));
        return;
    }
    request_.params.erase("requestState");
    request_.params.erase("inputResponses");
    if (state != nullptr) request_.params["requestState"] = *state;
    if (asked == nullptr || asked->get_object().empty()) {
        wait_and_send();
        return;
    }
    auto round = QuestionRound::read(asked->get_object(), parts_.options.limits.max_questions);
    if (!round) {
        ClientFailure failure;
        failure.error = std::move(round.error());
        finish(tl::unexpected(std::move(failure)));
        return;
    }
    ask(*round, [this](Result<Object> answers) {
        if (!answers) {
            ClientFailure failure;
            failure.error = std::move(answers.error());
            finish(tl::unexpected(std::move(failure)));
            return;
        }
        request_.params["inputResponses"] = std::move(*answers);
        send();
    });
}

// The time of this request stands still meanwhile.
void ClientCall::ask(const std::shared_ptr<QuestionRound>& round, QuestionRound::Done then) {
    const auto begun = std::chrono::steady_clock::now();
    asking_ = round;
    round->ask(parts_.thread, questions_,
               [self = shared_from_this(), begun, then = std::move(then)](Result<Object> answers) {
                   self->asking_ = nullptr;
                   if (self->over_) return;
                   self->since_ += std::chrono::steady_clock::now() - begun;
                   then(std::move(answers));
               });
}

// There is nothing to answer: the server wants to be asked again, but not at once and for ever.
void ClientCall::wait_and_send() {
    const auto pause = std::min(kLongestPause, kFirstPause * (1u << std::min(rounds_ - 1, 7u)));
    pause_ = std::make_shared<boost::asio::steady_timer>(parts_.thread->context(), pause);
    pause_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        self->pause_ = nullptr;
        if (!error && !self->over_) self->send();
    });
}

void ClientCall::cancel(std::string_view reason) {
    if (over_) return;
    const Error error(ErrorCode::cancelled, "The request was called off.", {{"reason", "called_off"}});
    if (id_ != 0) {
        Error why = error;
        why.message = reason.empty() ? why.message : std::string(reason);
        parts_.requests.call_off(id_, std::move(why));
        return;
    }
    ClientFailure failure;
    failure.error = error;
    failure.applied = rounds_ == 0 ? Applied::no : Applied::maybe;
    finish(tl::unexpected(std::move(failure)));
}

void ClientCall::lose(const TransportLoss& loss) {
    if (over_) return;
    ClientFailure failure = failure_of(loss);
    if (rounds_ == 0) failure.applied = Applied::no;
    finish(tl::unexpected(std::move(failure)));
}

void ClientCall::finish(ClientAnswer answer) {
    if (std::exchange(over_, true)) return;
    if (!answer && answer.error().applied == Applied::no && rounds_ > 1)
        answer.error().applied = answer.error().code == 0 ? Applied::maybe : Applied::answered;
    if (asking_) std::exchange(asking_, nullptr)->drop();
    if (pause_) pause_->cancel();
    // Released here: they may hold whoever holds this.
    const ClientDone done = std::exchange(done_, nullptr);
    questions_ = nullptr;
    request_.questions = nullptr;
    request_.progress = nullptr;
    done(std::move(answer));
}

}  // namespace callgate::mcp
