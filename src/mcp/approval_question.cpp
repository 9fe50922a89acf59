#include "mcp/approval_question.h"

#include <fmt/format.h>

#include <callgate/json.h>

namespace callgate::mcp {
namespace {

// What a person reads of the arguments; they decide about the call as it is on the record, whole.
constexpr std::size_t kShownBytes = 2'000;

std::string shown(const Value& arguments) {
    std::string text = json::write_pretty(arguments);
    if (text.size() <= kShownBytes) return text;
    std::size_t cut = kShownBytes;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0u) == 0x80u) --cut;
    text.resize(cut);
    return text + "\n[… cut; the whole is on the record]";
}

std::string_view detail(const Outcome& outcome, std::string_view member) {
    const Value* value = outcome.error() == nullptr ? nullptr : outcome.error()->details.if_contains(member);
    return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                  : std::string_view();
}

}  // namespace

bool client_may_decide(const Outcome& asked) {
    const Value* needed =
        asked.error() == nullptr ? nullptr : asked.error()->details.if_contains("approvals_needed");
    return detail(asked, "assurance_needed") == "A1" && needed != nullptr && *needed == 1;
}

std::string client_as_person(const Context& context) {
    return "client:" + context.principal;
}

bool was_used_elsewhere(const Outcome& outcome) {
    return outcome.state() == State::denied && detail(outcome, "reason") == "consumed";
}

bool was_taken_back(const Outcome& outcome) {
    return outcome.state() == State::denied && detail(outcome, "reason") == "revoked";
}

ApprovalQuestion::ApprovalQuestion(const Outcome& asked, std::function<void(std::optional<bool>)> decided)
    : call_id_(asked.call_id()), decided_(std::move(decided)) {
    std::string text = fmt::format("Allow this call of {}?\n{}", asked.tool(), shown(asked.arguments()));
    if (asked.preview() && asked.preview()->supported) text += fmt::format("\n{}", asked.preview()->summary);
    request_ = InputRequest::form(
        std::move(text),
        Object{{"type", "object"},
               {"properties", Object{{"allow", Object{{"type", "boolean"}, {"title", "Allow it once"}}}}},
               {"required", Array{"allow"}}});
    request_.name = "approval";
}

Result<void> ApprovalQuestion::answer(InputAnswer answer) {
    const Value* allow = answer.accepted() && answer.content.is_object()
                             ? answer.content.get_object().if_contains("allow")
                             : nullptr;
    if (answer.accepted() && (allow == nullptr || !allow->is_bool())) {
        return callgate::fail(ErrorCode::invalid_arguments,
                              "The answer says {\"allow\": true} or {\"allow\": false}.",
                              {{"reason", "answer_does_not_fit"}});
    }
    if (answer.what == InputAnswer::What::cancel)
        decide(std::nullopt);
    else
        decide(allow != nullptr && allow->get_bool());
    return {};
}

// Nobody has decided: the call waits for somebody else who may.
Result<void> ApprovalQuestion::fail(Error /*why*/) {
    decide(std::nullopt);
    return {};
}

void ApprovalQuestion::on_withdrawn(std::function<void()> /*function*/) {}

void ApprovalQuestion::decide(std::optional<bool> allowed) {
    if (const auto decided = std::exchange(decided_, nullptr)) decided(allowed);
}

}  // namespace callgate::mcp
