// Tools whose calls may go on as tasks (the extension io.modelcontextprotocol/tasks).
#include <future>
#include <memory>

#include "fixtures.h"

namespace conformance {
namespace {

using namespace std::chrono_literals;
using Answer = cg::Result<cg::InputAnswer>;

cg::Tool task(cg::Tool tool, std::string_view support) {
    tool.definition.extra["execution"] = cg::Object{{"taskSupport", support}};
    return tool;
}

cg::Tool slow_compute() {
    return fixture(
        "slow_compute", "Computes for so many seconds",
        object_schema({{"seconds", cg::Object{{"type", "number"}, {"minimum", 0}, {"maximum", 3'600}}},
                       {"label", string_schema()}}),
        [](const cg::Object& arguments, cg::CallContext& context) -> cg::ToolReturn {
            const cg::Value* seconds = arguments.if_contains("seconds");
            const std::chrono::duration<double> time(seconds == nullptr ? 0.0 : seconds->to_number<double>());
            if (!pause(context, std::chrono::duration_cast<std::chrono::milliseconds>(time)))
                return tl::unexpected(cg::ToolFailure::not_applied("It was called off."));
            return text("Computed " + cg::json::write(arguments) + ".");
        });
}

cg::Tool failing_job() {
    return fixture("failing_job", "Works for a second, and fails", object_schema(),
                   [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       pause(context, 1s);
                       return tl::unexpected(cg::ToolFailure::answered("The job has failed."));
                   });
}

cg::Tool protocol_error_job() {
    return fixture("protocol_error_job", "Has a fault of its own", object_schema(),
                   [](const cg::Object&, cg::CallContext&) -> cg::ToolReturn {
                       return tl::unexpected(cg::mcp::protocol_error(-32603, "The job has a fault."));
                   });
}

// Accepts any fields beside its own.
cg::InputRequest ask_confirm(std::string message, std::string name) {
    return cg::InputRequest::form(
               std::move(message),
               object_schema({{"name", string_schema()}, {"confirm", cg::Object{{"type", "boolean"}}}}))
        .named(std::move(name));
}

cg::Tool confirm_delete() {
    return fixture("confirm_delete", "Asks before it would delete a file",
                   object_schema({{"filename", string_schema()}}),
                   [](const cg::Object& arguments, cg::CallContext& context) -> cg::ToolReturn {
                       const Answer answer =
                           context.ask(ask_confirm("Delete " + cg::json::write(arguments) + "?", "confirm"));
                       if (!answer) return tl::unexpected(cg::ToolFailure(answer.error()));
                       return text(answer->accepted() ? "It would be deleted." : "It stays.");
                   });
}

cg::Tool multi_input() {
    return fixture(
        "multi_input", "Asks two questions at once", object_schema(),
        [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
            const auto first = std::make_shared<std::promise<Answer>>();
            context.ask(ask_confirm("The first?", "first").with_more(),
                        [first](Answer answer) { first->set_value(std::move(answer)); });
            const Answer second = context.ask(ask_confirm("The second?", "second"));
            const Answer one = first->get_future().get();
            if (!one) return tl::unexpected(cg::ToolFailure(one.error()));
            if (!second) return tl::unexpected(cg::ToolFailure(second.error()));
            return text(cg::json::write(one->content) + " and " + cg::json::write(second->content));
        });
}

cg::Tool tool_with_task() {
    return fixture("test_tool_with_task", "Asks for a name, and goes on as a task", object_schema(),
                   [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       const Answer answer = context.ask(
                           cg::InputRequest::form("What is your name?",
                                                  object_schema({{"name", string_schema()}}, true))
                               .named("user_name"));
                       if (!answer) return tl::unexpected(cg::ToolFailure(answer.error()));
                       if (const auto* caller = cg::mcp::caller(context)) caller->go_on_as_task();
                       pause(context, 100ms);
                       return text("Hello, " + cg::json::write(answer->content) + "!");
                   })
        .effect(cg::EffectClass::unsafe);  // what is only read is on no record before its end
}

}  // namespace

void add_task_tools(cg::Registry& tools) {
    tools.add_or_throw(task(slow_compute(), "optional"))
        .add_or_throw(task(failing_job(), "required"))
        .add_or_throw(task(protocol_error_job(), "optional"))
        .add_or_throw(task(confirm_delete(), "optional"))
        .add_or_throw(task(multi_input(), "optional"))
        .add_or_throw(tool_with_task());
}

}  // namespace conformance
