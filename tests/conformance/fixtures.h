// What the official conformance suite expects of a server under test: tools, resources and prompts by the
// names that it calls, doing what its scenarios look for. Built on Callgate's public headers alone.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

namespace conformance {

namespace cg = callgate;

void add_content_tools(cg::Registry& tools);
/// They take their time, and tell of it; two of them change what `server` lists.
void add_live_tools(cg::Registry& tools, cg::mcp::Server& server);
void add_asking_tools(cg::Registry& tools);
void add_task_tools(cg::Registry& tools);
void add_resources(cg::mcp::Server& server);
void add_prompts(cg::mcp::Server& server);

/// Throws where the server does not take it.
template <class Entry>
void add_or_throw(cg::mcp::Server& server, Entry entry) {
    if (const auto added = server.add(std::move(entry)); !added)
        throw std::runtime_error(added.error().message);
}

/// A tool that may run without anybody's leave.
cg::Tool fixture(std::string name, std::string description, cg::Value schema, cg::ToolFunction run);
/// {"type": "object", "properties": …}; all or none of them are required.
cg::Value object_schema(cg::Object properties = {}, bool required = false);
cg::Object string_schema();
cg::ToolResult text(std::string what);
/// {"type": "text", "text": …} of the user, and how long an answer may be.
cg::InputRequest sampling(std::string_view prompt, int max_tokens);
/// Waits so long, or until the call is called off; whether it is not.
bool pause(const cg::CallContext& context, std::chrono::milliseconds time);

}  // namespace conformance
