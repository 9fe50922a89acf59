// What a tool received from elsewhere leaves as it came, unless something had to be changed in it, and is on
// the record once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/scratch_dir.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kReceived =
    R"({ "content":[{"type":"text","text":"sunny","annotations":{"priority":1.0}}], "_meta":{"took":1.50} })";
constexpr std::string_view kRefused =
    R"({"isError":true, "content":[{"type":"text","text":"no such town","_meta":{"code":7}}]})";

Tool forwards(std::string name, std::string text) {
    return schema_tool(
        ToolDefinition(std::move(name), "", Object{{"type", "object"}}),
        [text = std::move(text)](const Object&, CallContext&) { return read_mcp_result(text); });
}

TEST_WITH_EITHER_LEDGER(ReceivedResult, LeavesAsItCameAndAgainFromTheRecord) {
    TestRuntime node;
    node->tools().add_or_throw(forwards("weather", std::string(kReceived)));
    node->tools().add_or_throw(forwards("refused", std::string(kRefused)));
    for (const auto& [name, text] : {std::pair("weather", kReceived), std::pair("refused", kRefused)}) {
        const Outcome ended = node->call(name, {}, with_key("k"));
        EXPECT_EQ(ended.ok(), text == kReceived);
        const Outcome again = node->call(name, {}, with_key("k"));
        EXPECT_EQ(again.state(), State::replayed);
        const CallStatus status = must(node->outcome(ended.call_id(), {}));
        for (const Outcome& one : {ended, again, *status.outcome}) {
            EXPECT_EQ(views::mcp(one), text);
            EXPECT_EQ(one.raw(), text);
            ASSERT_EQ(one.blocks().size(), 1u);
            EXPECT_EQ(one.content(), must(json::parse(text)).at("content"));
        }
    }
}

TEST(ReceivedResult, IsOnTheRecordOnce) {
    TestRuntime node;
    node->tools().add_or_throw(forwards("weather", std::string(kReceived)));
    const Outcome ended = node->call("weather", {}, with_key("k"));
    const auto row = must(node.ledger->find(ended.data().call_id));
    ASSERT_TRUE(row.outcome);
    EXPECT_EQ(row.outcome->result.raw, kReceived);
    EXPECT_TRUE(row.outcome->result.blocks.empty());
    EXPECT_TRUE(row.outcome->result.extra.empty());
}

TEST(ReceivedResult, ThatAToolOrAHookChangedIsWrittenAnew) {
    TestRuntime node;
    node->tools().add_or_throw(schema_tool(ToolDefinition("by_tool", "", Object{{"type", "object"}}),
                                           [](const Object&, CallContext&) -> ToolReturn {
                                               ToolReturn read = read_mcp_result(std::string(kReceived));
                                               read->blocks[0].text = "rainy";
                                               read->raw_is = RawIs::mcp_result;
                                               return read;
                                           }));
    const auto run = [](const Object&, CallContext&) { return read_mcp_result(std::string(kReceived)); };
    const auto change = [](ToolResult result) -> Result<ToolResult> {
        result.blocks[0].text = "rainy";
        return result;
    };
    ActionHooks before;
    before.before_output = change;
    ActionHooks after;
    after.after_output = change;
    node->tools().add_or_throw(
        action_tool(ToolDefinition("before", "", Object{{"type", "object"}}), run, before));
    node->tools().add_or_throw(
        action_tool(ToolDefinition("after", "", Object{{"type", "object"}}), run, after));
    for (const char* const name : {"by_tool", "before", "after"}) {
        const Outcome ended = node->call(name, {}, with_key("k"));
        for (const Outcome& one : {ended, node->call(name, {}, with_key("k"))}) {
            EXPECT_EQ(
                views::mcp(one),
                R"({"content":[{"type":"text","text":"rainy","annotations":{"priority":1.0}}],"_meta":{"took":1.5}})")
                << name;
        }
    }
}

TEST(ReceivedResult, HasNoSecretInItHoweverItIsSpelled) {
    RuntimeOptions options;
    auto secrets = std::make_shared<MemorySecrets>();
    ASSERT_TRUE(secrets->set("met", "token", "s3cr3t-value-1234"));
    options.secrets = secrets;
    TestRuntime node(options);
    const std::string begin = R"({"content":[{"type":"text","text":"a","_meta":{"t":")";
    const std::string end = R"("}}],"_meta":{"t":"s3cr3t-value-1234"}})";
    for (const std::string spelled : {"s3cr3t-value-1234", R"(\u0073\u0033cr3t\u002dvalue-1234)"}) {
        const std::string text = begin + spelled + end;
        const std::string name = "t" + std::to_string(spelled.size());
        node->tools().add_or_throw(
            schema_tool(ToolDefinition(name, "", Object{{"type", "object"}}), [text](const Object&,
                                                                                     CallContext& context) {
                EXPECT_TRUE(context.with_secret("token", [](const Secret&) {}));
                return read_mcp_result(text);
            }).connector("met"));
        const Outcome ended = node->call(name, {}, with_key("k"));
        for (const Outcome& one : {ended, node->call(name, {}, with_key("k"))}) {
            EXPECT_EQ(
                must(json::parse(views::mcp(one))),
                must(json::parse(
                    R"({"content":[{"type":"text","text":"a","_meta":{"t":"[REDACTED]"}}],"_meta":{"t":"[REDACTED]"}})")));
            EXPECT_THAT(one.raw(), Not(HasSubstr("s3cr3t")));
            EXPECT_THAT(one.raw(), Not(HasSubstr("0073")));
        }
    }
}

TEST(ReceivedResult, CountsOnceAgainstTheLimitAndIsCutBeyondIt) {
    RuntimeOptions options;
    options.max_result_bytes = 3'000;
    TestRuntime node(options);
    const auto text_of = [](std::size_t bytes) {
        return R"({"content":[{"type":"text","text":")" + std::string(bytes, 'x') + R"("}]})";
    };
    node->tools().add_or_throw(forwards("fits", text_of(2'900)));
    node->tools().add_or_throw(forwards("large", text_of(30'000)));
    EXPECT_EQ(views::mcp(node->call("fits")), text_of(2'900));
    const Outcome cut = node->call("large");
    EXPECT_LE(views::mcp(cut).size(), 12'000u);
    EXPECT_THAT(views::mcp(cut), HasSubstr("truncated"));
    EXPECT_EQ(cut.raw(), "");
}

TEST(ReceivedResult, OutlivesARestart) {
    const os::ScratchDir dir;
    RuntimeOptions options;
    options.ledger_dir = dir.file("ledger");
    options.ledger_mark_dir = dir.file("marks");
    for (const State state : {State::succeeded, State::replayed}) {
        const auto runtime = must(Runtime::open(options));
        runtime->tools().add_or_throw(forwards("weather", std::string(kReceived)).risk(Risk::low));
        const Outcome ended = runtime->call("weather", {}, with_key("k"));
        EXPECT_EQ(ended.state(), state);
        EXPECT_EQ(views::mcp(ended), kReceived);
        EXPECT_EQ(ended.text(), "sunny");
    }
}

}  // namespace
}  // namespace callgate::pipeline
