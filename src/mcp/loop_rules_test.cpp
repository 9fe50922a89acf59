// What may not hold up the thread that serves sockets runs elsewhere, and what would is caught in test
// builds.
#include <future>
#include <string>

#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "base/thread_role.h"
#include "mcp/mcp_testing.h"
#include "net/loop.h"
#include "os/scratch_dir.h"

namespace callgate::mcp {
namespace {

TEST(OnTheLoop, HooksOfActionsRunElsewhere) {
    Runtime runtime;
    std::atomic<int> on_a_loop{0};
    std::atomic<int> ran{0};
    const auto look = [&] {
        ++ran;
        if (base::on_our_thread()) ++on_a_loop;
    };
    ActionHooks hooks;
    hooks.before_validate = [&](Object arguments) -> Result<Object> {
        look();
        return arguments;
    };
    hooks.after_output = [&](ToolResult result) -> Result<ToolResult> {
        look();
        return result;
    };
    runtime.tools().add_or_throw(
        action_tool(
            ToolDefinition("act", "", Object{{"type", "object"}}),
            [](const Object&, CallContext&) { return ToolReturn(ToolResult(Value(1))); }, hooks)
            .read_only()
            .run_inline());
    Server server(runtime);
    LineClient client(server);
    const Value done = client.request(1, "tools/call", modern({{"name", "act"}, {"arguments", Object{}}}));
    EXPECT_EQ(done.at("result").at("content").at(0).at("text"), "1");
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(on_a_loop, 0);
}

TEST(OnTheLoop, LargeArgumentsAndResultsAreJudgedAndSealedElsewhere) {
    const os::ScratchDir directory;
    RuntimeOptions options;
    options.ledger_dir = directory.path() + "/ledger";
    Runtime runtime(options);
    runtime.tools().add_or_throw(tool(
                                     "echo", "", [](const std::string& text) { return text; }, param("text"))
                                     .effect(EffectClass::keyed)
                                     .risk(Risk::low)
                                     .run_inline());
    Server server(runtime);
    LineClient client(server);
    const std::string text(1u << 20, 'x');
    const Value done = client.request(1, "tools/call",
                                      modern({{"name", "echo"},
                                              {"arguments", Object{{"text", text}}},
                                              {"_meta", Object{{"callgate/idempotencyKey", "k"}}}}));
    EXPECT_EQ(done.at("result").at("content").at(0).at("text"), Value(text));
    const Value again = client.request(2, "tools/call",
                                       modern({{"name", "echo"},
                                               {"arguments", Object{{"text", text}}},
                                               {"_meta", Object{{"callgate/idempotencyKey", "k"}}}}));
    EXPECT_EQ(again.at("result").at("content"), done.at("result").at("content"));
}

TEST(OnTheLoop, AFormsSchemaIsCompiledElsewhere) {
    Runtime runtime;
    runtime.tools().add_or_throw(schema_tool(ToolDefinition("ask", "", Object{{"type", "object"}}),
                                             [](const Object&, CallContext& context) -> ToolReturn {
                                                 context.ask(
                                                     InputRequest::form("?", Object{{"type", "object"}}),
                                                     [](const Result<InputAnswer>&) {});
                                                 return ToolResult(Value("asked"));
                                             })
                                     .read_only()
                                     .run_inline());
    Server server(runtime);
    LineClient client(server);
    const Value done = client.request(
        1, "tools/call", modern({{"name", "ask"}, {"arguments", Object{}}}, {{"elicitation", Object{}}}));
    EXPECT_TRUE(done.as_object().contains("result"));
}

using OnTheLoopDeathTest = testing::Test;

TEST(OnTheLoopDeathTest, WaitingForACallAborts) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            Runtime runtime;
            std::promise<void> never;
            runtime.tools().add_or_throw(tool("slow", "", [&] { never.get_future().wait(); }).read_only());
            net::Loop loop;
            std::promise<void> done;
            loop.executor()([&] {
                (void)runtime.call("slow");
                done.set_value();
            });
            done.get_future().wait();
        },
        "waiting for a call on a thread that serves sockets");
}

}  // namespace
}  // namespace callgate::mcp
