// S2, the ralph-agi ToolExecutor: structured results, six error codes, time limits, batches, log lines.
#include <callgate/callgate.h>
#include <callgate/exceptions.h>
#include <callgate/views.h>

#include <barrier>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "pipeline/runtime_testing.h"
#include "seeds_testing.h"

namespace callgate {
namespace {

using namespace std::chrono_literals;
using pipeline::deferred;
using pipeline::DeferredBody;
using pipeline::Ended;
using pipeline::TestRuntime;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// The schema of the origin's own validation tests.
Value test_schema() {
    return Object{{"type", "object"},
                  {"properties",
                   {{"name", {{"type", "string"}}},
                    {"count", {{"type", "integer"}}},
                    {"enabled", {{"type", "boolean"}}},
                    {"format", {{"type", "string"}, {"enum", {"a", "b"}}}}}},
                  {"required", {"name"}}};
}

// A tool that reads, runs where it is called, and answers what the function says.
Tool reader(std::string name, std::function<ToolReturn()> answer, Value schema = kAnyObject) {
    return schema_tool(
               ToolDefinition(std::move(name), "", std::move(schema)),
               [answer = std::move(answer)](const Object&, CallContext&) -> ToolReturn { return answer(); })
        .read_only()
        .run_inline();
}

Tool says(std::string name, Value answer) {
    return reader(std::move(name), [answer = std::move(answer)] { return ToolReturn(ToolResult(answer)); });
}

Tool fails(std::string name, ToolFailure failure) {
    return reader(std::move(name), [failure] { return ToolReturn(tl::unexpected(failure)); });
}

CallRequest with_timeout(CallRequest request, std::chrono::milliseconds timeout) {
    request.timeout = timeout;
    return request;
}

// The log as it would stand in a file: level, then line.
std::vector<std::string> log_of(const TestRuntime& node) {
    std::vector<std::string> lines;
    for (const auto& line : node.recorder->log())
        lines.push_back(std::string(to_string(line.level)) + ' ' + line.text);
    return lines;
}

std::string s2_code(const Outcome& outcome) {
    const Object view = views::s2(outcome);
    const Value* error = view.if_contains("error");
    return error == nullptr ? std::string() : std::string(error->at("code").as_string());
}

std::string s2_message(const Outcome& outcome) {
    return std::string(views::s2(outcome).at("error").at("message").as_string());
}

Value s2_details(const Outcome& outcome) {
    return views::s2(outcome).at("error").at("details");
}

// Every serialised form of an outcome, in one text.
std::string all_views(const Outcome& outcome) {
    return json::write(views::s0(outcome)) + json::write(views::s1(outcome)) +
           json::write(views::s2(outcome)) + views::s0_error(outcome) + views::s4_error(outcome) +
           views::mcp(outcome) + views::model_text(outcome);
}

// ---- executing

TEST(S2, R1_ExecuteTakesJsonArgumentsAndReturnsAStructuredResult) {
    TestRuntime node;
    Object seen;
    Tool read = schema_tool(ToolDefinition("read_file", "", test_schema()),
                            [&](const Object& args, CallContext&) -> ToolReturn {
                                seen = args;
                                return ToolResult(Value("127.0.0.1 localhost"));
                            })
                    .read_only();
    ASSERT_TRUE(node->tools().add(read));
    for (const Args& args :
         {Args(R"({"name":"hosts","count":5})"), Args({{"name", "hosts"}, {"count", 5}})}) {
        const Outcome result = node->call("read_file", args);
        EXPECT_TRUE(result.ok());
        EXPECT_EQ(result.text(), "127.0.0.1 localhost");
        EXPECT_EQ(seen, (Object{{"name", "hosts"}, {"count", 5}}));
    }
}

TEST(S2, R1_ArgumentsThatDoNotFitTheSchemaNeverReachTheTool) {
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(
        reader("test_tool", [&] { return ToolReturn(ToolResult(Value(++runs))); }, test_schema())));
    const Outcome refused = node->call("test_tool", {{"count", "wrong type"}, {"unknown", "value"}});
    EXPECT_EQ(s2_code(refused), "validation_error");
    EXPECT_EQ(runs, 0);
    EXPECT_FALSE(refused.data().dispatched);
}

TEST(S2, R1_TheCallGoesToTheServerThatOwnsTheTool) {
    TestRuntime node;
    std::vector<std::string> asked;
    for (const std::string server : {"files", "web"}) {
        Tool tool = reader(server + "/get", [&asked, server] {
            asked.push_back(server);
            return ToolReturn(ToolResult(Value("from " + server)));
        });
        tool.contract.server = server;
        tool.contract.provider = ProviderType::mcp;
        tool.contract.risk = Risk::low;
        ASSERT_TRUE(node->tools().add(tool));
    }
    const Outcome result = node->call("web/get");
    EXPECT_EQ(result.text(), "from web");
    EXPECT_EQ(result.server(), "web");
    EXPECT_THAT(asked, ElementsAre("web"));
}

TEST(S2, R2_WithoutATimeLimitItIsThirtySeconds) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("slow", body).read_only()));
    const Ended call = node.start(CallRequest("slow"));
    node.advance(29'999ms);
    EXPECT_FALSE(*call);
    node.advance(1ms);
    ASSERT_TRUE(*call);
    EXPECT_EQ(s2_code(**call), "timeout_error");
}

TEST(S2, R2_ACallMayBringItsOwnTimeLimit) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("slow", body).read_only().timeout(5s)));
    const Ended brief = node.start(with_timeout(CallRequest("slow"), 10ms));
    const Ended patient = node.start(with_timeout(CallRequest("slow"), 60s));
    node.advance(10ms);
    EXPECT_TRUE(*brief);
    node.advance(59s);
    EXPECT_FALSE(*patient);
}

TEST(S2, R2_ArgumentsMayBeLeftOut) {  // V25
    TestRuntime node;
    Value seen;
    ASSERT_TRUE(node->tools().add(schema_tool(ToolDefinition("ping", "", kAnyObject),
                                              [&](const Object& args, CallContext&) -> ToolReturn {
                                                  seen = args;
                                                  return ToolResult(Value("pong"));
                                              })
                                      .read_only()));
    EXPECT_TRUE(node->call("ping").ok());
    EXPECT_EQ(seen, Value(Object()));
    EXPECT_TRUE(node->call("ping", nullptr).ok());
    EXPECT_EQ(seen, Value(Object()));
}

// ---- results

TEST(S2, R3_AResultCarriesItsMembersWithTheirDefaults) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("greet", "hello")));
    const Outcome result = node->call("greet", {{"to", "ann"}});
    const Object view = views::s2(result);
    EXPECT_EQ(view.at("tool_name"), "greet");
    EXPECT_EQ(view.at("server"), "");
    EXPECT_EQ(view.at("arguments"), Value(Object{{"to", "ann"}}));
    EXPECT_EQ(view.at("success"), true);
    EXPECT_EQ(view.at("content"), "hello");
    EXPECT_EQ(view.at("content_type"), "text");
    EXPECT_EQ(view.at("duration_ms"), 0);
    EXPECT_THAT(std::string(view.at("timestamp").as_string()), StartsWith("2026-01-01T00:00:00"));
    EXPECT_FALSE(view.contains("error"));
    EXPECT_EQ(result.error(), nullptr);
}

TEST(S2, R3_ItTellsSuccessTextAndContent) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("yes", Object{{"key", "value"}})));
    ASSERT_TRUE(node->tools().add(fails("no", ToolFailure::answered("not today"))));
    const Outcome yes = node->call("yes");
    EXPECT_TRUE(yes.ok() && yes);
    EXPECT_EQ(yes.content(), Value(Object{{"key", "value"}}));
    EXPECT_THAT(yes.text(), AllOf(HasSubstr("key"), HasSubstr("value")));  // V56
    const Outcome no = node->call("no");
    EXPECT_FALSE(no.ok());
    EXPECT_EQ(no.text(), "");
    EXPECT_EQ(no.content(), Value());
}

TEST(S2, R3_ItSerialisesToJson) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("greet", "h\xc3\xa9llo \"you\"")));
    const std::string text = json::write(views::s2(node->call("greet")));
    const auto back = json::parse(text);
    ASSERT_TRUE(back) << text;
    EXPECT_EQ(back->at("content"), "h\xc3\xa9llo \"you\"");
}

TEST(S2, R4_NothingIsSaidOfWhatIsNotThere) {  // V56, V58
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("nothing", nullptr)));
    const Outcome result = node->call("nothing");
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.text(), "");
    EXPECT_FALSE(views::s2(result).contains("content"));
    EXPECT_FALSE(views::s2(result).contains("error"));
    EXPECT_FALSE(views::s2(result).contains("content_length"));
}

TEST(S2, R4_LongContentIsCutWhereItIsSerialisedAndOnlyThere) {  // V57
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("long", Value(std::string(5'000, 'x')))));
    const Outcome result = node->call("long");
    const Object view = views::s2(result);
    EXPECT_LE(view.at("content").as_string().size(), 1'000u);
    EXPECT_THAT(std::string(view.at("content").as_string()), HasSubstr("truncated"));
    EXPECT_EQ(view.at("content_length"), 5'000);
    EXPECT_EQ(result.text().size(), 5'000u);

    ASSERT_TRUE(node->tools().add(says("just", Value(std::string(1'000, 'x')))));
    EXPECT_FALSE(views::s2(node->call("just")).contains("content_length"));
}

TEST(S2, R5_RawOutputAndParsedContentAreBothKept) {
    TestRuntime node;
    Tool tool = reader("fetch", [] {
        ToolResult result(std::vector<Block>{Block::of_text("42")});
        result.structured = Object{{"n", 42}};
        result.raw = R"({"content":[{"type":"text","text":"42"}]})";
        return ToolReturn(std::move(result));
    });
    tool.contract.server = "web";
    ASSERT_TRUE(node->tools().add(tool));
    const Outcome result = node->call("fetch", {{"url", "x"}});
    EXPECT_EQ(result.raw(), R"({"content":[{"type":"text","text":"42"}]})");
    EXPECT_EQ(result.text(), "42");
    EXPECT_EQ(result.structured(), Value(Object{{"n", 42}}));
    EXPECT_EQ(result.tool(), "fetch");
    EXPECT_EQ(result.server(), "web");
    EXPECT_EQ(result.arguments(), Value(Object{{"url", "x"}}));
    EXPECT_THAT(all_views(result), Not(HasSubstr(R"("type\":\"text)"))) << "raw is in no view (D10)";
}

TEST(S2, R5_TheDurationIsMeasured) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("slow", body).read_only()));
    const Ended call = node.start(CallRequest("slow"));
    node.advance(150ms);
    body->take()->finish(ToolResult(Value("done")));
    node.calm();
    ASSERT_TRUE(*call);
    EXPECT_EQ((*call)->duration(), 150ms);
    EXPECT_EQ(views::s2(**call).at("duration_ms"), 150);
}

// ---- errors

TEST(S2, R6_AnErrorIsOneOfSixCodesWithMessageAndDetails) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("slow", body).read_only()));
    ASSERT_TRUE(node->tools().add(reader("checked", [] { return ToolReturn(); }, test_schema())));
    ASSERT_TRUE(node->tools().add(fails("told", ToolFailure::answered("Access denied"))));
    ASSERT_TRUE(node->tools().add(fails("down", ToolFailure::unreachable("Connection refused"))));
    ASSERT_TRUE(
        node->tools().add(reader("throws", []() -> ToolReturn { throw std::logic_error("Unexpected"); })));
    const Ended late = node.start(with_timeout(CallRequest("slow"), 10ms));
    node.advance(10ms);

    const std::vector<std::pair<Outcome, std::string>> cases{
        {node->call("checked"), "validation_error"}, {node->call("down"), "transport_error"},
        {node->call("told"), "tool_error"},          {**late, "timeout_error"},
        {node->call("nobody"), "tool_not_found"},    {node->call("throws"), "unknown_error"}};
    for (const auto& [outcome, code] : cases) {
        const Value error = views::s2(outcome).at("error");
        EXPECT_EQ(error.at("code"), Value(code));
        EXPECT_FALSE(error.at("message").as_string().empty()) << code;
        EXPECT_TRUE(error.at("details").is_object()) << code;
        EXPECT_EQ(error.as_object().size(), 3u) << code;
    }
}

TEST(S2, R6_AsTextAnErrorIsItsCodeInBracketsAndItsMessage) {  // V59
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(fails("down", ToolFailure::unreachable("Connection refused"))));
    node->call("down");
    EXPECT_THAT(log_of(node).back(), HasSubstr(" error=[transport_error] Connection refused"));
}

TEST(S2, R7_AToolsErrorIsNoTransportError) {  // V44, V45
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(fails("told", ToolFailure::answered("Access denied"))));
    ASSERT_TRUE(node->tools().add(fails("lost", ToolFailure::lost("Pipe broken"))));
    const Outcome told = node->call("told");
    EXPECT_EQ(s2_code(told), "tool_error");
    EXPECT_THAT(s2_message(told), HasSubstr("Access denied"));
    const Outcome lost = node->call("lost");
    EXPECT_EQ(s2_code(lost), "transport_error");
    EXPECT_THAT(s2_message(lost), HasSubstr("Pipe broken"));
}

TEST(S2, R7_AnErrorReplysCodeAndDataAreInTheDetails) {  // V51, D7
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(fails(
        "told",
        ToolFailure::answered("Quota used up",
                              {{"code", -32050}, {"message", "Quota used up"}, {"data", {{"left", 0}}}}))));
    const Value details = s2_details(node->call("told"));
    EXPECT_EQ(details.at("code"), -32050);
    EXPECT_EQ(details.at("data").at("left"), 0);
}

TEST(S2, R7_AStackTraceIsForTheHostAlone) {  // D8
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(reader("throws", []() -> ToolReturn { throw TracedError("It broke."); })));
    ASSERT_TRUE(node->tools().add(
        fails("tells", ToolFailure::answered("It broke.", {{"stack", {"frame of 002_test.cpp"}}}))));
    for (const char* name : {"throws", "tells"}) {
        const Outcome broken = node->call(name);
        ASSERT_TRUE(broken.error()->details.contains("stack"));
        EXPECT_THAT(json::write(broken.error()->details.at("stack")), HasSubstr("002_test.cpp"));
        EXPECT_LE(broken.error()->details.at("stack").as_array().size(), 5u);
        EXPECT_THAT(all_views(broken), Not(HasSubstr("002_test.cpp")));
    }
    for (const auto& event : must(node->audit())) {
        EXPECT_THAT(json::write(event.to_json()), Not(HasSubstr("002_test.cpp")));
    }
}

TEST(S2, R7_TransientFailuresAreTriedAgain) {
    TestRuntime node;
    int tries = 0;
    ASSERT_TRUE(node->tools().add(reader("flaky", [&]() -> ToolReturn {
                                      if (++tries < 3)
                                          return tl::unexpected(ToolFailure::unreachable("no route"));
                                      return ToolResult(Value("there"));
                                  }).retries(RetryPolicy(2))));
    const Ended call = node.start(CallRequest("flaky"));
    for (int i = 0; i < 10 && !*call; ++i) node.advance(1s);
    ASSERT_TRUE(*call);
    EXPECT_TRUE((*call)->ok());
    EXPECT_EQ((*call)->attempts(), 3u);
}

TEST(S2, R7_WhatTheToolItselfAnsweredIsNotTriedAgain) {  // D22
    TestRuntime node;
    int tries = 0;
    ASSERT_TRUE(node->tools().add(reader("firm", [&]() -> ToolReturn {
                                      ++tries;
                                      return tl::unexpected(ToolFailure::answered("no"));
                                  }).retries(RetryPolicy(5))));
    EXPECT_FALSE(node->call("firm").ok());
    EXPECT_EQ(tries, 1);
}

TEST(S2, R8_AnExceptionTypeWrapsAFailedResult) {  // V60
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(fails("told", ToolFailure::answered("Access denied"))));
    try {
        node->call_or_throw("told");
        FAIL();
    } catch (const ToolExecutionError& error) {
        EXPECT_STREQ(error.what(), "Tool 'told' failed: Access denied");
        EXPECT_EQ(error.outcome().error()->code, ErrorCode::tool_error);
    }
    OutcomeData without;
    without.tool = "told";
    EXPECT_THAT(ToolExecutionError(Outcome(without)).what(), AllOf(HasSubstr("told"), HasSubstr("failed")));
}

TEST(S2, R8_TheExecutorItselfNeverThrows) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(reader("throws", []() -> ToolReturn { throw std::runtime_error("x"); })));
    ASSERT_TRUE(node->tools().add(reader("odd", []() -> ToolReturn { throw 42; })));
    ASSERT_TRUE(node->tools().add(Tool(ToolDefinition("empty", "", kAnyObject), nullptr)));
    const std::vector<CallRequest> calls{CallRequest("throws"), CallRequest("odd"),
                                         CallRequest("empty"),  CallRequest("nobody"),
                                         CallRequest(""),       CallRequest("odd", "{bad")};
    for (const CallRequest& call : calls) {
        Outcome outcome;
        EXPECT_NO_THROW(outcome = node->call(call)) << call.tool;
        EXPECT_FALSE(outcome.ok()) << call.tool;
        ASSERT_NE(outcome.error(), nullptr) << call.tool;
    }
    EXPECT_NO_THROW(node->call_batch(calls));
    EXPECT_NO_THROW(node->call_json("nonsense"));
}

// ---- time

TEST(S2, R9_AToolMayHaveItsOwnTimeLimit) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("brief", body).read_only().timeout(2s)));
    const Ended call = node.start(CallRequest("brief"));
    node.advance(1'999ms);
    EXPECT_FALSE(*call);
    node.advance(1ms);
    EXPECT_TRUE(*call);
}

TEST(S2, R9_TheDefaultComesFromTheConfiguration) {
    RuntimeOptions options;
    options.default_timeout = 7s;
    TestRuntime node(options);
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("slow", body).read_only()));
    const Ended call = node.start(CallRequest("slow"));
    node.advance(7s);
    ASSERT_TRUE(*call);
    EXPECT_EQ(s2_details(**call).at("timeout_seconds"), 7.0);
}

TEST(S2, R9_ALongRunningCallIsToldToStop) {
    std::promise<void> entered;
    std::promise<void> stopped;
    TestRuntime node;  // its end waits for the tool
    ASSERT_TRUE(node->tools().add(schema_tool(ToolDefinition("long", "", kAnyObject),
                                              [&](const Object&, CallContext& context) -> ToolReturn {
                                                  const std::stop_callback on_stop(
                                                      context.cancel(), [&] { stopped.set_value(); });
                                                  entered.set_value();
                                                  stopped.get_future().wait();
                                                  return ToolResult(Value("too late"));
                                              })
                                      .read_only()));
    const Ended call = node.start(with_timeout(CallRequest("long"), 50ms));
    entered.get_future().wait();
    node.advance(50ms);
    ASSERT_TRUE(*call) << "the answer does not wait for the tool";
    EXPECT_EQ((*call)->state(), State::timed_out);
}

TEST(S2, R9_WhatWasThereBeforeTheDeadlineIsKept) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("slow", body).read_only()));
    const Ended call = node.start(CallRequest("slow"));
    body->take()->context().partial("the first half");
    // The attempt is gone without an answer: the connection is lost.
    node.calm();
    ASSERT_TRUE(*call);
    EXPECT_FALSE((*call)->ok());
    const Value partial = s2_details(**call).at("partial");
    EXPECT_EQ(partial.at("content"), "the first half");
    EXPECT_EQ(partial.at("complete"), false);
    EXPECT_THAT(views::model_text(**call), HasSubstr("the first half"));
}

TEST(S2, V49_ATimeoutNamesItsSeconds) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("slow", body).read_only()));
    const Ended call = node.start(with_timeout(CallRequest("slow"), 10ms));
    node.advance(10ms);
    ASSERT_TRUE(*call);
    EXPECT_EQ(s2_code(**call), "timeout_error");
    EXPECT_EQ(s2_message(**call), "Tool execution timed out after 0.01s");
    EXPECT_EQ(s2_details(**call).at("timeout_seconds"), 0.01);
}

TEST(S2, V50_ACallThatMayTakeSixtySecondsCanTakeFortyFive) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("long_operation", body)));
    const Ended call = node.start(with_timeout(CallRequest("long_operation"), 60s));
    const auto attempt = body->take();
    EXPECT_EQ(attempt->context().time_left(), 60s) << "the limit is passed down to the tool";
    node.advance(45s);
    EXPECT_EQ(attempt->context().time_left(), 15s);
    attempt->finish(ToolResult(Value("done")));
    node.calm();
    ASSERT_TRUE(*call);
    EXPECT_TRUE((*call)->ok());
    EXPECT_EQ((*call)->duration(), 45s);
}

// ---- batches

TEST(S2, R10_ABatchRunsInParallel) {
    TestRuntime node;
    std::barrier together(3);
    ASSERT_TRUE(node->tools().add(tool(
        "meet", "",
        [&](int n) {
            together.arrive_and_wait();  // ends only if all three are inside at once
            return n;
        },
        param("n"))));
    const auto results = node->call_batch(
        {CallRequest("meet", {{"n", 1}}), CallRequest("meet", {{"n", 2}}), CallRequest("meet", {{"n", 3}})});
    ASSERT_EQ(results.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(results[i].text(), std::to_string(i + 1));
}

TEST(S2, R10_ResultsAreInTheOrderOfTheCallsWhateverEndsFirst) {  // V68
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("slow", body)));
    // The last one is answered from inside the batch and lets the others go, last first.
    std::vector<std::string> ended;
    ASSERT_TRUE(node->tools().add(reader("last", [&] {
        std::vector<std::shared_ptr<Attempt>> waiting;
        while (auto attempt = body->take()) waiting.push_back(attempt);
        for (auto attempt = waiting.rbegin(); attempt != waiting.rend(); ++attempt) {
            const std::string name((*attempt)->arguments().at("n").as_string());
            ended.push_back(name);
            (*attempt)->finish(ToolResult(Value(name)));
            node.calm();
        }
        return ToolReturn(ToolResult(Value("e")));
    })));
    std::vector<CallRequest> calls;
    for (const char* name : {"a", "b", "c", "d"}) calls.emplace_back("slow", Args({{"n", name}}));
    calls.emplace_back("last");
    const auto results = node->call_batch(std::move(calls));
    EXPECT_THAT(ended, ElementsAre("d", "c", "b", "a"));
    std::vector<std::string> texts;
    for (const auto& result : results) texts.push_back(result.text());
    EXPECT_THAT(texts, ElementsAre("a", "b", "c", "d", "e"));
}

TEST(S2, R10_OneFailureLeavesTheOthersAlone) {  // V68
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("good", "fine")));
    const auto results = node->call_batch({CallRequest("good"), CallRequest("bad"), CallRequest("good")});
    ASSERT_EQ(results.size(), 3u);
    EXPECT_EQ(results[0].text(), "fine");
    EXPECT_EQ(s2_code(results[1]), "tool_not_found");
    EXPECT_EQ(results[2].text(), "fine");
    EXPECT_THAT(node->call_batch({}), IsEmpty());
}

TEST(S2, R10_EachCallOfABatchMayHaveItsOwnTimeLimit) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("slow", body).read_only()));
    ASSERT_TRUE(node->tools().add(reader("clock", [&] {
        node.advance(1s);
        const auto first = body->take();
        body->take()->finish(ToolResult(Value("in time")));
        node.calm();
        return ToolReturn(ToolResult(Value(1)));
    })));
    const auto results = node->call_batch(
        {with_timeout(CallRequest("slow"), 1s), with_timeout(CallRequest("slow"), 2s), CallRequest("clock")});
    EXPECT_EQ(s2_code(results[0]), "timeout_error");
    EXPECT_EQ(results[1].text(), "in time");
}

// ---- content

TEST(S2, R12_TextImageAndCustomContentAreUnderstood) {  // V39, V40, V41, V43
    TestRuntime node;
    const auto content = [&](std::vector<Block> blocks) {
        node->tools().add_or_throw(reader("show", [=] { return ToolReturn(ToolResult(blocks)); }),
                                   IfPresent::replace);
        const Object view = views::s2(node->call("show"));
        const Value* found = view.if_contains("content");
        return std::pair(found != nullptr ? *found : Value(),
                         std::string(view.at("content_type").as_string()));
    };
    EXPECT_EQ(content({Block::of_text("Hello")}), std::pair(Value("Hello"), std::string("text")));
    EXPECT_EQ(content({Block::of_image("abc", "image/png")}), std::pair(Value("YWJj"), std::string("image")));
    const Value item = Object{{"type", "custom"}, {"data", {{"key", "val"}}}};
    EXPECT_EQ(content({Block::of_custom(item)}), std::pair(item, std::string("custom")));
    EXPECT_EQ(content({Block::of_text("a"), Block::of_text("b"), Block::of_text("c")}),
              std::pair(Value("a\nb\nc"), std::string("text")));
    EXPECT_EQ(content({}), std::pair(Value(), std::string("text"))) << "nothing, and still a success";
}

TEST(S2, R14_AnUnknownToolsServerIsUnknown) {  // V19
    TestRuntime node;
    const Outcome nobody = node->call("nonexistent", {{"a", 1}});
    const Object view = views::s2(nobody);
    EXPECT_EQ(view.at("server"), "unknown");
    EXPECT_EQ(view.at("success"), false);
    EXPECT_EQ(s2_code(nobody), "tool_not_found");
    EXPECT_EQ(s2_message(nobody), "Tool not found: nonexistent");
    EXPECT_EQ(views::s1(nobody).at("type"), "not_found");
    EXPECT_EQ(views::s1(nobody).at("error"), "Tool not found: nonexistent");
    EXPECT_THAT(views::s0_error(nobody), StartsWith("Tool not registered: nonexistent"));
    EXPECT_EQ(views::s4_error(nobody), "Tool nonexistent not found");
}

TEST(S2, R14_AnExceptionsTypeIsInTheDetails) {  // V48
    TestRuntime node;
    ASSERT_TRUE(
        node->tools().add(reader("throws", []() -> ToolReturn { throw std::out_of_range("Unexpected"); })));
    const Outcome thrown = node->call("throws");
    EXPECT_EQ(s2_code(thrown), "unknown_error");
    EXPECT_EQ(s2_details(thrown).at("exception_type"), "std::out_of_range");
}

// ---- validation

std::vector<std::string> errors_of(const Outcome& outcome) {
    std::vector<std::string> texts;
    if (outcome.ok()) return texts;
    const Value details = s2_details(outcome);
    for (const Value& text : details.at("errors").as_array()) texts.emplace_back(text.as_string());
    return texts;
}

TEST(S2, R16_EachFaultHasItsSentence) {  // V26 to V31, V35
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(reader("test_tool", [] { return ToolReturn(); }, test_schema())));
    const auto errors = [&](Args args) { return errors_of(node->call("test_tool", std::move(args))); };
    EXPECT_THAT(errors({{"name", "test"}, {"count", 5}}), IsEmpty());
    EXPECT_THAT(errors({{"count", 5}}), ElementsAre("Missing required parameter: name"));
    EXPECT_THAT(errors({{"name", "test"}, {"unknown_param", 1}}),
                ElementsAre("Unknown parameter: unknown_param"));
    EXPECT_THAT(errors({{"name", "test"}, {"count", "not a number"}}),
                ElementsAre("Parameter 'count' expected integer, got string"));
    EXPECT_THAT(errors({{"name", "test"}, {"format", "c"}}),
                ElementsAre("Parameter 'format' must be one of: a, b"));
    EXPECT_THAT(
        errors({{"count", "wrong type"}, {"unknown", "value"}}),
        testing::UnorderedElementsAre("Missing required parameter: name", "Unknown parameter: unknown",
                                      "Parameter 'count' expected integer, got string"));
    EXPECT_THAT(errors({{"name", "test"}, {"count", true}}),
                ElementsAre("Parameter 'count' expected integer, got boolean"));
}

TEST(S2, R16_AFailureSaysSoAndTheServerIsNeverCalled) {  // V32
    TestRuntime node;
    int runs = 0;
    ASSERT_TRUE(node->tools().add(
        reader("test_tool", [&] { return ToolReturn(ToolResult(Value(++runs))); }, test_schema())));
    const Outcome refused = node->call("test_tool", {{"count", 5}});
    EXPECT_THAT(s2_message(refused), StartsWith("Argument validation failed"));
    EXPECT_EQ(runs, 0);
}

TEST(S2, V33_TheHostMaySwitchValidationOff) {  // D5
    RuntimeOptions options;
    options.validate_arguments = false;
    TestRuntime node(options);
    ASSERT_TRUE(node->tools().add(
        reader("test_tool", [] { return ToolReturn(ToolResult(Value("ran"))); }, test_schema())));
    EXPECT_EQ(node->call("test_tool", {{"count", "wrong type"}, {"unknown", 1}}).text(), "ran");
    EXPECT_EQ(node->call("test_tool", "[1]").state(), State::invalid)
        << "arguments are an object all the same";
}

TEST(S2, V34_WithoutASchemaEverythingPasses) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("free", 1)));
    EXPECT_TRUE(node->call("free", {{"whatever", {1, 2, {{"deep", nullptr}}}}}).ok());
}

TEST(S2, R16_ArgumentsAreCheckedAtEveryDepth) {
    TestRuntime node;
    const Value schema =
        Object{{"type", "object"},
               {"properties",
                {{"config", {{"type", "object"}, {"properties", {{"port", {{"type", "integer"}}}}}}}}}};
    ASSERT_TRUE(node->tools().add(reader("deep", [] { return ToolReturn(); }, schema)));
    EXPECT_TRUE(node->call("deep", {{"config", {{"port", 80}}}}).ok());
    EXPECT_EQ(s2_code(node->call("deep", {{"config", {{"port", "http"}}}})), "validation_error");
}

TEST(S2, R16_ASchemaThatCannotBeUsedIsRefusedWhenTheToolIsRegistered) {
    TestRuntime node;
    const auto added =
        node->tools().add(reader("bad", [] { return ToolReturn(); }, Object{{"type", "no such type"}}));
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().details.at("reason"), "bad_schema");
}

// ---- log lines

TEST(S2, R17_EveryCallIsLoggedAtItsStartAndItsEnd) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("good", "fine")));
    ASSERT_TRUE(node->tools().add(fails("bad", ToolFailure::answered("no"))));
    ASSERT_TRUE(node->tools().add(reader("checked", [] { return ToolReturn(); }, test_schema())));
    for (const char* name : {"good", "bad", "checked", "nobody"}) {
        node.recorder->clear();
        const bool ok = node->call(name).ok();
        std::vector<std::string> lines;
        for (const auto& line : log_of(node)) {
            if (!line.starts_with("WARNING SECURITY_WARNING")) lines.push_back(line);
        }
        const std::string tool = std::string(" tool=") + name;
        ASSERT_EQ(lines.size(), 2u) << name;
        EXPECT_THAT(lines[0], StartsWith("INFO TOOL_CALL" + tool));
        EXPECT_THAT(lines[1], StartsWith((ok ? "INFO TOOL_SUCCESS" : "WARNING TOOL_FAILED") + tool));
        EXPECT_THAT(log_of(node).front(), StartsWith("INFO TOOL_CALL")) << "it comes first, whatever follows";
    }
}

TEST(S2, R17_LoggingMayBeSwitchedOff) {  // V61
    for (const bool on : {true, false}) {
        RuntimeOptions options;
        options.log_calls = on;
        TestRuntime node(options);
        ASSERT_TRUE(node->tools().add(says("test_tool", 1)));
        node->call("test_tool");
        EXPECT_EQ(node.recorder->log().empty(), !on);
    }
}

TEST(S2, R17_TheLevelTellsWhatMatters) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("good", 1)));
    node->call("good");
    node->call("bad");
    for (const auto& line : node.recorder->log()) {
        const bool matters =
            line.text.starts_with("TOOL_FAILED") || line.text.starts_with("SECURITY_WARNING");
        EXPECT_EQ(line.level, matters ? LogLevel::warning : LogLevel::info) << line.text;
    }
}

TEST(S2, R18_TheThreeLinesExactly) {
    TestRuntime node;
    auto body = std::make_shared<DeferredBody>();
    ASSERT_TRUE(node->tools().add(deferred("read_file", body)));
    Ended call = node.start(CallRequest("read_file", {{"path", "/etc/hosts"}}));
    node.advance(150ms);
    body->take()->finish(ToolResult(Value("127.0.0.1 localhost")));
    node.calm();
    call = node.start(CallRequest("read_file", {{"path", "/none"}}));
    node.advance(10'900us);
    body->take()->finish(tl::unexpected(ToolFailure::answered("No such file")));
    node.calm();
    EXPECT_THAT(
        log_of(node),
        ElementsAre("INFO TOOL_CALL tool=read_file args={'path': '/etc/hosts'}",
                    "INFO TOOL_SUCCESS tool=read_file duration=150ms content='127.0.0.1 localhost'",
                    "INFO TOOL_CALL tool=read_file args={'path': '/none'}",
                    "WARNING TOOL_FAILED tool=read_file duration=10ms error=[tool_error] No such file"));
}

TEST(S2, R18_AnUnknownToolIsLoggedAsFailed) {  // V62
    TestRuntime node;
    node->call("bad_tool");
    EXPECT_EQ(
        log_of(node).back(),
        "WARNING TOOL_FAILED tool=bad_tool duration=0ms error=[tool_not_found] Tool not found: bad_tool");
}

TEST(S2, R18_ArgumentsAreInPythonNotation) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("t", 1)));
    node->call("t", R"({"s":"it's","n":null,"t":true,"f":1.0,"l":[1,-2],"o":{"é":"x"}})");
    EXPECT_EQ(log_of(node).front(),
              R"(INFO TOOL_CALL tool=t args={'s': "it's", 'n': None, 't': True, 'f': 1.0, 'l': [1, -2], )"
              R"('o': {'é': 'x'}})");
}

TEST(S2, R19_LongContentIsLoggedByItsFirstHundredCharacters) {  // D13
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("just", Value(std::string(100, 'x')))));
    ASSERT_TRUE(node->tools().add(says("long", Value(std::string(101, 'x')))));
    ASSERT_TRUE(node->tools().add(says("none", nullptr)));
    const auto line = [&](const char* name) {
        node->call(name);
        return log_of(node).back();
    };
    const std::string hundred(100, 'x');
    EXPECT_EQ(line("just"), "INFO TOOL_SUCCESS tool=just duration=0ms content='" + hundred + "'");
    EXPECT_EQ(line("long"), "INFO TOOL_SUCCESS tool=long duration=0ms content='" + hundred + "...'");
    EXPECT_EQ(line("none"), "INFO TOOL_SUCCESS tool=none duration=0ms");
}

TEST(S2, R20_SensitiveArgumentsAreMaskedInLogs) {  // V63, V64, V65
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(says("test_tool", 1)));
    node->call("test_tool", {{"password", "hunter2-a"},
                             {"api_key", "hunter2-b"},
                             {"PASSWORD", "hunter2-c"},
                             {"Api_Key", "hunter2-d"},
                             {"TOKEN", "hunter2-e"},
                             {"config", {{"api_key", "hunter2-f"}, {"url", "http://kept"}}},
                             {"list", {{{"secret", "hunter2-g"}}}},
                             {"path", "/kept"},
                             {"author", "Ann Kept"},
                             {"max_tokens", 100}});
    const std::string line = log_of(node).front();
    EXPECT_THAT(line, AllOf(Not(HasSubstr("hunter2")), HasSubstr("'password': '[REDACTED]'"),
                            HasSubstr("'url': 'http://kept'"), HasSubstr("'path': '/kept'"),
                            HasSubstr("'author': 'Ann Kept'"), HasSubstr("'max_tokens': 100")));
    const std::string told = json::write(node.recorder->telemetry().front().params);
    EXPECT_THAT(told, AllOf(Not(HasSubstr("hunter2")), HasSubstr("/kept"), HasSubstr("Ann Kept")));
}

TEST(S2, R21_TheDefaultsOfTheExecutor) {
    const RuntimeOptions options;
    EXPECT_EQ(options.default_timeout, 30s);
    EXPECT_TRUE(options.validate_arguments);
    EXPECT_TRUE(options.log_calls);
}

// Control characters and escape sequences that begin lines, end quotes, or change what a terminal shows.
const std::vector<std::string> kForgeries{
    "x\nWARNING TOOL_FAILED tool=y duration=1ms error=[tool_error] forged",
    "x\r\nINFO TOOL_SUCCESS tool=y duration=1ms content='forged'",
    "x' content='forged",
    "x\" error=[tool_error] forged",
    "x\\' content='forged",
    "x duration=0ms content='forged'",
    "\x1b[2K\x1b[1Gforged",
    std::string("x\0forged", 8),
    "x\xe2\x80\xa8INFO TOOL_CALL forged",
    "\xe2\x80\xae-forged",
    "x\x85\xc2\x85-forged",
};

void expect_not_forged(const std::string& line) {
    for (const char c : line) {
        EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << testing::PrintToString(line);
    }
    for (const char* bad : {"\xe2\x80\xa8", "\xe2\x80\xae", "\xc2\x85"})
        EXPECT_THAT(line, Not(HasSubstr(bad)));
}

TEST(S2, D13_NoLogLineCanBeForged) {
    for (const std::string& text : kForgeries) {
        TestRuntime node;
        ASSERT_TRUE(node->tools().add(says("echo", Value(text))));
        ASSERT_TRUE(node->tools().add(fails("deny", ToolFailure::answered(text))));
        ASSERT_TRUE(
            node->tools().add(reader("throw", [&]() -> ToolReturn { throw std::runtime_error(text); })));
        Context context;
        context.principal = text;
        node->call(text, {}, context);
        node->call("echo", Object{{text, text}, {"l", Array{text}}}, context);
        node->call("deny", {}, context);
        node->call("throw", {}, context);
        const auto lines = log_of(node);
        ASSERT_EQ(lines.size(), 9u) << "one each, and the security warning";
        for (const auto& line : lines) expect_not_forged(line);
        // A name ends at the first space, whatever it is made of.
        const std::string name = lines[0].substr(std::string("INFO TOOL_CALL tool=").size());
        EXPECT_THAT(name.substr(0, name.find(' ')), HasSubstr("forged"));
        // Inside content='…' there is no unescaped quote.
        std::string content = lines[4].substr(lines[4].find("content='") + 9);
        ASSERT_TRUE(content.ends_with('\''));
        content.pop_back();
        for (std::size_t i = 0; i < content.size(); ++i) {
            if (content[i] == '\\') {
                ++i;
            } else {
                EXPECT_NE(content[i], '\'') << lines[4];
            }
        }
    }
}

// ---- schema inspection

TEST(S2, R24_AToolIsShownInOneLine) {  // V38
    const ToolDefinition definition("write_file", "",
                                    Object{{"type", "object"},
                                           {"properties",
                                            {{"path", {{"type", "string"}}},
                                             {"content", {{"type", "string"}}},
                                             {"append", {{"type", "boolean"}}}}},
                                           {"required", {"path", "content"}}});
    EXPECT_EQ(definition.compact(), "write_file(path: string, content: string, append?: boolean)");
}

TEST(S2, R24_ParametersAreFoundWithTypeDescriptionDefaultAndChoices) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(tool(
        "resize", "Resize it", [](int, std::optional<std::string>) { return 1; },
        param("width", "in pixels").default_to(100), param("mode", "how").one_of({"fit", "fill"}))));
    const auto found = node->tools().get("resize");
    ASSERT_TRUE(found);
    const Value& parameters = found->definition.input_schema.at("properties");
    EXPECT_EQ(parameters.at("width").at("type"), "integer");
    EXPECT_EQ(parameters.at("width").at("description"), "in pixels");
    EXPECT_EQ(parameters.at("width").at("default"), 100);
    EXPECT_EQ(parameters.at("mode").at("enum"), Value(Array{"fit", "fill"}));
    EXPECT_EQ(found->definition.to_json().at("name"), "resize");
    EXPECT_FALSE(node->tools().get("nobody"));
}

TEST(S2, R24_AWrongNameGetsUpToThreeSuggestions) {
    TestRuntime node;
    for (const char* name : {"read_file", "read_files", "write_file", "read_file_2", "send_mail"})
        ASSERT_TRUE(node->tools().add(says(name, 1)));
    const Outcome typo = node->call("reed_file");
    EXPECT_THAT(typo.error()->message, HasSubstr("Did you mean: "));
    EXPECT_LE(typo.error()->details.at("suggestions").as_array().size(), 3u);
    EXPECT_EQ(typo.error()->details.at("suggestions").as_array()[0], "read_file");
    EXPECT_THAT(node->call("zzzz").error()->message, Not(HasSubstr("Did you mean")));
}

// ---- the unified rules that S2 belongs to

TEST(S2, D9_TelemetryStartsAndEndsOnceAndTellsHow) {
    struct Case {
        const char* name;
        std::function<void(TestRuntime&)> call;
        TelemetryEvent::Name end;
        const char* reason;
    };
    const auto once = [](Tool tool) {
        return [tool](TestRuntime& node) {
            ASSERT_TRUE(node->tools().add(tool));
            node->call(CallRequest(tool.definition.name));
        };
    };
    auto body = std::make_shared<DeferredBody>();
    const Tool slow = deferred("slow", body).read_only();
    using Name = TelemetryEvent::Name;
    const std::vector<Case> cases{
        {"success", once(says("t", 1)), Name::stop, ""},
        {"not found", [](TestRuntime& node) { node->call("t"); }, Name::stop, "not_found"},
        {"invalid",
         once(reader(
             "t", [] { return ToolReturn(); }, test_schema())),
         Name::stop, "invalid_arguments"},
        {"denied", once(says("t", 1).risk(Risk::critical)), Name::stop, "denied"},
        {"told", once(fails("t", ToolFailure::answered("no"))), Name::stop, "tool_error"},
        {"exception", once(reader("t", []() -> ToolReturn { throw std::runtime_error("x"); })),
         Name::exception, "exception"},
        {"caught", once(reader("t", []() -> ToolReturn { throw 1; })), Name::exception, "caught"},
        {"transport", once(fails("t", ToolFailure::lost("x"))), Name::exception, "transport"},
        {"timeout",
         [&](TestRuntime& node) {
             ASSERT_TRUE(node->tools().add(slow));
             const Ended call = node.start(CallRequest("slow"));
             node.advance(30s);
         },
         Name::exception, "timed_out"},
        {"cancelled",
         [&](TestRuntime& node) {
             ASSERT_TRUE(node->tools().add(slow));
             std::stop_source stop;
             Context context;
             context.cancel = stop.get_token();
             const Ended call = node.start(CallRequest("slow"), context);
             stop.request_stop();
             node.calm();
         },
         Name::exception, "cancelled"},
    };
    for (const Case& one : cases) {
        TestRuntime node;
        one.call(node);
        const auto told = node.recorder->telemetry();
        ASSERT_EQ(told.size(), 2u) << one.name;
        EXPECT_EQ(told[0].name, Name::start) << one.name;
        EXPECT_EQ(told[1].name, one.end) << one.name;
        EXPECT_EQ(told[1].reason, one.reason) << one.name;
        EXPECT_EQ(told[0].call_id, told[1].call_id);
        while (body->take()) {
        }
    }
}

// One row of the unified error table: a call that really ends so, and what each of five readers sees.
struct ErrorCase {
    ErrorCode code;
    std::function<Outcome(TestRuntime&)> call;
    const char* s0;  ///< how the text begins; null: it is the message
    const char* s1;
    const char* s2;
    const char* s3_event;
    const char* s3_code;
    const char* s3_outcome;
    const char* s4;  ///< null: the message
};

Outcome call_of(TestRuntime& node, Tool tool, Context context = {}) {
    const std::string name = tool.definition.name;
    EXPECT_TRUE(node->tools().add(std::move(tool), IfPresent::replace));
    return node->call(name, {}, std::move(context));
}

Outcome after(TestRuntime& node, Tool tool, std::chrono::milliseconds time, Context context = {}) {
    const std::string name = tool.definition.name;
    EXPECT_TRUE(node->tools().add(std::move(tool)));
    const Ended call = node.start(CallRequest(name), std::move(context));
    node.advance(time);
    return call->value_or(Outcome());
}

Tool unsafe(std::string name, std::function<ToolReturn()> answer) {
    return reader(std::move(name), std::move(answer)).effect(EffectClass::unsafe);
}
Tool unsafe_one(std::string name) {
    return unsafe(std::move(name), [] { return ToolReturn(ToolResult(Value(1))); });
}

std::vector<ErrorCase> error_cases() {
    const char* const failed = "tool_call.failed";
    const auto asked = [](TestRuntime& node) { return call_of(node, unsafe_one("t").risk(Risk::high)); };
    return {
        {ErrorCode::not_found, [](TestRuntime& n) { return n->call("t"); }, "Tool not registered: t",
         "not_found", "tool_not_found", failed, "tool.not_found", "failure", "Tool t not found"},
        {ErrorCode::unavailable,
         [](TestRuntime& n) {
             EXPECT_TRUE(n->tools().add(says("t", 1)));
             ToolHealth down;
             down.status = HealthStatus::unavailable;
             n->tools().update_health("t", down);
             return n->call("t");
         },
         nullptr, "execution_error", "transport_error", failed, "tool.unavailable", "failure", nullptr},
        {ErrorCode::quarantined,
         [](TestRuntime& n) {
             EXPECT_TRUE(n->tools().add(says("t", 1)));
             n->tools().quarantine("t", "changed");
             return n->call("t");
         },
         nullptr, "execution_error", "transport_error", failed, "tool.unavailable", "failure", nullptr},
        {ErrorCode::silenced,
         [](TestRuntime& n) {
             EXPECT_TRUE(n->tools().add(says("t", 1)));
             n->tools().silence("t");
             return n->call("t");
         },
         nullptr, "execution_error", "tool_error", failed, "tool.silenced", "failure", nullptr},
        {ErrorCode::unknown_action,
         [](TestRuntime& n) {
             EXPECT_TRUE(n->tools().add(adapter_tool(
                 ToolDefinition("t", "", kAnyObject),
                 {AdapterAction("get", [](const Object&, CallContext&) { return ToolReturn(); })})));
             return n->call("t");
         },
         nullptr, "execution_error", "validation_error", failed, "tool.unknown_action", "failure", nullptr},
        {ErrorCode::no_implementation,
         [](TestRuntime& n) { return call_of(n, Tool(ToolDefinition("t", "", kAnyObject), nullptr)); },
         nullptr, "execution_error", "unknown_error", failed, "tool.no_implementation", "failure",
         "Tool t has no execute function"},
        {ErrorCode::scope_denied, [](TestRuntime& n) { return call_of(n, says("t", 1).scopes({"mail"})); },
         nullptr, "execution_error", "tool_error", failed, "scope.violation", "failure", nullptr},
        {ErrorCode::invalid_arguments,
         [](TestRuntime& n) { return call_of(n, reader("t", [] { return ToolReturn(); }, test_schema())); },
         nullptr, "execution_error", "validation_error", failed, "tool.invalid_request", "failure", nullptr},
        {ErrorCode::denied, [](TestRuntime& n) { return call_of(n, says("t", 1).risk(Risk::critical)); },
         nullptr, "execution_error", "tool_error", "gate.hard_blocked", "gate.hard_blocked", "failure",
         nullptr},
        {ErrorCode::approval_required, asked, nullptr, "execution_error", "tool_error", "gate.required",
         "gate.required", "info", nullptr},
        {ErrorCode::approval_denied,
         [asked](TestRuntime& n) {
             const Outcome first = asked(n);
             EXPECT_TRUE(n->approvals().deny(first.approval_id(), "olga"));
             return n->resume(first.call_id());
         },
         nullptr, "execution_error", "tool_error", "gate.denied", "gate.denied", "info", nullptr},
        {ErrorCode::approval_expired,
         [asked](TestRuntime& n) {
             const Outcome first = asked(n);
             n.advance(16min);
             return n->resume(first.call_id());
         },
         nullptr, "execution_error", "tool_error", "gate.expired", "gate.expired", "info", nullptr},
        {ErrorCode::preview_required,
         [](TestRuntime& n) {
             Context watching;
             watching.autonomy = Autonomy::a0;
             return call_of(n, says("t", 1), watching);
         },
         nullptr, "execution_error", "tool_error", "gate.preview", "gate.preview", "info", nullptr},
        {ErrorCode::suppressed,
         [](TestRuntime& n) {
             call_of(n, unsafe_one("t").target("/to"));
             return n->call("t");
         },
         nullptr, "execution_error", "tool_error", "gate.antiflap_block", "gate.antiflap_block", "suppressed",
         nullptr},
        {ErrorCode::suppressed,
         [](TestRuntime& n) {
             PolicyConfig config;
             config.notifications_per_hour = 1;
             EXPECT_TRUE(n->policy().set(config));
             call_of(n, unsafe_one("t").capability("notification"));
             return n->call("t");
         },
         nullptr, "execution_error", "tool_error", "gate.storm_block", "gate.storm_block", "suppressed",
         nullptr},
        {ErrorCode::rate_limited,
         [](TestRuntime& n) { return call_of(n, fails("t", ToolFailure::rate_limited("429", 5s))); }, nullptr,
         "execution_error", "tool_error", failed, "tool.rate_limited", "failure", nullptr},
        {ErrorCode::budget_exceeded,
         [](TestRuntime& n) {
             UseLimits limits;
             limits.per_run = 1;
             Context context;
             context.run_id = "r";
             call_of(n, says("t", 1).limits(limits), context);
             return n->call("t", {}, context);
         },
         nullptr, "execution_error", "tool_error", failed, "budget.exceeded", "failure", nullptr},
        {ErrorCode::loop_detected,
         [](TestRuntime& n) {
             Context context;
             context.run_id = "r";
             call_of(n, says("t", 1), context);
             for (int i = 0; i < 4; ++i) n->call("t", {}, context);
             return n->call("t", {}, context);
         },
         nullptr, "execution_error", "tool_error", failed, "loop.detected", "failure", nullptr},
        {ErrorCode::circuit_open,
         [](TestRuntime& n) {
             Tool broken = reader("t", []() -> ToolReturn { throw std::runtime_error("x"); });
             broken.contract.breaker.failures = 1;
             call_of(n, broken);
             return n->call("t");
         },
         nullptr, "execution_error", "transport_error", failed, "tool.circuit_open", "failure", nullptr},
        {ErrorCode::in_progress,
         [](TestRuntime& n) {
             EXPECT_TRUE(n->tools().add(deferred("t", std::make_shared<DeferredBody>())));
             const Ended first = n.start(CallRequest("t"), pipeline::with_key("k"));
             const Ended second = n.start(with_timeout(CallRequest("t"), 1s), pipeline::with_key("k"));
             n.advance(1s);
             return second->value_or(Outcome());
         },
         nullptr, "execution_error", "tool_error", failed, "call.in_progress", "info", nullptr},
        {ErrorCode::key_reused,
         [](TestRuntime& n) {
             call_of(n, unsafe_one("t"), pipeline::with_key("k"));
             return n->call("t", {{"other", 1}}, pipeline::with_key("k"));
         },
         nullptr, "execution_error", "validation_error", failed, "call.key_reused", "failure", nullptr},
        {ErrorCode::key_expired,
         [](TestRuntime& n) {
             call_of(n, unsafe_one("t"), pipeline::with_key("k"));
             n.advance(25h);
             return n->call("t", {}, pipeline::with_key("k"));
         },
         nullptr, "execution_error", "validation_error", failed, "call.key_expired", "failure", nullptr},
        {ErrorCode::outcome_unknown,
         [](TestRuntime& n) {
             call_of(n, unsafe("t", [] { return ToolReturn(tl::unexpected(ToolFailure::lost("x"))); }),
                     pipeline::with_key("k"));
             return n->call("t", {}, pipeline::with_key("k"));
         },
         nullptr, "execution_error", "unknown_error", "tool_call.unknown", "call.outcome_unknown", "failure",
         nullptr},
        {ErrorCode::timed_out,
         [](TestRuntime& n) {
             return after(n, deferred("t", std::make_shared<DeferredBody>()).read_only().timeout(1500ms),
                          1500ms);
         },
         "Tool execution timed out after 1.5s", "timeout", "timeout_error", failed, "tool.timeout", "failure",
         nullptr},
        {ErrorCode::timed_out,
         [](TestRuntime& n) {
             return after(n, deferred("t", std::make_shared<DeferredBody>()).timeout(1500ms), 1500ms);
         },
         "Tool execution timed out after 1.5s", "timeout", "timeout_error", "tool_call.unknown",
         "tool.timeout", "failure", nullptr},
        {ErrorCode::cancelled,
         [](TestRuntime& n) {
             std::stop_source stop;
             stop.request_stop();
             Context context;
             context.cancel = stop.get_token();
             return call_of(n, unsafe_one("t"), context);
         },
         nullptr, "caught", "unknown_error", failed, "tool.cancelled", "info", "Tool execution cancelled"},
        {ErrorCode::tool_error,
         [](TestRuntime& n) { return call_of(n, fails("t", ToolFailure::answered("no"))); }, nullptr,
         "execution_error", "tool_error", failed, "tool.error", "failure", nullptr},
        {ErrorCode::exception,
         [](TestRuntime& n) {
             return call_of(n, unsafe("t", []() -> ToolReturn { throw std::runtime_error("x"); }));
         },
         nullptr, "exception", "unknown_error", failed, "tool.exception", "failure", nullptr},
        {ErrorCode::exception,
         [](TestRuntime& n) {
             Tool remote = unsafe("t", []() -> ToolReturn { throw std::runtime_error("x"); });
             remote.contract.provider = ProviderType::http;
             remote.contract.risk = Risk::low;
             return call_of(n, remote);
         },
         nullptr, "exception", "tool_error", failed, "tool.exception", "failure", nullptr},
        {ErrorCode::caught,
         [](TestRuntime& n) { return call_of(n, unsafe("t", []() -> ToolReturn { throw 1; })); }, nullptr,
         "caught", "unknown_error", "tool_call.unknown", "tool.caught", "failure", nullptr},
        {ErrorCode::caught,
         [](TestRuntime& n) { return call_of(n, reader("t", []() -> ToolReturn { throw 1; })); }, nullptr,
         "caught", "unknown_error", failed, "tool.caught", "failure", nullptr},
        {ErrorCode::transport,
         [](TestRuntime& n) {
             return call_of(
                 n, unsafe("t", [] { return ToolReturn(tl::unexpected(ToolFailure::unreachable("x"))); }));
         },
         nullptr, "execution_error", "transport_error", failed, "tool.transport", "failure", nullptr},
        {ErrorCode::transport,
         [](TestRuntime& n) {
             return call_of(n,
                            unsafe("t", [] { return ToolReturn(tl::unexpected(ToolFailure::lost("x"))); }));
         },
         nullptr, "execution_error", "transport_error", "tool_call.unknown", "tool.transport", "failure",
         nullptr},
        {ErrorCode::output_invalid,
         [](TestRuntime& n) { return call_of(n, says("t", 1).output(Object{{"type", "string"}})); }, nullptr,
         "execution_error", "tool_error", failed, "tool.output_invalid", "failure", nullptr},
        {ErrorCode::config_error, [](TestRuntime& n) { return n->call_direct(says("", 1)); }, nullptr,
         "execution_error", "unknown_error", failed, "config.error", "failure", nullptr},
    };
}

TEST(S2, U3_EveryErrorHasItsFiveViews) {
    for (const ErrorCase& one : error_cases()) {
        TestRuntime node;
        const Outcome outcome = one.call(node);
        SCOPED_TRACE(std::string(to_string(one.code)) + " " + one.s3_event);
        ASSERT_FALSE(outcome.ok());
        ASSERT_NE(outcome.error(), nullptr);
        ASSERT_EQ(outcome.error()->code, one.code) << outcome.error()->message;
        const std::string& message = outcome.error()->message;
        EXPECT_THAT(views::s0_error(outcome), StartsWith(one.s0 != nullptr ? one.s0 : message));
        EXPECT_EQ(views::s1(outcome).at("type"), Value(one.s1));
        EXPECT_EQ(s2_code(outcome), one.s2);
        EXPECT_EQ(views::s4_error(outcome), one.s4 != nullptr ? one.s4 : message);
        EXPECT_THAT(views::model_text(outcome), Not(IsEmpty()));
        const auto audit = must(node->audit());
        ASSERT_FALSE(audit.empty());
        EXPECT_EQ(audit.back().type, one.s3_event);
        EXPECT_EQ(audit.back().error_code, one.s3_code);
        EXPECT_EQ(audit.back().outcome, one.s3_outcome);
        const bool refused = outcome.state() == State::needs_approval ||
                             outcome.state() == State::previewed || outcome.state() == State::denied ||
                             outcome.state() == State::suppressed;
        EXPECT_EQ(s2_details(outcome).as_object().contains("gate"), refused);
        if (std::string_view(one.s2) == "tool_error" && one.code != ErrorCode::tool_error) {
            EXPECT_EQ(s2_details(outcome).at("reason"), Value(to_string(one.code))) << "D6";
        }
    }
}

TEST(S2, U3_WhatCannotBeRecordedHasItsCodes) {
#ifdef CALLGATE_FAILPOINTS
    TestRuntime node;
    base::failpoints().arm("ledger.claim", base::FailAction::error);
    const Outcome unclaimed = call_of(node, unsafe_one("t"));
    base::failpoints().arm("ledger.settle", base::FailAction::error);
    const Outcome unsettled = node->call("t");
    base::failpoints().clear();
    EXPECT_EQ(unclaimed.error()->code, ErrorCode::ledger_unavailable);
    EXPECT_EQ(unsettled.error()->code, ErrorCode::audit_failure);
    for (const Outcome& outcome : {unclaimed, unsettled}) {
        EXPECT_EQ(s2_code(outcome), "unknown_error");
        EXPECT_EQ(views::s1(outcome).at("type"), "execution_error");
    }
#else
    GTEST_SKIP() << "not in this build: it has no failpoints";
#endif
}

}  // namespace
}  // namespace callgate
