// What a tool says of its failure, beside the error: content that is kept, masked, bounded, stored and shown
// as results are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/async.h>

#include "os/scratch_dir.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kSecret = "s3cr3t-value-1234";

ToolResult said(std::string text = "card declined") {
    ToolResult content(std::vector<Block>{Block::of_text(std::move(text))});
    content.structured = Object{{"code", "card_declined"}};
    return content;
}

ToolFailure declined(std::string text = "card declined") {
    return ToolFailure::answered("The payment failed.").with_content(said(std::move(text)));
}

Tool failing(std::string name, std::function<ToolFailure(CallContext&)> how) {
    return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}),
                       [how = std::move(how)](const Object&, CallContext& context) -> ToolReturn {
                           return tl::unexpected(how(context));
                       });
}

constexpr std::string_view kShown =
    R"({"content":[{"type":"text","text":"card declined"}],"structuredContent":{"code":"card_declined"},)"
    R"("isError":true})";

void expect_declined(const Outcome& outcome) {
    EXPECT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error()->message, "The payment failed.");
    EXPECT_EQ(outcome.text(), "");
    ASSERT_EQ(outcome.blocks().size(), 1u);
    EXPECT_EQ(outcome.blocks()[0].text, "card declined");
    EXPECT_EQ(outcome.structured(), Value(Object{{"code", "card_declined"}}));
    EXPECT_EQ(views::mcp(outcome), kShown);
}

boost::asio::awaitable<ToolReturn> declined_later() {
    co_return tl::unexpected(declined());
}

TEST_WITH_EITHER_LEDGER(FailureContent, IsTheToolsOwnWordWhicheverWayItRuns) {
    TestRuntime node;
    const auto pay = [](CallContext&) { return declined(); };
    node->tools().add_or_throw(failing("inline", pay).run_inline());
    node->tools().add_or_throw(failing("pooled", pay));
    node->tools().add_or_throw(failing("thrown", [](CallContext&) -> ToolFailure { throw declined(); }));
    auto [later, body] = deferred("later");
    node->tools().add_or_throw(later);
    for (const char* const name : {"inline", "pooled", "thrown"}) {
        SCOPED_TRACE(name);
        const Outcome ended = node->call(name, {}, with_key("k"));
        EXPECT_EQ(ended.state(), State::failed);
        expect_declined(ended);
        const Outcome again = node->call(name, {}, with_key("k"));
        EXPECT_EQ(again.state(), State::replayed);
        expect_declined(again);
        const CallStatus status = must(node->outcome(ended.call_id(), {}));
        ASSERT_TRUE(status.outcome);
        expect_declined(*status.outcome);
    }
    const Ended ended = node.start("later");
    body->take()->finish(tl::unexpected(declined()));
    node.calm();
    ASSERT_TRUE(*ended);
    expect_declined(**ended);
}

TEST(FailureContent, WithoutItTheErrorAndTheNextStepAreShown) {
    TestRuntime node;
    node->tools().add_or_throw(failing("pay", [](CallContext&) { return ToolFailure::answered("No."); }));
    const Outcome ended = node->call("pay");
    EXPECT_TRUE(ended.content().is_null());
    EXPECT_TRUE(ended.blocks().empty());
    EXPECT_EQ(
        views::mcp(ended),
        json::write(Object{{"content", Array{Object{{"type", "text"}, {"text", views::model_text(ended)}}}},
                           {"isError", true}}));
    EXPECT_THAT(views::model_text(ended), HasSubstr("No."));
}

TEST(FailureContent, AModelReadsItBehindTheErrorUnlessItSaysTheSame) {
    TestRuntime node;
    node->tools().add_or_throw(failing("pay", [](CallContext&) { return declined(); }));
    node->tools().add_or_throw(failing("same", [](CallContext&) { return declined("The payment failed."); }));
    EXPECT_THAT(views::model_text(node->call("pay")), HasSubstr("\nThe tool said: card declined"));
    EXPECT_THAT(views::model_text(node->call("same")), Not(HasSubstr("The tool said")));
}

TEST(FailureContent, MayBeOneValue) {
    TestRuntime node;
    node->tools().add_or_throw(failing("pay", [](CallContext&) {
        return ToolFailure::answered("No.").with_content(Value(Object{{"code", 7}}));
    }));
    EXPECT_EQ(
        views::mcp(node->call("pay")),
        R"({"content":[{"type":"text","text":"{\"code\":7}"}],"structuredContent":{"code":7},"isError":true})");
}

TEST_WITH_EITHER_LEDGER(FailureContent, OfTheLastAttemptCounts) {
    TestRuntime node;
    auto [pay, body] = deferred("pay");
    node->tools().add_or_throw(pay.retries(RetryPolicy(1)).effect(EffectClass::keyed).timeout(60s));
    const auto refuse_once = [&] {
        body->take()->finish(tl::unexpected(
            ToolFailure::not_applied("Busy.").with_content(std::vector<Block>{Block::of_text("first")})));
        node.calm();
        node.advance(30s);
    };
    const Ended second_says = node.start("pay", {}, with_key("a"));
    refuse_once();
    body->take()->finish(tl::unexpected(declined()));
    node.calm();
    ASSERT_TRUE(*second_says);
    EXPECT_EQ((*second_says)->attempts(), 2u);
    expect_declined(**second_says);

    const Ended second_says_nothing = node.start("pay", {}, with_key("b"));
    refuse_once();
    body->take()->finish(tl::unexpected(ToolFailure::answered("No.")));
    node.calm();
    ASSERT_TRUE(*second_says_nothing);
    EXPECT_TRUE((*second_says_nothing)->blocks().empty());

    const Ended second_is_silent = node.start("pay", {}, with_key("c"));
    refuse_once();
    const auto silent = body->take();
    node.advance(60s);
    ASSERT_TRUE(*second_is_silent);
    EXPECT_EQ((*second_is_silent)->state(), State::unknown);
    EXPECT_TRUE((*second_is_silent)->blocks().empty());

    const Ended no_time_for_a_second = node.start("pay", {}, with_key("d"));
    const auto first = body->take();
    node.advance(59'990ms);
    first->finish(tl::unexpected(ToolFailure::not_applied("The payment failed.").with_content(said())));
    node.calm();
    node.advance(10s);
    ASSERT_TRUE(*no_time_for_a_second);
    expect_declined(**no_time_for_a_second);
}

TEST_WITH_EITHER_LEDGER(FailureContent, OfALateAnswerIsKept) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.timeout(1s));
    const Ended first = node.start("slow", {}, with_key("k"));
    node.advance(2s);
    ASSERT_EQ((*first)->state(), State::unknown);
    EXPECT_TRUE((*first)->blocks().empty());
    body->take()->finish(tl::unexpected(declined()));
    node.calm();
    const Outcome told = node->call("slow", {}, with_key("k"));
    EXPECT_EQ(told.state(), State::replayed);
    expect_declined(told);
}

TEST(FailureContent, StaysWhenWhatFailedIsUndone) {
    TestRuntime node;
    ActionHooks hooks;
    hooks.compensate = [](const Error&, const Object&, CallContext&) { return Result<void>(); };
    node->tools().add_or_throw(action_tool(
        ToolDefinition("pay", "", Object{{"type", "object"}}),
        [](const Object&, CallContext&) -> ToolReturn { return tl::unexpected(declined()); }, hooks));
    const Outcome ended = node->call("pay");
    EXPECT_EQ(ended.error()->details.at("compensated"), Value(true));
    expect_declined(ended);
}

TEST(FailureContent, WhereNobodyKnowsWhatWasDoneThatIsSaidFirst) {
    TestRuntime node;
    node->tools().add_or_throw(failing(
        "pay", [](CallContext&) { return ToolFailure::lost("The line went dead.").with_content(said()); }));
    const Outcome ended = node->call("pay");
    ASSERT_EQ(ended.state(), State::unknown);
    EXPECT_EQ(ended.blocks().size(), 1u);
    EXPECT_THAT(views::mcp(ended), HasSubstr("Do not call again; ask a person."));
    EXPECT_THAT(views::mcp(ended), HasSubstr("The tool said: card declined"));
}

TEST_WITH_EITHER_LEDGER(FailureContent, SecretsNeverLeaveTheCallInIt) {
    RuntimeOptions options;
    auto secrets = std::make_shared<MemorySecrets>();
    ASSERT_TRUE(secrets->set("bank", "token", std::string(kSecret)));
    options.secrets = secrets;
    TestRuntime node(options);
    const auto leak = [](CallContext& context) {
        std::string secret;
        EXPECT_TRUE(context.with_secret("token", [&](const Secret& s) { secret = s.expose(); }));
        ToolResult content(std::vector<Block>{Block::of_text("refused " + secret),
                                              Block::of_json(Object{{"sent", secret}}),
                                              Block::of_image("bytes " + secret, "image/png")});
        content.structured = Object{{"sent", Array{secret}}};
        return ToolFailure::answered("No.").with_content(std::move(content));
    };
    node->tools().add_or_throw(failing("pay", leak).connector("bank"));
    const Outcome ended = node->call("pay", {}, with_key("k"));
    ASSERT_EQ(ended.blocks().size(), 3u);
    EXPECT_EQ(ended.blocks()[0].text, "refused [REDACTED]");
    EXPECT_EQ(ended.structured(), Value(Object{{"sent", Array{"[REDACTED]"}}}));
    EXPECT_EQ(ended.blocks()[2].data, "bytes [REDACTED]");
    for (const Outcome& one : {ended, node->call("pay", {}, with_key("k"))})
        EXPECT_THAT(views::mcp(one) + views::model_text(one), Not(HasSubstr(std::string(kSecret))));
}

TEST(FailureContent, ThatIsTooLargeIsCutAndSaysSo) {
    RuntimeOptions options;
    options.max_result_bytes = 2'000;
    TestRuntime node(options);
    node->tools().add_or_throw(
        failing("fits", [](CallContext&) { return declined(std::string(1'900, 'x')); }));
    node->tools().add_or_throw(failing("large", [](CallContext&) {
        return ToolFailure::answered("No.").with_content(Value(std::string(30'000, 'x')));
    }));
    EXPECT_EQ(node->call("fits").blocks()[0].text.size(), 1'900u);
    const Outcome ended = node->call("large");
    EXPECT_THAT(views::mcp(ended), HasSubstr("[truncated, 30000 bytes total]"));
    EXPECT_EQ(ended.content().as_string().size(), 2'000u);
    EXPECT_EQ(node->stats().counters.at("shape.cut"), 1u);
}

TEST(FailureContent, ThatIsNotJsonIsLeftOutAndThatIsSaid) {
    TestRuntime node;
    node->tools().add_or_throw(failing("pay", [](CallContext&) {
        return ToolFailure::answered("No.").with_content(Value(std::numeric_limits<double>::quiet_NaN()));
    }));
    const Outcome ended = node->call("pay", {}, with_key("k"));
    EXPECT_EQ(ended.error()->code, ErrorCode::tool_error);
    EXPECT_TRUE(ended.content().is_null());
    EXPECT_TRUE(ended.error()->details.contains("content_left_out"));
    EXPECT_EQ(node->call("pay", {}, with_key("k")).state(), State::replayed);
}

TEST(FailureContent, IsNotTheAnswerThatWasRefused) {
    TestRuntime node;
    node->tools().add_or_throw(tool("count", "", [] { return "no number"; }).output({{"type", "integer"}}));
    const Outcome ended = node->call("count", {}, with_key("k"));
    EXPECT_EQ(ended.error()->code, ErrorCode::output_invalid);
    EXPECT_TRUE(ended.content().is_null());
    EXPECT_TRUE(node->call("count", {}, with_key("k")).content().is_null());
}

TEST(FailureContent, OutlivesARestart) {
    const os::ScratchDir dir;
    RuntimeOptions options;
    options.ledger_dir = dir.file("ledger");
    options.ledger_mark_dir = dir.file("marks");
    const auto coroutine = [] { return async_tool("pay", "", declined_later); };
    std::string id;
    {
        const auto runtime = must(Runtime::open(options));
        runtime->tools().add_or_throw(coroutine().risk(Risk::low));
        const Outcome ended = runtime->call("pay", {}, with_key("k"));
        expect_declined(ended);
        id = ended.call_id();
    }
    const auto runtime = must(Runtime::open(options));
    runtime->tools().add_or_throw(coroutine().risk(Risk::low));
    const Outcome again = runtime->call("pay", {}, with_key("k"));
    EXPECT_EQ(again.state(), State::replayed);
    expect_declined(again);
    const CallStatus status = must(runtime->outcome(id, {}));
    ASSERT_TRUE(status.outcome);
    expect_declined(*status.outcome);
}

}  // namespace
}  // namespace callgate::pipeline
