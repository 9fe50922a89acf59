// S1, Jido AI's executor: actions and tools by name, parameters in shape, results for a model, telemetry.
//
// R<n> is row S1-<n> (rows.txt); V<n> and D<n>, U<n> are examples and rules that unite the systems.
#include <callgate/callgate.h>

#include <future>
#include <latch>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error_table.h"
#include "base/utf8.h"
#include "pipeline/runtime_testing.h"

namespace callgate {
namespace {

using namespace std::chrono_literals;
using pipeline::deferred;
using pipeline::DeferredBody;
using pipeline::TestRuntime;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using Event = TelemetryEvent::Name;

// {name: type} as a schema; all of them required.
Value schema_of(std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
    Object properties;
    Array required;
    for (const auto& [name, type] : members) {
        properties.emplace(name, Object{{"type", type}});
        required.emplace_back(name);
    }
    return Object{{"type", "object"}, {"properties", properties}, {"required", required}};
}

ToolReturn calculate(const Object& arguments, CallContext&) {
    const double a = arguments.at("a").to_number<double>();
    const double b = arguments.at("b").to_number<double>();
    const bool adds = arguments.at("operation") == "add";
    return ToolResult(Object{{"result", static_cast<std::int64_t>(adds ? a + b : a * b)}});
}

Tool calculator() {
    return action_tool(
        ToolDefinition("calculator", "Adds or multiplies",
                       schema_of({{"operation", "string"}, {"a", "integer"}, {"b", "integer"}})),
        calculate);
}

Tool echo() {
    return schema_tool(ToolDefinition("echo", "Says it again", schema_of({{"message", "string"}})),
                       [](const Object& arguments, CallContext&) -> ToolReturn {
                           return ToolResult(Object{{"echoed", arguments.at("message")}});
                       });
}

Tool returns(std::string name, ToolReturn answer) {
    return schema_tool(
        ToolDefinition(std::move(name), "", Object{{"type", "object"}}),
        [answer = std::move(answer)](const Object&, CallContext&) -> ToolReturn { return answer; });
}

std::vector<Event> events(const TestRuntime& node) {
    std::vector<Event> out;
    for (const auto& event : node.recorder->telemetry()) out.push_back(event.name);
    return out;
}

std::string text_of(const Object& map, std::string_view member) {
    return std::string(map.at(member).as_string());
}

std::vector<std::string> stages(const Outcome& outcome) {
    std::vector<std::string> names;
    for (const StageNote& note : outcome.trace()) names.push_back(note.stage);
    return names;
}

TEST(S1, R1_OneExecutorRunsActionsAndToolsAndTheRegistryKnowsTheKind) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add_all({calculator(), echo()}));
    EXPECT_EQ(node->tools().get("calculator")->kind, ToolKind::action);
    EXPECT_EQ(node->tools().get("echo")->kind, ToolKind::function);
    EXPECT_FALSE(node->tools().get("nobody"));
    EXPECT_TRUE(node->call("calculator", {{"operation", "add"}, {"a", 1}, {"b", 2}}).ok());
    EXPECT_TRUE(node->call("echo", {{"message", "hello"}}).ok());
}

TEST(S1, R2_ExecuteByNameWithATimeoutOrWithoutTheRegistry) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add_all({echo(), slow}));
    EXPECT_TRUE(node->call("echo", {{"message", "hello"}}, Context()).ok());
    CallRequest brief("slow");
    brief.timeout = 100ms;
    const auto call = node.start(brief);
    node.advance(100ms);
    ASSERT_TRUE(*call);
    EXPECT_EQ(views::s1(**call).at("type"), "timeout");
    EXPECT_EQ(node->call_direct(calculator(), {{"operation", "add"}, {"a", 5}, {"b", 3}}).content(),
              Value(Object{{"result", 8}}));
}

TEST(S1, R2_TheContextReachesTheTool) {
    TestRuntime node;
    ASSERT_TRUE(
        node->tools().add(tool("who", "", [](CallContext& context) { return context.caller().principal; })));
    Context context;
    context.principal = "ann";
    EXPECT_EQ(node->call("who", {}, context).text(), "ann");
}

TEST(S1, R3_AnActionPassesItsHooksAndAToolRunsAsItIs) {
    TestRuntime node;
    std::vector<std::string> steps;
    ActionHooks hooks;
    hooks.before_validate = [&](Object arguments) -> Result<Object> {
        steps.emplace_back("before_validate");
        return arguments;
    };
    hooks.after_validate = [&](Object arguments) -> Result<Object> {
        steps.emplace_back("after_validate");
        return arguments;
    };
    hooks.after_run = [&](const ToolResult&) { steps.emplace_back("after_run"); };
    hooks.before_output = [&](ToolResult result) -> Result<ToolResult> {
        steps.emplace_back("before_output");
        return result;
    };
    hooks.after_output = [&](ToolResult result) -> Result<ToolResult> {
        steps.emplace_back("after_output");
        return result;
    };
    ASSERT_TRUE(node->tools().add(action_tool(
        ToolDefinition("act", "", Object{{"type", "object"}}),
        [&](const Object&, CallContext&) -> ToolReturn {
            steps.emplace_back("run");
            return ToolResult(Value(1));
        },
        hooks)));
    ASSERT_TRUE(node->tools().add(tool("plain", "", [&] { steps.emplace_back("plain"); })));
    EXPECT_TRUE(node->call("act").ok());
    EXPECT_THAT(steps, ElementsAre("before_validate", "after_validate", "run", "after_run", "before_output",
                                   "after_output"));
    steps.clear();
    EXPECT_TRUE(node->call("plain").ok());
    EXPECT_THAT(steps, ElementsAre("plain"));
}

TEST(S1, R4_TheAnswerIsAResultOrAnErrorMap) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(calculator()));
    const Outcome good = node->call("calculator", {{"operation", "add"}, {"a", 1}, {"b", 2}});
    ASSERT_TRUE(good.ok());
    EXPECT_EQ(good.content(), Value(Object{{"result", 3}}));
    EXPECT_THAT(views::s1(good), IsEmpty());
    const Outcome bad = node->call("calculator");
    EXPECT_FALSE(bad.ok());
    EXPECT_TRUE(bad.content().is_null());
    EXPECT_THAT(views::s1(bad), Not(IsEmpty()));
}

TEST(S1, R5_NumbersInTextBecomeNumbersByDeclaredType) {
    const Value schema = schema_of({{"count", "integer"}});
    EXPECT_EQ(normalize_params(Object{{"count", "42"}}, schema).value(), (Object{{"count", 42}}));
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("next", "", [](int count) { return count + 1; }, param("count"))));
    const Outcome outcome = node->call("next", {{"count", "42"}});
    EXPECT_EQ(outcome.text(), "43");
    EXPECT_EQ(outcome.arguments(), Value(Object{{"count", 42}})) << "the tool's and everybody's view of it";
}

TEST(S1, R5_TextThatIsDeclaredAsTextStaysText) {
    const Value schema = schema_of({{"zip", "string"}, {"count", "integer"}});
    EXPECT_EQ(normalize_params(Object{{"zip", "01234"}, {"count", "7"}}, schema).value(),
              (Object{{"zip", "01234"}, {"count", 7}}));
}

TEST(S1, R6_OnlyWholeNumbersAreIntegers) {
    const Value schema = schema_of({{"count", "integer"}});
    for (const char* text : {"42abc", "3.7", "abc", "", " 42", "0x2A", "1e400", "--1"}) {
        EXPECT_EQ(normalize_params(Object{{"count", text}}, schema).value().at("count"), text) << text;
    }
    EXPECT_EQ(normalize_params(Object{{"count", "-7"}}, schema).value().at("count"), -7);
}

TEST(S1, R6_UndeclaredParametersAreLeftOutOfTheNormalisedOnesOnly) {
    const Value schema = schema_of({{"a", "integer"}});
    EXPECT_EQ(normalize_params(Object{{"a", "1"}, {"b", 2}}, schema).value(), (Object{{"a", 1}}));
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("t", "", [](int a) { return a; }, param("a"))));
    EXPECT_EQ(node->call("t", {{"a", 1}, {"b", 2}}).state(), State::invalid) << "a call drops nothing";
}

TEST(S1, R7_NestedValuesAndCombinatorsAreDescended) {
    const auto parsed = json::parse(R"({"type":"object","properties":{
        "list":{"type":"array","items":{"type":"integer"}},
        "inner":{"type":"object","properties":{"x":{"type":"number"}}},
        "any":{"anyOf":[{"type":"integer"},{"type":"boolean"}]},
        "all":{"allOf":[{"type":"integer"}]}}})");
    const auto shaped = normalize_params(
        json::parse(R"({"list":["1",2],"inner":{"x":"1.5"},"any":"3","all":"4"})").value(), parsed.value());
    EXPECT_EQ(Value(shaped.value()),
              json::parse(R"({"list":[1,2],"inner":{"x":1.5},"any":3,"all":4})").value());
}

TEST(S1, V10_CalculatorAddsNumbersInText) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(calculator()));
    EXPECT_EQ(node->call("calculator", {{"operation", "add"}, {"a", "1"}, {"b", "2"}}).content(),
              Value(Object{{"result", 3}}));
}

TEST(S1, V11_CalculatorTakesNumbersAndMultiplies) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(calculator()));
    EXPECT_EQ(node->call("calculator", {{"operation", "add"}, {"a", 1}, {"b", 2}}).content(),
              Value(Object{{"result", 3}}));
    EXPECT_EQ(node->call("calculator", {{"operation", "multiply"}, {"a", "3"}, {"b", "4"}}).content(),
              Value(Object{{"result", 12}}));
}

TEST(S1, V13_EchoOfTheToolKind) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(echo()));
    EXPECT_EQ(node->call("echo", {{"message", "hello"}}).content(), Value(Object{{"echoed", "hello"}}));
}

TEST(S1, V14_AnUnknownToolIsNotFound) {
    TestRuntime node;
    const Object map = views::s1(node->call("unknown_tool"));
    EXPECT_EQ(map.at("error"), "Tool not found: unknown_tool");
    EXPECT_EQ(map.at("type"), "not_found");
    EXPECT_EQ(map.at("tool_name"), "unknown_tool");
}

TEST(S1, V15_MissingParametersAreAnExecutionError) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(calculator()));
    const Object map = views::s1(node->call("calculator"));
    EXPECT_EQ(map.at("type"), "execution_error");
    EXPECT_THAT(text_of(map, "error"), HasSubstr("required"));
}

TEST(S1, V16_ASlowToolEndsWithinItsTimeoutOrTimesOut) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    CallRequest patient("slow");
    patient.timeout = 1'000ms;
    const auto in_time = node.start(patient);
    node.advance(50ms);
    body->take()->finish(ToolResult(Object{{"completed", true}, {"delay", 50}}));
    node.calm();
    ASSERT_TRUE(*in_time);
    EXPECT_EQ((*in_time)->content(), Value(Object{{"completed", true}, {"delay", 50}}));

    CallRequest brief("slow");
    brief.timeout = 100ms;
    const auto late = node.start(brief);
    node.advance(100ms);
    ASSERT_TRUE(*late);
    EXPECT_EQ(views::s1(**late).at("type"), "timeout");
    EXPECT_THAT(text_of(views::s1(**late), "error"), HasSubstr("timed out"));
}

TEST(S1, V17_WithoutTheRegistryTheSameRulesHold) {
    std::latch entered(1);
    std::latch release(1);
    TestRuntime node;  // goes first, and waits for the tool
    EXPECT_EQ(node->call_direct(calculator(), {{"operation", "add"}, {"a", 5}, {"b", 3}}).content(),
              Value(Object{{"result", 8}}));
    EXPECT_EQ(node->call_direct(echo(), {{"message", "hi"}}).content(), Value(Object{{"echoed", "hi"}}));

    Context brief;
    brief.timeout = 100ms;
    const Tool slow = tool("slow", "", [&] {
        entered.count_down();
        release.wait();
    });
    auto result = std::async(std::launch::async, [&] { return node->call_direct(slow, {}, brief); });
    entered.wait();
    node.advance(100ms);
    EXPECT_EQ(views::s1(result.get()).at("type"), "timeout");
    release.count_down();
}

TEST(S1, V18_AnExceptionIsNamedWithoutAStack) {
    TestRuntime node;
    ASSERT_TRUE(
        node->tools().add(tool("raise", "", []() -> int { throw std::invalid_argument("test exception"); })));
    const Object map = views::s1(node->call("raise"));
    EXPECT_EQ(map.at("type"), "exception");
    EXPECT_EQ(map.at("error"), "test exception");
    EXPECT_EQ(map.at("exception_type"), "std::invalid_argument");
    EXPECT_FALSE(map.contains("stacktrace"));
    EXPECT_THAT(node.recorder->log().back().text, HasSubstr("test exception"));
}

TEST(S1, V21_TextBecomesIntegersAndFloats) {
    const Value schema =
        Object{{"properties", {{"count", {{"type", "integer"}}}, {"value", {{"type", "number"}}}}}};
    EXPECT_EQ(normalize_params(Object{{"count", "42"}}, schema).value(), (Object{{"count", 42}}));
    EXPECT_EQ(normalize_params(Object{{"value", "3.14"}}, schema).value(), (Object{{"value", 3.14}}));
    EXPECT_THAT(normalize_params(Object(), schema).value(), IsEmpty());
    EXPECT_THAT(normalize_params(nullptr, schema).value(), IsEmpty());
}

TEST(S1, V23_TypedAndTextualParametersAreBothKept) {
    const Value schema = schema_of({{"a", "integer"}, {"b", "integer"}});
    EXPECT_EQ(normalize_params(Object{{"a", "1"}, {"b", 2}}, schema).value(), (Object{{"a", 1}, {"b", 2}}));
}

TEST(S1, V24_TextThatIsNoNumberStaysAndIsThenRefused) {
    const Value schema = schema_of({{"count", "integer"}});
    EXPECT_EQ(normalize_params(Object{{"count", "abc"}}, schema).value(), (Object{{"count", "abc"}}));
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("t", "", [&](int) { ++runs; }, param("count"))));
    for (const char* text : {"abc", "42abc", "3.7"}) {
        const Object map = views::s1(node->call("t", {{"count", text}}));
        EXPECT_EQ(map.at("type"), "execution_error") << text;
        EXPECT_THAT(text_of(map, "error"), HasSubstr("Parameter 'count' expected integer, got string"))
            << text;
    }
    EXPECT_EQ(runs, 0);
}

RC_GTEST_PROP(S1, R5_EveryIntegerInTextIsThatIntegerAndNormalisingTwiceChangesNothing, ()) {
    const auto number = *rc::gen::arbitrary<std::int64_t>();
    const Value schema = schema_of({{"n", "integer"}});
    const auto once = normalize_params(Object{{"n", std::to_string(number)}}, schema);
    RC_ASSERT(once.value().at("n") == number);
    RC_ASSERT(normalize_params(once.value(), schema).value() == once.value());
}

TEST(S1, R8_SmallResultsStayAsTheyAre) {
    for (const Value& value : {Value("hello"), Value(Object{{"a", 1}, {"b", 2}}), Value(42), Value(true),
                               Value(nullptr), Value(1.5), Value(Array{1, 2, 3})}) {
        EXPECT_EQ(format_result(value), value) << json::write(value);
    }
}

TEST(S1, R8_LargeResultsAreCutAndTellTheirSize) {
    const Value map = format_result(Object{{"large", std::string(15'000, 'x')}});
    EXPECT_EQ(map.at("truncated"), true);
    EXPECT_EQ(map.at("size_bytes"), 15'012);
    EXPECT_EQ(map.at("keys"), Value(Array{"large"}));
    EXPECT_EQ(map.at("message"), "Result map truncated (15012 bytes)");
    const Value text = format_result(Value(std::string(15'000, 'x')));
    EXPECT_THAT(std::string(text.as_string()), EndsWith("... [truncated, 15000 bytes total]"));
}

TEST(S1, R8_BinaryDataIsEncodedWhenSmallAndDescribedWhenLarge) {
    EXPECT_EQ(format_result(Value("\xFF\xFE")).at("encoding"), "base64");
    EXPECT_EQ(format_result(Value(std::string(1'001, '\xFF'))).at("encoding"), "description");
}

TEST(S1, R9_TheLimitIs10000BytesAndExactlyThatManyFit) {
    EXPECT_EQ(format_result(Value(std::string(10'000, 'x'))), Value(std::string(10'000, 'x')));
    EXPECT_NE(format_result(Value(std::string(10'001, 'x'))), Value(std::string(10'001, 'x')));
    const Value fits = Object{{"k", std::string(10'000 - 8, 'x')}};
    ASSERT_EQ(json::write(fits).size(), 10'000u);
    EXPECT_EQ(format_result(fits), fits);
    EXPECT_EQ(format_result(Object{{"k", std::string(10'000 - 7, 'x')}}).at("size_bytes"), 10'001);
}

TEST(S1, R9_AListIsCutToASampleOfThree) {
    const Value cut = format_result(Array(5'000, Value(12)));
    EXPECT_EQ(cut.at("truncated"), true);
    EXPECT_EQ(cut.at("count"), 5'000);
    EXPECT_EQ(cut.at("sample"), Value(Array{12, 12, 12}));
    EXPECT_EQ(cut.at("size_bytes"), 15'001);
    EXPECT_EQ(cut.at("message"), "Result list truncated (5000 items, 15001 bytes)");
}

TEST(S1, R9_AMapIsCutToItsFirstTenKeys) {
    Object large;
    for (int i = 0; i < 1'000; ++i) large.emplace("key" + std::to_string(i), "some text");
    const Value cut = format_result(large);
    ASSERT_THAT(cut.at("keys").as_array(), SizeIs(10));
    EXPECT_EQ(cut.at("keys").at(0), "key0");
    EXPECT_EQ(cut.at("keys").at(9), "key9");
}

TEST(S1, V69_SmallValuesAreUnchanged) {
    EXPECT_EQ(format_result("hello"), Value("hello"));
    EXPECT_EQ(format_result(Object{{"a", 1}, {"b", 2}}), Value(Object{{"a", 1}, {"b", 2}}));
    EXPECT_EQ(format_result(42), Value(42));
    EXPECT_EQ(format_result(true), Value(true));
    EXPECT_EQ(format_result(nullptr), Value(nullptr));
}

TEST(S1, V70_LongTextIsCut) {
    const std::string cut(format_result(Value(std::string(15'000, 'x'))).as_string());
    EXPECT_THAT(cut, HasSubstr("[truncated"));
    EXPECT_LT(cut.size(), 15'000u);
}

TEST(S1, V71_ALargeMapTellsItsSizeAndKeys) {
    const Value cut = format_result(Object{{"data", std::string(15'000, 'x')}});
    EXPECT_EQ(cut.at("truncated"), true);
    EXPECT_TRUE(cut.at("size_bytes").is_number());
    EXPECT_EQ(cut.at("keys"), Value(Array{"data"}));
}

TEST(S1, V73_FourBytesThatAreNoTextAreBase64) {
    const Value shown = format_result(Value(std::string("\xFF\xFE\x00\x01", 4)));
    EXPECT_EQ(
        shown,
        Value(Object{{"type", "binary"}, {"encoding", "base64"}, {"data", "//4AAQ=="}, {"size_bytes", 4}}));
}

TEST(S1, V74_LargeBinaryDataIsDescribedUnlessTheLimitIsRaised) {
    const Value large(std::string(2'000, '\xFF'));
    EXPECT_EQ(views::model(large).at("encoding"), "description");
    EXPECT_EQ(views::model(large).at("message"), "Binary data (2000 bytes)");
    EXPECT_EQ(views::model(large).at("size_bytes"), 2'000);
    views::Limits raised;
    raised.base64_bytes = 7'500;
    EXPECT_EQ(views::model(large, raised).at("encoding"), "base64");
    EXPECT_EQ(views::model(Value(std::string(8'000, '\xFF')), raised).at("encoding"), "description");
}

Value any_value(int depth) {
    const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 4);
    if (kind == 0) return *rc::gen::arbitrary<std::int64_t>();
    if (kind == 1) return Value(std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 4'000)), 'x'));
    if (kind == 2) return Value(*rc::gen::string<std::string>());
    if (kind == 3) {
        std::string euros;
        for (int i = *rc::gen::inRange(0, 5'000); i > 0; --i) euros += "€";
        return Value(euros);
    }
    const int size = *rc::gen::inRange(0, 12);
    if (kind == 4) {
        Array list;
        for (int i = 0; i < size; ++i) list.push_back(any_value(depth - 1));
        return list;
    }
    Object map;
    for (int i = 0; i < size; ++i) map.emplace(*rc::gen::string<std::string>(), any_value(depth - 1));
    return map;
}

RC_GTEST_PROP(S1, U7_WhatAModelIsShownIsNeverMoreThan10000BytesAndAlwaysText, ()) {
    const Value shown = format_result(any_value(3));
    const auto* text = shown.if_string();
    RC_ASSERT((text != nullptr ? text->size() : json::write(shown).size()) <= 10'000u);
    RC_ASSERT(base::is_valid_utf8(json::write(shown)));
}

TEST(S1, R10_TheErrorMapHasErrorToolNameTypeAndDetails) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(
        returns("sold", tl::unexpected(ToolFailure::answered("sold out", {{"seat", "4A"}})))));
    EXPECT_EQ(json::write(views::s1(node->call("sold"))),
              R"({"error":"sold out","tool_name":"sold","type":"execution_error","details":{"seat":"4A"}})");
}

TEST(S1, R10_ThereAreFiveTypes) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add_all({returns("sold", tl::unexpected(ToolFailure::answered("sold out"))),
                                       tool("raise", "", []() -> int { throw std::runtime_error("boom"); }),
                                       tool("odd", "", []() -> int { throw 42; }), slow}));
    const auto type = [](const Outcome& outcome) { return text_of(views::s1(outcome), "type"); };
    EXPECT_EQ(type(node->call("nobody")), "not_found");
    EXPECT_EQ(type(node->call("sold")), "execution_error");
    EXPECT_EQ(type(node->call("raise")), "exception");
    EXPECT_EQ(type(node->call("odd")), "caught");
    const auto late = node.start(CallRequest("slow"));
    node.advance(30s);
    EXPECT_EQ(type(**late), "timeout");
    for (const auto& row : base::error_table()) {
        EXPECT_THAT(std::string(row.s1_type),
                    testing::AnyOf("not_found", "execution_error", "exception", "timeout", "caught"))
            << row.name;
    }
}

TEST(S1, R11_EachTypeHasItsText) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add_all({tool("odd", "", []() -> int { throw 42; }), slow.timeout(100ms)}));
    EXPECT_EQ(views::s1(node->call("nobody")).at("error"), "Tool not found: nobody");
    const auto late = node.start(CallRequest("slow"));
    node.advance(100ms);
    const Object timeout = views::s1(**late);
    EXPECT_EQ(timeout.at("error"), "Tool execution timed out after 100ms");
    EXPECT_EQ(timeout.at("timeout_ms"), 100);
    const Object caught = views::s1(node->call("odd"));
    EXPECT_THAT(text_of(caught, "error"), StartsWith("Caught throw: "));
    EXPECT_EQ(caught.at("kind"), "throw");
}

TEST(S1, R12_TheStackOfAnExceptionIsForTheHostAndTheLogAlone) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("raise", "", []() -> int { throw TracedError("test exception"); })));
    const Outcome outcome = node->call("raise");
    ASSERT_EQ(outcome.error()->code, ErrorCode::exception);
    EXPECT_EQ(outcome.error()->message, "test exception");
    const Array& stack = outcome.error()->details.at("stack").as_array();
    ASSERT_THAT(stack, Not(IsEmpty()));
    EXPECT_LE(stack.size(), 5u);
    EXPECT_THAT(std::string(stack.at(0).as_string()), HasSubstr("001_test.cpp:"));

    const auto log = node.recorder->log();
    ASSERT_EQ(log.size(), 3u);
    EXPECT_EQ(log[1].level, LogLevel::warning);
    EXPECT_THAT(log[1].text, StartsWith("TOOL_STACK tool=raise exception=callgate::TracedError stack="));
    EXPECT_THAT(log[1].text, HasSubstr("001_test.cpp:"));
    EXPECT_THAT(log[2].text, StartsWith("TOOL_FAILED tool=raise"));

    for (const std::string& view :
         {json::write(views::s0(outcome)), json::write(views::s1(outcome)), json::write(views::s2(outcome)),
          views::s0_error(outcome), views::s4_error(outcome), views::model_text(outcome),
          views::mcp(outcome)}) {
        EXPECT_THAT(view, Not(HasSubstr("001_test.cpp"))) << view;
        EXPECT_THAT(view, Not(HasSubstr("stack"))) << view;
        EXPECT_THAT(view, HasSubstr("test exception"));
    }
    for (const auto& event : must(node->audit())) {
        EXPECT_THAT(json::write(event.to_json()), Not(HasSubstr("001_test.cpp")));
    }
}

TEST(S1, R12_TheCausesOfAnExceptionAreKeptWithItFiveAtMost) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool(
        "raise", "",
        [](int deep) {
            const std::function<void(int)> fail_at = [&](int level) {
                if (level == 0) throw std::runtime_error("socket closed");
                try {
                    fail_at(level - 1);
                } catch (...) {
                    std::throw_with_nested(std::logic_error("level " + std::to_string(level)));
                }
            };
            fail_at(deep);
        },
        param("deep"))));
    const Outcome outcome = node->call("raise", {{"deep", 2}});
    EXPECT_EQ(outcome.error()->message, "level 2");
    const Array& causes = outcome.error()->details.at("stack").as_array();
    ASSERT_EQ(causes.size(), 2u);
    EXPECT_THAT(std::string(causes[0].as_string()), EndsWith(": level 1"));
    EXPECT_EQ(causes[1], "caused by std::runtime_error: socket closed");
    EXPECT_THAT(json::write(views::s1(outcome)), Not(HasSubstr("socket closed")));
    EXPECT_EQ(node->call("raise", {{"deep", 50}}).error()->details.at("stack").as_array().size(), 5u);
    EXPECT_FALSE(node->call("raise", {{"deep", 0}}).error()->details.contains("stack"));
}

TEST(S1, R13_ThirtySecondsByDefaultAndTheErrorTellsTheDuration) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto call = node.start(CallRequest("slow"));
    node.advance(29'999ms);
    EXPECT_FALSE(*call);
    node.advance(1ms);
    ASSERT_TRUE(*call);
    const Object map = views::s1(**call);
    EXPECT_EQ(map.at("type"), "timeout");
    EXPECT_EQ(map.at("error"), "Tool execution timed out after 30000ms");
    EXPECT_EQ(map.at("timeout_ms"), 30'000);
}

TEST(S1, R13_AToolRunsInATaskOfItsOwnThatIsStoppedAtTheDeadline) {
    std::latch entered(1);
    std::latch told(1);
    std::thread::id ran_on;
    TestRuntime node;  // goes first, and waits for the tool
    ASSERT_TRUE(node->tools().add(tool("deaf", "", [&](CallContext& context) {
        ran_on = std::this_thread::get_id();
        const std::stop_callback stop(context.cancel(), [&] { told.count_down(); });
        entered.count_down();
        told.wait();
    })));
    const auto call = node.start(CallRequest("deaf"));
    entered.wait();
    EXPECT_NE(ran_on, std::this_thread::get_id());
    node.advance(30s);
    told.wait();
    ASSERT_TRUE(*call);
    EXPECT_EQ(views::s1(**call).at("type"), "timeout");
}

TEST(S1, R14_MissingParametersAreAStructuredErrorAndNothingRuns) {
    TestRuntime node;
    int runs = 0;
    const auto count = [&](const Object&, CallContext&) -> ToolReturn {
        ++runs;
        return ToolResult();
    };
    const Value schema = schema_of({{"a", "integer"}, {"b", "integer"}});
    ASSERT_TRUE(node->tools().add(action_tool(ToolDefinition("act", "", schema), count)));
    ASSERT_TRUE(node->tools().add(schema_tool(ToolDefinition("tool", "", schema), count)));
    for (const char* name : {"act", "tool"}) {
        const Object map = views::s1(node->call(name));
        EXPECT_EQ(map.at("type"), "execution_error") << name;
        EXPECT_EQ(map.at("tool_name"), name);
        EXPECT_EQ(map.at("details").at("errors"),
                  Value(Array{"Missing required parameter: a", "Missing required parameter: b"}))
            << name;
    }
    EXPECT_EQ(runs, 0);
}

TEST(S1, R15_StartAndThenStopOrException) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add_all(
        {echo(), tool("raise", "", []() -> int { throw std::runtime_error("boom"); })}));
    EXPECT_EQ(to_string(Event::start), "start");
    EXPECT_EQ(to_string(Event::stop), "stop");
    EXPECT_EQ(to_string(Event::exception), "exception");
    node->call("echo", {{"message", "hello"}});
    EXPECT_THAT(events(node), ElementsAre(Event::start, Event::stop));
    node.recorder->clear();
    node->call("raise");
    EXPECT_THAT(events(node), ElementsAre(Event::start, Event::exception));
}

// Measurements and metadata of each event.
class Metadata final : public Observer {
public:
    void on_telemetry(const TelemetryEvent& event) override {
        Object seen{{"name", to_string(event.name)}, {"tool", event.tool}, {"reason", event.reason}};
        seen.emplace(
            "at_ms",
            std::chrono::duration_cast<std::chrono::milliseconds>(event.at.time_since_epoch()).count());
        seen.emplace("duration_us",
                     std::chrono::duration_cast<std::chrono::microseconds>(event.duration).count());
        if (event.params != nullptr) seen.emplace("params", event.params->get());
        if (event.result != nullptr) seen.emplace("result", event.result->get());
        all.push_back(seen);
    }
    std::vector<Object> all;
};

TEST(S1, R16_EventsCarryTimeToolParametersDurationAndResult) {
    TestRuntime node;
    const auto seen = std::make_shared<Metadata>();
    node->observe(seen);
    ASSERT_TRUE(node->tools().add(tool(
        "work", "",
        [&](std::string how) {
            node.clock->advance(2ms);
            if (how == "badly") throw std::runtime_error("boom");
            return Object{{"done", how}};
        },
        param("how"))));
    node->call("work", {{"how", "well"}});
    node->call("work", {{"how", "badly"}});
    ASSERT_EQ(seen->all.size(), 4u);
    EXPECT_EQ(seen->all[0].at("tool"), "work");
    EXPECT_EQ(seen->all[0].at("at_ms"), 1'767'225'600'000);
    EXPECT_EQ(seen->all[0].at("params"), Value(Object{{"how", "well"}}));
    EXPECT_EQ(seen->all[1].at("name"), "stop");
    EXPECT_EQ(seen->all[1].at("duration_us"), 2'000);
    EXPECT_EQ(seen->all[1].at("result"), Value(Object{{"done", "well"}}));
    EXPECT_EQ(seen->all[3].at("name"), "exception");
    EXPECT_EQ(seen->all[3].at("duration_us"), 2'000);
    EXPECT_EQ(seen->all[3].at("reason"), "exception");
}

TEST(S1, R17_TelemetryIsRedactedByName) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("login", "", [](const Object&) {})));
    const auto shown = [&](std::string_view name) {
        node.recorder->clear();
        node->call("login", Object{{name, "value"}, {"list", Array{Object{{name, "value"}}}}});
        return node.recorder->telemetry().at(0).params;
    };
    for (const char* name :
         {"api_key", "apikey", "password", "secret", "token", "auth_token", "private_key", "access_key",
          "bearer", "api_secret", "client_secret", "secret_value", "db_password", "my_key", "API_KEY"}) {
        EXPECT_EQ(shown(name).at(name), "[REDACTED]") << name;
        EXPECT_EQ(shown(name).at("list").at(0).at(name), "[REDACTED]") << name;
    }
    for (const char* name : {"author", "monkey", "path", "keyboard"}) {
        EXPECT_EQ(shown(name).at(name), "value") << name;
    }
}

TEST(S1, V67_SecretsInTelemetryAreMaskedAndContainersAreLookedInto) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool("login", "", [](const Object&) {})));
    node->call("login", Object{{"api_key", "a"},
                               {"password", "b"},
                               {"token", "c"},
                               {"secret_value", "d"},
                               {"credentials", Object{{"api_key", "e"}, {"username", "ann"}}}});
    EXPECT_EQ(json::write(node.recorder->telemetry().at(0).params),
              R"({"api_key":"[REDACTED]","password":"[REDACTED]","token":"[REDACTED]",)"
              R"("secret_value":"[REDACTED]","credentials":{"api_key":"[REDACTED]","username":"ann"}})");
}

TEST(S1, V76_AnyCallIsOneStartAndExactlyOneEnd) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add_all(
        {echo(), slow, tool("raise", "", []() -> int { throw std::runtime_error("boom"); }),
         tool("odd", "", []() -> int { throw 1; }),
         returns("sold", tl::unexpected(ToolFailure::answered("sold out"))),
         tool("risky", "", [] {}).risk(Risk::high), tool("scoped", "", [] {}).scopes({"admin"})}));
    for (const char* name : {"echo", "raise", "odd", "sold", "risky", "scoped", "nobody"}) {
        node.recorder->clear();
        node->call(name, name == std::string_view("echo") ? Args{{"message", "hi"}} : Args());
        const auto seen = node.recorder->telemetry();
        ASSERT_EQ(seen.size(), 2u) << name;
        EXPECT_EQ(seen[0].name, Event::start) << name;
        EXPECT_NE(seen[1].name, Event::start) << name;
        EXPECT_EQ(seen[1].tool, name);
        EXPECT_EQ(seen[0].call_id, seen[1].call_id) << name;
    }
}

TEST(S1, V77_ATimeoutIsAnExceptionEvent) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add(slow));
    const auto call = node.start(CallRequest("slow"));
    node.advance(30s);
    ASSERT_TRUE(*call);
    const auto seen = node.recorder->telemetry();
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[1].name, Event::exception);
    EXPECT_EQ(seen[1].reason, "timed_out");
}

TEST(S1, V78_ANameThatIsNotFoundStartsAndStops) {
    TestRuntime node;
    node->call("nobody");
    EXPECT_THAT(events(node), ElementsAre(Event::start, Event::stop));
}

TEST(S1, D9_RefusalsAndErrorsTheToolReturnsStopAndWhatBreaksOffIsAnException) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    ASSERT_TRUE(node->tools().add_all(
        {echo(), slow, tool("raise", "", []() -> int { throw std::runtime_error("boom"); }),
         tool("odd", "", []() -> int { throw 1; }),
         returns("sold", tl::unexpected(ToolFailure::answered("sold out"))),
         returns("lost", tl::unexpected(ToolFailure::lost("pipe broken"))),
         tool("risky", "", [] {}).risk(Risk::high), tool("scoped", "", [] {}).scopes({"admin"})}));
    const auto end_of = [&](const char* name) {
        node.recorder->clear();
        node->call(name);
        return node.recorder->telemetry().at(1).name;
    };
    for (const char* name : {"echo", "sold", "risky", "scoped", "nobody"}) {
        EXPECT_EQ(end_of(name), Event::stop) << name;
    }
    for (const char* name : {"raise", "odd", "lost"}) EXPECT_EQ(end_of(name), Event::exception) << name;

    std::stop_source stop;
    Context context;
    context.cancel = stop.get_token();
    node.recorder->clear();
    node->start(CallRequest("slow"), context, [](Outcome) {});
    stop.request_stop();
    node.calm();
    EXPECT_THAT(events(node), ElementsAre(Event::start, Event::exception));
}

TEST(S1, R18_TheRegistryListsByKindAndName) {
    Registry registry;
    ASSERT_TRUE(registry.add_all({echo(), calculator(), tool("abc", "", [] {})}));
    const auto names = [](const std::vector<RegisteredTool>& tools) {
        std::vector<std::string> out;
        for (const auto& tool : tools) out.push_back(tool.definition.name);
        return out;
    };
    EXPECT_THAT(names(registry.list()), ElementsAre("abc", "calculator", "echo"));
    EXPECT_THAT(names(registry.list(ToolKind::action)), ElementsAre("calculator"));
    EXPECT_THAT(names(registry.list(ToolKind::function)), ElementsAre("abc", "echo"));
    EXPECT_FALSE(registry.remove("nobody")) << "no error either";
    EXPECT_TRUE(registry.remove("abc"));
    registry.clear();
    EXPECT_EQ(registry.size(), 0u);
}

TEST(S1, R18_ARegistrationSaysWhatIsWrongAndAListIsTakenWholeOrNotAtAll) {
    Registry registry;
    Tool bad = echo();
    bad.definition.input_schema = Object{{"type", "nonsense"}};
    const auto refused = registry.add_all({calculator(), bad});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::config_error);
    EXPECT_EQ(registry.size(), 0u);
    ASSERT_TRUE(registry.add(echo()));
    EXPECT_FALSE(registry.add(echo())) << "unlike the origin, a name is not taken over silently";
    EXPECT_TRUE(registry.add(echo(), IfPresent::replace));
}

TEST(S1, R18_ChangesOfTheRegistryAreTold) {
    Registry registry;
    std::vector<std::string> seen;
    const auto subscription = registry.on_change([&](const RegistryChange& change) {
        for (const std::string& name : change.added) seen.push_back("+" + name);
        for (const std::string& name : change.removed) seen.push_back("-" + name);
    });
    ASSERT_TRUE(registry.add(echo()));
    registry.remove("echo");
    EXPECT_THAT(seen, ElementsAre("+echo", "-echo"));
}

TEST(S1, R19_AnActionsOutputIsChecked) {
    TestRuntime node;
    Tool act = action_tool(
        ToolDefinition("act", "", Object{{"type", "object"}}),
        [](const Object&, CallContext&) -> ToolReturn { return ToolResult(Object{{"sum", "three"}}); });
    ASSERT_TRUE(node->tools().add(act.output(schema_of({{"sum", "integer"}}))));
    const Outcome outcome = node->call("act");
    EXPECT_EQ(outcome.error()->code, ErrorCode::output_invalid);
    EXPECT_EQ(views::s1(outcome).at("type"), "execution_error");
}

TEST(S1, R19_AnActionIsUndoneWhenItFailsIfItSaysHow) {
    TestRuntime node;
    std::vector<std::string> undone;
    ActionHooks hooks;
    EXPECT_EQ(hooks.compensation_timeout, 5s);
    const ToolFunction fails = [](const Object&, CallContext&) -> ToolReturn {
        return tl::unexpected(ToolFailure::answered("sold out"));
    };
    const ToolDefinition book("book", "", Object{{"type", "object"}});
    EXPECT_FALSE(node->call_direct(action_tool(book, fails, hooks)).error()->details.contains("compensated"));
    hooks.compensate = [&](const Error& error, const Object&, CallContext&) -> Result<void> {
        undone.push_back(error.message);
        return {};
    };
    EXPECT_EQ(node->call_direct(action_tool(book, fails, hooks)).error()->details.at("compensated"), true);
    EXPECT_THAT(undone, ElementsAre("sold out"));
}

TEST(S1, D18_NothingIsRetriedByDefaultWhateverTheKindAndTheFailure) {
    TestRuntime node;
    int runs = 0;
    ToolFailure failure;
    const ToolFunction fails = [&](const Object&, CallContext&) -> ToolReturn {
        ++runs;
        return tl::unexpected(failure);
    };
    const ToolDefinition definition("act", "", Object{{"type", "object"}});
    for (const ToolFailure& kind :
         {ToolFailure::answered("no"), ToolFailure::not_applied("no"), ToolFailure::unreachable("no"),
          ToolFailure::lost("no"), ToolFailure::rate_limited("no", 1ms)}) {
        failure = kind;
        for (Tool made : {action_tool(definition, fails), schema_tool(definition, fails)}) {
            runs = 0;
            const Outcome outcome = node->call_direct(made.read_only());
            EXPECT_FALSE(outcome.ok());
            EXPECT_EQ(runs, 1) << failure.error.message;
            EXPECT_EQ(outcome.attempts(), 1u);
        }
    }
}

TEST(S1, D22_AnErrorTheToolReturnedIsNeverRetried) {
    TestRuntime node;
    int runs = 0;
    ToolFailure failure = ToolFailure::answered("try again later");
    failure.error.retryable = true;
    Tool made = schema_tool(ToolDefinition("act", "", Object{{"type", "object"}}),
                            [&](const Object&, CallContext&) -> ToolReturn {
                                ++runs;
                                return tl::unexpected(failure);
                            });
    made.retries(RetryPolicy(2)).read_only();
    const auto call = [&] {
        runs = 0;
        const auto ended = node.start(CallRequest("act"));
        for (int i = 0; i < 10 && !*ended; ++i) node.advance(1s);
        return ended->has_value() && !(*ended)->ok();
    };
    ASSERT_TRUE(node->tools().add(made.run_inline()));
    EXPECT_TRUE(call());
    EXPECT_EQ(runs, 1);
    failure.applied = Applied::no;
    EXPECT_TRUE(call());
    EXPECT_EQ(runs, 3) << "what is proven not applied is";
}

TEST(S1, R20_LookupNormaliseExecuteFormatTelemetry) {
    TestRuntime node;
    std::vector<std::string> steps;
    class Steps final : public Observer {
    public:
        explicit Steps(std::vector<std::string>& all) : all_(all) {}
        void on_telemetry(const TelemetryEvent& event) override { all_.emplace_back(to_string(event.name)); }

    private:
        std::vector<std::string>& all_;
    };
    node->observe(std::make_shared<Steps>(steps));
    ActionHooks hooks;
    hooks.after_validate = [&](Object arguments) -> Result<Object> {
        steps.push_back("normalised " + json::write(arguments));
        return arguments;
    };
    hooks.after_output = [&](ToolResult result) -> Result<ToolResult> {
        steps.push_back("formatting " + json::write(result.value));
        return result;
    };
    ASSERT_TRUE(node->tools().add(action_tool(
        ToolDefinition("next", "", schema_of({{"n", "integer"}})),
        [&](const Object& arguments, CallContext&) -> ToolReturn {
            steps.emplace_back("executed");
            return ToolResult(Value(arguments.at("n").as_int64() + 1));
        },
        hooks)));
    Context context;
    context.trace = true;
    const Outcome outcome = node->call("next", {{"n", "41"}}, context);
    EXPECT_EQ(outcome.text(), "42");
    EXPECT_THAT(steps, ElementsAre("start", "normalised {\"n\":41}", "executed", "formatting 42", "stop"));
    EXPECT_THAT(stages(outcome), ElementsAre("resolve", "authorize", "validate", "classify", "gate", "claim",
                                             "dispatch", "shape", "settle"));
}

TEST(S1, R20_ACallThatFailsAtOneStepDoesNotReachTheNext) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(tool("next", "", [&](int) { ++runs; }, param("n"))));
    Context context;
    context.trace = true;
    EXPECT_THAT(stages(node->call("nobody", {}, context)), ElementsAre("resolve", "settle"));
    EXPECT_THAT(stages(node->call("next", {{"n", "x"}}, context)),
                ElementsAre("resolve", "authorize", "validate", "settle"));
    EXPECT_EQ(runs, 0);
}

TEST(S1, D14_UnknownArgumentsAreRefusedUnlessTheSchemaOrTheContractAllowsThem) {
    TestRuntime node;
    const auto state = [&](Tool made, Value schema) {
        made.definition.input_schema = std::move(schema);
        return node->call_direct(made, {{"a", 1}, {"b", 2}}).state();
    };
    const Tool plain = tool("t", "", [](const Object&) {});
    const Value closed = json::parse(R"({"properties":{"a":{"type":"integer"}}})").value();
    EXPECT_EQ(state(plain, closed), State::invalid);
    EXPECT_EQ(state(action_tool(plain.definition,
                                [](const Object&, CallContext&) -> ToolReturn { return ToolResult(); }),
                    closed),
              State::invalid);
    EXPECT_EQ(state(Tool(plain).open_arguments(), closed), State::succeeded);
    for (const char* open :
         {R"({"properties":{"a":{}},"additionalProperties":true})",
          R"({"properties":{"a":{}},"patternProperties":{"^b":{}}})",
          R"({"properties":{"a":{}},"allOf":[{"properties":{"b":{}}}]})", R"({"type":"object"})"}) {
        EXPECT_EQ(state(plain, json::parse(open).value()), State::succeeded) << open;
    }
}

TEST(S1, D15_CoercionTouchesOnlyWhatDoesNotFit) {
    const Value schema =
        json::parse(R"({"properties":{"id":{"type":["string","integer"]},"n":{"type":"integer"}}})").value();
    EXPECT_EQ(normalize_params(Object{{"id", "7"}, {"n", "7"}}, schema).value(),
              (Object{{"id", "7"}, {"n", 7}}));
}

}  // namespace
}  // namespace callgate
