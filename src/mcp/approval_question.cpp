#include "mcp/approval_question.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include <callgate/json.h>

#include "base/unseen.h"
#include "base/utf8.h"

namespace callgate::mcp {
namespace {

// A person decides about what they can read: what is longer is not put to them.
constexpr std::size_t kMostShown = 4'000;

// What cannot be seen, or changes how the rest is seen, is spelled out.
std::string spelled_out(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const std::size_t bytes = std::max<std::size_t>(base::utf8_sequence_length(text), 1);
        const char32_t c = base::decode_utf8(text.substr(0, bytes));
        if (c != U'\n' && base::is_unseen(c))
            shown += fmt::format("\\u{{{:X}}}", static_cast<std::uint32_t>(c));
        else
            shown += text.substr(0, bytes);
        text.remove_prefix(bytes);
    }
    return shown;
}

// All that would be done, or nothing where that is too much to be shown.
std::optional<std::string> words_of(const Outcome& asked) {
    const bool has_action = asked.action() != "call";
    std::string text =
        fmt::format("Allow this call of {}{}{}?\n{}", asked.tool(), has_action ? ": " : "",
                    has_action ? asked.action() : std::string(), json::write_pretty(asked.arguments()));
    if (asked.preview() && asked.preview()->supported) text += fmt::format("\n{}", asked.preview()->summary);
    text = spelled_out(text);
    if (text.size() > kMostShown) return std::nullopt;
    return text;
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
    return detail(asked, "assurance_needed") == "A1" && needed != nullptr && *needed == 1 && words_of(asked);
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
    request_ = InputRequest::form(
        words_of(asked).value_or(std::string()),
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
