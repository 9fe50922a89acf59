// Tools with actions, to a client that knows of none.
#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/actions.h"
#include "mcp/http_testing.h"

namespace callgate::mcp {
namespace {

AdapterAction action(std::string name, EffectClass effect) {
    AdapterAction made(name, [name](const Object& given, CallContext&) -> ToolReturn {
        return ToolResult(Value(name + " " + json::write(Value(given))));
    });
    made.effect = effect;
    made.risk = Risk::low;
    return made;
}

Value schema_of(Array required, Object properties) {
    return Object{
        {"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

struct WithActions : testing::Test {
    Runtime runtime;
    ServerOptions options;

    WithActions() {
        AdapterAction wipe = action("wipe", EffectClass::unsafe);
        wipe.scopes = ScopeSet({"admin"});
        runtime.tools().add_or_throw(
            adapter_tool(ToolDefinition("notes", "Notes",
                                        Object{{"properties", Object{{"name", Object{{"type", "string"}}}}},
                                               {"required", Array{"name"}}}),
                         {action("read", EffectClass::read), action("write", EffectClass::unsafe), wipe}));
    }
    static Value call(LineClient& client, std::int64_t id, Object arguments) {
        return client
            .request(id, "tools/call", Object{{"name", "notes"}, {"arguments", std::move(arguments)}})
            .at("result");
    }
};

TEST_F(WithActions, OneMoreArgumentSaysWhichIsMeant) {
    Server server(runtime, options);
    LineClient client(server);
    (void)client.initialize();
    const Value listed = client.request(1, "tools/list").at("result").at("tools").at(0).at("inputSchema");
    EXPECT_EQ(listed.at("properties").at("action").at("enum"), Value(Array{"read", "write"}))
        << "of those whose scopes were granted";
    EXPECT_EQ(listed.at("required"), Value(Array{"action", "name"}));
    EXPECT_EQ(listed.at("type"), "object");
    EXPECT_EQ(call(client, 2, {{"action", "read"}, {"name", "a"}}).at("content").at(0).at("text"),
              R"(read {"name":"a"})");
    EXPECT_EQ(call(client, 3, {{"action", "write"}, {"name", "a"}}).at("content").at(0).at("text"),
              R"(write {"name":"a"})");
    EXPECT_EQ(call(client, 4, {{"action", "wipe"}, {"name", "a"}}).at("isError"), true);
    EXPECT_EQ(call(client, 5, {{"action", "burn"}, {"name", "a"}}).at("isError"), true);
    EXPECT_EQ(call(client, 6, {{"name", "a"}}).at("isError"), true);
}

TEST_F(WithActions, AStatelessClientNamesItTheSameWay) {
    Server server(runtime, options);
    LineClient client(server);
    const Value result =
        client
            .request(1, "tools/call",
                     modern({{"name", "notes"}, {"arguments", Object{{"action", "read"}, {"name", "a"}}}}))
            .at("result");
    EXPECT_EQ(result.at("content").at(0).at("text"), R"(read {"name":"a"})");
}

TEST(Actions, AToolsOwnArgumentOfThatNameStaysItsOwn) {
    const std::vector<std::string> actions{"call", "undo"};
    const Value own = schema_of({"action"}, {{"action", Object{{"type", "integer"}}}});
    const Value listed = with_action(own, actions);
    EXPECT_EQ(listed.at("properties").at("action").at("type"), "integer");
    EXPECT_EQ(listed.at("properties").at("callgate_action").at("enum"), Value(Array{"call", "undo"}));
    EXPECT_EQ(listed.at("required"), Value(Array{"action"})) << "call is the usual one";
    Object arguments{{"action", 1}, {"callgate_action", "undo"}};
    EXPECT_EQ(take_action(arguments, own, actions), "undo");
    EXPECT_EQ(arguments, (Object{{"action", 1}}));
    EXPECT_EQ(take_action(arguments, own, actions), "call");
    EXPECT_EQ(take_action(arguments, own, {}), "call");
    Object no_string{{"callgate_action", Array{"undo"}}};
    EXPECT_EQ(take_action(no_string, own, actions), R"(["undo"])") << "which is refused as no action";
}

}  // namespace
}  // namespace callgate::mcp
