// Tools that tell how far they are, log, leave their stream, or change what the server lists.
#include <atomic>
#include <memory>

#include "fixtures.h"

namespace conformance {
namespace {

using namespace std::chrono_literals;

cg::Tool with_progress() {
    return fixture("test_tool_with_progress", "Tells how far it is", object_schema(),
                   [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       for (const double done : {0.0, 50.0, 100.0}) {
                           context.progress("", done, 100.0);
                           pause(context, 50ms);
                       }
                       return text("All of it is done.");
                   });
}

cg::Tool with_logging() {
    return fixture("test_tool_with_logging", "Logs what it does", object_schema(),
                   [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       for (const std::string_view what :
                            {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
                           if (const auto* caller = cg::mcp::caller(context))
                               caller->log(cg::mcp::LogLevel::info, cg::Value(what));
                           pause(context, 50ms);
                       }
                       return text("It is in the log.");
                   });
}

cg::Tool logging_tool() {
    return fixture("test_logging_tool", "Logs once, for a client that asked for it", object_schema(),
                   [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       if (const auto* caller = cg::mcp::caller(context))
                           caller->log(cg::mcp::LogLevel::info, "A tool was called.");
                       return text("Logged.");
                   });
}

cg::Tool reconnection() {
    return fixture("test_reconnection", "Ends its stream, and answers to who comes back", object_schema(),
                   [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       if (const auto* caller = cg::mcp::caller(context)) caller->close_stream();
                       pause(context, 100ms);
                       return text("You have come back.");
                   });
}

cg::Tool missing_capability() {
    return fixture("test_missing_capability", "Cannot do without the client's model", object_schema(),
                   [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       const auto* caller = cg::mcp::caller(context);
                       if (caller != nullptr && !caller->capabilities().contains("sampling"))
                           return tl::unexpected(cg::mcp::missing_capability(
                               "This tool needs sampling.", cg::Object{{"sampling", cg::Object{}}}));
                       return text("The client can do all that is needed.");
                   });
}

// Each change is another description: what is listed keeps its order.
cg::Tool changing_tool(int version) {
    return fixture("test_changing_tool", "Version " + std::to_string(version), object_schema(),
                   [](const cg::Object&, cg::CallContext&) -> cg::ToolReturn { return text("Called."); });
}

cg::mcp::Prompt changing_prompt(int version) {
    return {"test_changing_prompt", "Version " + std::to_string(version),
            [](const cg::mcp::Variables&, cg::CallContext&) -> cg::mcp::PromptText {
                return {{cg::mcp::PromptMessage(cg::Block::of_text("Whatever it is today."))}};
            }};
}

cg::Tool trigger_tool_change(cg::Registry& tools) {
    return fixture("test_trigger_tool_change", "Changes a tool", object_schema(),
                   [&tools, version = std::make_shared<std::atomic<int>>(1)](
                       const cg::Object&, cg::CallContext&) -> cg::ToolReturn {
                       tools.add_or_throw(changing_tool(++*version), cg::IfPresent::replace);
                       return text("A tool has changed.");
                   });
}

cg::Tool trigger_prompt_change(cg::mcp::Server& server) {
    return fixture("test_trigger_prompt_change", "Changes a prompt", object_schema(),
                   [&server, version = std::make_shared<std::atomic<int>>(1)](
                       const cg::Object&, cg::CallContext&) -> cg::ToolReturn {
                       if (auto added = server.add(changing_prompt(++*version)); !added)
                           return tl::unexpected(cg::ToolFailure(added.error()));
                       return text("A prompt has changed.");
                   });
}

}  // namespace

void add_live_tools(cg::Registry& tools, cg::mcp::Server& server) {
    tools.add_or_throw(with_progress())
        .add_or_throw(with_logging())
        .add_or_throw(logging_tool())
        .add_or_throw(reconnection())
        .add_or_throw(missing_capability())
        .add_or_throw(changing_tool(1))
        .add_or_throw(trigger_tool_change(tools))
        .add_or_throw(trigger_prompt_change(server));
    add_or_throw(server, changing_prompt(1));
}

}  // namespace conformance
