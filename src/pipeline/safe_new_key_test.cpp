// outcome.safe_new_key(): a proof that making the call again under a new key doubles nothing.
#include <filesystem>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/failpoint.h"
#include "os/scratch_dir.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

Tool returning(std::string name, ToolReturn answer) {
    return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}),
                       [answer](const Object&, CallContext&) -> ToolReturn { return answer; })
        .run_inline();
}

struct SafeNewKey : ::testing::Test {
    SafeNewKey() {
        for (const Tool& tool : {returning("works", ToolResult(Value(1))),
                                 returning("fails", tl::unexpected(ToolFailure::answered("no"))),
                                 returning("refuses", tl::unexpected(ToolFailure::not_applied("not now"))),
                                 returning("loses", tl::unexpected(ToolFailure::lost("gone")))})
            EXPECT_TRUE(node->tools().add(tool));
    }
    ~SafeNewKey() override { base::failpoints().clear(); }

    bool safe(std::string tool, Context context = {}, Args arguments = {}) {
        return node->call(std::move(tool), std::move(arguments), std::move(context)).safe_new_key();
    }
    TestRuntime node;
};

TEST_F(SafeNewKey, ACallWithoutAKeyIsSafeOnlyIfItsToolWasNotEntered) {
    EXPECT_TRUE(safe("nowhere"));
    EXPECT_TRUE(safe("works", {}, "not json"));
    EXPECT_FALSE(safe("works"));
    EXPECT_FALSE(safe("fails"));
    EXPECT_FALSE(safe("loses"));
}

TEST_F(SafeNewKey, WhatTheLedgerHasAsNotAppliedIsSafe) {
    EXPECT_TRUE(safe("refuses"));
    EXPECT_TRUE(safe("refuses", with_key("k")));
}

TEST_F(SafeNewKey, WhatWasDoneIsNotHoweverOftenItIsAsked) {
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(safe("works", with_key("works")));
        EXPECT_FALSE(safe("fails", with_key("fails")));
        EXPECT_FALSE(safe("loses", with_key("loses")));
    }
}

TEST_F(SafeNewKey, AKeyOfAnotherRequestSaysThatThisOneWasNotMade) {
    EXPECT_FALSE(safe("works", with_key("k"), {{"a", 1}}));
    EXPECT_TRUE(safe("works", with_key("k"), {{"a", 2}}));
}

TEST_F(SafeNewKey, ARefusalBeforeTheKeyWasLookedAtShowsNothing) {
    EXPECT_FALSE(safe("nowhere", with_key("k")));
    EXPECT_FALSE(safe("works", with_key("k"), "not json"));
    EXPECT_FALSE(safe("loses", with_key("k")));
    EXPECT_FALSE(safe("loses", with_key("k"), "not json")) << "after an unknown";
}

TEST_F(SafeNewKey, ALookAtTheKeyThatFailsShowsNothing) {
    ASSERT_FALSE(safe("works", with_key("k")));
    base::failpoints().arm("ledger.peek", base::FailAction::error);
    EXPECT_FALSE(safe("works", with_key("k"))) << "it was done";
}

TEST_F(SafeNewKey, AClaimThatFailsShowsNothingOfAKey) {
    base::failpoints().arm("ledger.claim", base::FailAction::error);
    EXPECT_FALSE(safe("works", with_key("k")));
    base::failpoints().arm("ledger.claim", base::FailAction::error);
    EXPECT_TRUE(safe("works")) << "no key, and not entered";
}

TEST_F(SafeNewKey, AnEndThatIsNotOnTheRecordShowsNothing) {
    base::failpoints().arm("ledger.settle", base::FailAction::error);
    EXPECT_FALSE(safe("refuses", with_key("k")));
}

TEST(ResultUnreadable, AFinishedKeyIsAnsweredAsDone) {
    const os::ScratchDir scratch(os::quick_directory());
    RuntimeOptions options;
    options.ledger_dir = scratch.file("ledger");
    int entered = 0;
    const auto call = [&] {
        Runtime runtime(options);
        EXPECT_TRUE(runtime.tools().add(schema_tool(ToolDefinition("pay", "", Object{{"type", "object"}}),
                                                    [&](const Object&, CallContext&) -> ToolReturn {
                                                        ++entered;
                                                        return ToolResult(Value("paid"));
                                                    })
                                            .run_inline()));
        return runtime.call("pay", {}, with_key("k"));
    };
    ASSERT_TRUE(call().ok());
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((options.ledger_dir + "/ledger.db").c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, "UPDATE results SET outcome = x'00'", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(database);
    const Outcome again = call();
    EXPECT_EQ(entered, 1);
    ASSERT_NE(again.error(), nullptr);
    EXPECT_EQ(again.error()->details.at("reason"), "result_unreadable");
    EXPECT_EQ(again.error()->details.at("done"), true);
    EXPECT_EQ(again.error()->details.at("was"), "succeeded");
    EXPECT_FALSE(again.safe_new_key()) << "who obeys would pay twice";
}

}  // namespace
}  // namespace callgate::pipeline
