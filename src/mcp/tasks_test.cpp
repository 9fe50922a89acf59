// Tasks: calls that go on without the request they began with.
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/tasks.h"
#include "mcp/tasks_testing.h"
#include "os/scratch_dir.h"

namespace callgate::mcp {
namespace {

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
    const Value id = completed_before_a_restart(options);
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
    const Value id = completed_before_a_restart(options);
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
