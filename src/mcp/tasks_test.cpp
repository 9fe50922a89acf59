// Tasks: calls that go on without the request they began with.
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/mcp_testing.h"
#include "mcp/tasks.h"
#include "os/scratch_dir.h"

namespace callgate::mcp {
namespace {

const Object kKnowsTasks{{"elicitation", Object{}},
                         {"extensions", Object{{"io.modelcontextprotocol/tasks", Object{}}}}};

Tool as_task(Tool tool, std::string_view support = "optional") {
    tool.definition.extra["execution"] = Object{{"taskSupport", support}};
    return tool;
}

/// Its tool runs until the gate is opened, or it is called off.
class Gate {
public:
    void open() { open_.set_value(); }
    void begun() { begun_.set_value(); }
    void wait_until_begun() { begun_.get_future().wait(); }
    bool wait(const CallContext& context) {
        std::promise<void> off;
        const std::stop_callback stops(context.cancel(), [&] { off.set_value(); });
        auto called_off = off.get_future();
        while (opened_.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
            if (called_off.wait_for(std::chrono::milliseconds(0)) == std::future_status::ready) return false;
        }
        return true;
    }

private:
    std::promise<void> open_;
    std::shared_future<void> opened_{open_.get_future()};
    std::promise<void> begun_;
};

Tool slow(const std::shared_ptr<Gate>& gate) {
    return as_task(schema_tool(ToolDefinition("slow", "Takes its time", Object{{"type", "object"}}),
                               [gate](const Object&, CallContext& context) -> ToolReturn {
                                   gate->begun();
                                   if (!gate->wait(context))
                                       return tl::unexpected(ToolFailure::not_applied("called off"));
                                   return ToolResult(Value("at last"));
                               })
                       .risk(Risk::low)
                       .effect(EffectClass::unsafe));
}

class TaskTest : public testing::Test {
protected:
    static Value request(LineClient& by, std::string_view method, Object params,
                         const Object& can = kKnowsTasks) {
        static std::int64_t id = 0;
        return by.request(++id, method, modern(std::move(params), can));
    }
    static Value call(LineClient& by, std::string_view tool, const Object& can = kKnowsTasks) {
        return request(by, "tools/call", {{"name", tool}, {"arguments", Object{}}}, can);
    }
    static Value get(LineClient& by, const Value& id) {
        return request(by, "tasks/get", {{"taskId", id}}).at("result");
    }
    /// Asks until it has ended; the tools here do so at once.
    static Value end_of(LineClient& by, const Value& id) {
        for (;;) {
            Value task = get(by, id);
            const std::string_view status = task.at("status").as_string();
            if (status != "working" && status != "input_required") return task;
        }
    }
};

TEST_F(TaskTest, IsToldOnceItIsOnTheRecordAndAskedForUntilItEnds) {
    const auto gate = std::make_shared<Gate>();
    Runtime runtime;
    runtime.tools().add_or_throw(slow(gate));
    Server server(runtime);
    LineClient client(server);
    const Value created = call(client, "slow").at("result");
    ASSERT_EQ(created.at("resultType"), "task");
    EXPECT_EQ(created.at("status"), "working");
    const Value id = created.at("taskId");
    EXPECT_EQ(get(client, id).at("status"), "working");
    gate->open();
    const Value task = end_of(client, id);
    EXPECT_EQ(task.at("status"), "completed");
    // What tools/call would have answered, resultType and all.
    EXPECT_EQ(json::write(task.at("result")),
              R"({"resultType":"complete","content":[{"type":"text","text":"at last"}]})");
    EXPECT_EQ(task.at("createdAt"), created.at("createdAt"));
}

TEST_F(TaskTest, IsCalledOffWhenItsServerEnds) {
    const auto gate = std::make_shared<Gate>();
    std::promise<bool> ended;
    auto finished = ended.get_future();
    Runtime runtime;
    runtime.tools().add_or_throw(
        as_task(schema_tool(ToolDefinition("job", "Works", Object{{"type", "object"}}),
                            [gate, &ended](const Object&, CallContext& context) -> ToolReturn {
                                gate->begun();
                                ended.set_value(gate->wait(context));
                                return tl::unexpected(ToolFailure::not_applied("called off"));
                            })
                    .read_only()
                    .risk(Risk::low)));
    {
        Server server(runtime);
        LineClient client(server);
        ASSERT_EQ(call(client, "job").at("result").at("resultType"), "task");
        gate->wait_until_begun();
    }
    ASSERT_EQ(finished.wait_for(std::chrono::minutes(1)), std::future_status::ready);
    EXPECT_FALSE(finished.get());
}

TEST_F(TaskTest, WhoDoesNotKnowTasksWaitsForTheResult) {
    const auto gate = std::make_shared<Gate>();
    gate->open();
    Runtime runtime;
    runtime.tools().add_or_throw(slow(gate));
    runtime.tools().add_or_throw(as_task(tool("only", "", [] { return 1; }).read_only(), "required"));
    Server server(runtime);
    LineClient client(server);
    EXPECT_EQ(call(client, "slow", {}).at("result").at("resultType"), "complete");
    const Value refused = call(client, "only", {}).at("error");
    EXPECT_EQ(refused.at("code"), -32021);
    EXPECT_TRUE(refused.at("data")
                    .at("requiredCapabilities")
                    .at("extensions")
                    .as_object()
                    .contains("io.modelcontextprotocol/tasks"));
    EXPECT_EQ(request(client, "tasks/get", {{"taskId", "x"}}, {}).at("error").at("code"), -32021);
}

TEST_F(TaskTest, CancellingIsHeardByTheToolAndSaidOfTheTask) {
    const auto gate = std::make_shared<Gate>();
    Runtime runtime;
    runtime.tools().add_or_throw(slow(gate));
    Server server(runtime);
    LineClient client(server);
    const Value id = call(client, "slow").at("result").at("taskId");
    gate->wait_until_begun();
    EXPECT_EQ(request(client, "tasks/cancel", {{"taskId", id}}).at("result").at("resultType"), "complete");
    EXPECT_EQ(end_of(client, id).at("status"), "cancelled");
    EXPECT_EQ(request(client, "tasks/cancel", {{"taskId", id}}).at("result").at("resultType"), "complete");
}

TEST_F(TaskTest, AsksByItsStatusAndGoesOnWithTheUpdate) {
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

TEST_F(TaskTest, NoNameIsUsedTwiceForItsQuestions) {
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

TEST_F(TaskTest, AToolThatGoesOnAsOneWhileItsClientHasAQuestionIsOneWithTheNextRequest) {
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

// A call's way to its client goes when nothing of the call is left.
TEST_F(TaskTest, LeavesNothingBehindWhenItHasEnded) {
    std::weak_ptr<InputChannel> left;
    {
        Runtime runtime;
        runtime.tools().add_or_throw(
            as_task(schema_tool(ToolDefinition("quick", "", Object{{"type", "object"}}),
                                [&left](const Object&, CallContext& context) -> ToolReturn {
                                    left = context.caller().input;
                                    return ToolResult(Value("done"));
                                })
                        .read_only()));
        Server server(runtime);
        LineClient client(server);
        (void)end_of(client, call(client, "quick").at("result").at("taskId"));
    }
    EXPECT_TRUE(left.expired());
}

TEST_F(TaskTest, LeavesNothingBehindWhereTheServerEndsBeforeItIsAnswered) {
    std::weak_ptr<InputChannel> left;
    {
        Runtime runtime;
        runtime.tools().add_or_throw(
            as_task(schema_tool(ToolDefinition("ask", "", Object{{"type", "object"}}),
                                [&left](const Object&, CallContext& context) -> ToolReturn {
                                    left = context.caller().input;
                                    const auto answer =
                                        context.ask(InputRequest::form("Sure?", Object{{"type", "object"}}));
                                    if (!answer) return tl::unexpected(ToolFailure(answer.error()));
                                    return ToolResult(answer->content);
                                })
                        .read_only()));
        Server server(runtime);
        LineClient client(server);
        const Value id = call(client, "ask").at("result").at("taskId");
        while (get(client, id).at("status") != "input_required") {
        }
    }
    EXPECT_TRUE(left.expired());
}

TEST_F(TaskTest, AnIdIsItsCallersAlone) {
    const auto gate = std::make_shared<Gate>();
    gate->open();
    Runtime runtime;
    runtime.tools().add_or_throw(slow(gate));
    Server server(runtime);
    LineClient client(server);
    const Value id = call(client, "slow").at("result").at("taskId");
    ServerOptions options;
    options.context.principal = "eve";
    Server others(runtime, options);
    LineClient eve(others);
    for (const char* method : {"tasks/get", "tasks/cancel"}) {
        EXPECT_EQ(request(eve, method, {{"taskId", id}}).at("error").at("code"), -32602) << method;
    }
    std::string guessed(id.as_string());
    guessed.front() = guessed.front() == 'A' ? 'B' : 'A';
    EXPECT_EQ(request(client, "tasks/get", {{"taskId", guessed}}).at("error").at("code"), -32602);
    EXPECT_EQ(end_of(client, id).at("status"), "completed");
}

TEST_F(TaskTest, AnErrorOfTheProtocolIsAFailedTask) {
    Runtime runtime;
    runtime.tools().add_or_throw(as_task(schema_tool(ToolDefinition("broken", "", Object{{"type", "object"}}),
                                                     [](const Object&, CallContext&) -> ToolReturn {
                                                         return tl::unexpected(
                                                             protocol_error(-32603, "broken", "x"));
                                                     })
                                             .read_only()));
    Server server(runtime);
    LineClient client(server);
    const Value created = call(client, "broken").at("result");
    const Value task = end_of(client, created.at("taskId"));
    EXPECT_EQ(task.at("status"), "failed");
    EXPECT_EQ(task.at("error"), Value({{"code", -32603}, {"message", "broken"}, {"data", "x"}}));
    EXPECT_FALSE(task.as_object().contains("result"));
    // Without tasks the request itself ends so.
    EXPECT_EQ(call(client, "broken", {}).at("error").at("code"), -32603);
}

TEST_F(TaskTest, IsKnownAfterARestart) {
    const os::ScratchDir directory;
    RuntimeOptions options;
    options.ledger_dir = directory.path() + "/ledger";
    Value id;
    {
        const auto gate = std::make_shared<Gate>();
        gate->open();
        Runtime runtime(options);
        runtime.tools().add_or_throw(slow(gate));
        Server server(runtime);
        LineClient client(server);
        id = call(client, "slow").at("result").at("taskId");
        EXPECT_EQ(end_of(client, id).at("status"), "completed");
    }
    Runtime runtime(options);
    Server server(runtime);
    LineClient client(server);
    const Value task = get(client, id);
    EXPECT_EQ(task.at("status"), "completed");
    EXPECT_EQ(task.at("result").at("content").at(0).at("text"), "at last");
}

TEST_F(TaskTest, OneOfWhichNothingIsKnownHasFailedAndWasNotCancelled) {
    Runtime runtime;
    const ServerOptions options;
    Server server(runtime, options);
    LineClient client(server);
    const Value id(Tasks(runtime, options, {}).id_of("01a1f527-3de0-7000-8d53-8dfef5a03b33"));
    const Value task = get(client, id);
    EXPECT_EQ(task.at("status"), "failed");
    EXPECT_EQ(task.at("error").at("code"), -32603);
}

TEST_F(TaskTest, WhatBecameOfOneIsNotSaidWhereTheRecordCannotBeRead) {
    const os::ScratchDir directory;
    RuntimeOptions options;
    options.ledger_dir = directory.path() + "/ledger";
    Value id;
    {
        const auto gate = std::make_shared<Gate>();
        gate->open();
        Runtime runtime(options);
        runtime.tools().add_or_throw(slow(gate));
        Server server(runtime);
        LineClient client(server);
        id = call(client, "slow").at("result").at("taskId");
        EXPECT_EQ(end_of(client, id).at("status"), "completed");
    }
    Runtime runtime(options);
    Server server(runtime);
    LineClient client(server);
    for (const auto& file : std::filesystem::directory_iterator(options.ledger_dir)) {
        const std::string name = file.path().filename();
        if (name != "ledger.db" && name != "ledger.db-wal") continue;
        std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
        bytes << std::string(file.file_size(), 'x');
    }
    const Value answer = request(client, "tasks/get", {{"taskId", id}});
    ASSERT_TRUE(answer.as_object().contains("error")) << json::write(answer);
    EXPECT_EQ(answer.at("error").at("code"), -32603);
    EXPECT_EQ(answer.at("error").at("data").at("retryable"), true);
}

TEST_F(TaskTest, WhereThereAreAsManyAsMayBeACallIsAnsweredWhenItEnds) {
    const auto gate = std::make_shared<Gate>();
    Runtime runtime;
    runtime.tools().add_or_throw(slow(gate));
    runtime.tools().add_or_throw(as_task(tool("quick", "", [] { return 1; }).risk(Risk::low)));
    ServerOptions options;
    options.limits.max_tasks = 1;
    Server server(runtime, options);
    LineClient client(server);
    const Value id = call(client, "slow").at("result").at("taskId");
    EXPECT_EQ(call(client, "quick").at("result").at("resultType"), "complete");
    gate->wait_until_begun();
    gate->open();
    EXPECT_EQ(end_of(client, id).at("status"), "completed");
    EXPECT_EQ(call(client, "quick").at("result").at("resultType"), "task");
}

TEST_F(TaskTest, WhoListensIsNotified) {
    const auto gate = std::make_shared<Gate>();
    Runtime runtime;
    runtime.tools().add_or_throw(slow(gate));
    Server server(runtime);
    LineClient client(server);
    LineClient listener(server);
    const Value id = call(client, "slow").at("result").at("taskId");
    const Value ack =
        request(listener, "subscriptions/listen", {{"notifications", Object{{"taskIds", Array{id}}}}});
    EXPECT_EQ(ack.at("method"), "notifications/subscriptions/acknowledged");
    gate->open();
    const Value changed = listener.read();
    EXPECT_EQ(changed.at("method"), "notifications/tasks");
    EXPECT_EQ(changed.at("params").at("taskId"), id);
    EXPECT_EQ(changed.at("params").at("status"), "completed");
}

}  // namespace
}  // namespace callgate::mcp
