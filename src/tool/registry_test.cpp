#include <map>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/exceptions.h>
#include <callgate/registry.h>

#include "tool/tool_entry.h"
#include "tool/tool_testing.h"

namespace callgate {
namespace {

using Names = std::vector<std::string>;
using What = RegistryChange::What;

Names names(const std::vector<RegisteredTool>& tools) {
    Names out;
    for (const RegisteredTool& tool : tools) out.push_back(tool.definition.name);
    return out;
}

Names names(const std::vector<ToolDefinition>& definitions) {
    Names out;
    for (const ToolDefinition& definition : definitions) out.push_back(definition.name);
    return out;
}

std::string reason(const Result<void>& result) {
    return result ? "" : std::string(result.error().details.at("reason").as_string());
}

Context with_scopes(ScopeSet scopes) {
    Context context;
    context.scopes = std::move(scopes);
    return context;
}

ToolHealth health(HealthStatus status) {
    ToolHealth out;
    out.status = status;
    return out;
}

TEST(Registry, IsEmptyAndCalledDefaultAtFirst) {
    const Registry registry;
    EXPECT_EQ(registry.name(), "default");
    EXPECT_EQ(registry.size(), 0u);
    EXPECT_EQ(registry.find("add"), nullptr);
    EXPECT_EQ(registry.get("add"), std::nullopt);
}

TEST(Registry, AHostThatWouldRatherStopIsToldWhatWasWrongWithATool) {
    Registry registry;
    registry.add_or_throw(echo_tool("a")).add_or_throw(echo_tool("b"));
    EXPECT_EQ(registry.size(), 2u);
    try {
        registry.add_or_throw(echo_tool("a"));
        FAIL() << "a name is not taken over silently";
    } catch (const RegistrationError& refused) {
        EXPECT_EQ(refused.error().details.at("reason").as_string(), "duplicate_name");
        EXPECT_EQ(refused.what(), refused.error().message);
    }
    EXPECT_THROW(registry.add_or_throw(echo_tool("no such name")), std::invalid_argument);
    registry.add_or_throw(echo_tool("a"), IfPresent::replace);
    EXPECT_EQ(registry.size(), 2u);
}

TEST(Registry, FindsAToolUnderExactlyItsName) {
    Registry registry;
    ASSERT_TRUE(registry.add(echo_tool("files/read")));
    EXPECT_TRUE(registry.contains("files/read"));
    EXPECT_EQ(registry.find("files/read")->name(), "files/read");
    EXPECT_EQ(registry.get("files/read")->definition.name, "files/read");
    for (const char* other : {"read", "files/Read", "files/read ", ""})
        EXPECT_FALSE(registry.contains(other)) << other;
}

TEST(Registry, ListsInNameOrderWhateverTheOrderOfRegistration) {
    Registry registry;
    for (const char* name : {"m", "z", "a", "B"}) ASSERT_TRUE(registry.add(echo_tool(name)));
    EXPECT_EQ(names(registry.list()), (Names{"B", "a", "m", "z"}));
    EXPECT_EQ(names(registry.definitions()), (Names{"B", "a", "m", "z"}));
}

TEST(Registry, ListsByKind) {
    Registry registry;
    const ToolFunction nothing = [](const Object&, CallContext&) -> ToolReturn { return ToolResult(); };
    ASSERT_TRUE(registry.add(echo_tool("f")));
    ASSERT_TRUE(registry.add(action_tool(ToolDefinition("act", "", Object{}), nothing)));
    ASSERT_TRUE(
        registry.add(adapter_tool(ToolDefinition("ad", "", Object{}), {AdapterAction("x", nothing)})));
    EXPECT_EQ(names(registry.list(ToolKind::function)), Names{"f"});
    EXPECT_EQ(names(registry.list(ToolKind::action)), Names{"act"});
    EXPECT_EQ(names(registry.list(ToolKind::adapter)), Names{"ad"});
}

TEST(Registry, RefusesASecondToolOfTheSameName) {
    Registry registry;
    ASSERT_TRUE(registry.add(echo_tool("t")));
    EXPECT_EQ(reason(registry.add(echo_tool("t").risk(Risk::high))), "duplicate_name");
    EXPECT_EQ(registry.get("t")->contract.risk, Risk::low);
}

TEST(Registry, ReplacesAToolWhenAsked) {
    Registry registry;
    ASSERT_TRUE(registry.add(echo_tool("t")));
    const auto before = registry.find("t");
    ASSERT_TRUE(registry.add(echo_tool("t").risk(Risk::high), IfPresent::replace));
    EXPECT_EQ(registry.get("t")->contract.risk, Risk::high);
    EXPECT_EQ(registry.size(), 1u);
    EXPECT_EQ(before->risk("call"), Risk::low) << "a call under way keeps what it looked up";
}

TEST(Registry, AReplacedToolStartsHealthyButStaysOutOfUse) {
    Registry registry;
    ASSERT_TRUE(registry.add_all({echo_tool("a"), echo_tool("b"), echo_tool("c")}));
    registry.update_health("a", health(HealthStatus::unavailable));
    registry.quarantine("b", "changed");
    registry.silence("c");
    for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(registry.add(echo_tool(name), IfPresent::replace));
    EXPECT_EQ(registry.get("a")->health.status, HealthStatus::healthy);
    EXPECT_TRUE(registry.get("b")->quarantined);
    EXPECT_EQ(registry.find("b")->live().quarantine_reason(), "changed");
    EXPECT_TRUE(registry.get("c")->silenced);
}

TEST(Registry, AddsAllOrNone) {
    Registry registry;
    ASSERT_TRUE(registry.add(echo_tool("b")));
    EXPECT_EQ(reason(registry.add_all({echo_tool("a"), echo_tool("b")})), "duplicate_name");
    EXPECT_EQ(reason(registry.add_all({echo_tool("a"), echo_tool("a b")})), "bad_name");
    EXPECT_EQ(reason(registry.add_all({echo_tool("a"), echo_tool("a")}, IfPresent::replace)),
              "duplicate_name");
    EXPECT_EQ(names(registry.list()), Names{"b"});
    EXPECT_TRUE(registry.add_all({echo_tool("a"), echo_tool("b")}, IfPresent::replace));
    EXPECT_EQ(names(registry.list()), (Names{"a", "b"}));
    EXPECT_TRUE(registry.add_all({}));
}

TEST(Registry, TakesNoMoreToolsThanItsLimit) {
    Registry::Options options;
    options.max_tools = 2;
    Registry registry(options);
    ASSERT_TRUE(registry.add_all({echo_tool("a"), echo_tool("b")}));
    EXPECT_EQ(reason(registry.add(echo_tool("c"))), "too_many");
    EXPECT_TRUE(registry.add(echo_tool("a"), IfPresent::replace));
    registry.remove("b");
    EXPECT_TRUE(registry.add(echo_tool("c")));
}

TEST(Registry, RemovesAndClears) {
    Registry registry;
    ASSERT_TRUE(registry.add_all({echo_tool("a"), echo_tool("b")}));
    const auto held = registry.find("a");
    EXPECT_TRUE(registry.remove("a"));
    EXPECT_FALSE(registry.remove("a"));
    EXPECT_EQ(held->name(), "a");
    EXPECT_EQ(names(registry.list()), Names{"b"});
    registry.clear();
    EXPECT_EQ(registry.size(), 0u);
    EXPECT_TRUE(registry.add(echo_tool("a")));
}

TEST(Registry, TakesOverTheToolsOfAnotherAndStaysIndependentOfIt) {
    Registry from;
    Registry to;
    ASSERT_TRUE(from.add_all({echo_tool("a"), echo_tool("b")}));
    from.silence("b");
    ASSERT_TRUE(to.import_from(from));
    EXPECT_EQ(names(to.list()), (Names{"a", "b"}));
    EXPECT_TRUE(to.get("b")->silenced);
    from.update_health("a", health(HealthStatus::unavailable));
    from.clear();
    EXPECT_EQ(to.get("a")->health.status, HealthStatus::healthy);
    EXPECT_EQ(to.size(), 2u);
}

TEST(Registry, TakesOverAllOrNone) {
    Registry from;
    Registry to;
    ASSERT_TRUE(from.add_all({echo_tool("a"), echo_tool("b")}));
    ASSERT_TRUE(to.add(echo_tool("b")));
    EXPECT_EQ(reason(to.import_from(from)), "duplicate_name");
    EXPECT_EQ(names(to.list()), Names{"b"});
    EXPECT_TRUE(to.import_from(from, IfPresent::replace));
    EXPECT_TRUE(to.import_from(to, IfPresent::replace)) << "even its own";
    EXPECT_EQ(names(to.list()), (Names{"a", "b"}));
}

TEST(Registry, KnowsTheHealthOfEachTool) {
    Registry registry;
    ASSERT_TRUE(registry.add_all({echo_tool("a"), echo_tool("b"), echo_tool("c")}));
    EXPECT_TRUE(registry.update_health("a", health(HealthStatus::degraded)));
    EXPECT_TRUE(registry.update_health("b", health(HealthStatus::unavailable)));
    EXPECT_FALSE(registry.update_health("x", {}));
    EXPECT_EQ(registry.get("a")->health.status, HealthStatus::degraded);
    EXPECT_EQ(names(registry.list_healthy()), Names{"c"});
}

TEST(Registry, QuarantineAndSilenceEndWithRelease) {
    Registry registry;
    ASSERT_TRUE(registry.add(echo_tool("a")));
    EXPECT_TRUE(registry.quarantine("a", "changed"));
    EXPECT_TRUE(registry.silence("a"));
    EXPECT_TRUE(registry.get("a")->quarantined);
    EXPECT_TRUE(registry.get("a")->silenced);
    EXPECT_TRUE(registry.release("a"));
    EXPECT_FALSE(registry.get("a")->quarantined);
    EXPECT_FALSE(registry.get("a")->silenced);
    EXPECT_FALSE(registry.quarantine("x", ""));
    EXPECT_FALSE(registry.silence("x"));
    EXPECT_FALSE(registry.release("x"));
}

TEST(Registry, ShowsAModelOnlyWhatItCouldCall) {
    Registry registry;
    ASSERT_TRUE(registry.add_all({echo_tool("degraded"), echo_tool("down"), echo_tool("fine"),
                                  echo_tool("quarantined"), echo_tool("scoped").scopes({"mail"}),
                                  echo_tool("silenced")}));
    registry.update_health("degraded", health(HealthStatus::degraded));
    registry.update_health("down", health(HealthStatus::unavailable));
    registry.quarantine("quarantined", "changed");
    registry.silence("silenced");
    EXPECT_EQ(registry.definitions().size(), 6u);
    EXPECT_EQ(names(registry.visible_definitions({})), (Names{"degraded", "fine"}));
    EXPECT_EQ(names(registry.visible_definitions(with_scopes({"mail"}))),
              (Names{"degraded", "fine", "scoped"}));
}

TEST(Registry, SuggestsOnlyToolsTheCallerMaySee) {
    Registry registry;
    ASSERT_TRUE(registry.add_all(
        {echo_tool("send_mail").scopes({"mail"}), echo_tool("send_main"), echo_tool("sum")}));
    EXPECT_EQ(registry.suggestions("send_mali", {}), Names{"send_main"});
    EXPECT_EQ(registry.suggestions("send_mail", with_scopes({"mail"})), (Names{"send_mail", "send_main"}));
    registry.silence("send_main");
    EXPECT_EQ(registry.suggestions("send_mali", {}), Names{});
}

std::string in_words(const RegistryChange& change) {
    std::string out = change.what == What::health ? "health " + change.name : "";
    for (const auto& [sign, list] :
         {std::pair('+', &change.added), std::pair('=', &change.replaced), std::pair('-', &change.removed)}) {
        for (const std::string& name : *list) out += std::string(out.empty() ? "" : " ") + sign + name;
    }
    return out;
}

class Watched : public testing::Test {
protected:
    Registry registry;
    Names told;
    std::vector<std::uint64_t> revisions;
    std::shared_ptr<void> handle = registry.on_change([this](const RegistryChange& change) {
        told.push_back(in_words(change));
        revisions.push_back(change.revision);
    });
};

TEST_F(Watched, EveryChangeIsToldWithTheRevisionItLedTo) {
    ASSERT_TRUE(registry.add(echo_tool("a")));
    ASSERT_TRUE(registry.add(echo_tool("a"), IfPresent::replace));
    registry.update_health("a", {});
    registry.quarantine("a", "");
    registry.silence("a");
    registry.release("a");
    registry.health_changed("a");
    registry.remove("a");
    EXPECT_EQ(told, (Names{"+a", "=a", "health a", "health a", "health a", "health a", "health a", "-a"}));
    EXPECT_EQ(revisions, (std::vector<std::uint64_t>{1, 2, 2, 2, 2, 2, 2, 3}));
    EXPECT_EQ(registry.revision(), 3u);
}

TEST_F(Watched, WhatDidNotChangeIsNotTold) {
    EXPECT_FALSE(registry.add(echo_tool("a b")));
    ASSERT_TRUE(registry.add_all({}));
    registry.remove("a");
    EXPECT_EQ(registry.remove_server("a"), 0u);
    EXPECT_EQ(registry.remove_server(""), 0u);
    registry.clear();
    registry.update_health("a", {});
    EXPECT_EQ(told, Names{});
    EXPECT_EQ(registry.revision(), 0u);
}

TEST_F(Watched, AChangeOfManyToolsIsToldOnce) {
    ASSERT_TRUE(registry.add(echo_tool("b")));
    told.clear();
    ASSERT_TRUE(registry.add_all({echo_tool("c"), echo_tool("b"), echo_tool("files/x")}, IfPresent::replace));
    ASSERT_TRUE(registry.add_all({echo_tool("files/y"), echo_tool("filesystem/x")}));
    EXPECT_EQ(registry.remove_server("files"), 2u);
    EXPECT_EQ(registry.remove_server(""), 0u);
    registry.clear();
    EXPECT_EQ(told, (Names{"+c +files/x =b", "+files/y +filesystem/x", "-files/x -files/y",
                           "-b -c -filesystem/x"}));
}

TEST_F(Watched, ANoticeNamesSoManyToolsAndCountsTheOthers) {
    std::vector<Tool> many;
    for (std::size_t i = 0; i < RegistryChange::kMostNames + 5; ++i)
        many.push_back(echo_tool("t" + std::to_string(i)));
    std::vector<RegistryChange> seen;
    const auto other = registry.on_change([&](const RegistryChange& change) { seen.push_back(change); });
    ASSERT_TRUE(registry.add_all(std::move(many)));
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].added.size(), RegistryChange::kMostNames);
    EXPECT_EQ(seen[0].undeclared.size(), RegistryChange::kMostNames);
    EXPECT_EQ(seen[0].unnamed, 5u);
}

TEST_F(Watched, NothingIsToldOnceTheHandleIsGone) {
    handle.reset();
    ASSERT_TRUE(registry.add(echo_tool("a")));
    EXPECT_EQ(told, Names{});
}

TEST_F(Watched, AListenerMayUseTheRegistryAndUnsubscribeItself) {
    std::size_t seen = 0;
    std::shared_ptr<void> own;
    own = registry.on_change([&](const RegistryChange& change) {
        seen = registry.list().size();
        for (const std::string& name : change.added) registry.silence(name);
        own.reset();
    });
    ASSERT_TRUE(registry.add(echo_tool("a")));
    EXPECT_EQ(seen, 1u);
    EXPECT_TRUE(registry.get("a")->silenced);
    registry.clear();
    EXPECT_EQ(seen, 1u);
}

TEST_F(Watched, AListenerThatThrowsHarmsNobody) {
    const auto bad = registry.on_change([](const RegistryChange&) { throw std::runtime_error("boom"); });
    std::size_t later = 0;
    const auto good = registry.on_change([&](const RegistryChange&) { ++later; });
    EXPECT_TRUE(registry.add(echo_tool("a")));
    EXPECT_EQ(later, 1u);
    EXPECT_EQ(told.size(), 1u);
}

TEST(Registry, AHandleMayOutliveIt) {
    std::shared_ptr<void> handle;
    {
        Registry registry;
        handle = registry.on_change([](const RegistryChange&) {});
        EXPECT_EQ(registry.on_change(nullptr), nullptr);
    }
    handle.reset();
}

class AsksWhenItGoes final : public ToolBody {
public:
    AsksWhenItGoes(Registry& registry, std::size_t& seen) : registry_(registry), seen_(seen) {}
    ~AsksWhenItGoes() override { seen_ = registry_.size() + 100; }

private:
    Registry& registry_;
    std::size_t& seen_;
};

TEST(Registry, ABodyMayUseItWhileItIsDestroyed) {
    Registry registry;
    std::size_t seen = 0;
    const auto tool = [&] {
        return Tool(ToolDefinition("t", "", Object{}), std::make_shared<AsksWhenItGoes>(registry, seen));
    };
    ASSERT_TRUE(registry.add(tool()));
    registry.remove("t");
    EXPECT_EQ(std::exchange(seen, 0u), 100u);
    ASSERT_TRUE(registry.add(tool()));
    EXPECT_FALSE(registry.add(tool()));
    EXPECT_EQ(std::exchange(seen, 0u), 101u);
    ASSERT_TRUE(registry.add(echo_tool("t"), IfPresent::replace));
    EXPECT_EQ(std::exchange(seen, 0u), 101u);
    ASSERT_TRUE(registry.add(tool(), IfPresent::replace));
    registry.clear();
    EXPECT_EQ(seen, 100u);
}

RC_GTEST_PROP(Registry, BehavesLikeASortedMapUnderAnyScript, ()) {
    Registry registry;
    std::map<std::string, Risk> model;
    const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 5), rc::gen::inRange(0, 12)));
    for (const auto& [step, which] : steps) {
        const std::string name = "tool_" + std::to_string(which);
        const Risk risk = static_cast<Risk>(which % 4);
        switch (step) {
            case 0:
                RC_ASSERT(registry.add(echo_tool(name)).has_value() == model.emplace(name, Risk::low).second);
                break;
            case 1:
                RC_ASSERT(registry.add(echo_tool(name).risk(risk), IfPresent::replace).has_value());
                model[name] = risk;
                break;
            case 2:
            case 3: RC_ASSERT(registry.remove(name) == (model.erase(name) != 0)); break;
            default:
                if (which == 0) {
                    registry.clear();
                    model.clear();
                }
        }
        Names expected;
        for (const auto& [known, level] : model) {
            expected.push_back(known);
            RC_ASSERT(registry.find(known)->risk("call") == level);
        }
        RC_ASSERT(names(registry.list()) == expected);
        RC_ASSERT(registry.size() == expected.size());
    }
}

TEST(Registry, ADefaultThatNoCallCouldLeaveOutIsRefusedWithItsParameter) {
    const auto answer = [](std::string_view schema, Contract contract = {}) -> std::string {
        Registry registry;
        Tool tool(ToolDefinition("t", "", json_of(schema)), echo_tool("t").body);
        tool.contract = std::move(contract);
        const auto added = registry.add(std::move(tool));
        if (added) return "added";
        EXPECT_EQ(added.error().details.at("reason"), "bad_default");
        EXPECT_THAT(added.error().message, testing::HasSubstr("the default of the parameter 'n'"));
        return std::string(added.error().details.at("place").as_string());
    };
    const auto of_n = [](std::string_view n, std::string_view rest = "") {
        return R"({"type":"object","properties":{"n":)" + std::string(n) + "}" + std::string(rest) + "}";
    };
    EXPECT_EQ(answer(of_n(R"({"type":"integer","minimum":5,"default":3})")), "/n");
    EXPECT_EQ(answer(of_n(R"({"type":"object","required":["m"],"default":{}})")), "/n");
    EXPECT_EQ(answer(of_n(R"({"type":"integer","minimum":5,"default":5})")), "added");
    EXPECT_EQ(answer(of_n(R"({"type":"integer","default":"3"})")),
              "added");  // brought into shape, as in a call
    EXPECT_EQ(answer(of_n(R"({"default":1})", R"(,"required":["m"],"dependentRequired":{"n":["m"]})")),
              "added");
    Contract elsewhere;
    elsewhere.provider = ProviderType::http;  // its defaults are its own affair
    EXPECT_EQ(answer(of_n(R"({"type":"integer","minimum":5,"default":3})"), elsewhere), "added");
}

}  // namespace
}  // namespace callgate
