#include "tool/gone_tools.h"

#include <gtest/gtest.h>

namespace callgate {
namespace {

std::shared_ptr<LiveState> as_new() {
    return std::make_shared<LiveState>(3u, BreakerPolicy(), RetryPolicy());
}

std::shared_ptr<LiveState> in_quarantine() {
    auto live = as_new();
    live->quarantine("changed");
    return live;
}

TEST(GoneTools, WhatIsRememberedIsFoundOnceAndIsTheSame) {
    GoneTools gone(100);
    const auto live = in_quarantine();
    gone.remember("files/read", live);
    EXPECT_EQ(gone.take("disk/read"), nullptr);
    EXPECT_EQ(gone.take("files/write"), nullptr);
    EXPECT_EQ(gone.take("files/read"), live);
    EXPECT_EQ(gone.take("files/read"), nullptr);
    EXPECT_EQ(gone.size(), 0u);
}

TEST(GoneTools, OfTheHostsOwnToolsNothingIsRemembered) {
    GoneTools gone(100);
    gone.remember("read", in_quarantine());
    EXPECT_EQ(gone.take("read"), nullptr);
    EXPECT_FALSE(gone.must_be_reviewed("read"));
}

TEST(GoneTools, WhatTellsNothingMakesRoom) {
    GoneTools gone(40);  // ten of each server
    gone.remember("s/bad", in_quarantine());
    for (int i = 0; i < 1'000; ++i) gone.remember("s/" + std::to_string(i), as_new());
    EXPECT_LE(gone.size(), 10u);
    EXPECT_NE(gone.take("s/bad"), nullptr);
    EXPECT_FALSE(gone.must_be_reviewed("s/never_seen"));
}

TEST(GoneTools, AToolThatACallStillUsesTellsSomething) {
    GoneTools gone(40);
    const auto used = as_new();
    gone.remember("s/used", used);
    for (int i = 0; i < 1'000; ++i) gone.remember("s/" + std::to_string(i), as_new());
    EXPECT_EQ(gone.take("s/used"), used);
}

TEST(GoneTools, WhatHadToBeForgottenIsHeldAgainstItsServerAlone) {
    GoneTools gone(40);
    for (int i = 0; i < 11; ++i) gone.remember("evil/" + std::to_string(i), in_quarantine());
    gone.remember("good/read", in_quarantine());
    EXPECT_TRUE(gone.must_be_reviewed("evil/10"));
    EXPECT_FALSE(gone.must_be_reviewed("good/other"));
    for (int i = 0; i < 10; ++i) EXPECT_NE(gone.take("evil/" + std::to_string(i)), nullptr);
    EXPECT_TRUE(gone.must_be_reviewed("evil/10")) << "for good";
    EXPECT_NE(gone.take("good/read"), nullptr);
}

TEST(GoneTools, ItIsBoundedWhateverServersComeAndGo) {
    GoneTools gone(40);
    for (int i = 0; i < 1'000; ++i) gone.remember(std::to_string(i) + "/t", in_quarantine());
    EXPECT_EQ(gone.size(), 40u);
    EXPECT_NE(gone.take("0/t"), nullptr);
    EXPECT_TRUE(gone.must_be_reviewed("999/t"));
    EXPECT_FALSE(gone.must_be_reviewed("1/other")) << "all of this one is remembered";
}

}  // namespace
}  // namespace callgate
