// Tools about which nobody said what they risk or do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/registry.h>

#include "tool/tool_testing.h"

namespace callgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Tool of_provider(ProviderType provider) {
    Tool tool = echo_tool("t");
    tool.contract.provider = provider;
    return tool;
}

bool listed_as_undeclared(Tool tool) {
    Registry registry;
    const std::string name = tool.definition.name;
    EXPECT_TRUE(registry.add(std::move(tool)));
    EXPECT_EQ(registry.get(name)->undeclared, !registry.undeclared().empty());
    return !registry.undeclared().empty();
}

TEST(Undeclared, ANativeToolThatNobodySpokeAboutIsListed) {
    EXPECT_TRUE(listed_as_undeclared(echo_tool("t")));
    EXPECT_TRUE(
        listed_as_undeclared(echo_tool("t").timeout(std::chrono::seconds(1)).retries(RetryPolicy(2))));
}

TEST(Undeclared, RiskOrEffectIsADeclaration) {
    EXPECT_FALSE(listed_as_undeclared(echo_tool("t").risk(Risk::low)));
    EXPECT_FALSE(listed_as_undeclared(echo_tool("t").effect(EffectClass::unsafe)));  // the default, but said
    EXPECT_FALSE(listed_as_undeclared(echo_tool("t").read_only()));
    EXPECT_FALSE(listed_as_undeclared(echo_tool("t").risk("call", Risk::low)));
    EXPECT_TRUE(listed_as_undeclared(echo_tool("t").risk("wipe", Risk::high)));  // it has no such action
    Tool tool = echo_tool("t");
    tool.contract.effect = EffectClass::unsafe;
    EXPECT_FALSE(listed_as_undeclared(tool));
}

TEST(Undeclared, ToolsOfOtherProvidersAreHighAnyway) {
    EXPECT_TRUE(listed_as_undeclared(of_provider(ProviderType::native)));
    for (const ProviderType other : {ProviderType::process, ProviderType::http, ProviderType::mcp})
        EXPECT_FALSE(listed_as_undeclared(of_provider(other)));
}

TEST(Undeclared, OneActionThatNobodySpokeAboutIsEnough) {
    const auto adapter = [](bool all) {
        const ToolFunction run = [](const Object&, CallContext&) -> ToolReturn { return ToolResult(); };
        AdapterAction list("list", run);
        list.effect = EffectClass::read;
        AdapterAction wipe("wipe", run);
        if (all) wipe.risk = Risk::high;
        return adapter_tool(ToolDefinition("disk", "", json_of(R"({"type":"object"})")), {list, wipe});
    };
    EXPECT_TRUE(listed_as_undeclared(adapter(false)));
    EXPECT_FALSE(listed_as_undeclared(adapter(true)));
    EXPECT_FALSE(listed_as_undeclared(adapter(false).risk(Risk::medium)));
}

TEST(Undeclared, RegistrationSaysSo) {
    Registry registry;
    std::vector<std::string> seen;
    const auto subscription = registry.on_change([&](const RegistryChange& change) {
        seen.insert(seen.end(), change.undeclared.begin(), change.undeclared.end());
    });
    ASSERT_TRUE(registry.add(echo_tool("a")));
    ASSERT_TRUE(registry.add(echo_tool("b").risk(Risk::low)));
    EXPECT_THAT(registry.undeclared(), ElementsAre("a"));
    ASSERT_TRUE(registry.add(echo_tool("a").read_only(), IfPresent::replace));
    EXPECT_THAT(registry.undeclared(), IsEmpty());
    EXPECT_THAT(seen, ElementsAre("a"));
}

TEST(Undeclared, StaysSoInAnotherRegistry) {
    Registry first;
    ASSERT_TRUE(first.add(echo_tool("a")));
    ASSERT_TRUE(first.add(echo_tool("b").risk(Risk::high)));
    Registry second;
    ASSERT_TRUE(second.import_from(first));
    EXPECT_THAT(second.undeclared(), ElementsAre("a"));
    EXPECT_EQ(second.get("a")->contract.risk, Risk::low);
    EXPECT_EQ(second.get("b")->contract.risk, Risk::high);
}

}  // namespace
}  // namespace callgate
