// The names that the stateless era has in `_meta`.
#pragma once

#include <string_view>

#include <callgate/json.h>

namespace callgate::mcp::envelope {

inline constexpr std::string_view kProtocolVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kClientInfo = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kClientCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kServerInfo = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view kSubscriptionId = "io.modelcontextprotocol/subscriptionId";
inline constexpr std::string_view kTasks = "io.modelcontextprotocol/tasks";
/// What a client or server says that knows tasks, as a capability.
inline boost::json::object needs_tasks() {
    return {{"extensions", boost::json::object{{kTasks, boost::json::object{}}}}};
}
/// Ours: the idempotency key of a call.
inline constexpr std::string_view kIdempotencyKey = "callgate/idempotencyKey";

}  // namespace callgate::mcp::envelope
