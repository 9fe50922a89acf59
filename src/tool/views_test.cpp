#include <callgate/views.h>

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/utf8.h"

namespace callgate::views {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

OutcomeData success_data(ToolResult result) {
    OutcomeData data;
    data.state = State::succeeded;
    data.succeeded = true;
    data.tool = "test_tool";
    data.server = "srv";
    data.arguments = std::make_shared<const Value>(Object{{"path", "/etc/hosts"}});
    data.result = std::move(result);
    data.duration = 12'345us;
    data.timestamp = std::chrono::sys_days{std::chrono::January / 2 / 2026} + 3h + 4min + 5s + 60us;
    return data;
}

Outcome success(ToolResult result) {
    return Outcome(success_data(std::move(result)));
}

OutcomeData failure_data(Error error, State state = State::failed) {
    OutcomeData data = success_data({});
    data.state = state;
    data.succeeded = false;
    data.error = std::move(error);
    return data;
}

Outcome failure(Error error, State state = State::failed) {
    return Outcome(failure_data(std::move(error), state));
}

std::string repeated(std::string_view part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += part;
    return out;
}

TEST(S0View, HasTheFiveMembers) {
    EXPECT_EQ(json::write(s0(success(Value(8)))),
              R"({"tool_name":"test_tool","success":true,"output":"8","latency_ms":12.345,"error":null})");
}

TEST(S0View, OutputIsCutTo2000Characters) {
    const auto outcome = success(Value(std::string(5'000, 'x')));
    EXPECT_EQ(s0(outcome).at("output"), Value(std::string(2'000, 'x')));
    EXPECT_EQ(outcome.text().size(), 5'000u);
    EXPECT_EQ(s0(success(Value(std::string(2'000, 'x')))).at("output"), Value(std::string(2'000, 'x')));
}

TEST(S0View, ACutOutputIsBoundedInBytesAndEndsWithAWholeCharacter) {
    const std::string output(s0(success(Value("x" + repeated("\xC3\xA9", 3'000)))).at("output").as_string());
    EXPECT_LE(output.size(), 2'000u);
    EXPECT_TRUE(base::is_valid_utf8(output));
}

TEST(S0View, AFailureHasAnErrorAndNoOutput) {
    const auto outcome = failure(Error(ErrorCode::not_found, "There is no tool 'rm_rf'."), State::not_found);
    EXPECT_EQ(s0(outcome).at("output"), Value(""));
    EXPECT_EQ(s0(outcome).at("success"), Value(false));
    EXPECT_THAT(s0_error(outcome), StartsWith("Tool not registered: test_tool"));
    EXPECT_EQ(s0(outcome).at("error"), Value(s0_error(outcome)));
    EXPECT_EQ(s0_error(success(Value(1))), "");
}

TEST(S1View, HasErrorToolTypeAndDetails) {
    EXPECT_EQ(json::write(s1(failure(Error(ErrorCode::timed_out, "late", Object{{"timeout_ms", 100}})))),
              R"({"error":"Tool execution timed out after 100ms","tool_name":"test_tool","type":"timeout",)"
              R"("timeout_ms":100,"details":{"timeout_ms":100}})");
    EXPECT_TRUE(s1(success(Value(1))).empty());
}

TEST(S1View, AnExceptionIsNamedAndItsStackStaysInside) {
    const auto view = s1(failure(Error(
        ErrorCode::exception, "test exception",
        Object{{"exception_type", "ArgumentError"}, {"stack", Array{"frame"}}, {"stacktrace", "frame"}})));
    EXPECT_EQ(view.at("error"), Value("test exception"));
    EXPECT_EQ(view.at("exception_type"), Value("ArgumentError"));
    EXPECT_THAT(json::write(view), Not(HasSubstr("frame")));
}

TEST(S1View, APartialResultIsAttachedAsIncomplete) {
    auto data = failure_data(Error(ErrorCode::timed_out, "late"), State::timed_out);
    data.partial = Partial{Value("half"), 4, data.timestamp};
    EXPECT_EQ(json::write(s1(Outcome(data)).at("details").at("partial")),
              R"({"content":"half","content_type":"text","bytes":4,"complete":false,)"
              R"("received_at":"2026-01-02T03:04:05.000060Z"})");
}

TEST(S2View, HasEveryMemberInItsOrder) {
    EXPECT_EQ(json::write(s2(success(Value("hi")))),
              R"({"tool_name":"test_tool","server":"srv","arguments":{"path":"/etc/hosts"},"success":true,)"
              R"("content_type":"text","duration_ms":12,"timestamp":"2026-01-02T03:04:05.000060Z",)"
              R"("content":"hi"})");
}

TEST(S2View, WithoutContentOrErrorTheirMembersAreAbsent) {
    const auto view = s2(success(Value(nullptr)));
    EXPECT_FALSE(view.contains("content"));
    EXPECT_FALSE(view.contains("content_length"));
    EXPECT_FALSE(view.contains("error"));
}

TEST(S2View, LongContentIsCutWithItsMarkerInsideTheLimit) {
    const auto view = s2(success(Value(std::string(5'000, 'x'))));
    const std::string content(view.at("content").as_string());
    EXPECT_EQ(content.size(), 1'000u);
    EXPECT_THAT(content, EndsWith("x... (truncated)"));
    EXPECT_EQ(view.at("content_length"), Value(5'000));
    EXPECT_EQ(s2(success(Value(std::string(1'000, 'x')))).at("content"), Value(std::string(1'000, 'x')));
}

TEST(S2View, ContentLengthCountsCharacters) {
    const auto view = s2(success(Value(repeated("\xE2\x82\xAC", 1'001))));
    EXPECT_EQ(view.at("content_length"), Value(1'001));
    EXPECT_LE(view.at("content").as_string().size(), 1'000u);
    EXPECT_TRUE(base::is_valid_utf8(view.at("content").as_string()));
}

TEST(S2View, ASmallValueStaysAValueAndALargeOneIsCutAsText) {
    EXPECT_EQ(s2(success(Value(Object{{"a", 1}}))).at("content"), Value(Object{{"a", 1}}));
    const auto view = s2(success(Value(Array(1'000, Value(1)))));
    EXPECT_THAT(std::string(view.at("content").as_string()), EndsWith("... (truncated)"));
    EXPECT_EQ(view.at("content_length"), Value(2'001));
}

TEST(S2View, TheFirstBlockDecidesTheContentType) {
    const auto content_of = [](std::vector<Block> blocks) {
        const auto view = s2(success(std::move(blocks)));
        return std::pair(std::string(view.at("content_type").as_string()), view.at("content"));
    };
    EXPECT_EQ(content_of({Block::of_text("Hello")}), std::pair(std::string("text"), Value("Hello")));
    EXPECT_EQ(content_of({Block::of_image("\xff", "image/png")}),
              std::pair(std::string("image"), Value("/w==")));
    const Value item = Object{{"type", "custom"}, {"data", Object{{"key", "val"}}}};
    EXPECT_EQ(content_of({Block::of_custom(item)}), std::pair(std::string("custom"), item));
    EXPECT_EQ(content_of({Block::of_text("a"), Block::of_text("b"), Block::of_text("c")}).second,
              Value("a\nb\nc"));
}

TEST(S2View, ErrorsHaveCodeMessageAndDetails) {
    const auto view = s2(failure(Error(ErrorCode::timed_out, "late", Object{{"timeout_ms", 10}})));
    EXPECT_EQ(json::write(view.at("error")),
              R"({"code":"timeout_error","message":"Tool execution timed out after 0.01s",)"
              R"("details":{"timeout_ms":10,"timeout_seconds":0.01}})");
    EXPECT_FALSE(view.contains("content"));
}

TEST(S2View, AnExceptionOfARemoteToolIsAToolError) {
    auto data = failure_data(Error(ErrorCode::exception, "boom"));
    EXPECT_EQ(s2(Outcome(data)).at("error").at("code"), Value("unknown_error"));
    data.in_process = false;
    EXPECT_EQ(s2(Outcome(data)).at("error").at("code"), Value("tool_error"));
}

TEST(Views, WhatTheProviderSentIsInNone) {
    ToolResult result(Value("parsed"));
    result.raw = "unparsed";
    const auto outcome = success(result);
    const std::string all =
        json::write(s0(outcome)) + json::write(s2(outcome)) + mcp(outcome) + model_text(outcome);
    EXPECT_THAT(all, Not(HasSubstr("unparsed")));
}

TEST(S4View, SaysWhatItsOriginSaid) {
    EXPECT_EQ(s4_error(failure(Error(ErrorCode::not_found, "x"))), "Tool test_tool not found");
    EXPECT_EQ(s4_error(success(Value(1))), "");
}

TEST(ModelText, IsTheResultAsText) {
    EXPECT_EQ(model_text(success(Value("hello"))), "hello");
    EXPECT_EQ(model_text(success(Value(8))), "8");
    EXPECT_EQ(model_text(success(Value(Object{{"a", 1}}))), R"({"a":1})");
    EXPECT_LE(model_text(success(Value(std::string(20'000, 'x')))).size(), 10'000u);
}

TEST(ModelText, DescribesWhatIsNoText) {
    EXPECT_EQ(model_text(success(std::vector<Block>{
                  Block::of_text("see"), Block::of_image("12345", "image/png"),
                  Block::of_link("file:///c", "c"), Block::of_resource("file:///r", "inside")})),
              "see\n[image image/png, 5 bytes]\n[link c file:///c]\n[resource file:///r]\ninside");
}

TEST(ModelText, AnErrorIsFollowedByWhatToDoNext) {
    EXPECT_EQ(model_text(failure(Error(ErrorCode::invalid_arguments, "Missing required parameter: path"))),
              "Missing required parameter: path. Correct the arguments named in the message and call again.");
}

TEST(ModelText, AnUnknownOutcomeSaysPlainlyNotToCallAgain) {
    const std::string expected =
        "Outcome unknown: The connection was lost. The call of 'test_tool' may have been done. "
        "Do not call again; ask a person.";
    EXPECT_EQ(model_text(failure(Error(ErrorCode::transport, "The connection was lost"), State::unknown)),
              expected);
    EXPECT_EQ(
        model_text(failure(Error(ErrorCode::outcome_unknown, "The connection was lost."), State::replayed)),
        expected);
}

TEST(ModelText, APartialResultIsSaidToBePartial) {
    auto data = failure_data(Error(ErrorCode::timed_out, "It took too long."), State::timed_out);
    data.partial = Partial{Value("line 1\nline 2"), 13, data.timestamp};
    EXPECT_THAT(model_text(Outcome(data)),
                EndsWith("\nPartial result (13 bytes received, the call did not complete): line 1\nline 2"));
}

TEST(ModelText, APreviewIsShown) {
    auto data = failure_data(Error(ErrorCode::preview_required, "Only previewed."), State::previewed);
    data.preview = Preview("Would delete 3 files", Value(Array{"a", "b", "c"}));
    EXPECT_THAT(model_text(Outcome(data)),
                EndsWith("\nPreview: Would delete 3 files\nChanges: [\"a\",\"b\",\"c\"]"));
}

TEST(ModelText, HoweverLongTheMessageTheNextStepIsThere) {
    auto data = failure_data(Error(ErrorCode::tool_error, repeated("\xE2\x82\xAC", 50'000)));
    EXPECT_LE(model_text(Outcome(data)).size(), 10'000u);
    EXPECT_THAT(model_text(Outcome(data)),
                EndsWith("Read the tool's message and change the call accordingly."));
    EXPECT_TRUE(base::is_valid_utf8(model_text(Outcome(data))));
    data.partial = Partial{Value(std::string(50'000, 'x')), 50'000, data.timestamp};
    EXPECT_LE(model_text(Outcome(data)).size(), 10'000u);
    EXPECT_THAT(model_text(Outcome(data)), HasSubstr("[truncated, 50000 bytes total]"));
    data.state = State::unknown;
    data.tool = std::string(100'000, 't');
    EXPECT_LE(model_text(Outcome(data)).size(), 10'000u);
    EXPECT_THAT(model_text(Outcome(data)), HasSubstr("may have been done. Do not call again; ask a person."));
}

TEST(McpView, OneTextIsOneBlock) {
    EXPECT_EQ(mcp(success(Value("a \"quoted\"\nline"))),
              R"({"content":[{"type":"text","text":"a \"quoted\"\nline"}]})");
    EXPECT_EQ(mcp(success(Value(8))), R"({"content":[{"type":"text","text":"8"}]})");
    EXPECT_EQ(mcp(success(Value(18446744073709551615u))),
              R"({"content":[{"type":"text","text":"18446744073709551615"}]})");
    EXPECT_EQ(mcp(success(Value(1.5))), R"({"content":[{"type":"text","text":"1.5"}]})");
    EXPECT_EQ(mcp(success(Value(false))), R"({"content":[{"type":"text","text":"false"}]})");
    EXPECT_EQ(mcp(success(Value(nullptr))), R"({"content":[]})");
    EXPECT_EQ(mcp(success(Value(Array{1, "x"}))), R"({"content":[{"type":"text","text":"[1,\"x\"]"}]})");
}

TEST(McpView, AnObjectIsStructuredContentToo) {
    EXPECT_EQ(mcp(success(Value(Object{{"a", 1}}))),
              R"({"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}})");
}

TEST(McpView, BlocksAndStructuredContentStandSideBySide) {
    ToolResult result(std::vector<Block>{Block::of_text("t"), Block::of_image("\xff", "image/png")});
    result.structured = Object{{"n", 1}};
    EXPECT_EQ(
        mcp(success(result)),
        R"({"content":[{"type":"text","text":"t"},{"type":"image","data":"/w==","mimeType":"image/png"}],)"
        R"("structuredContent":{"n":1}})");
}

TEST(McpView, AnErrorIsMarkedAsOne) {
    EXPECT_EQ(mcp(failure(Error(ErrorCode::tool_error, "Access denied"))),
              R"({"content":[{"type":"text","text":"Access denied. Read the tool's message and change the )"
              R"(call accordingly."}],"isError":true})");
}

TEST(McpView, TextThatIsNotUtf8IsCarriedByteForByte) {
    const auto blob = [](const Value& item) {
        return std::string(item.at("resource").at("blob").as_string());
    };
    const auto one = json::parse(mcp(success(Value("caf\xe9"))));
    ASSERT_TRUE(one);
    EXPECT_EQ(one->at("content").at(0).at("type"), "resource");
    EXPECT_EQ(one->at("content").at(0).at("resource").at("mimeType"), "application/octet-stream");
    EXPECT_EQ(blob(one->at("content").at(0)), "Y2Fm6Q==");
    const ToolResult blocks(std::vector<Block>{Block::of_text("fine"), Block::of_text("\xff"),
                                               Block::of_resource("file:///a", "\xfe", "text/plain")});
    const auto three = json::parse(mcp(success(blocks)));
    ASSERT_TRUE(three);
    ASSERT_EQ(three->at("content").as_array().size(), 3u);
    EXPECT_EQ(three->at("content").at(0).at("text"), "fine");
    EXPECT_EQ(blob(three->at("content").at(1)), "/w==");
    EXPECT_EQ(blob(three->at("content").at(2)), "/g==");
    EXPECT_EQ(three->at("content").at(2).at("resource").at("uri"), "file:///a");
}

TEST(McpView, BytesThatHadToBeReplacedInsideJsonAreToldOf) {
    const auto told = [](const std::string& text) {
        const auto parsed = json::parse(text);
        EXPECT_TRUE(parsed);
        const Array& content = parsed->at("content").as_array();
        return content.size() == 2 &&
               std::string(content[1].at("text").as_string()).find("not UTF-8") != std::string::npos;
    };
    EXPECT_TRUE(told(mcp(success(Value(Object{{"a", "\xff"}})))));
    EXPECT_TRUE(told(mcp(success(Value(Object{{"\xff", 1}})))));
    ToolResult structured(Value("x"));
    structured.structured = Object{{"a", Array{"\xff"}}};
    EXPECT_TRUE(told(mcp(success(structured))));
    EXPECT_TRUE(told(mcp(failure(Error(ErrorCode::tool_error, "bad \xff")))));
    const std::string own = "a tool's own \xEF\xBF\xBD";
    EXPECT_EQ(mcp(success(Value(own))), "{\"content\":[{\"type\":\"text\",\"text\":\"" + own + "\"}]}");
}

TEST(McpView, WhateverAToolReturnsTheTextIsJson) {
    for (const std::string& bytes :
         {std::string("\xff\xfe"), std::string(100'000, '"'), std::string(3, '\0')}) {
        const auto parsed = json::parse(mcp(success(Value(bytes))));
        ASSERT_TRUE(parsed);
        EXPECT_EQ(parsed->at("content").as_array().size(), 1u);
    }
}

}  // namespace
}  // namespace callgate::views
