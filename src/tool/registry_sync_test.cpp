#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/registry.h>

#include "base/clock.h"
#include "tool/tool_entry.h"
#include "tool/tool_testing.h"

namespace callgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Tool> tools_of(std::initializer_list<const char*> names) {
    std::vector<Tool> out;
    for (const char* name : names) out.push_back(echo_tool(name));
    return out;
}

std::vector<std::string> all_names(const Registry& registry) {
    std::vector<std::string> out;
    for (const ToolDefinition& definition : registry.definitions()) out.push_back(definition.name);
    return out;
}

template <class Answer>
std::string why_refused(const Answer& answer) {
    if (answer) return "accepted";
    return std::string(answer.error().details.at("reason").as_string());
}

class Synced : public testing::Test {
protected:
    void sync(std::vector<Tool> tools) {
        auto made = registry.sync("files", std::move(tools));
        ASSERT_TRUE(made) << made.error().message;
        result = std::move(*made);
    }
    LiveState& live(std::string_view name) { return registry.find(name)->live(); }
    /// Opens its breaker, takes a retry, degrades it.
    void wear_down(std::string_view name) {
        for (int i = 0; i < 10; ++i) live(name).failed("no answer", true, clock.monotonic_now());
        live(name).take_retry();
    }
    void expect_worn_down(std::string_view name) {
        EXPECT_EQ(live(name).status(), HealthStatus::degraded);
        EXPECT_EQ(live(name).health().last_error, "no answer");
        EXPECT_FALSE(live(name).pass(clock.monotonic_now()).open);
        int left = 0;
        while (live(name).take_retry()) ++left;
        EXPECT_EQ(left, LiveState::kFreeRetries - 1);
    }

    base::ManualClock clock;
    Registry registry;
    SyncResult result;
    int notices = 0;
    RegistryChange last;
    std::shared_ptr<void> handle = registry.on_change([this](const RegistryChange& change) {
        ++notices;
        last = change;
    });
};

TEST_F(Synced, TheToolsOfAServerBecomeExactlyThese) {
    ASSERT_TRUE(registry.add_all(tools_of({"own", "disk/read", "filesystem/read"})));
    sync(tools_of({"files/read", "files/write"}));
    EXPECT_THAT(result.added, ElementsAre("files/read", "files/write"));
    std::vector<Tool> next = tools_of({"files/list", "files/write"});
    next[1].definition.description = "Writes.";
    next.push_back(echo_tool("files/append"));
    sync(std::move(next));
    EXPECT_THAT(result.added, ElementsAre("files/list", "files/append"));
    EXPECT_THAT(result.replaced, ElementsAre("files/write"));
    EXPECT_THAT(result.removed, ElementsAre("files/read"));
    EXPECT_THAT(result.unchanged, IsEmpty());
    EXPECT_THAT(all_names(registry), ElementsAre("disk/read", "files/append", "files/list", "files/write",
                                                 "filesystem/read", "own"));
    EXPECT_EQ(registry.get("files/write")->definition.description, "Writes.");
}

TEST_F(Synced, IsOneChangeWithOneNotice) {
    sync(tools_of({"files/a", "files/b", "files/c"}));
    EXPECT_EQ(notices, 1);
    EXPECT_EQ(registry.revision(), 1u);
    std::vector<Tool> next = tools_of({"files/b", "files/d"});
    next[0].risk(Risk::high);
    sync(std::move(next));
    EXPECT_EQ(notices, 2);
    EXPECT_EQ(last.revision, 2u);
    EXPECT_THAT(last.added, ElementsAre("files/d"));
    EXPECT_THAT(last.replaced, ElementsAre("files/b"));
    EXPECT_THAT(last.removed, ElementsAre("files/a", "files/c"));
    EXPECT_THAT(last.undeclared, ElementsAre("files/d"));
}

TEST_F(Synced, WhatIsAlreadySoStaysAndNobodyIsNotified) {
    const auto declared = [] {
        std::vector<Tool> out;
        out.push_back(echo_tool("files/a", R"({"type":"object","properties":{"x":{"type":"string"}}})")
                          .risk(Risk::medium)
                          .timeout(std::chrono::seconds(3))
                          .version("2")
                          .run_inline());
        out.push_back(echo_tool("files/b"));
        out.push_back(adapter_tool(ToolDefinition("files/c", "", Object{{"type", "object"}}),
                                   {AdapterAction("one", nullptr), AdapterAction("two", nullptr)}));
        return out;
    };
    sync(declared());
    const auto entry = registry.find("files/a");
    const RegistrySnapshot snapshot = registry.snapshot();
    sync(declared());
    EXPECT_THAT(result.unchanged, ElementsAre("files/a", "files/b", "files/c"));
    EXPECT_THAT(result.replaced, IsEmpty());
    EXPECT_EQ(registry.find("files/a"), entry);
    EXPECT_EQ(registry.snapshot().revision(), snapshot.revision());
    EXPECT_EQ(notices, 1);
}

TEST_F(Synced, WhateverDiffersMakesAToolAnother) {
    const std::vector<std::pair<const char*, std::function<void(Tool&)>>> differences{
        {"description", [](Tool& tool) { tool.definition.description += "!"; }},
        {"title", [](Tool& tool) { tool.definition.title = "Read"; }},
        {"input schema", [](Tool& tool) { tool.definition.input_schema.as_object()["title"] = "x"; }},
        {"output schema", [](Tool& tool) { tool.definition.output_schema = Object{{"type", "object"}}; }},
        {"annotations", [](Tool& tool) { tool.definition.annotations["readOnlyHint"] = true; }},
        {"risk", [](Tool& tool) { tool.contract.risk = Risk::high; }},
        {"risk that was the default", [](Tool& tool) { tool.contract.risk = Risk::low; }},
        {"declared effect", [](Tool& tool) { tool.contract.effect = EffectClass::unsafe; }},
        {"scopes", [](Tool& tool) { tool.scopes({"files"}); }},
        {"breaker", [](Tool& tool) { tool.contract.breaker.failures = 3; }},
        {"config", [](Tool& tool) { tool.contract.config_ref = "files"; }},
        {"kind", [](Tool& tool) { tool.kind = ToolKind::action; }},
        {"version", [](Tool& tool) { tool.version("2"); }},
        {"no body", [](Tool& tool) { tool.body = nullptr; }},
        {"run mode", [](Tool& tool) { tool.run_inline(); }},
        {"preview",
         [](Tool& tool) {
             tool.preview([](const Object&, CallContext&) -> Result<Preview> { return Preview(); });
         }},
        {"actions",
         [](Tool& tool) { tool.body = adapter_tool(tool.definition, {AdapterAction("one", nullptr)}).body; }},
    };
    for (const auto& [what, change] : differences) {
        sync(tools_of({"files/read"}));
        std::vector<Tool> next = tools_of({"files/read"});
        change(next[0]);
        sync(std::move(next));
        EXPECT_THAT(result.replaced, ElementsAre("files/read")) << what;
    }
}

TEST_F(Synced, TakesAllOrNone) {
    Registry::Options options;
    options.max_tools = 3;
    Registry small(options);
    ASSERT_TRUE(small.sync("files", tools_of({"files/a", "files/b"})));
    EXPECT_EQ(why_refused(small.sync("files", tools_of({"files/c", "files/a b"}))), "bad_name");
    EXPECT_EQ(why_refused(small.sync("files", tools_of({"files/c", "files/c"}))), "duplicate_name");
    EXPECT_EQ(why_refused(small.sync("files", tools_of({"files/c", "disk/c"}))), "wrong_server");
    EXPECT_EQ(why_refused(small.sync("files", tools_of({"c"}))), "wrong_server");
    EXPECT_EQ(why_refused(small.sync("files", tools_of({"files/1", "files/2", "files/3", "files/4"}))),
              "too_many");
    EXPECT_EQ(why_refused(small.sync("files", tools_of({"files/c", "files/\u0441"}))), "look_alike");
    EXPECT_EQ(why_refused(small.sync("", {})), "bad_name");
    EXPECT_EQ(why_refused(small.sync("files/a", {})), "bad_name");
    EXPECT_EQ(why_refused(small.sync("a__b", {})), "bad_name");
    EXPECT_THAT(all_names(small), ElementsAre("files/a", "files/b"));
    EXPECT_EQ(small.revision(), 1u);
    EXPECT_EQ(small.canonical_name("c"), std::nullopt);
    EXPECT_TRUE(small.sync("files", tools_of({"files/1", "files/2", "files/3"})))
        << "the places of those that go are free";
}

TEST_F(Synced, AToolThatComesBackFindsItsNameAndNobodyElseGetsIt) {
    sync(tools_of({"files/read"}));
    EXPECT_EQ(registry.canonical_name("read"), "files/read");
    sync({});
    EXPECT_EQ(registry.canonical_name("read"), std::nullopt);
    ASSERT_TRUE(registry.sync("disk", tools_of({"disk/read"})));
    EXPECT_EQ(registry.canonical_name("read"), std::nullopt);
    ASSERT_TRUE(registry.sync("disk", {}));
    sync(tools_of({"files/read"}));
    EXPECT_EQ(registry.canonical_name("read"), "files/read");
}

TEST_F(Synced, AServerHealsNoToolByChangingIt) {
    sync(tools_of({"files/read", "files/write", "files/list"}));
    wear_down("files/read");
    registry.quarantine("files/write", "changed");
    registry.silence("files/list");
    std::vector<Tool> next = tools_of({"files/read", "files/write", "files/list"});
    for (Tool& tool : next) tool.definition.description = "As good as new.";
    sync(std::move(next));
    EXPECT_EQ(result.replaced.size(), 3u);
    expect_worn_down("files/read");
    EXPECT_EQ(live("files/write").quarantine_reason(), "changed");
    EXPECT_TRUE(registry.get("files/write")->quarantined);
    EXPECT_TRUE(registry.get("files/list")->silenced);
}

TEST_F(Synced, AServerHealsNoToolByTakingItAwayHoweverItGoesAndComes) {
    const auto all = [] { return tools_of({"files/read", "files/write"}); };
    sync(all());
    wear_down("files/read");
    registry.quarantine("files/write", "changed");
    const std::vector<std::pair<const char*, std::function<void()>>> ways{
        {"sync", [&] { sync({}); }},
        {"remove",
         [&] {
             registry.remove("files/read");
             registry.remove("files/write");
         }},
        {"remove_server", [&] { registry.remove_server("files"); }},
        {"clear", [&] { registry.clear(); }},
    };
    for (const auto& [how, take_away] : ways) {
        take_away();
        EXPECT_EQ(registry.size(), 0u) << how;
        sync(all());
        EXPECT_TRUE(registry.get("files/write")->quarantined) << how;
        EXPECT_FALSE(live("files/read").breaker_shut()) << how;
    }
    sync({});
    ASSERT_TRUE(registry.add_all(all()));
    EXPECT_TRUE(registry.get("files/write")->quarantined) << "added by the host";
    expect_worn_down("files/read");
    registry.release("files/write");
    sync({});
    sync(all());
    EXPECT_FALSE(registry.get("files/write")->quarantined) << "the host released it";
}

TEST_F(Synced, ACallThatEndsWhileItsToolIsGoneStillCounts) {
    sync(tools_of({"files/read"}));
    const auto call = registry.find("files/read");
    sync({});
    for (int i = 0; i < 10; ++i) call->live().failed("no answer", true, clock.monotonic_now());
    sync(tools_of({"files/read"}));
    EXPECT_FALSE(live("files/read").breaker_shut());
}

TEST_F(Synced, WhereTooMuchWouldHaveToBeRememberedNewcomersAreReviewed) {
    Registry::Options options;
    options.max_remembered_tools = 8;
    Registry small(options);
    ASSERT_TRUE(small.sync("files", tools_of({"files/a", "files/b", "files/c"})));
    for (const char* name : {"files/a", "files/b", "files/c"}) small.quarantine(name, "changed");
    ASSERT_TRUE(small.sync("files", {}));
    ASSERT_TRUE(small.sync("files", tools_of({"files/a", "files/b", "files/c", "files/d"})));
    for (const char* name : {"files/a", "files/b", "files/c", "files/d"})
        EXPECT_TRUE(small.get(name)->quarantined) << name;
    EXPECT_THAT(small.find("files/c")->live().quarantine_reason(), testing::HasSubstr("Review it"));
    ASSERT_TRUE(small.sync("disk", tools_of({"disk/a"})));
    EXPECT_FALSE(small.get("disk/a")->quarantined);
    EXPECT_TRUE(small.release("files/d"));
    EXPECT_FALSE(small.get("files/d")->quarantined);
}

TEST_F(Synced, AContractChangesAndTheBodyStays) {
    ASSERT_TRUE(registry.add(echo_tool("t").scopes({"a"})));
    const auto call = registry.find("t");
    wear_down("t");
    registry.quarantine("t", "changed");
    Contract contract;
    contract.risk = Risk::high;
    ASSERT_TRUE(registry.change_contract("t", contract));
    EXPECT_EQ(registry.find("t")->body(), call->body());
    EXPECT_EQ(registry.find("t")->risk("call"), Risk::high);
    EXPECT_TRUE(registry.get("t")->contract.scopes.all().empty());
    EXPECT_EQ(call->risk("call"), Risk::low) << "a call under way keeps the contract it began with";
    EXPECT_TRUE(registry.get("t")->quarantined);
    expect_worn_down("t");
    EXPECT_EQ(registry.revision(), 2u);
    EXPECT_THAT(last.replaced, ElementsAre("t"));
}

TEST_F(Synced, AContractIsEditedFromWhatItIs) {
    ASSERT_TRUE(registry.add(echo_tool("t").scopes({"a"})));
    ASSERT_TRUE(registry.change_contract("t", [](Contract& its) {
        EXPECT_EQ(its.risk, std::nullopt) << "nobody said it";
        its.timeout = std::chrono::seconds(1);
    }));
    EXPECT_THAT(registry.get("t")->contract.scopes.all(), ElementsAre("a"));
    EXPECT_EQ(registry.get("t")->contract.timeout, std::chrono::seconds(1));
    EXPECT_TRUE(registry.get("t")->undeclared);
    ASSERT_TRUE(registry.change_contract("t", [](Contract& its) { its.risk = Risk::low; }));
    EXPECT_FALSE(registry.get("t")->undeclared);
    notices = 0;
    ASSERT_TRUE(registry.change_contract("t", [](Contract&) {}));
    EXPECT_EQ(notices, 0);
    EXPECT_EQ(registry.revision(), 3u);
}

TEST_F(Synced, AContractIsCheckedAsAtRegistration) {
    ASSERT_TRUE(registry.add(echo_tool("t")));
    const auto before = registry.find("t");
    Contract contract;
    contract.timeout = std::chrono::hours(2);
    EXPECT_EQ(why_refused(registry.change_contract("t", contract)), "bad_contract");
    EXPECT_EQ(why_refused(registry.change_contract("x", Contract())), "unknown_tool");
    EXPECT_EQ(registry.change_contract("x", Contract()).error().code, ErrorCode::not_found);
    EXPECT_EQ(registry.find("t"), before);
    EXPECT_EQ(registry.revision(), 1u);
}

TEST_F(Synced, AnotherBreakerAndBudgetCountFromNowOn) {
    ASSERT_TRUE(registry.add(echo_tool("t")));
    const auto call = registry.find("t");
    ASSERT_TRUE(registry.change_contract("t", [](Contract& its) { its.breaker.failures = 2; }));
    call->live().failed("no answer", true, clock.monotonic_now());
    EXPECT_TRUE(live("t").breaker_shut());
    call->live().failed("no answer", true, clock.monotonic_now());
    EXPECT_FALSE(live("t").breaker_shut()) << "calls of both contracts count";
    ASSERT_TRUE(registry.change_contract("t", [](Contract& its) {
        its.breaker.failures = 20;
        its.retry.budget = 1;
    }));
    EXPECT_FALSE(live("t").breaker_shut());
    while (live("t").take_retry()) {
    }
    live("t").count_first_attempt();
    EXPECT_TRUE(live("t").take_retry());
    ASSERT_TRUE(registry.change_contract("t", [](Contract& its) { its.breaker.failures = 0; }));
    EXPECT_TRUE(live("t").breaker_shut()) << "switched off";
}

TEST_F(Synced, AnEditMayItselfChangeTheRegistry) {
    ASSERT_TRUE(registry.add(echo_tool("t")));
    int edits = 0;
    ASSERT_TRUE(registry.change_contract("t", [&](Contract& its) {
        if (++edits == 1) {
            ASSERT_TRUE(registry.add(echo_tool("t").scopes({"new"}), IfPresent::replace));
        }
        its.risk = Risk::high;
    }));
    EXPECT_EQ(edits, 2);
    EXPECT_THAT(registry.get("t")->contract.scopes.all(), ElementsAre("new"));
    EXPECT_EQ(registry.find("t")->risk("call"), Risk::high);
}

RC_GTEST_PROP(RegistrySync, AfterAnySyncsTheListIsTheLastOneAndNothingHasHealed, ()) {
    struct Known {
        bool quarantined = false;
        std::uint32_t errors = 0;
    };
    const base::ManualClock clock;
    Registry registry;
    std::map<std::string, Known> known;  // of every tool that ever was
    const auto lists = *rc::gen::container<std::vector<std::vector<std::pair<int, int>>>>(
        rc::gen::container<std::vector<std::pair<int, int>>>(
            rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::inRange(0, 3))));
    for (const auto& given : lists) {
        const std::map<int, int> list(given.begin(), given.end());
        std::vector<Tool> tools;
        std::vector<std::string> expected;
        const auto revision = registry.revision();
        for (const auto& [which, version] : list) {
            expected.push_back("s/" + std::to_string(which));
            tools.push_back(echo_tool(expected.back()).version(std::to_string(version)));
        }
        const auto synced = registry.sync("s", std::move(tools));
        RC_ASSERT(synced.has_value());
        RC_ASSERT(all_names(registry) == expected);
        RC_ASSERT(synced->added.size() + synced->replaced.size() + synced->unchanged.size() == list.size());
        const bool changed = synced->unchanged.size() != list.size() || !synced->removed.empty();
        RC_ASSERT(registry.revision() == revision + (changed ? 1 : 0));
        for (const auto& [which, version] : list) {
            const std::string name = "s/" + std::to_string(which);
            const auto entry = registry.find(name);
            RC_ASSERT(entry->tool().version() == std::to_string(version));
            RC_ASSERT(registry.canonical_name(std::to_string(which)) == name);
            Known& its = known[name];
            RC_ASSERT(entry->live().quarantined() == its.quarantined);
            RC_ASSERT(entry->live().health().consecutive_errors == its.errors);
            switch (*rc::gen::inRange(0, 4)) {
                case 0:
                    registry.quarantine(name, "changed");
                    its.quarantined = true;
                    break;
                case 1:
                    registry.release(name);
                    its.quarantined = false;
                    break;
                case 2:
                    entry->live().failed("no answer", true, clock.monotonic_now());
                    ++its.errors;
                    break;
                default: break;
            }
        }
    }
}

}  // namespace
}  // namespace callgate
