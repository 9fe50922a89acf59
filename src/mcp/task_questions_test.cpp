// What a task asks its client.
#include <future>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/tasks_testing.h"

namespace callgate::mcp {
namespace {

class TaskQuestions : public TaskTest {};

TEST_F(TaskQuestions, AsksByItsStatusAndGoesOnWithTheUpdate) {
    Runtime runtime;
    runtime.tools().add_or_throw(
        as_task(schema_tool(ToolDefinition("ask", "", Object{{"type", "object"}}),
                            [](const Object&, CallContext& context) -> ToolReturn {
                                const auto answer = context.ask(
                                    InputRequest::form("Sure?", Object{{"type", "object"}}).named("sure"));
                                if (!answer) return tl::unexpected(ToolFailure(answer.error()));
                                return ToolResult(answer->content);
                            })
                    .read_only()));
    Server server(runtime);
    LineClient client(server);
    const Value id = call(client, "ask").at("result").at("taskId");
    Value task = get(client, id);
    while (task.at("status") != "input_required") task = get(client, id);
    EXPECT_EQ(task.at("inputRequests").at("sure").at("method"), "elicitation/create");
    const Object unknown{{"nobody", Object{{"action", "decline"}}}};
    EXPECT_EQ(request(client, "tasks/update", {{"taskId", id}, {"inputResponses", unknown}})
                  .at("result")
                  .at("resultType"),
              "complete");
    EXPECT_EQ(get(client, id).at("status"), "input_required");
    const Object yes{{"sure", Object{{"action", "accept"}, {"content", Object{{"yes", true}}}}}};
    (void)request(client, "tasks/update", {{"taskId", id}, {"inputResponses", yes}});
    EXPECT_EQ(end_of(client, id).at("result").at("content").at(0).at("text"), R"({"yes":true})");
}

TEST_F(TaskQuestions, NoNameIsUsedTwiceForItsQuestions) {
    Runtime runtime;
    runtime.tools().add_or_throw(
        as_task(schema_tool(ToolDefinition("ask", "", Object{{"type", "object"}}),
                            [](const Object&, CallContext& context) -> ToolReturn {
                                for (int i = 0; i < 3; ++i) {
                                    const auto answer = context.ask(
                                        InputRequest::form("?", Object{{"type", "object"}}).named("name"));
                                    if (!answer) return tl::unexpected(ToolFailure(answer.error()));
                                }
                                return ToolResult(Value("done"));
                            })
                    .read_only()));
    Server server(runtime);
    LineClient client(server);
    const Value id = call(client, "ask").at("result").at("taskId");
    std::set<std::string> names;
    for (Value task = get(client, id); task.at("status") != "completed"; task = get(client, id)) {
        if (task.at("status") != "input_required") continue;
        const std::string name(task.at("inputRequests").as_object().begin()->key());
        EXPECT_TRUE(names.insert(name).second) << name;
        (void)request(client, "tasks/update",
                      {{"taskId", id}, {"inputResponses", Object{{name, Object{{"action", "decline"}}}}}});
    }
    EXPECT_EQ(names.size(), 3u);
    EXPECT_TRUE(names.contains("name"));
}

TEST_F(TaskQuestions, AToolThatGoesOnAsOneWhileItsClientHasAQuestionIsOneWithTheNextRequest) {
    const auto gate = std::make_shared<Gate>();
    Runtime runtime;
    runtime.tools().add_or_throw(
        schema_tool(ToolDefinition("long", "", Object{{"type", "object"}}),
                    [gate](const Object&, CallContext& context) -> ToolReturn {
                        std::promise<void> answered;
                        context.ask(InputRequest::form("Sure?", Object{{"type", "object"}}).named("sure"),
                                    [&](const Result<InputAnswer>&) { answered.set_value(); });
                        caller(context)->go_on_as_task();
                        gate->begun();
                        answered.get_future().wait();
                        if (!gate->wait(context))
                            return tl::unexpected(ToolFailure::not_applied("called off"));
                        return ToolResult(Value("at last"));
                    })
            .risk(Risk::low)
            .effect(EffectClass::unsafe));
    Server server(runtime);
    LineClient client(server);
    const Value asked = call(client, "long").at("result");
    ASSERT_EQ(asked.at("resultType"), "input_required");
    gate->wait_until_begun();
    const Object params{{"name", "long"},
                        {"arguments", Object{}},
                        {"requestState", asked.at("requestState")},
                        {"inputResponses", Object{{"sure", Object{{"action", "decline"}}}}}};
    const Value task = request(client, "tools/call", params).at("result");
    ASSERT_EQ(task.at("resultType"), "task");
    gate->open();
    EXPECT_EQ(end_of(client, task.at("taskId")).at("status"), "completed");
}

}  // namespace
}  // namespace callgate::mcp
