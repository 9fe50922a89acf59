#include "ledger/control/service.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/try.h"
#include "ledger/blocking_waiter.h"
#include "ledger/control/message.h"
#include "ledger/control/verbs.h"

namespace callgate::ledger {
namespace {

Result<Value> ping(VerbRequest& request) {
    CALLGATE_TRY(request.members.done());
    return Value{{"v", kControlVersion}, {"pid", ::getpid()}, {"you", request.user.name}};
}

const Verb* find_verb(const Object& request) noexcept {
    static constexpr std::array kOwn = {Verb{"ping", ping}};
    const Value* word = request.if_contains("verb");
    if (word == nullptr || !word->is_string()) return nullptr;
    for (const auto verbs :
         {std::span<const Verb>(kOwn), approval_verbs(), call_verbs(), ledger_verbs(), audit_verbs()}) {
        for (const Verb& verb : verbs) {
            if (verb.name == std::string_view(word->get_string())) return &verb;
        }
    }
    return nullptr;
}

// Whose ledger it is must not have files made where only the process's user may make them.
tl::unexpected<Error> not_as_you(const Verb& verb) {
    const std::string user = this_process_runs_as();
    return fail(ErrorCode::denied,
                fmt::format("{} makes files, which would belong to {}: the user that the ledger's process "
                            "runs as, and not you. Ask as that user or as root, or let the process run as "
                            "you.",
                            verb.name, user),
                {{"reason", "not_allowed"}, {"verb", verb.name}, {"user", user}});
}

// So that verbs may report although nobody listens.
Meanwhile reported_or_not(Meanwhile meanwhile) {
    if (!meanwhile.progress) meanwhile.progress = [](std::uint64_t, std::uint64_t) { return true; };
    if (!meanwhile.text) meanwhile.text = [](std::string_view) { return true; };
    return meanwhile;
}

}  // namespace

tl::unexpected<Error> no_such(std::string_view what, std::string_view id) {
    return fail(ErrorCode::denied, fmt::format("There is no {} with the id '{}'.", what, id),
                {{"reason", "not_found"}, {"id", id}});
}

Result<Approval> find_approval(VerbRequest& request, std::string_view id) {
    auto found = request.ledger.approval(id);
    if (found || !is_not_found(found.error())) return found;
    CALLGATE_TRY_ASSIGN(auto of_call, approval_of_call(request.ledger, id));
    if (!of_call) return no_such("approval", id);
    return std::move(*of_call);
}

Result<Value> as_answer(Result<Object> report) {
    CALLGATE_TRY_ASSIGN(auto members, std::move(report));
    return Value(std::move(members));
}

ControlService::ControlService(Ledger& ledger, Operations& operations, const base::Clock& clock,
                               EventSink sink)
    : ledger_(ledger),
      operations_(operations),
      clock_(clock),
      sink_(std::move(sink)),
      incarnation_(fmt::format("{}-{}", ::getpid(), clock.monotonic_now().time_since_epoch().count())) {}

ControlService::Takes ControlService::takes(const Object& request) noexcept {
    const Verb* verb = find_verb(request);
    if (verb == nullptr || verb->length == Verb::Length::quick) return Takes::a_moment;
    return verb->length == Verb::Length::writes ? Takes::a_write : Takes::long_work;
}

Result<Value> ControlService::answer(const Object& request, const ControlUser& user,
                                     const Meanwhile& meanwhile) {
    const Value* version = request.if_contains("v");
    if (version == nullptr || !version->is_int64() || version->get_int64() != kControlVersion)
        return fail(ErrorCode::invalid_arguments,
                    fmt::format("The request's 'v' must be {}: the version of the control protocol that the "
                                "owner of this ledger speaks.",
                                kControlVersion),
                    {{"reason", "version"}, {"speaks", kControlVersion}});
    const Verb* verb = find_verb(request);
    if (verb == nullptr)
        return fail(
            ErrorCode::invalid_arguments,
            "The owner of this ledger does not know the verb that was asked for; it may be older than "
            "the program that asks.",
            {{"reason", "unknown_verb"}});
    if (verb->whom != Verb::For::everyone && !user.is_owner)
        return fail(ErrorCode::denied,
                    fmt::format("{} is for the user whose ledger it is, and for root.", verb->name),
                    {{"reason", "owner_only"}, {"verb", verb->name}});
    if (verb->whom == Verb::For::process && !user.may_make_files) return not_as_you(*verb);
    VerbRequest verb_request{RequestReader(request),
                             user,
                             reported_or_not(meanwhile),
                             ledger_,
                             operations_,
                             clock_,
                             sink_,
                             incarnation_};
    return verb->run(verb_request);
}

}  // namespace callgate::ledger
