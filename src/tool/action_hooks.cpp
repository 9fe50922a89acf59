#include "tool/action_hooks.h"

#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace callgate {

namespace {

template <class T, class Call>
Result<T> guarded(std::string_view hook, Call call) {
    try {
        return call();
    } catch (const Error& thrown) {
        return tl::unexpected(thrown);
    } catch (const std::exception& thrown) {
        const char* const words = thrown.what();
        return fail(ErrorCode::exception,
                    fmt::format("The tool's {} hook failed: {}", hook,
                                words != nullptr ? words : "the exception has no message."),
                    {{"hook", hook}});
    } catch (...) {
        return fail(ErrorCode::caught,
                    fmt::format("The tool's {} hook threw something that is no exception.", hook),
                    {{"hook", hook}});
    }
}

}  // namespace

Result<Object> before_validate(const ActionHooks* hooks, Object arguments) {
    if (hooks == nullptr || !hooks->before_validate) return arguments;
    return guarded<Object>("before_validate", [&] { return hooks->before_validate(std::move(arguments)); });
}

Result<Object> after_validate(const ActionHooks* hooks, Object arguments) {
    if (hooks == nullptr || !hooks->after_validate) return arguments;
    return guarded<Object>("after_validate", [&] { return hooks->after_validate(std::move(arguments)); });
}

Result<ToolResult> after_output(const ActionHooks* hooks, ToolResult result) {
    if (hooks == nullptr || !hooks->after_output) return result;
    return guarded<ToolResult>("after_output", [&] { return hooks->after_output(std::move(result)); });
}

bool can_compensate(const ActionHooks* hooks) noexcept {
    return hooks != nullptr && hooks->compensate != nullptr;
}

Result<void> compensate(const ActionHooks* hooks, const Error& error, const Object& arguments,
                        CallContext& context) {
    if (!can_compensate(hooks)) return {};
    return guarded<void>("compensate", [&] { return hooks->compensate(error, arguments, context); });
}

}  // namespace callgate
