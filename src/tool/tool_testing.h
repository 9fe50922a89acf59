// For tests: a call's context without a runtime, and tools in one line.
#pragma once

#include <string>
#include <utility>

#include <callgate/tool.h>

namespace callgate {

class FakeCallContext final : public CallContext {
public:
    explicit FakeCallContext(std::string action = "call") : action_(std::move(action)) {}

    const Context& caller() const override { return caller_; }
    std::string call_id() const override { return "00000000-0000-7000-8000-000000000000"; }
    const std::string& action() const override { return action_; }
    std::uint32_t attempt() const override { return 1; }
    std::chrono::nanoseconds time_left() const override { return std::chrono::seconds(30); }
    std::stop_token cancel() const override { return {}; }
    void progress(std::string_view, std::optional<double>, std::optional<double>) override {}
    void partial(Value) override {}
    Result<void> with_secret(std::string_view, const std::function<void(const Secret&)>&) override {
        return fail(ErrorCode::config_error, "There are no secrets here.");
    }
    Outcome call(std::string_view, Args) override { return {}; }

private:
    Context caller_;
    std::string action_;
};

inline Value json_of(std::string_view text) {
    return json::parse(text).value();
}

/// Answers with its own arguments.
inline Tool echo_tool(std::string name, std::string_view schema = R"({"type":"object"})") {
    return schema_tool(
        ToolDefinition(std::move(name), "Says what it is told.", json_of(schema)),
        [](const Object& arguments, CallContext&) -> ToolReturn { return ToolResult(arguments); });
}

}  // namespace callgate
