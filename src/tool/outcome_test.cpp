#include <callgate/outcome.h>

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace callgate {
namespace {

using namespace std::chrono_literals;

Outcome success(ToolResult result) {
    OutcomeData data;
    data.state = State::succeeded;
    data.succeeded = true;
    data.result = std::move(result);
    return Outcome(std::move(data));
}

Outcome failure(Error error, ToolResult said = {}) {
    OutcomeData data;
    data.error = std::move(error);
    data.result = std::move(said);
    return Outcome(std::move(data));
}

TEST(Outcome, TextIsTheStringOrTheJson) {
    EXPECT_EQ(success(Value("hello")).text(), "hello");
    EXPECT_EQ(success(Value(8)).text(), "8");
    EXPECT_EQ(success(Value(Object{{"key", "value"}})).text(), R"({"key":"value"})");
    EXPECT_EQ(success(Value(nullptr)).text(), "");
}

TEST(Outcome, TextBlocksAreJoinedByLineBreaks) {
    const auto outcome =
        success(std::vector<Block>{Block::of_text("one"), Block::of_image("bytes", "image/png"),
                                   Block::of_text("two"), Block::of_json(Object{{"n", 3}})});
    EXPECT_EQ(outcome.text(), "one\ntwo\n{\"n\":3}");
}

TEST(Outcome, OfAFailureThereIsNoContent) {
    const auto outcome = failure(Error(ErrorCode::tool_error, "no"));
    EXPECT_FALSE(outcome);
    EXPECT_EQ(outcome.text(), "");
    EXPECT_TRUE(outcome.content().is_null());
    EXPECT_TRUE(outcome.blocks().empty());
    ASSERT_NE(outcome.error(), nullptr);
    EXPECT_EQ(outcome.error()->message, "no");
}

TEST(Outcome, OfAFailureTheContentIsWhatItsToolSaidAndNoText) {
    const auto outcome =
        failure(Error(ErrorCode::tool_error, "no"), std::vector<Block>{Block::of_text("said")});
    EXPECT_EQ(outcome.text(), "");
    EXPECT_EQ(outcome.content(), (Array{Object{{"type", "text"}, {"text", "said"}}}));
    ASSERT_EQ(outcome.blocks().size(), 1u);
    EXPECT_EQ(outcome.blocks()[0].text, "said");
}

TEST(Outcome, ContentIsTheValueOrTheBlocksInMcpForm) {
    EXPECT_EQ(success(Value(Array{1, 2})).content(), (Value(Array{1, 2})));
    const auto outcome = success(std::vector<Block>{
        Block::of_text("t"), Block::of_image("\xff\xfe", "image/png"), Block::of_audio("a", "audio/wav"),
        Block::of_resource("file:///a", "text", "text/plain"),
        Block::of_binary_resource("file:///b", "b", "x/y"), Block::of_link("file:///c", "c"),
        Block::of_custom(Object{{"type", "custom"}, {"n", 1}})});
    EXPECT_EQ(json::write(outcome.content()),
              R"([{"type":"text","text":"t"},)"
              R"({"type":"image","data":"//4=","mimeType":"image/png"},)"
              R"({"type":"audio","data":"YQ==","mimeType":"audio/wav"},)"
              R"({"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"text"}},)"
              R"({"type":"resource","resource":{"uri":"file:///b","mimeType":"x/y","blob":"Yg=="}},)"
              R"({"type":"resource_link","uri":"file:///c","name":"c"},)"
              R"({"type":"custom","n":1}])");
}

TEST(Outcome, ValuesCanBeReadAsBlocks) {
    const auto text = success(Value("hello")).blocks();
    ASSERT_EQ(text.size(), 1u);
    EXPECT_EQ(text[0].kind, BlockKind::text);
    EXPECT_EQ(text[0].text, "hello");
    const auto json = success(Value(42)).blocks();
    ASSERT_EQ(json.size(), 1u);
    EXPECT_EQ(json[0].kind, BlockKind::json);
    EXPECT_EQ(json[0].json, Value(42));
    EXPECT_TRUE(success(Value(nullptr)).blocks().empty());
}

TEST(Outcome, IdsAreUuids) {
    OutcomeData data;
    data.call_id = {0x01, 0x93, 0x2a, 0, 0, 0, 0x70, 1, 0x80, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(Outcome(data).call_id(), "01932a00-0000-7001-8002-030405060708");
    EXPECT_EQ(Outcome(data).parent_call_id(), "");
    data.parent_call_id = data.call_id;
    EXPECT_EQ(Outcome(data).parent_call_id(), "01932a00-0000-7001-8002-030405060708");
}

TEST(Outcome, WithoutArgumentsTheyAreAnEmptyObject) {
    EXPECT_EQ(Outcome().arguments(), Value(Object()));
    OutcomeData data;
    data.arguments = std::make_shared<const Value>(Object{{"a", 1}});
    EXPECT_EQ(Outcome(data).arguments(), Value(Object{{"a", 1}}));
}

TEST(Outcome, EveryStateHasItsOwnName) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < kStateCount; ++i) names.insert(to_string(static_cast<State>(i)));
    EXPECT_EQ(names.size(), kStateCount);
    EXPECT_TRUE(names.contains("needs_approval"));
}

TEST(Outcome, LatencyIsInMilliseconds) {
    OutcomeData data;
    data.duration = 1500us;
    EXPECT_DOUBLE_EQ(Outcome(data).latency_ms(), 1.5);
}

TEST(ToolFailure, SaysWhetherAnythingWasChanged) {
    EXPECT_EQ(ToolFailure::answered("no").applied, Applied::answered);
    EXPECT_EQ(ToolFailure::answered("no").error.code, ErrorCode::tool_error);
    EXPECT_FALSE(ToolFailure::answered("no").error.retryable);
    EXPECT_EQ(ToolFailure::not_applied("busy").applied, Applied::no);
    EXPECT_TRUE(ToolFailure::not_applied("busy").error.retryable);
    EXPECT_EQ(ToolFailure::unreachable("refused").applied, Applied::no);
    EXPECT_EQ(ToolFailure::unreachable("refused").error.code, ErrorCode::transport);
    EXPECT_EQ(ToolFailure::lost("pipe broken").applied, Applied::maybe);
    EXPECT_FALSE(ToolFailure::lost("pipe broken").error.retryable);
}

TEST(ToolFailure, ARateLimitSaysWhenItResets) {
    const auto failure = ToolFailure::rate_limited("slow down", 1500ms);
    EXPECT_EQ(failure.error.code, ErrorCode::rate_limited);
    EXPECT_EQ(failure.applied, Applied::no);
    EXPECT_EQ(failure.retry_after, 1500ms);
    EXPECT_EQ(failure.error.details.at("retry_after_ms"), Value(1500));
}

}  // namespace
}  // namespace callgate
