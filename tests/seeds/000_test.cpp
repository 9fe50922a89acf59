// S0, corteX ToolExecutor: safe execution with a time limit, wrapped errors and measured latency.
//
// R<n> is row S0-<n> (rows.txt); V<n> and D<n>, U<n> are examples and rules that unite the systems.
#include <callgate/async.h>
#include <callgate/callgate.h>

#include <latch>
#include <map>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "base/utf8.h"
#include "pipeline/runtime_testing.h"
#include "tool/tool_name.h"

namespace callgate {
namespace {

using namespace std::chrono_literals;
using pipeline::deferred;
using pipeline::DeferredBody;
using pipeline::TestRuntime;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Tool add_tool() {
    return tool(
        "add", "Add two numbers", [](std::int64_t a, std::int64_t b) { return a + b; }, param("a"),
        param("b"));
}

// The lines of the log that hold the text, with their level.
std::vector<std::string> lines_with(const TestRuntime& node, std::string_view text) {
    std::vector<std::string> found;
    for (const auto& line : node.recorder->log()) {
        if (line.text.find(text) != std::string::npos) {
            found.push_back(std::string(to_string(line.level)) + " " + line.text);
        }
    }
    return found;
}

std::string error_of(const Outcome& outcome) {
    return std::string(views::s0(outcome).at("error").as_string());
}

TEST(S0, R1_DefaultTimeoutIs30Seconds) {
    EXPECT_EQ(RuntimeOptions().default_timeout, 30s);
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto call = node.start(CallRequest("slow"));
    node.advance(29'999ms);
    EXPECT_FALSE(*call);
    node.advance(1ms);
    ASSERT_TRUE(*call);
    EXPECT_EQ((*call)->error()->code, ErrorCode::timed_out);
}

TEST(S0, R2_AResultHasToolNameSuccessOutputLatencyAndError) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(add_tool()));
    EXPECT_EQ(json::write(views::s0(node->call("add", {{"a", 5}, {"b", 3}}))),
              R"({"tool_name":"add","success":true,"output":"8","latency_ms":0.0,"error":null})");
    const Object failed = views::s0(node->call("nobody"));
    EXPECT_EQ(failed.at("tool_name"), "nobody");
    EXPECT_EQ(failed.at("success"), false);
    EXPECT_TRUE(failed.at("error").is_string());
}

TEST(S0, R3_AFailureHasNoOutputAndASuccessNoError) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(add_tool()));
    ASSERT_TRUE(node->tools().add(tool("half", "", [](CallContext& context) -> int {
        context.partial("half of the work");
        throw std::runtime_error("gave up");
    })));
    const Outcome good = node->call("add", {{"a", 1}, {"b", 1}});
    EXPECT_EQ(good.error(), nullptr);
    EXPECT_TRUE(views::s0(good).at("error").is_null());
    EXPECT_EQ(views::s0_error(good), "");
    for (const Outcome& bad : {node->call("half"), node->call("nobody"), node->call("add", "{")}) {
        EXPECT_EQ(bad.text(), "") << bad.tool();
        EXPECT_EQ(views::s0(bad).at("output"), "") << bad.tool();
        EXPECT_THAT(error_of(bad), Not(IsEmpty())) << bad.tool();
    }
}

TEST(S0, R4_LatencyIsAFractionOfMillisecondsOnSuccessAndOnFailure) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool(
        "work", "",
        [&](bool well) {
            node.clock->advance(1'500us);
            if (!well) throw std::runtime_error("no");
        },
        param("well"))));
    for (const bool well : {true, false}) {
        const Outcome outcome = node->call("work", {{"well", well}});
        EXPECT_EQ(outcome.ok(), well);
        EXPECT_EQ(outcome.latency_ms(), 1.5);
        EXPECT_EQ(views::s0(outcome).at("latency_ms").as_double(), 1.5);
    }
    EXPECT_TRUE(views::s0(node->call("nobody")).at("latency_ms").is_double());
}

TEST(S0, R5_SerialisedOutputIsCutTo2000CharactersAndTheResultStaysWhole) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool(
        "text", "",
        [](std::string of, std::size_t times) {
            std::string out;
            while (times-- > 0) out += of;
            return out;
        },
        param("of"), param("times"))));
    const auto output = [&](std::string_view of, std::size_t times) {
        const Outcome outcome = node->call("text", {{"of", of}, {"times", times}});
        EXPECT_EQ(outcome.text().size(), of.size() * times);
        return std::string(views::s0(outcome).at("output").as_string());
    };
    EXPECT_EQ(output("x", 2'000).size(), 2'000u);
    EXPECT_EQ(output("x", 2'001), std::string(2'000, 'x'));
    EXPECT_EQ(base::count_code_points(output("ä", 2'000)), 2'000u);
    const std::string cut = output("€", 2'001);
    EXPECT_TRUE(base::is_valid_utf8(cut));
    EXPECT_LE(base::count_code_points(cut), 2'000u);
}

TEST(S0, V7_FiveThousandCharactersAreSerialisedAs2000) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("long", "", [] { return std::string(5'000, 'x'); })));
    const Outcome outcome = node->call("long");
    EXPECT_EQ(views::s0(outcome).at("output").as_string().size(), 2'000u);
    EXPECT_EQ(outcome.text().size(), 5'000u);
}

TEST(S0, R6_ToolsAndTimeoutAreGivenWhenItIsMade) {
    RuntimeOptions options;
    options.default_timeout = 10s;
    TestRuntime node(options);
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add_all({add_tool(), slow}));
    EXPECT_EQ(node->call("add", {{"a", 5}, {"b", 3}}).text(), "8");
    const auto call = node.start(CallRequest("slow"));
    node.advance(10s);
    ASSERT_TRUE(*call);
    EXPECT_THAT(error_of(**call), HasSubstr("10s"));
    EXPECT_TRUE(Runtime().tools().definitions().empty());
}

TEST(S0, R7_ARegisteredToolCanBeExecuted) {
    TestRuntime node;
    EXPECT_FALSE(node->call("add", {{"a", 5}, {"b", 3}}).ok());
    ASSERT_TRUE(node->tools().add(add_tool()));
    EXPECT_TRUE(node->call("add", {{"a", 5}, {"b", 3}}).ok());
}

TEST(S0, R8_EveryRegisteredToolHasItsDefinition) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add_all({add_tool(), tool("now", "The time", [] { return 1; })}));
    // Unlike what a model is shown, this is the whole list.
    ASSERT_TRUE(node->tools().silence("now"));
    const auto all = node->tools().definitions();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(json::write(all[0].to_json()),
              R"({"name":"add","description":"Add two numbers","parameters":{"type":"object","properties":)"
              R"({"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}})");
    EXPECT_EQ(all[1].name, "now");
}

TEST(S0, V9_TwoToolsHaveTwoDefinitionsWithNameDescriptionAndParameters) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add_all({add_tool(), tool("now", "The time", [] { return 1; })}));
    const auto all = runtime.tools().definitions();
    ASSERT_EQ(all.size(), 2u);
    for (const ToolDefinition& definition : all) {
        const Object form = definition.to_json().as_object();
        EXPECT_FALSE(form.at("name").as_string().empty());
        EXPECT_FALSE(form.at("description").as_string().empty());
        EXPECT_EQ(form.at("parameters").at("type"), "object");
    }
}

TEST(S0, R9_OnlyRegisteredToolsRunWhoeverAsks) {
    TestRuntime node;
    int runs = 0;
    const Tool wipe = tool("wipe", "", [&] { return ++runs; });
    ASSERT_TRUE(node->tools().add(wipe));
    ASSERT_TRUE(node->tools().add(tool(
        "helper", "",
        [](std::string name, CallContext& context) -> Result<std::string> {
            const Outcome inner = context.call(name, {});
            if (!inner.ok()) return tl::unexpected(*inner.error());
            return inner.text();
        },
        param("name"))));
    ASSERT_TRUE(node->tools().remove("wipe"));

    EXPECT_EQ(node->call("wipe").state(), State::not_found);
    EXPECT_EQ(node->call_json(R"({"name":"wipe","arguments":{}})").state(), State::not_found);
    EXPECT_EQ(node->call_batch({CallRequest("wipe")}).at(0).state(), State::not_found);
    EXPECT_EQ(node->preview("wipe").state(), State::not_found);
    EXPECT_FALSE(node->call("helper", {{"name", "wipe"}}).ok()) << "not even from inside another tool";
    const auto started = node.start(CallRequest("wipe"));
    EXPECT_EQ((*started)->state(), State::not_found);
    EXPECT_EQ(runs, 0);
}

TEST(S0, R9_AToolCallCannotBringItsToolAlong) {
    TestRuntime node;
    const Outcome outcome = node->call_json(
        R"({"function":{"name":"evil","arguments":"{}","parameters":{"type":"object"},"code":"rm"}})");
    EXPECT_EQ(outcome.state(), State::not_found);
    EXPECT_EQ(node->tools().size(), 0u);
}

TEST(S0, R9_NamesAreExact) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(add_tool()));
    for (const char* name : {"Add", "ADD", " add", "add ", "add\n", "", "ad", "addd", "add/../add"}) {
        EXPECT_EQ(node->call(name, {{"a", 1}, {"b", 2}}).state(), State::not_found) << name;
    }
}

TEST(S0, R10_ExecutingReturnsBeforeTheToolIsDone) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    slow.definition.input_schema = Object{{"properties", {{"city", {{"type", "string"}}}}}};
    ASSERT_TRUE(node->tools().add(slow));
    const auto call = node.start(CallRequest("slow", {{"city", "London"}}));
    EXPECT_FALSE(*call);
    const auto attempt = body->take();
    ASSERT_TRUE(attempt);
    EXPECT_EQ(attempt->arguments().at("city"), "London");
    attempt->finish(ToolResult(Value("rain")));
    node.calm();
    ASSERT_TRUE(*call);
    EXPECT_EQ((*call)->text(), "rain");
}

TEST(S0, R10_ExecutingCanBeAwaited) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(add_tool()));
    boost::asio::io_context io;
    std::string seen;
    const auto task = [&]() -> boost::asio::awaitable<void> {
        Args args{{"a", 5}, {"b", 3}};
        const Outcome outcome = co_await runtime.async_call("add", std::move(args));
        seen = outcome.text();
    };
    boost::asio::co_spawn(io, task, boost::asio::detached);
    io.run();
    EXPECT_EQ(seen, "8");
}

TEST(S0, R10_TheTimeoutHoldsForEveryCall) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto first = node.start(CallRequest("slow"));
    node.advance(20s);
    const auto second = node.start(CallRequest("slow"));
    node.advance(10s);
    EXPECT_TRUE(*first);
    EXPECT_FALSE(*second);
    node.advance(20s);
    EXPECT_TRUE(*second);
}

TEST(S0, R11_AnUnregisteredToolIsBlockedWithASecurityWarning) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(add_tool()));
    const Outcome outcome = node->call("rm_rf", {{"path", "/"}});
    EXPECT_FALSE(outcome.ok());
    EXPECT_EQ(error_of(outcome), "Tool not registered: rm_rf. Only registered tools can be executed.");
    EXPECT_THAT(lines_with(node, "SECURITY_WARNING"),
                ElementsAre("WARNING SECURITY_WARNING tool=rm_rf principal=local Call of a tool that is not "
                            "registered: blocked"));
    EXPECT_EQ(outcome.attempts(), 0u);
}

TEST(S0, R11_TheWarningComesEvenIfCallsAreNotLogged) {
    RuntimeOptions options;
    options.log_calls = false;
    TestRuntime node(options);
    node->call("rm_rf");
    ASSERT_EQ(node.recorder->log().size(), 1u);
    EXPECT_THAT(lines_with(node, "SECURITY_WARNING"), testing::SizeIs(1));
}

TEST(S0, R11_ANameCannotForgeALogLine) {
    TestRuntime node;
    node->call("x\nINFO TOOL_SUCCESS tool=pay duration=1ms content='paid'");
    for (const auto& line : node.recorder->log()) {
        EXPECT_THAT(line.text, Not(HasSubstr("\n")));
        EXPECT_THAT(line.text, Not(StartsWith("INFO")));
    }
    EXPECT_THAT(lines_with(node, "SECURITY_WARNING"), testing::SizeIs(1));
}

TEST(S0, R11_ARegisteredToolIsNeverWarnedAbout) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(add_tool()));
    node->call("add", {{"a", 1}, {"b", 2}});
    node->call("add", {{"a", 1}});
    EXPECT_THAT(lines_with(node, "SECURITY_WARNING"), IsEmpty());
}

TEST(S0, V2_RmRfIsBlocked) {
    TestRuntime node;
    const Object result = views::s0(node->call("rm_rf", {{"path", "/"}}));
    EXPECT_EQ(result.at("success"), false);
    EXPECT_THAT(std::string(result.at("error").as_string()), StartsWith("Tool not registered: rm_rf"));
    EXPECT_EQ(result.at("output"), "");
    EXPECT_THAT(lines_with(node, "SECURITY_WARNING"), testing::SizeIs(1));
}

TEST(S0, R12_ACallThatTakesTooLongIsCancelledAndSaysSo) {
    RuntimeOptions options;
    options.default_timeout = 10s;
    TestRuntime node(options);
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow.read_only()));
    const auto call = node.start(CallRequest("slow"));
    const auto attempt = body->take();
    EXPECT_FALSE(attempt->context().cancelled());
    std::latch told(1);
    const std::stop_callback on_stop(attempt->context().cancel(), [&] { told.count_down(); });
    node.advance(10s);
    ASSERT_TRUE(*call);
    EXPECT_FALSE((*call)->ok());
    EXPECT_EQ(error_of(**call), "Tool execution timed out after 10s");
    told.wait();
    attempt->finish(ToolResult(Value("too late")));
    node.calm();
    EXPECT_FALSE((*call)->ok());
}

TEST(S0, V4_AToolThatSleepsForTenSecondsIsAnsweredAfterItsTimeout) {
    TestRuntime node;
    auto [sleeps, body] = deferred("sleeps");
    ASSERT_TRUE(node->tools().add(sleeps.timeout(50ms)));
    const auto call = node.start(CallRequest("sleeps"));
    node.advance(50ms);
    ASSERT_TRUE(*call) << "no need to wait for the ten seconds";
    EXPECT_FALSE((*call)->ok());
    EXPECT_EQ(error_of(**call), "Tool execution timed out after 0.05s");
}

TEST(S0, R13_WhatAToolThrowsBecomesAFailureWithItsMessage) {
    TestRuntime node;
    ASSERT_TRUE(
        node->tools().add(tool("divide", "", []() -> int { throw std::domain_error("division by zero"); })));
    const Outcome outcome = node->call("divide");
    EXPECT_FALSE(outcome.ok());
    EXPECT_EQ(error_of(outcome), "division by zero");
}

TEST(S0, V3_AToolThatThrowsBoomFailsWithBoom) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("boom", "", []() -> int { throw std::runtime_error("boom"); })));
    const Outcome outcome = node->call("boom");
    EXPECT_FALSE(outcome.ok());
    EXPECT_THAT(error_of(outcome), HasSubstr("boom"));
}

TEST(S0, R14_NothingIsEverThrownAtTheCaller) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add_all(
        {add_tool(), tool("boom", "", []() -> int { throw std::runtime_error("boom"); }),
         tool("odd", "", []() -> int { throw 42; }), tool("null", "", []() -> int { throw nullptr; }),
         tool("inline_boom", "", []() -> int { throw std::runtime_error("boom"); }).run_inline(),
         Tool(ToolDefinition("empty", "", Object{{"type", "object"}}), nullptr)}));
    const std::string deep(10'000, '[');
    for (const std::string& name : {std::string("boom"), std::string("odd"), std::string("null"),
                                    std::string("inline_boom"), std::string("empty"), std::string("nobody"),
                                    std::string("add"), std::string("\xFF\xFE"), std::string(100'000, 'n')}) {
        EXPECT_NO_THROW({
            const Outcome outcome = node->call(std::string_view(name));
            EXPECT_FALSE(outcome.ok()) << name.substr(0, 20);
            EXPECT_FALSE(error_of(outcome).empty()) << name.substr(0, 20);
        });
    }
    for (const std::string& text :
         {std::string(), std::string("null"), std::string("[]"), std::string("{"), deep,
          std::string(R"({"function":null})"), std::string(R"({"function":{"name":7}})"),
          std::string(R"({"function":{"name":"add","arguments":7}})"),
          std::string(R"({"function":{"name":"add","arguments":"[]"}})"), std::string("\xFF")}) {
        EXPECT_NO_THROW(EXPECT_FALSE(node->call_json(text).ok())) << text.substr(0, 60);
    }
}

TEST(S0, R14_AnObserverThatThrowsDoesNoHarm) {
    class Thrower final : public Observer {
        void on_log(LogLevel, std::string_view) override { throw std::runtime_error("log is full"); }
        void on_telemetry(const TelemetryEvent&) override { throw 1; }
        void on_audit(const AuditEvent&) override { throw std::runtime_error("no"); }
    };
    TestRuntime node;
    node->observe(std::make_shared<Thrower>());
    ASSERT_TRUE(node->tools().add(add_tool()));
    EXPECT_NO_THROW(EXPECT_EQ(node->call("add", {{"a", 1}, {"b", 2}}).text(), "3"));
    EXPECT_GT(node->stats().observer_faults, 0u);
}

RC_GTEST_PROP(S0, R14_WhateverTextItGetsTheAnswerIsAResult, ()) {
    TestRuntime node;
    RC_ASSERT(node->tools().add(add_tool()).has_value());
    const auto text = *rc::gen::string<std::string>();
    const Outcome by_name = node->call(text, text);
    RC_ASSERT(by_name.ok() == (by_name.error() == nullptr));
    const Outcome whole = node->call_json(text);
    RC_ASSERT(!whole.ok());
    const Outcome arguments = node->call("add", text);
    RC_ASSERT(!arguments.ok());
    RC_ASSERT(views::s0(arguments).at("output") == "");
}

TEST(S0, R15_AModelsToolCallIsExecuted) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(
        tool("get_weather", "", [](std::string city) { return "rain in " + city; }, param("city"))));
    const Value call =
        Object{{"function", Object{{"name", "get_weather"}, {"arguments", R"({"city": "London"})"}}}};
    EXPECT_EQ(node->call_json(call).text(), "rain in London");
    EXPECT_EQ(node->call_json(json::write(call)).text(), "rain in London");
}

TEST(S0, V5_ArgumentsAsTextReachTheToolByName) {
    TestRuntime node;
    std::string seen;
    ASSERT_TRUE(
        node->tools().add(tool("get_weather", "", [&](std::string city) { seen = city; }, param("city"))));
    EXPECT_TRUE(
        node->call_json(R"({"function":{"name":"get_weather","arguments":"{\"city\": \"London\"}"}})").ok());
    EXPECT_EQ(seen, "London");
}

TEST(S0, R16_ArgumentsThatAreNoJsonAreAFailedCall) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("count", "", [&] { return ++runs; })));
    for (const char* text : {"{bad json", "{\\\"a\\\":}", "{'a':1}", "{}{}", "nope", "[]", "1", "\\\"\\\""}) {
        const Outcome outcome =
            node->call_json(std::string(R"({"function":{"name":"count","arguments":")") + text + R"("}})");
        EXPECT_EQ(outcome.state(), State::invalid) << text;
        EXPECT_EQ(outcome.tool(), "count") << text;
        EXPECT_THAT(error_of(outcome), Not(IsEmpty())) << text;
    }
    EXPECT_EQ(runs, 0);
}

TEST(S0, V6_BadJsonIsAFailureAndTheToolDoesNotRun) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("count", "", [&] { return ++runs; })));
    const Outcome outcome = node->call_json(R"({"function":{"name":"count","arguments":"{bad json"}})");
    EXPECT_FALSE(outcome.ok());
    EXPECT_THAT(error_of(outcome), HasSubstr("JSON"));
    EXPECT_EQ(runs, 0);
}

TEST(S0, R17_AddFiveAndThreeGivesEight) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(add_tool()));
    const Outcome outcome = node->call("add", {{"a", 5}, {"b", 3}});
    EXPECT_TRUE(outcome.ok());
    EXPECT_EQ(outcome.text(), "8");
}

TEST(S0, R17_EveryKindOfResultHasAText) {
    TestRuntime node;
    const std::vector<std::pair<Value, std::string>> cases{{"text", "text"},
                                                           {8, "8"},
                                                           {1.5, "1.5"},
                                                           {true, "true"},
                                                           {nullptr, ""},
                                                           {"", ""},
                                                           {Array{1, "x"}, R"([1,"x"])"},
                                                           {Object{{"a", 1}}, R"({"a":1})"}};
    for (const auto& [value, text] : cases) {
        const Tool give = tool("give", "", [v = value] { return v; });
        EXPECT_EQ(node->call_direct(give).text(), text) << json::write(value);
    }
}

TEST(S0, V1_AddGivesEightWithALatencyAndNoError) {
    Runtime runtime;
    ASSERT_TRUE(runtime.tools().add(add_tool()));
    const Outcome outcome = runtime.call("add", {{"a", 5}, {"b", 3}});
    const Object result = views::s0(outcome);
    EXPECT_EQ(result.at("success"), true);
    EXPECT_EQ(result.at("output"), "8");
    EXPECT_GE(result.at("latency_ms").as_double(), 0);
    EXPECT_TRUE(result.at("error").is_null());
}

// Of row 19 the decorator and the custom tools; reputation is open.

TEST(S0, R19_AFunctionAndTheNamesOfItsParametersAreATool) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool(
        "greet", "Greet somebody", [](std::string who, int times) { return who + std::to_string(times); },
        param("who", "whom to greet"), param("times").default_to(1))));
    EXPECT_EQ(node->call("greet", {{"who", "Ann"}}).text(), "Ann1");
}

TEST(S0, R20_AWrapperHasNameDescriptionParametersAndIsRunWithNamedArguments) {
    TestRuntime node;
    const Value parameters =
        Object{{"type", "object"}, {"properties", {{"n", {{"type", "integer"}}}}}, {"required", Array{"n"}}};
    const Tool twice = schema_tool(ToolDefinition("twice", "Doubles", parameters),
                                   [](const Object& arguments, CallContext&) -> ToolReturn {
                                       return ToolResult(Value(2 * arguments.at("n").as_int64()));
                                   });
    EXPECT_EQ(twice.definition.name, "twice");
    EXPECT_EQ(twice.definition.description, "Doubles");
    EXPECT_EQ(twice.definition.input_schema, parameters);
    EXPECT_EQ(twice.body->mode(), RunMode::pooled);
    ASSERT_TRUE(node->tools().add(twice));
    EXPECT_EQ(node->call("twice", {{"n", 21}}).text(), "42");
}

TEST(S0, R20_PlainFunctionsAndCoroutinesAreBothTools) {
    TestRuntime node;
    const Tool later =
        async_tool("later", "", [](int n) -> boost::asio::awaitable<int> { co_return n + 1; }, param("n"));
    EXPECT_EQ(later.body->mode(), RunMode::async);
    ASSERT_TRUE(node->tools().add(later));
    ASSERT_TRUE(node->tools().add(add_tool()));
    EXPECT_EQ(node->call("later", {{"n", 1}}).text(), "2");
    EXPECT_EQ(node->call("add", {{"a", 1}, {"b", 1}}).text(), "2");
}

TEST(S0, R21_ParametersWithoutADefaultAreRequired) {
    const Tool made =
        tool("t", "d", [](int, int, std::optional<int>) {}, param("a"), param("b").default_to(1), param("c"));
    EXPECT_EQ(json::write(made.definition.input_schema.at("required")), R"(["a"])");
    EXPECT_EQ(made.definition.name, "t");
    EXPECT_EQ(made.definition.description, "d");
}

enum class Unit { celsius, fahrenheit };
BOOST_DESCRIBE_ENUM(Unit, celsius, fahrenheit)

struct Place {
    std::string city;
    std::optional<std::string> country;
};
BOOST_DESCRIBE_STRUCT(Place, (), (city, country))

template <class T>
std::string schema_for() {
    return json::write(tool("t", "d", [](T) {}, param("p")).definition.input_schema.at("properties").at("p"));
}

TEST(S0, R22_EveryTypeHasItsSchema) {
    EXPECT_EQ(schema_for<std::string>(), R"({"type":"string"})");
    EXPECT_EQ(schema_for<std::int64_t>(), R"({"type":"integer"})");
    EXPECT_EQ(schema_for<double>(), R"({"type":"number"})");
    EXPECT_EQ(schema_for<bool>(), R"({"type":"boolean"})");
    EXPECT_EQ(schema_for<std::vector<double>>(), R"({"type":"array","items":{"type":"number"}})");
    EXPECT_EQ((schema_for<std::map<std::string, bool>>()),
              R"({"type":"object","additionalProperties":{"type":"boolean"}})");
    EXPECT_EQ(schema_for<std::optional<bool>>(), R"({"type":"boolean"})");
    EXPECT_EQ(schema_for<Unit>(), R"({"type":"string","enum":["celsius","fahrenheit"]})");
    EXPECT_THAT((schema_for<std::tuple<std::string, bool>>()),
                HasSubstr(R"("prefixItems":[{"type":"string"},{"type":"boolean"}])"));
    EXPECT_THAT(schema_for<std::set<std::string>>(), HasSubstr(R"("uniqueItems":true)"));
    EXPECT_EQ(schema_for<Place>(),
              R"({"type":"object","properties":{"city":{"type":"string"},"country":{"type":"string"}},)"
              R"("required":["city"],"additionalProperties":false})");
}

TEST(S0, R23_ARegistryHoldsReplacesImportsAndForgetsTools) {
    Registry registry;
    EXPECT_EQ(registry.name(), "default");
    ASSERT_TRUE(registry.add(add_tool()));
    EXPECT_EQ(registry.size(), 1u);
    EXPECT_TRUE(registry.contains("add"));
    EXPECT_FALSE(registry.contains("sub"));
    EXPECT_EQ(registry.get("add")->definition.description, "Add two numbers");
    EXPECT_FALSE(registry.get("sub"));
    EXPECT_EQ(registry.add(add_tool()).error().details.at("reason"), "duplicate_name");
    EXPECT_TRUE(registry.add(add_tool(), IfPresent::replace));
    Registry::Options named;
    named.name = "other";
    Registry other(named);
    ASSERT_TRUE(other.add(tool("sub", "", [](int a) { return -a; }, param("a"))));
    ASSERT_TRUE(registry.import_from(other));
    EXPECT_EQ(registry.list().size(), 2u);
    registry.clear();
    EXPECT_EQ(registry.size(), 0u);
    EXPECT_EQ(other.size(), 1u);
}

TEST(S0, R23_TenantsHaveToolsOfTheirOwn) {
    TestRuntime node;
    ASSERT_TRUE(node->tools("acme").add(add_tool()));
    Context acme;
    acme.tenant = "acme";
    EXPECT_TRUE(node->call("add", {{"a", 1}, {"b", 1}}, acme).ok());
    EXPECT_EQ(node->call("add", {{"a", 1}, {"b", 1}}).state(), State::not_found);
}

TEST(S0, R24_ADefinitionIsNameDescriptionAndParameters) {
    const Object form = add_tool().definition.to_json().as_object();
    ASSERT_EQ(form.size(), 3u);
    EXPECT_EQ(form.at("name"), "add");
    EXPECT_EQ(form.at("description"), "Add two numbers");
    EXPECT_EQ(form.at("parameters"), add_tool().definition.input_schema);
}

// A tool of a server, as the MCP client registers it; it says which one it is.
Tool bridged(std::string server, const std::string& name) {
    const std::string canonical = server + "/" + name;
    Tool made = tool(canonical, "", [canonical] { return canonical; });
    made.contract.provider = ProviderType::mcp;
    made.contract.server = std::move(server);
    made.contract.risk = Risk::low;
    return made;
}

TEST(S0, R25_AServersToolIsCalledAsMcpServerTool) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add_all({add_tool(), bridged("files", "read"), bridged("disk", "read")}));
    EXPECT_EQ(node->call("mcp__files__read").text(), "files/read");
    EXPECT_EQ(node->call("mcp__disk__read").text(), "disk/read");
    EXPECT_EQ(node->call("mcp__disk__read").server(), "disk");
    EXPECT_EQ(node->call("mcp__net__read").state(), State::not_found);
    EXPECT_EQ(node->call("mcp__files").state(), State::not_found);
}

TEST(S0, R25_ANameWithoutThatPrefixHasNoServer) {
    const NameParts bridged_name = parse_mcp_name("mcp__files__read_all");
    EXPECT_EQ(bridged_name.server, "files");
    EXPECT_EQ(bridged_name.tool, "read_all");
    for (const char* name : {"add", "files__read", "mcp_files_read", "xmcp__files__read"}) {
        EXPECT_EQ(parse_mcp_name(name).server, "") << name;
        EXPECT_EQ(parse_mcp_name(name).tool, name);
    }
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(add_tool()));
    EXPECT_EQ(node->call("add", {{"a", 1}, {"b", 1}}).server(), "");
}

TEST(S0, R25_APlainNameIsEnoughWhereItIsUniqueAndIsNeverPassedOn) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(bridged("files", "read")));
    EXPECT_EQ(node->call("read").text(), "files/read");
    ASSERT_TRUE(node->tools().add(bridged("disk", "read")));
    const Outcome either = node->call("read");
    ASSERT_NE(either.error(), nullptr);
    EXPECT_EQ(either.error()->code, ErrorCode::ambiguous_name);
    EXPECT_THAT(either.error()->message, AllOf(HasSubstr("disk__read"), HasSubstr("files__read")));
    ASSERT_TRUE(node->tools().remove("files/read"));
    EXPECT_EQ(node->call("read").state(), State::not_found);
    EXPECT_EQ(node->call("disk__read").text(), "disk/read");
}

TEST(S0, R27_AnExceptionIsNeverASuccessWithAnErrorText) {
    TestRuntime node;
    ASSERT_TRUE(
        node->tools().add(tool("fails", "", []() -> std::string { throw std::runtime_error("disk full"); })));
    ASSERT_TRUE(node->tools().add(async_tool("later", "", []() -> boost::asio::awaitable<std::string> {
        throw std::runtime_error("disk full");
        co_return "";
    })));
    for (const char* name : {"fails", "later"}) {
        const Object result = views::s0(node->call(name));
        EXPECT_EQ(result.at("success"), false) << name;
        EXPECT_EQ(result.at("output"), "") << name;
        EXPECT_EQ(result.at("error"), "disk full") << name;
    }
}

TEST(S0, D2_ADirectToolSkipsTheLookupAndNothingElse) {
    TestRuntime node;
    EXPECT_EQ(node->call_direct(add_tool(), {{"a", 5}, {"b", 3}}).text(), "8");
    EXPECT_EQ(node->call_direct(add_tool(), {{"a", 5}}).state(), State::invalid);
    EXPECT_EQ(node->call_direct(add_tool().scopes({"math"}), {{"a", 5}, {"b", 3}}).state(),
              State::scope_denied);
    EXPECT_EQ(node->tools().size(), 0u) << "it is not registered by being called";
    EXPECT_THAT(lines_with(node, "SECURITY_WARNING"), IsEmpty());
    EXPECT_EQ(node.recorder->telemetry().size(), 6u);
    EXPECT_THAT(must(node->audit()), Not(IsEmpty()));
}

TEST(S0, D3_AModelIsShownOnlyWhatItMayUse) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add_all({add_tool(), tool("down", "", [] {}), tool("bad", "", [] {}),
                                       tool("off", "", [] {}), tool("weak", "", [] {}),
                                       tool("admin", "", [] {}).scopes({"admin"})}));
    ToolHealth health;
    health.status = HealthStatus::unavailable;
    ASSERT_TRUE(node->tools().update_health("down", health));
    health.status = HealthStatus::degraded;
    ASSERT_TRUE(node->tools().update_health("weak", health));
    ASSERT_TRUE(node->tools().quarantine("bad", "it lies"));
    ASSERT_TRUE(node->tools().silence("off"));
    const auto names = [&](const Context& caller) {
        std::vector<std::string> out;
        for (const auto& definition : node->tools().visible_definitions(caller))
            out.push_back(definition.name);
        return out;
    };
    Context caller;
    EXPECT_THAT(names(caller), ElementsAre("add", "weak"));
    caller.scopes.add("admin");
    EXPECT_THAT(names(caller), ElementsAre("add", "admin", "weak"));
    EXPECT_EQ(node->tools().definitions().size(), 6u);
}

TEST(S0, U11_AHiddenToolIsRefusedAndNotRun) {
    TestRuntime node;
    int runs = 0;
    const auto counting = [&](const char* name) { return tool(name, "", [&] { return ++runs; }); };
    ASSERT_TRUE(node->tools().add_all({counting("down"), counting("bad"), counting("off")}));
    ToolHealth health;
    health.status = HealthStatus::unavailable;
    ASSERT_TRUE(node->tools().update_health("down", health));
    ASSERT_TRUE(node->tools().quarantine("bad", "it lies"));
    ASSERT_TRUE(node->tools().silence("off"));
    EXPECT_EQ(node->call("down").error()->code, ErrorCode::unavailable);
    EXPECT_EQ(node->call("bad").error()->code, ErrorCode::quarantined);
    EXPECT_EQ(node->call("off").error()->code, ErrorCode::silenced);
    EXPECT_EQ(runs, 0);
    EXPECT_THAT(lines_with(node, "SECURITY_WARNING"), IsEmpty());
}

TEST(S0, U5_TheCallsTimeoutBeatsTheToolsAndTheToolsTheRuntimes) {
    TestRuntime node;
    auto [plain, plain_body] = deferred("plain");
    auto [own, own_body] = deferred("own");
    ASSERT_TRUE(node->tools().add_all({plain, own.timeout(20s)}));
    CallRequest brief("own");
    brief.timeout = 5s;
    const auto of_call = node.start(brief);
    const auto of_tool = node.start(CallRequest("own"));
    const auto of_runtime = node.start(CallRequest("plain"));
    node.advance(5s);
    EXPECT_TRUE(*of_call);
    EXPECT_FALSE(*of_tool);
    node.advance(15s);
    EXPECT_TRUE(*of_tool);
    EXPECT_FALSE(*of_runtime);
    node.advance(10s);
    EXPECT_TRUE(*of_runtime);
}

TEST(S0, U6_ArgumentsAreAnObjectTextOrAbsent) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("size", "", [](const Object& all) { return all.size(); })));
    EXPECT_EQ(node->call("size").text(), "0");
    EXPECT_EQ(node->call("size", nullptr).text(), "0");
    EXPECT_EQ(node->call("size", Object{{"a", 1}}).text(), "1");
    EXPECT_EQ(node->call("size", R"({"a":1,"b":2})").text(), "2");
    EXPECT_EQ(node->call_json(R"({"name":"size"})").text(), "0");
    EXPECT_EQ(node->call_json(R"({"name":"size","arguments":null})").text(), "0");
    EXPECT_EQ(node->call("size", "[1]").state(), State::invalid);
    EXPECT_EQ(node->call("size", Value(Array{1})).state(), State::invalid);
}

}  // namespace
}  // namespace callgate
