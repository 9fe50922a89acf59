#include "mcp/caller.h"

#include <array>
#include <utility>

#include "mcp/conversation.h"
#include "mcp/server_core.h"

namespace callgate::mcp {
namespace {

constexpr std::array<std::string_view, 8> kLevels{"debug", "info",     "notice", "warning",
                                                  "error", "critical", "alert",  "emergency"};

}  // namespace

std::string_view to_string(LogLevel level) noexcept {
    return kLevels[static_cast<std::size_t>(level)];
}

std::optional<LogLevel> log_level_from_string(std::string_view text) noexcept {
    for (std::size_t i = 0; i < kLevels.size(); ++i) {
        if (kLevels[i] == text) return static_cast<LogLevel>(i);
    }
    return std::nullopt;
}

const Caller* caller(const CallContext& context) noexcept {
    return dynamic_cast<const Caller*>(context.caller().extension.get());
}

ToolFailure protocol_error(int code, std::string_view message, Value data) {
    return ToolFailure::answered(
        std::string(message),
        {{"reason", "protocol_error"}, {"rpc_code", code}, {"rpc_data", std::move(data)}});
}

ToolFailure missing_capability(std::string_view message, Object required) {
    ToolFailure failure = protocol_error(codes::kMissingCapability, message,
                                         Object{{"requiredCapabilities", std::move(required)}});
    failure.applied = Applied::no;
    return failure;
}

CallerOf::CallerOf(const Exchange& exchange, std::shared_ptr<ServerCore> core,
                   std::weak_ptr<Conversation> conversation)
    : codec_(exchange.codec),
      client_info_(exchange.client_info),
      capabilities_(exchange.capabilities),
      meta_(exchange.meta),
      core_(std::move(core)),
      conversation_(std::move(conversation)) {}

template <class What>
void CallerOf::tell(What what) const {
    core_->at_home([to = conversation_, what = std::move(what)] {
        if (const auto conversation = to.lock()) what(*conversation);
    });
}

void CallerOf::log(LogLevel level, Value data, std::string_view logger) const {
    tell([level, data = std::move(data), from = std::string(logger)](Conversation& to) {
        to.log(level, data, from);
    });
}

void CallerOf::close_stream() const {
    tell([](Conversation& of) { of.close_stream(); });
}

void CallerOf::go_on_as_task() const {
    tell([](Conversation& of) { of.go_on_as_task(); });
}

}  // namespace callgate::mcp
