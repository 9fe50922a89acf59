#ifndef CALLGATE_FAILPOINTS
#define CALLGATE_FAILPOINTS
#endif
#include "base/failpoint.h"

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace callgate::base {
namespace {

using testing::HasSubstr;

Result<int> seam() {
    CALLGATE_FAILPOINT_RETURN("base.test_seam");
    return 7;
}

class Failpoints : public testing::Test {
protected:
    void TearDown() override { failpoints().clear(); }
};

using FailpointsDeathTest = Failpoints;

TEST_F(Failpoints, DoNothingUntilArmed) {
    CALLGATE_FAILPOINT("base.test_place");
    EXPECT_EQ(CALLGATE_FAILPOINT_ACTION("base.test_action"), std::nullopt);
    EXPECT_EQ(seam().value(), 7);
}

TEST_F(Failpoints, CountEveryPlaceThatIsPassed) {
    for (int i = 0; i < 3; ++i) {
        CALLGATE_FAILPOINT("base.test_place");
    }
    (void)seam();
    const auto hits = failpoints().hits();
    EXPECT_EQ(hits.at("base.test_place"), 3u);
    EXPECT_EQ(hits.at("base.test_seam"), 1u);
}

TEST_F(Failpoints, FireOnceAtTheChosenHitCountedFromArming) {
    (void)seam();
    failpoints().arm("base.test_seam", FailAction::error, 2);
    EXPECT_TRUE(seam());
    const auto failed = seam();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().details.at("failpoint").as_string(), "base.test_seam");
    EXPECT_TRUE(seam());
}

TEST_F(Failpoints, FireFromTheChosenHitOnWhenRepeating) {
    failpoints().arm("base.test_seam", FailAction::enospc, 2, true);
    EXPECT_TRUE(seam());
    EXPECT_THAT(seam().error().message, HasSubstr("No space left on device"));
    EXPECT_FALSE(seam());
    failpoints().disarm("base.test_seam");
    EXPECT_TRUE(seam());
}

TEST_F(Failpoints, TellTheSeamWhatToActOut) {
    failpoints().arm("base.test_action", FailAction::short_write);
    EXPECT_EQ(CALLGATE_FAILPOINT_ACTION("base.test_action"), FailAction::short_write);
    EXPECT_EQ(CALLGATE_FAILPOINT_ACTION("base.test_action"), std::nullopt);
}

TEST_F(FailpointsDeathTest, KillTheProcessWithSigkill) {
    EXPECT_EXIT(
        {
            failpoints().arm("base.test_place", FailAction::kill, 2);
            CALLGATE_FAILPOINT("base.test_place");
            CALLGATE_FAILPOINT("base.test_place");
            std::_Exit(0);
        },
        testing::KilledBySignal(SIGKILL), "");
}

TEST_F(FailpointsDeathTest, APlainPlaceArmedWithAnythingButKillIsALoudMistake) {
    EXPECT_DEATH(
        {
            failpoints().arm("base.test_place", FailAction::error);
            CALLGATE_FAILPOINT("base.test_place");
        },
        "base.test_place can only be armed with kill");
}

TEST_F(Failpoints, AreArmedFromText) {
    ASSERT_TRUE(failpoints().arm_from_text("base.test_seam=error@2,base.test_action=short_write@1+"));
    EXPECT_TRUE(seam());
    EXPECT_FALSE(seam());
    EXPECT_TRUE(seam());
    EXPECT_TRUE(CALLGATE_FAILPOINT_ACTION("base.test_action"));
    EXPECT_TRUE(CALLGATE_FAILPOINT_ACTION("base.test_action"));
}

TEST_F(Failpoints, AreArmedFromTheEnvironment) {
    ::setenv("CALLGATE_FAILPOINT_TEST", "base.test_seam=error", 1);
    EXPECT_TRUE(failpoints().arm_from_environment("CALLGATE_FAILPOINT_TEST"));
    ::unsetenv("CALLGATE_FAILPOINT_TEST");
    EXPECT_FALSE(seam());
    EXPECT_TRUE(failpoints().arm_from_environment("CALLGATE_FAILPOINT_TEST"));
}

TEST_F(Failpoints, TextThatArmsNothingIsRefusedWhole) {
    for (const auto* text :
         {"x", "x=", "=kill", "x=explode", "x=error@", "x=error@0", "x=error@2x", "x=error@-1",
          "x=error@99999999999999999999", "base.test_seam=error,,", "base.test_seam=error,x"}) {
        const auto armed = failpoints().arm_from_text(text);
        ASSERT_FALSE(armed) << text;
        EXPECT_THAT(armed.error().message, HasSubstr("name=action"));
        EXPECT_TRUE(seam()) << text;
    }
}

}  // namespace
}  // namespace callgate::base
