// Defaults of a native tool's schema: who sees them, and keys that were recorded before they were filled in.
#include <gtest/gtest.h>

#include "base/guard.h"
#include "os/scratch_dir.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

/// What earlier versions did: defaults are shown to the model, and not filled in.
struct AsBeforeDefaults {
    AsBeforeDefaults() {
        base::guards_off() = std::uint64_t{1} << static_cast<unsigned>(base::Guard::defaults_filled_in);
    }
    ~AsBeforeDefaults() { base::guards_off() = 0; }
    AsBeforeDefaults(const AsBeforeDefaults&) = delete;
    AsBeforeDefaults& operator=(const AsBeforeDefaults&) = delete;
};

Value parsed(std::string_view text) {
    return *json::parse(text);
}

const std::string_view kTen = R"({"type":"object","properties":{"to":{},"n":{"default":10}}})";
const std::string_view kSchema = R"({"type":"object","required":["to","unit"],"properties":{
    "to":{"type":"string"},"amount":{"type":"integer","default":10},"unit":{"type":"string","default":"EUR"},
    "options":{"type":"object","additionalProperties":false,
               "properties":{"fast":{"type":"boolean","default":false}}}}})";

/// Answers with its arguments, and counts.
Tool paying(int* entered = nullptr, std::string_view schema = kSchema) {
    return schema_tool(ToolDefinition("pay", "", parsed(schema)),
                       [entered](const Object& arguments, CallContext&) -> ToolReturn {
                           if (entered != nullptr) ++*entered;
                           return ToolResult(Value(arguments));
                       })
        .run_inline();
}

Context under(std::string key) {
    Context context;
    context.idempotency_key = std::move(key);
    return context;
}

TEST_WITH_EITHER_LEDGER(SchemaDefaults, AreSeenByTheToolHoweverTheArgumentsCome) {
    TestRuntime node;
    node->tools().add_or_throw(paying());
    const Value kFilled = parsed(R"({"to":"ada","options":{"fast":false},"amount":10,"unit":"EUR"})");
    EXPECT_EQ(node->call("pay", R"({"to":"ada","options":{}})").content(), kFilled);
    EXPECT_EQ(node->call("pay", {{"to", "ada"}, {"options", Object()}}).content(), kFilled);
    EXPECT_EQ(node->call("pay", {{"to", "ada"}, {"options", "{}"}}).content(), kFilled)
        << "what was brought into shape, too";
    EXPECT_EQ(node->call("pay", R"({"to":"ada","unit":"USD"})").content(),
              parsed(R"({"to":"ada","unit":"USD","amount":10})"));
    EXPECT_EQ(node->explain({"pay", {{"to", "ada"}}}).arguments.at("unit"), "EUR");
    EXPECT_EQ(node->call("pay", R"({"to":"ada"})").arguments().at("amount"), 10);
}

TEST_WITH_EITHER_LEDGER(SchemaDefaults, HaveToFitTheSchema) {
    TestRuntime node;
    node->tools().add_or_throw(paying(
        nullptr,
        R"({"type":"object","properties":{"to":{"properties":{"n":{"type":"integer","default":"ten"}}}}})"));
    for (const Outcome& refused :
         {node->call("pay", R"({"to":{}})"), node->call("pay", {{"to", Object()}})}) {
        EXPECT_EQ(refused.state(), State::invalid);
        EXPECT_NE(refused.error()->message.find("n"), std::string::npos);
    }
    EXPECT_TRUE(node->call("pay", R"({"to":{"n":1}})").ok());
}

TEST(SchemaDefaults, KeepTheArgumentsWithinTheirLimits) {
    RuntimeOptions options;
    options.argument_limits.max_nodes = 100;
    TestRuntime node(options);
    node->tools().add_or_throw(
        paying(nullptr, R"({"type":"object","properties":{"rows":{"type":"array","items":
        {"type":"object","properties":{"a":{"default":1},"b":{"default":2},"c":{"default":3}}}}}})"));
    EXPECT_TRUE(node->call("pay", R"({"rows":[{},{}]})").ok());
    std::string many = R"({"rows":[{})";
    for (int i = 0; i < 50; ++i) many += ",{}";
    many += "]}";
    EXPECT_EQ(node->call("pay", many).error()->details.at("reason"), "too_large");
    EXPECT_EQ(node->call("pay", parsed(many)).error()->details.at("reason"), "too_large");
}

TEST(SchemaDefaults, OfToolsThatAreNotNativeAreTheirOtherSides) {
    TestRuntime node;
    Tool remote = paying(nullptr, R"({"type":"object","properties":{"n":{"default":1}}})");
    remote.contract.provider = ProviderType::http;
    remote.risk(Risk::low);
    node->tools().add_or_throw(std::move(remote));
    EXPECT_EQ(node->call("pay", "{}").content(), Value(Object()));
}

TEST_WITH_EITHER_LEDGER(SchemaDefaults, AreWhatRulesAndPeopleDecideAbout) {
    TestRuntime node;
    node->tools().add_or_throw(paying());
    PolicyConfig config;
    config.rules.emplace_back("euros", Rule::Do::confirm).arguments =
        parsed(R"({"properties":{"unit":{"const":"EUR"}},"required":["unit"]})");
    ASSERT_TRUE(node->policy().set(config));
    const Outcome asked = node->call("pay", R"({"to":"ada"})");
    ASSERT_EQ(asked.state(), State::needs_approval) << "the rule sees the default";
    EXPECT_EQ(node->approvals().get(asked.approval_id())->arguments.at("unit"), "EUR");
    EXPECT_TRUE(node->call("pay", R"({"to":"ada","unit":"USD"})").ok());
    const Outcome same = node->call("pay", R"({"unit":"EUR","to":"ada","amount":10})");
    EXPECT_EQ(same.approval_id(), asked.approval_id()) << "the same call, said in full";
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "olga"));
    EXPECT_EQ(node->resume(asked.call_id()).content().at("amount"), 10);
}

TEST_WITH_EITHER_LEDGER(SchemaDefaults, AreSaidOrLeftOutUnderOneKey) {
    TestRuntime node;
    int entered = 0;
    node->tools().add_or_throw(paying(&entered));
    EXPECT_TRUE(node->call("pay", R"({"to":"ada"})", under("k")).ok());
    EXPECT_EQ(node->call("pay", R"({"to":"ada"})", under("k")).state(), State::replayed);
    EXPECT_EQ(node->call("pay", R"({"to":"ada","amount":10,"unit":"EUR"})", under("k")).state(),
              State::replayed);
    EXPECT_EQ(node->call("pay", R"({"to":"ada","amount":11})", under("k")).error()->code,
              ErrorCode::key_reused);
    EXPECT_EQ(entered, 1);
}

// Keys that were recorded before defaults were filled in.

TEST_WITH_EITHER_LEDGER(KeysWithoutDefaults, AreAnsweredFromTheRecord) {
    TestRuntime node;
    int entered = 0;
    node->tools().add_or_throw(paying(&entered, kTen));
    {
        const AsBeforeDefaults earlier;
        EXPECT_EQ(node->call("pay", R"({"to":"ada"})", under("k")).content(), parsed(R"({"to":"ada"})"));
        EXPECT_TRUE(node->call("pay", R"({"to":"ada","n":10})", under("full")).ok());
        EXPECT_TRUE(
            node->call_batch({{"pay", {{"to", "ada"}}}, {"pay", {{"to", "bob"}}}}, under("b"))[1].ok());
        EXPECT_TRUE(node->call("pay", {{"to", "eve"}}, under("one")).ok());
    }
    EXPECT_EQ(node->call("pay", R"({"to":"ada"})", under("k")).content(), parsed(R"({"to":"ada"})"));
    EXPECT_EQ(node->call("pay", R"({"to":"ada"})", under("k")).state(), State::replayed) << "and again";
    EXPECT_EQ(node->call("pay", {{"to", "ada"}}, under("k")).state(), State::replayed);
    EXPECT_EQ(node->call("pay", R"({"to":"ada","n":10})", under("full")).state(), State::replayed);
    EXPECT_EQ(node->call("pay", R"({"to":"ada"})", under("full")).state(), State::replayed);
    EXPECT_EQ(node->call_batch({{"pay", {{"to", "ada"}}}, {"pay", {{"to", "bob"}}}}, under("b"))[1].state(),
              State::replayed);
    EXPECT_EQ(node->call_batch({{"pay", {{"to", "eve"}}}}, under("one"))[0].state(), State::replayed)
        << "a batch of one under the plain key";
    EXPECT_EQ(entered, 5);
    EXPECT_EQ(node->call("pay", R"({"to":"bob"})", under("k")).error()->code, ErrorCode::key_reused);
    EXPECT_EQ(node->call("pay", R"({"to":"ada","n":11})", under("k")).error()->code, ErrorCode::key_reused);
    EXPECT_EQ(entered, 5);
}

TEST_WITH_EITHER_LEDGER(KeysWithoutDefaults, ThatAreFreeAreTakenWithThem) {
    TestRuntime node;
    node->tools().add_or_throw(paying());
    EXPECT_EQ(node->call("pay", R"({"to":"ada"})", under("k")).state(), State::succeeded);
    const AsBeforeDefaults earlier;
    EXPECT_EQ(node->call("pay", R"({"to":"ada","amount":10,"unit":"EUR"})", under("k")).state(),
              State::replayed)
        << "on record are the arguments as the tool saw them";
}

TEST_WITH_EITHER_LEDGER(KeysWithoutDefaults, ThatAreUnderWayAreWaitedFor) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    node->tools().add_or_throw(Tool(ToolDefinition("pay", "", parsed(kTen)), body));
    Ended first;
    {
        const AsBeforeDefaults earlier;
        first = node.start("pay", "{}", under("k"));
    }
    const Ended second = node.start("pay", "{}", under("k"));
    EXPECT_FALSE(second->has_value());
    body->take()->finish(tl::unexpected(ToolFailure::not_applied("not today")));
    node.calm();
    ASSERT_EQ(body->waiting(), 1u) << "the key was free again";
    body->take()->finish(ToolResult(Value(7)));
    node.calm();
    EXPECT_EQ((*second)->text(), "7");
    EXPECT_EQ(node->call("pay", R"({"n":10})", under("k")).state(), State::replayed);
}

TEST_WITH_EITHER_LEDGER(KeysWithoutDefaults, OfAnActionWhoseHookAddsArguments) {
    TestRuntime node;
    int entered = 0;
    ActionHooks hooks;
    hooks.after_validate = [](Object arguments) -> Result<Object> {
        arguments["by"] = "hook";
        return arguments;
    };
    node->tools().add_or_throw(action_tool(
        ToolDefinition("pay", "", parsed(kTen)),
        [&](const Object&, CallContext&) -> ToolReturn {
            ++entered;
            return ToolResult();
        },
        std::move(hooks)));
    {
        const AsBeforeDefaults earlier;
        EXPECT_TRUE(node->call("pay", "{}", under("k")).ok());
    }
    EXPECT_EQ(node->call("pay", "{}", under("k")).state(), State::replayed);
    EXPECT_EQ(entered, 1);
}

TEST(KeysWithoutDefaults, InALedgerOnDiskAreAnsweredFromTheRecord) {
    const os::ScratchDir scratch(os::quick_directory());
    RuntimeOptions options;
    options.ledger_dir = scratch.file("ledger");
    int entered = 0;
    const auto call = [&](std::string_view text, Context context) {
        Runtime runtime(options);
        runtime.tools().add_or_throw(paying(&entered, kTen));
        return runtime.call("pay", text, std::move(context));
    };
    {
        const AsBeforeDefaults earlier;
        EXPECT_TRUE(call(R"({"to":"ada"})", under("k")).ok());
    }
    EXPECT_EQ(call(R"({"to":"ada"})", under("k")).state(), State::replayed);
    EXPECT_EQ(call(R"({"to":"bob"})", under("k")).error()->code, ErrorCode::key_reused);
    EXPECT_EQ(entered, 1);
}

// Results as values, from the record.

TEST(TypedOutcome, OfAReplayIsTheSameValueExactly) {
    const os::ScratchDir scratch(os::quick_directory());
    RuntimeOptions options;
    options.ledger_dir = scratch.file("ledger");
    using Numbers = std::tuple<std::int64_t, std::uint64_t, double, double, std::string>;
    const Numbers kNumbers{INT64_MIN, UINT64_MAX, 0.1, 5.0, "text"};
    for (const State state : {State::succeeded, State::replayed}) {
        Runtime runtime(options);
        runtime.tools().add_or_throw(tool("numbers", "", [&] { return kNumbers; }));
        const Outcome outcome = runtime.call("numbers", {}, under("k"));
        EXPECT_EQ(outcome.state(), state);
        const auto read = outcome.as<Numbers>();
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read, kNumbers);
        using Exact = std::vector<std::variant<std::int64_t, std::uint64_t, double, std::string>>;
        EXPECT_EQ(outcome.as<Exact>()->at(3).index(), 2u) << "5.0 stays a fraction";
    }
}

TEST(TypedOutcome, OfARefusalIsItsError) {
    TestRuntime node;
    EXPECT_EQ(node->call("nobody").as<int>().error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace callgate::pipeline
