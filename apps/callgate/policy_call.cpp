#include "policy_call.h"

#include <array>
#include <sstream>
#include <string>
#include <utility>

// g++ 12 takes a number in date::parse for one that may be read before it is set, where it is compiled with
// -O2.
#pragma GCC diagnostic push
#if !defined(__clang__)  // which does not know this warning
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <date/date.h>
#pragma GCC diagnostic pop
#include <fmt/format.h>

#include "base/try.h"
#include "tool/suggest.h"

namespace callgate::cli {

namespace {

constexpr std::array<std::string_view, 8> kMembers{"tool",   "action",   "arguments", "principal",
                                                   "tenant", "autonomy", "scopes",    "time"};

tl::unexpected<Error> fault(std::string_view member, std::string_view reason, std::string sentence) {
    return fail(ErrorCode::config_error, fmt::format("/{}: {}", member, sentence),
                {{"reason", reason}, {"pointer", fmt::format("/{}", member)}});
}

Result<std::string> text(std::string_view member, const Value& value) {
    if (!value.is_string()) return fault(member, "wrong_type", "a text is expected here.");
    return std::string(value.get_string());
}

std::optional<std::chrono::system_clock::time_point> time_in(const std::string& text) {
    std::istringstream in(text);
    date::sys_time<std::chrono::milliseconds> at;
    in >> date::parse(text.ends_with('Z') ? "%FT%TZ" : "%FT%T%Ez", at);
    if (in.fail() || in.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
    return std::chrono::system_clock::time_point(at.time_since_epoch());
}

Result<void> take(PolicyCall& call, std::string_view member, const Value& value) {
    if (member == "arguments") {
        call.request.arguments = Args(value);
        return {};
    }
    if (member == "scopes") {
        if (!value.is_array()) return fault(member, "wrong_type", "a list of texts is expected here.");
        for (const Value& one : value.get_array()) {
            if (!one.is_string()) return fault(member, "wrong_type", "a list of texts is expected here.");
            call.caller.scopes.add(one.get_string());
        }
        return {};
    }
    CALLGATE_TRY_ASSIGN(auto given, text(member, value));
    if (member == "tool") {
        call.request.tool = std::move(given);
    } else if (member == "action") {
        call.request.action = std::move(given);
    } else if (member == "principal") {
        call.caller.principal = std::move(given);
    } else if (member == "tenant") {
        call.caller.tenant = std::move(given);
    } else if (member == "autonomy") {
        const auto level = autonomy_from_string(given);
        if (!level)
            return fault(
                member, "unknown_word",
                fmt::format("'{}' is not possible; give one of A0, A1, A2, A3, A4.", given.substr(0, 64)));
        call.caller.autonomy = *level;
    } else {
        call.at = time_in(given);
        if (!call.at)
            return fault(
                member, "bad_time",
                fmt::format("'{}' is no point in time; write it like \"2026-05-14T22:30:00Z\" or with an "
                            "offset, as in \"2026-05-14T22:30:00+02:00\".",
                            given.substr(0, 64)));
    }
    return {};
}

}  // namespace

Result<PolicyCall> policy_call_from_json(const Value& document) {
    const Object* object = document.if_object();
    if (object == nullptr)
        return fail(ErrorCode::config_error,
                    "A call is an object, such as {\"tool\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}.",
                    {{"reason", "not_a_call"}});
    PolicyCall call{CallRequest(""), Context(), std::nullopt};
    for (const auto& member : *object) {
        const std::string_view name = member.key();
        if (std::ranges::find(kMembers, name) == kMembers.end()) {
            std::string sentence = fmt::format("'{}' is not known here", name.substr(0, 64));
            const auto near = suggest_names(name, kMembers);
            sentence += near.empty() ? fmt::format("; the members are {}.", fmt::join(kMembers, ", "))
                                     : fmt::format("; did you mean '{}'?", near.front());
            return fail(ErrorCode::config_error, std::move(sentence), {{"reason", "unknown_member"}});
        }
        CALLGATE_TRY(take(call, name, member.value()));
    }
    if (!object->contains("tool"))
        return fail(ErrorCode::config_error, "'tool' is missing: the name of the tool to be called.",
                    {{"reason", "missing_member"}});
    return call;
}

}  // namespace callgate::cli
