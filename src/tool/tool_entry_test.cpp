#include "tool/tool_entry.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tool/tool_testing.h"

namespace callgate {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<const ToolEntry> made(Tool tool) {
    return ToolEntry::make(std::move(tool)).value();
}

// The reason and the place of the refusal; "" if the tool was taken.
std::string refusal(Tool tool) {
    const auto entry = ToolEntry::make(std::move(tool));
    if (entry) return "";
    EXPECT_EQ(entry.error().code, ErrorCode::config_error);
    const Object& details = entry.error().details;
    std::string text(details.at("reason").as_string());
    if (const Value* place = details.if_contains("place")) text += " " + std::string(place->as_string());
    return text;
}

template <class Change>
std::string refusal_of_contract(Change change) {
    Tool tool = echo_tool("t");
    change(tool.contract);
    return refusal(std::move(tool));
}

schema::Verdict judged(const ToolEntry& entry, std::string_view arguments) {
    schema::Scratch scratch;
    return entry.input().check(json_of(arguments), scratch);
}

constexpr std::string_view kOneParameter = R"({"type":"object","properties":{"a":{"type":"integer"}}})";

TEST(Registration, KeepsDefinitionContractAndBody) {
    const auto entry = made(echo_tool("echo", kOneParameter).scopes({"x"}).timeout(5s));
    EXPECT_EQ(entry->name(), "echo");
    EXPECT_EQ(entry->definition().description, "Says what it is told.");
    EXPECT_EQ(entry->contract().timeout, 5s);
    EXPECT_NE(entry->body(), nullptr);
    EXPECT_EQ(entry->output(), nullptr);
    EXPECT_EQ(entry->kind(), ToolKind::function);
}

TEST(Registration, TakesAToolWithNothingToRun) {
    EXPECT_EQ(made(schema_tool(ToolDefinition("t", "", Object{}), nullptr))->body(), nullptr);
}

TEST(Registration, WhatMcpHasBesideIsPartOfWhatAToolIs) {
    Tool plain = echo_tool("echo");
    Tool with_more = plain;
    with_more.definition.extra = {{"_meta", {{"v", 1}}}};
    EXPECT_EQ(made(with_more)->definition().extra, (Object{{"_meta", {{"v", 1}}}}));
    EXPECT_NE(made(with_more)->definition_hash(), made(plain)->definition_hash());
    Value deep = 1;
    for (int i = 0; i < 200; ++i) deep = Array{std::move(deep)};
    with_more.definition.extra = {{"_meta", std::move(deep)}};
    EXPECT_EQ(refusal(with_more), "too_large");
    with_more.definition.extra = {{"_meta", std::string(2u << 20, 'x')}};
    EXPECT_EQ(refusal(with_more), "too_large");
    with_more.definition.extra = {{"_meta", std::numeric_limits<double>::quiet_NaN()}};
    EXPECT_EQ(refusal(with_more), "not_finite /extra/_meta");
    with_more.definition.extra = {{"_meta", {{"password", "hunter2-and-some-more"}}}};
    EXPECT_EQ(refusal(with_more), "inline_credential _meta/password");
}

TEST(Registration, RefusesABadNameAndShowsItSafely) {
    const auto entry = ToolEntry::make(echo_tool("a\x1B[2J"));
    ASSERT_FALSE(entry);
    EXPECT_EQ(entry.error().details.at("reason"), "bad_name");
    EXPECT_EQ(entry.error().message.find('\x1B'), std::string::npos);
    EXPECT_EQ(refusal(echo_tool("")), "bad_name");
    EXPECT_EQ(refusal(echo_tool("a b")), "bad_name");
    Registry::Options options;
    options.max_name_bytes = 3;
    EXPECT_FALSE(ToolEntry::make(echo_tool("four"), options));
    EXPECT_TRUE(ToolEntry::make(echo_tool("abc"), options));
}

TEST(Registration, UnknownArgumentsAreRejectedUnlessTheContractIsOpen) {
    EXPECT_EQ(judged(*made(echo_tool("t", kOneParameter)), R"({"a":1})"), schema::Verdict::valid);
    EXPECT_EQ(judged(*made(echo_tool("t", kOneParameter)), R"({"a":1,"b":2})"), schema::Verdict::invalid);
    EXPECT_EQ(judged(*made(echo_tool("t", kOneParameter).open_arguments()), R"({"a":1,"b":2})"),
              schema::Verdict::valid);
}

TEST(Registration, UnknownMembersOfResultsAreJudgedByTheSchemaAlone) {
    const auto entry = made(echo_tool("t").output(json_of(kOneParameter)));
    schema::Scratch scratch;
    ASSERT_NE(entry->output(), nullptr);
    EXPECT_EQ(entry->output()->check(json_of(R"({"a":1,"b":2})"), scratch), schema::Verdict::valid);
    EXPECT_EQ(entry->output()->check(json_of(R"({"a":"x"})"), scratch), schema::Verdict::invalid);
}

TEST(Registration, ArgumentsAreAlwaysAnObject) {
    for (const char* schema : {R"({"type":"object"})", R"({"type":["object"]})", "{}"})
        EXPECT_EQ(refusal(echo_tool("t", schema)), "") << schema;
    for (const char* schema : {R"({"type":"array"})", R"({"type":["object","null"]})"})
        EXPECT_EQ(refusal(echo_tool("t", schema)), "bad_schema input_schema/type") << schema;
    for (const char* schema : {"true", "null", "[]"})
        EXPECT_EQ(refusal(echo_tool("t", schema)), "bad_schema input_schema") << schema;
}

TEST(Registration, RefusesASchemaThatCannotBeCompiledAndSaysWhichAndWhy) {
    const auto entry = ToolEntry::make(echo_tool("t", R"({"properties":{"a":{"type":"intger"}}})"));
    ASSERT_FALSE(entry);
    EXPECT_EQ(entry.error().details.at("reason"), "bad_schema");
    EXPECT_EQ(entry.error().details.at("place"), "input_schema");
    EXPECT_TRUE(entry.error().details.contains("schema_reason"));
    EXPECT_NE(entry.error().message.find("input schema"), std::string::npos);
    EXPECT_EQ(refusal(echo_tool("t").output(json_of(R"({"$ref":"#/$defs/none"})"))),
              "bad_schema output_schema");
}

TEST(Registration, RefusesWhatIsNestedTooDeepOrTooLarge) {
    Value deep = 1;
    for (int i = 0; i < 2'000; ++i) deep = Array{std::move(deep)};
    Tool tool = echo_tool("t");
    tool.definition.annotations = {{"deep", deep}};
    EXPECT_EQ(refusal(tool), "too_large");
    tool = echo_tool("t");
    tool.definition.input_schema = Object{{"default", std::move(deep)}};
    EXPECT_EQ(refusal(tool), "too_large");
    tool = echo_tool("t");
    tool.definition.description.assign(2u << 20, 'x');
    EXPECT_EQ(refusal(tool), "too_large");
}

TEST(Registration, RefusesTextThatIsNotUtf8) {
    Tool tool = echo_tool("t");
    tool.definition.description = "\xFF";
    EXPECT_EQ(refusal(tool), "bad_text");
}

TEST(Registration, RiskIsLowForNativeToolsAndHighForAllOthers) {
    Tool tool = echo_tool("t");
    EXPECT_EQ(made(tool)->risk("call"), Risk::low);
    for (const ProviderType provider : {ProviderType::process, ProviderType::http, ProviderType::mcp}) {
        tool.contract.provider = provider;
        EXPECT_EQ(made(tool)->risk("call"), Risk::high);
        EXPECT_EQ(made(tool)->describe().contract.risk, Risk::high);
    }
    EXPECT_EQ(made(tool.risk(Risk::medium))->risk("call"), Risk::medium);
}

TEST(Registration, RiskAndEffectOfAnActionBeatTheToolsOwn) {
    Tool tool = echo_tool("t").risk(Risk::medium).risk("delete", Risk::critical);
    tool.contract.effect_map["list"] = EffectClass::read;
    const auto entry = made(tool);
    EXPECT_EQ(entry->risk("delete"), Risk::critical);
    EXPECT_EQ(entry->risk("call"), Risk::medium);
    EXPECT_EQ(entry->effect("list"), EffectClass::read);
    EXPECT_EQ(entry->effect("call"), EffectClass::unsafe);
}

TEST(Registration, TheConnectorIsNamedLikeTheToolUnlessTheContractSaysOtherwise) {
    EXPECT_EQ(made(echo_tool("t"))->contract().connector_id, "t");
    EXPECT_EQ(made(echo_tool("t").connector("mail"))->contract().connector_id, "mail");
}

TEST(Registration, AnyActionIsPassedOnToABodyThatListsNone) {
    const auto entry = made(echo_tool("t"));
    EXPECT_TRUE(entry->knows_action("call"));
    EXPECT_TRUE(entry->knows_action("anything"));
    EXPECT_TRUE(entry->actions().empty());
}

Tool adapter(std::vector<std::string> names) {
    std::vector<AdapterAction> actions;
    for (std::string& name : names)
        actions.emplace_back(std::move(name),
                             [](const Object&, CallContext&) -> ToolReturn { return ToolResult(); });
    return adapter_tool(ToolDefinition("t", "", Object{}), std::move(actions));
}

TEST(Registration, ActionsAreKnownByExactName) {
    const auto entry = made(adapter({"send", "list"}));
    EXPECT_TRUE(entry->knows_action("send"));
    EXPECT_FALSE(entry->knows_action("call"));
    EXPECT_FALSE(entry->knows_action("Send"));
}

TEST(Registration, RefusesActionsThatAreDoubledOrUnnamed) {
    EXPECT_EQ(refusal(adapter({"a", "b", "a"})), "bad_contract");
    EXPECT_EQ(refusal(adapter({""})), "bad_contract");
    EXPECT_EQ(refusal(adapter({"a b"})), "bad_contract");
}

TEST(Registration, MapsByActionMayOnlyNameActionsOfTheTool) {
    EXPECT_EQ(refusal(adapter({"send"}).risk("send", Risk::high)), "");
    EXPECT_EQ(refusal(adapter({"send"}).risk("sned", Risk::high)), "bad_contract contract.risk_map");
    Tool tool = adapter({"send"});
    tool.contract.effect_map["call"] = EffectClass::read;
    EXPECT_EQ(refusal(tool), "bad_contract contract.effect_map");
    tool = adapter({"send"});
    tool.contract.action_scopes["call"].add("x");
    EXPECT_EQ(refusal(tool), "bad_contract contract.action_scopes");
}

TEST(Registration, MissingScopeIsTheFirstThatIsNotGranted) {
    Tool tool = echo_tool("t").scopes({"b", "a"});
    tool.contract.action_scopes["delete"] = {"c"};
    const auto entry = made(tool);
    EXPECT_EQ(*entry->missing_scope({}, "call"), "a");
    EXPECT_EQ(*entry->missing_scope({"a"}, "call"), "b");
    EXPECT_EQ(entry->missing_scope({"a", "b"}, "call"), nullptr);
    EXPECT_EQ(*entry->missing_scope({"a", "b"}, "delete"), "c");
    EXPECT_EQ(entry->missing_scope({"a", "b", "c", "d"}, "delete"), nullptr);
}

class NeedsScope final : public ToolBody {
public:
    ScopeSet scopes_required(std::string_view) const override { return {"disk"}; }
};

TEST(Registration, TheContractsScopesIncludeWhatTheBodyRequires) {
    const Tool tool(ToolDefinition("t", "", Object{}), std::make_shared<NeedsScope>());
    EXPECT_EQ(made(Tool(tool).scopes({"net"}))->contract().scopes, (ScopeSet{"disk", "net"}));
}

TEST(Registration, AToolIsInScopeWhenOneOfItsActionsIs) {
    Tool tool = adapter({"list", "send"});
    tool.contract.scopes = {"mail"};
    tool.contract.action_scopes["send"] = {"mail:send"};
    tool.contract.action_scopes["list"] = {"mail:list"};
    const auto entry = made(tool);
    EXPECT_FALSE(entry->in_scope({}));
    EXPECT_FALSE(entry->in_scope({"mail"}));
    EXPECT_FALSE(entry->in_scope({"mail:list"}));
    EXPECT_TRUE(entry->in_scope({"mail", "mail:list"}));
}

TEST(Registration, PlacesInTheArgumentsAreJsonPointers) {
    Tool tool = echo_tool("t").target("/to").resource_key("/a/0");
    tool.contract.blast_radius = "/ids";
    const auto entry = made(tool);
    EXPECT_EQ(entry->target()->to_string(), "/to");
    EXPECT_EQ(entry->resource_key()->to_string(), "/a/0");
    EXPECT_EQ(entry->blast_radius()->to_string(), "/ids");
    EXPECT_EQ(made(echo_tool("t"))->target(), std::nullopt);
    EXPECT_EQ(refusal(echo_tool("t").target("to")), "bad_contract contract.target");
    EXPECT_EQ(refusal(echo_tool("t").resource_key("/~2")), "bad_contract contract.resource_key");
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.blast_radius = "ids"; }),
              "bad_contract contract.blast_radius");
}

TEST(Registration, TimeoutsArePositiveAndAtMostAnHour) {
    EXPECT_EQ(refusal(echo_tool("t").timeout(1ms)), "");
    EXPECT_EQ(refusal(echo_tool("t").timeout(1h)), "");
    EXPECT_EQ(refusal(echo_tool("t").timeout(0ms)), "bad_contract contract.timeout");
    EXPECT_EQ(refusal(echo_tool("t").timeout(-1ms)), "bad_contract contract.timeout");
    EXPECT_EQ(refusal(echo_tool("t").timeout(1h + 1ms)), "bad_contract contract.timeout");
}

TEST(Registration, RetriesAreBounded) {
    EXPECT_EQ(refusal(echo_tool("t").retries(RetryPolicy(10))), "");
    EXPECT_EQ(refusal(echo_tool("t").retries(RetryPolicy(11))), "bad_contract contract.retry");
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.retry.base_delay = -1ms; }),
              "bad_contract contract.retry.base_delay");
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.retry.max_delay = 1ms; }),
              "bad_contract contract.retry.max_delay");
    for (const double budget : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_EQ(refusal_of_contract([&](Contract& c) { c.retry.budget = budget; }),
                  "bad_contract contract.retry.budget");
}

TEST(Registration, BreakerAndLimitsNeedATime) {
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.breaker.rest = 0ms; }),
              "bad_contract contract.breaker.rest");
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.breaker.rest = 0ms, c.breaker.failures = 0; }), "");
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.limits.window = 0ms, c.limits.calls = 1; }),
              "bad_contract contract.limits.window");
}

TEST(Registration, TheVerifyClassNeedsAProbe) {
    const ProbeFunction probe = [](std::string_view, const Object&, CallContext&) {
        return Reconciliation();
    };
    EXPECT_EQ(refusal(echo_tool("t").effect(EffectClass::verify)), "bad_contract contract.effect");
    EXPECT_EQ(refusal(echo_tool("t").effect(EffectClass::verify).probe(probe)), "");
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.effect_map["a"] = EffectClass::verify; }),
              "bad_contract contract.effect");
}

TEST(Registration, CompensationIsBoundedInTime) {
    ActionHooks hooks;
    hooks.compensate = [](const Error&, const Object&, CallContext&) -> Result<void> { return {}; };
    const auto with = [&](std::chrono::milliseconds limit) {
        hooks.compensation_timeout = limit;
        return refusal(action_tool(
            ToolDefinition("t", "", Object{}),
            [](const Object&, CallContext&) -> ToolReturn { return ToolResult(); }, hooks));
    };
    EXPECT_EQ(with(5s), "");
    EXPECT_EQ(with(0ms), "bad_contract contract.compensation_timeout");
}

TEST(Registration, NamesInTheContractCanBeSeen) {
    EXPECT_EQ(refusal(echo_tool("t").scopes({"a b"})), "bad_contract contract.scopes");
    EXPECT_EQ(refusal(echo_tool("t").scopes({""})), "bad_contract contract.scopes");
    EXPECT_EQ(refusal(echo_tool("t").connector("a\n")), "bad_contract contract.connector_id");
    EXPECT_EQ(refusal(echo_tool("t").capability("")), "bad_contract contract.capabilities");
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.server = "\xFF"; }), "bad_contract contract.server");
}

TEST(Registration, AConfigurationIsReferredToAndNotGiven) {
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.config_ref = "db:configs/17"; }), "");
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.config_ref = R"({"host":"mail"})"; }),
              "bad_contract contract.config_ref");
    EXPECT_EQ(refusal_of_contract([](Contract& c) { c.config_ref.assign(2'000, 'x'); }),
              "bad_contract contract.config_ref");
}

TEST(Registration, TheHashChangesWithEveryPartOfTheDefinitionAndNothingElse) {
    const auto hash = [](auto change) {
        Tool tool = echo_tool("t", kOneParameter);
        change(tool);
        return made(tool)->describe().definition_hash;
    };
    const std::string plain = hash([](Tool&) {});
    EXPECT_EQ(plain.size(), 64u);
    EXPECT_EQ(hash([](Tool& t) { t.risk(Risk::high).timeout(1s).run_inline(); }), plain);
    EXPECT_EQ(hash([](Tool& t) {
                  t.definition.input_schema =
                      json_of(R"({"properties":{"a":{"type":"integer"}},"type":"object"})");
              }),
              plain);
    std::vector<std::string> all{
        plain,
        hash([](Tool& t) { t.definition.name = "u"; }),
        hash([](Tool& t) { t.definition.title = "x"; }),
        hash([](Tool& t) { t.definition.description = "x"; }),
        hash([](Tool& t) { t.definition.input_schema = json_of(R"({"type":"object"})"); }),
        hash([](Tool& t) { t.output(Object{}); }),
        hash([](Tool& t) { t.definition.annotations = {{"readOnlyHint", true}}; }),
    };
    std::ranges::sort(all);
    EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

TEST(Registration, DescribesTheToolAsOthersMayReadIt) {
    Tool tool =
        echo_tool("t").preview([](const Object&, CallContext&) -> Result<Preview> { return Preview("x"); });
    const auto entry = made(tool);
    entry->live().quarantine("why");
    entry->live().silenced = true;
    const RegisteredTool seen = entry->describe();
    EXPECT_EQ(seen.definition.name, "t");
    EXPECT_TRUE(seen.supports_preview);
    EXPECT_TRUE(seen.quarantined);
    EXPECT_TRUE(seen.silenced);
    EXPECT_EQ(seen.definition_hash, base::to_hex(entry->definition_hash()));
    EXPECT_FALSE(made(echo_tool("t"))->describe().supports_preview);
}

RC_GTEST_PROP(Registration, EitherTakesANameAsItIsOrRefusesItAsABadName, (std::string name)) {
    const auto entry = ToolEntry::make(echo_tool(name));
    if (entry) {
        RC_ASSERT((*entry)->name() == name);
    } else {
        RC_ASSERT(entry.error().details.at("reason") == "bad_name");
    }
}

}  // namespace
}  // namespace callgate
