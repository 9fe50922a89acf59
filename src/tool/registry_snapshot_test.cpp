#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/definitions.h>
#include <callgate/registry.h>

#include "tool/tool_testing.h"

namespace callgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <class Tools>
std::vector<std::string> listed(const Tools& tools) {
    std::vector<std::string> out;
    for (const ListedTool& tool : tools) out.emplace_back(tool.name);
    return out;
}

std::vector<std::string> visible(const RegistrySnapshot& snapshot,
                                 std::initializer_list<std::string> scopes) {
    Context caller;
    for (const std::string& scope : scopes) caller.scopes.add(scope);
    return listed(snapshot.visible_to(caller).value());
}

const ListedTool& first_of(const RegistrySnapshot& snapshot) {
    return snapshot.tools()[0];
}

TEST(RegistrySnapshot, ListsTheToolsInOrderWithoutCopyingThem) {
    Registry registry;
    ASSERT_TRUE(registry.add_all({echo_tool("b"), echo_tool("files/read"), echo_tool("a")}));
    const RegistrySnapshot snapshot = registry.snapshot();
    EXPECT_EQ(snapshot.revision(), registry.revision());
    EXPECT_EQ(snapshot.size(), 3u);
    EXPECT_THAT(listed(snapshot.tools()), ElementsAre("a", "b", "files/read"));
    EXPECT_EQ(snapshot.tools()[0].definition, first_of(registry.snapshot()).definition);
    EXPECT_EQ(snapshot.tools()[2].definition->description, "Says what it is told.");
    EXPECT_EQ(snapshot.tools()[2].contract->connector_id, "files/read") << "with what registration fills in";
}

TEST(RegistrySnapshot, StaysAsItIsWhateverBecomesOfTheRegistry) {
    RegistrySnapshot snapshot;
    EXPECT_EQ(snapshot.revision(), 0u);
    EXPECT_THAT(listed(snapshot.tools()), IsEmpty());
    {
        Registry registry;
        ASSERT_TRUE(registry.add_all({echo_tool("a"), echo_tool("b")}));
        snapshot = registry.snapshot();
        ASSERT_TRUE(registry.add(echo_tool("a").risk(Risk::high), IfPresent::replace));
        registry.remove("b");
        const RegistrySnapshot later = registry.snapshot();
        EXPECT_THAT(listed(later.tools()), ElementsAre("a"));
        EXPECT_LT(snapshot.revision(), later.revision());
    }
    EXPECT_THAT(listed(snapshot.tools()), ElementsAre("a", "b"));
    EXPECT_EQ(snapshot.tools()[1].definition->name, "b");
}

TEST(RegistrySnapshot, IsMadeOnceForARevision) {
    Registry registry;
    ASSERT_TRUE(registry.add(echo_tool("files/read")));
    const NameRules rules = name_rules(DefinitionForm::openai);
    const RegistrySnapshot canonical = registry.snapshot();
    const RegistrySnapshot shown = registry.snapshot(rules);
    registry.quarantine("files/read", "health is no change of tools");
    EXPECT_EQ(&first_of(registry.snapshot()), &first_of(canonical));
    EXPECT_EQ(&first_of(registry.snapshot(rules)), &first_of(shown));
    ASSERT_TRUE(registry.add(echo_tool("b")));
    EXPECT_NE(&first_of(registry.snapshot()), &first_of(canonical));
    EXPECT_NE(&first_of(registry.snapshot(rules)), &first_of(shown));
}

TEST(RegistrySnapshot, HoldsNoToolBackOnceItIsGone) {
    Registry registry;
    ASSERT_TRUE(registry.add(echo_tool("a")));
    const std::weak_ptr<const ToolEntry> entry = registry.find("a");
    {
        const RegistrySnapshot snapshot = registry.snapshot();
        const RegistrySnapshot shown = registry.snapshot(NameRules());
        registry.remove("a");
        EXPECT_FALSE(entry.expired());
    }
    EXPECT_TRUE(entry.expired()) << "the registry itself keeps no old snapshot";
}

TEST(RegistrySnapshot, ShowsACallerWhatItMayKnowOfAtThatMoment) {
    Registry registry;
    ASSERT_TRUE(registry.add_all({echo_tool("free"), echo_tool("mail").scopes({"mail"}), echo_tool("sick")}));
    const RegistrySnapshot snapshot = registry.snapshot();
    EXPECT_THAT(visible(snapshot, {}), ElementsAre("free", "sick"));
    EXPECT_THAT(visible(snapshot, {"mail"}), ElementsAre("free", "mail", "sick"));
    registry.quarantine("sick", "changed");
    registry.silence("free");
    EXPECT_THAT(visible(snapshot, {"mail"}), ElementsAre("mail"));
    registry.release("sick");
    EXPECT_THAT(visible(snapshot, {}), ElementsAre("sick"));
}

TEST(RegistrySnapshot, NamesToolsByTheRulesOfAVendor) {
    Registry registry;
    ASSERT_TRUE(
        registry.add_all({echo_tool("files/read"), echo_tool("files/write"), echo_tool("disk/read")}));
    for (const DefinitionForm form : {DefinitionForm::openai, DefinitionForm::mcp}) {
        const RegistrySnapshot shown = registry.snapshot(name_rules(form));
        EXPECT_THAT(listed(shown.tools()), ElementsAre("disk__read", "files__read", "write"));
        EXPECT_EQ(shown.tools()[2].definition->name, "files/write");
    }
}

TEST(RegistrySnapshot, OneNameThatTheRulesCannotSayIsNoMatterToWhoDoesNotSeeIt) {
    Registry registry;
    ASSERT_TRUE(registry.add_all({echo_tool("abc"), echo_tool("zzz").scopes({"z"})}));
    NameRules rules;
    rules.characters = "abc";
    rules.max_bytes = 4;
    const RegistrySnapshot shown = registry.snapshot(rules);
    EXPECT_THAT(visible(shown, {}), ElementsAre("abc"));
    Context caller;
    caller.scopes.add("z");
    const auto refused = shown.visible_to(caller);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().details.at("reason"), "name_rules_too_narrow");
    EXPECT_THAT(listed(shown.tools()), ElementsAre("abc", ""));
}

TEST(RegistrySnapshot, ManySetsOfRulesAreNamedEachByItsOwn) {
    Registry registry;
    ASSERT_TRUE(registry.add(echo_tool("a-rather-long-name-for-a-tool-that-does-so-little")));
    for (int round = 0; round < 2; ++round) {
        for (std::size_t bytes = 25; bytes < 45; ++bytes) {
            NameRules rules;
            rules.max_bytes = bytes;
            const RegistrySnapshot shown = registry.snapshot(rules);
            EXPECT_EQ(shown.tools()[0].name.size(), bytes);
        }
    }
}

}  // namespace
}  // namespace callgate
