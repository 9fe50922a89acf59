// Content that a tool gives in pieces while it runs: delivered in order, bounded, masked, and kept if the
// call does not complete.
#include <future>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kSecret = "s3cr3t-value-1234";

Tool streams(std::string name, std::function<ToolReturn(CallContext&)> run) {
    return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}),
                       [run = std::move(run)](const Object&, CallContext& context) { return run(context); });
}

ToolReturn gave_up() {
    return tl::unexpected(ToolFailure::answered("gave up"));
}

// What somebody who adds the pieces together has in the end.
std::string joined(const std::vector<Progress>& all) {
    std::string text;
    for (const Progress& one : all) {
        if (!one.partial) continue;
        if (!one.appends) text.clear();
        text += one.partial->as_string();
    }
    return text;
}

TEST_WITH_EITHER_LEDGER(PartialStream, PiecesComeInOrderAndTheWholeIsKept) {
    for (const bool inlined : {true, false}) {
        TestRuntime node;
        Tool tell = streams("tell", [](CallContext& context) {
            context.partial("Once ");
            context.partial_more("upon ");
            context.partial_more("a time");
            return gave_up();
        });
        node->tools().add_or_throw(inlined ? tell.run_inline() : tell);
        std::vector<Progress> seen;
        Context context;
        context.on_progress = [&](const Progress& one) { seen.push_back(one); };
        const Outcome ended = node->call("tell", {}, context);
        ASSERT_EQ(seen.size(), 3u);
        EXPECT_FALSE(seen[0].appends);
        EXPECT_TRUE(seen[1].appends);
        EXPECT_EQ(seen[1].partial, Value("upon "));
        EXPECT_EQ(seen[2].sequence, 3u);
        ASSERT_TRUE(ended.partial());
        EXPECT_EQ(ended.partial()->content, Value("Once upon a time"));
        EXPECT_EQ(ended.partial()->bytes, json::write(Value("Once upon a time")).size());
    }
}

TEST_WITH_EITHER_LEDGER(PartialStream, ListsGrowByTheirItems) {
    TestRuntime node;
    auto [rows, body] = deferred("rows");
    node->tools().add_or_throw(rows.timeout(1s));
    const Ended ended = node.start("rows");
    const auto attempt = body->take();
    attempt->context().partial_more(Array{1});
    attempt->context().partial_more(Array{2, 3});
    node.advance(2s);
    ASSERT_TRUE(*ended);
    EXPECT_EQ((*ended)->state(), State::unknown);
    ASSERT_TRUE((*ended)->partial());
    EXPECT_EQ((*ended)->partial()->content, (Array{1, 2, 3}));
    EXPECT_EQ((*ended)->partial()->bytes, std::string_view("[1,2,3]").size());
    attempt->context().partial_more(Array{4});
    EXPECT_EQ(node.recorder->progress().size(), 2u);
}

TEST(PartialStream, ASlowHostGetsEveryPieceInFewer) {
    TestRuntime node;
    constexpr int kPieces = 2'000;
    std::promise<void> all_given;
    std::string whole;
    for (int i = 0; i < kPieces; ++i) whole += std::to_string(i) + " ";
    node->tools().add_or_throw(streams("tell", [&](CallContext& context) {
        for (int i = 0; i < kPieces; ++i) {
            context.partial_more(Value(std::to_string(i) + " "));
            if (i % 7 == 0) context.progress("still at it");
        }
        all_given.set_value();
        return gave_up();
    }));
    std::vector<Progress> seen;
    Context context;
    auto given = all_given.get_future().share();
    context.on_progress = [&](const Progress& one) {
        given.wait();
        seen.push_back(one);
    };
    const Outcome ended = node->call("tell", {}, context);
    EXPECT_LT(seen.size(), 300u);
    EXPECT_EQ(joined(seen), whole);
    EXPECT_EQ(ended.partial()->content, Value(whole));
    for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_LT(seen[i - 1].sequence, seen[i].sequence);
}

TEST(PartialStream, IsBoundedWithoutAGapAndSaysSo) {
    RuntimeOptions options;
    options.max_result_bytes = 100;
    TestRuntime node(options);
    node->tools().add_or_throw(streams("tell", [](CallContext& context) {
        context.partial_more(Value(std::string(60, 'a')));
        context.partial_more(Value(std::string(60, 'b')));
        context.partial_more("c");
        context.partial(Value(std::string(200, 'd')));
        context.partial_more("e");
        return gave_up();
    }));
    const Outcome ended = node->call("tell");
    EXPECT_EQ(ended.partial()->content, Value(std::string(60, 'a')));
    const auto seen = node.recorder->progress();
    ASSERT_EQ(seen.size(), 3u);
    EXPECT_FALSE(seen[1].partial);
    EXPECT_THAT(seen[1].message, HasSubstr("max_result_bytes"));
    EXPECT_THAT(seen[2].message, HasSubstr("max_result_bytes"));
}

TEST(PartialStream, WhatDoesNotFitTheContentSoFarIsLeftOut) {
    const Value pieces[] = {Value(5), Value(Array{1}),
                            Value(Array{std::numeric_limits<double>::quiet_NaN()})};
    for (const Value& piece : pieces) {
        TestRuntime node;
        node->tools().add_or_throw(streams("tell", [&](CallContext& context) {
            context.partial_more("text");
            context.partial_more(piece);
            context.partial_more(" after");
            context.partial("anew");
            context.partial_more(" and on");
            return gave_up();
        }));
        EXPECT_EQ(node->call("tell").partial()->content, Value("anew and on"));
        const auto seen = node.recorder->progress();
        ASSERT_EQ(seen.size(), 4u);
        EXPECT_THAT(seen[1].message, HasSubstr("left out"));
        EXPECT_EQ(seen[2].partial, Value("anew"));
    }
}

TEST_WITH_EITHER_LEDGER(PartialStream, ASecretInTwoPiecesIsMasked) {
    for (const bool inlined : {true, false}) {
        RuntimeOptions options;
        auto secrets = std::make_shared<MemorySecrets>();
        ASSERT_TRUE(secrets->set("bank", "token", std::string(kSecret)));
        ASSERT_TRUE(secrets->set("bank", "other", "an0ther-secret-77"));
        options.secrets = secrets;
        TestRuntime node(options);
        Tool leak = streams("leak", [](CallContext& context) {
            EXPECT_TRUE(context.with_secret("token", [](const Secret&) {}));
            context.partial_more("it is s3cr3t-");
            EXPECT_TRUE(context.with_secret("other", [](const Secret&) {}));
            context.partial_more("value-1234, and an0ther-");
            context.partial_more("secret-77 and s3cr");
            return gave_up();
        });
        leak.connector("bank");
        node->tools().add_or_throw(inlined ? leak.run_inline() : leak);
        const Outcome ended = node->call("leak");
        EXPECT_EQ(ended.partial()->content, Value("it is [REDACTED], and [REDACTED] and s3cr"));
        EXPECT_EQ(joined(node.recorder->progress()), "it is [REDACTED], and [REDACTED] and s3cr");
    }
}

}  // namespace
}  // namespace callgate::pipeline
