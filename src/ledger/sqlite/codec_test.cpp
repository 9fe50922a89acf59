// What the ledger's file holds of an outcome: every member, what was received once, and what earlier versions
// wrote.
#include "ledger/sqlite/codec.h"

#include <gtest/gtest.h>

#include "base/must.h"
#include "base/utf8.h"

namespace callgate::ledger {
namespace {

StoredOutcome stored(ToolResult result) {
    StoredOutcome outcome;
    outcome.succeeded = true;
    outcome.state = State::succeeded;
    outcome.result = std::move(result);
    return outcome;
}

TEST(StoredOutcomes, KeepWhatContentHasBeside) {
    ToolResult result(std::vector<Block>{Block::of_text("a")});
    result.blocks[0].extra = {{"annotations", {{"priority", 1.0}}}};
    result.extra = {{"_meta", {{"v", 1}}}};
    result.structured = 7;
    const auto again = must(decode_outcome(encode(stored(result))));
    EXPECT_EQ(again->result.blocks.at(0).extra, result.blocks[0].extra);
    EXPECT_EQ(again->result.extra, result.extra);
    EXPECT_EQ(again->result.structured, result.structured);
    EXPECT_EQ(again->result.raw_is, RawIs::other);
}

TEST(StoredOutcomes, KeepEachByteOfWhatIsNoText) {
    const std::string bytes = "a\xff\xfe\xc3\xa4";
    const Value odd = Object{{bytes, Array{bytes, "plain \xc3\xa4", Object{{"n", 1.0}}}}, {"other", 2}};
    ToolResult result(std::vector<Block>{Block::of_json(odd), Block::of_text(bytes)});
    result.blocks[0].extra = {{"_meta", odd}};
    result.value = bytes;
    result.structured = odd;
    result.extra = {{bytes, odd}};
    StoredOutcome before = stored(result);
    before.error = Error(ErrorCode::tool_error, "no", {{"why", odd}});
    const std::string text = encode(before);
    EXPECT_TRUE(base::is_valid_utf8(text));
    const auto again = must(decode_outcome(text));
    EXPECT_EQ(again->result.value, result.value);
    EXPECT_EQ(again->result.structured, result.structured);
    EXPECT_EQ(again->result.extra, result.extra);
    EXPECT_EQ(again->result.blocks.at(0).json, odd);
    EXPECT_EQ(again->result.blocks.at(0).extra, result.blocks[0].extra);
    EXPECT_EQ(again->result.blocks.at(1).text, bytes);
    EXPECT_EQ(again->error->details, before.error->details);
    EXPECT_EQ(must(decode_arguments(encode_arguments(odd))), odd);
    Approval approval;
    approval.arguments = odd;
    approval.preview.emplace("sum", odd);
    const Approval asked = must(decode_approval(encode(approval)));
    EXPECT_EQ(asked.arguments, odd);
    EXPECT_EQ(asked.preview->diff, odd);
}

TEST(StoredOutcomes, OfAFailureHaveItsContent) {
    StoredOutcome failed = stored(std::vector<Block>{Block::of_text("declined")});
    failed.succeeded = false;
    failed.state = State::failed;
    failed.error = Error(ErrorCode::tool_error, "no");
    const auto again = must(decode_outcome(encode(failed)));
    EXPECT_EQ(again->error->message, "no");
    EXPECT_EQ(again->result.blocks.at(0).text, "declined");
}

TEST(StoredOutcomes, HoldWhatWasReceivedOnceAndAsItCame) {
    std::string raw = "{\"content\":[";
    for (int i = 0; i < 100; ++i) raw += R"({"type":"text","text":"{\"quoted\":\"\\\"\"}"},)";
    raw += "\n{\"type\":\"text\",\"text\":\"last\"}]}";
    for (const RawIs is : {RawIs::mcp_result, RawIs::value}) {
        ToolResult result;
        result.raw = raw;
        result.raw_is = is;
        const std::string bytes = encode(stored(result));
        EXPECT_LE(bytes.size(), raw.size() + 150);
        const auto again = must(decode_outcome(bytes));
        EXPECT_EQ(again->result.raw, raw);
        EXPECT_EQ(again->result.raw_is, is);
    }
}

TEST(StoredOutcomes, OfEarlierVersionsAreRead) {
    const auto again = must(decode_outcome(
        R"({"state":"succeeded","call_id":"00000000-0000-0000-0000-000000000000","attempts":1,"ok":true,)"
        R"("blocks":[{"kind":"text","text":"42"}],"raw":"{\"content\":[]}"})"));
    EXPECT_TRUE(again->succeeded);
    EXPECT_EQ(again->result.blocks.at(0).text, "42");
    EXPECT_EQ(again->result.raw, R"({"content":[]})");
    EXPECT_EQ(again->result.raw_is, RawIs::other);
}

TEST(StoredOutcomes, ThatAreDamagedAreRefused) {
    ToolResult result;
    result.raw = "[1]";
    result.raw_is = RawIs::value;
    const std::string whole = encode(stored(result));
    const std::size_t end = whole.find('\n');
    EXPECT_FALSE(decode_outcome(whole.substr(0, end))) << "what was received is missing";
    EXPECT_FALSE(decode_outcome(encode(stored(Value(1))) + "\n[1]")) << "nothing was received";
}

}  // namespace
}  // namespace callgate::ledger
