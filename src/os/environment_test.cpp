#include "os/environment.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace callgate::os {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const Environment kOurs = {{"PATH", "/bin"},         {"AWS_SECRET_ACCESS_KEY", "hush"},
                           {"LC_TIME", "de_DE"},     {"HOME", "/home/ada"},
                           {"SHELL", "() { :; }"},   {"CALLGATE_PASSPHRASE", "hush"},
                           {"GITHUB_TOKEN", "hush"}, {"LD_PRELOAD", "x.so"}};

TEST(Environment, OfAChildHoldsWhatItNeedsToFindItsFiles) {
    EXPECT_THAT(child_environment(kOurs),
                ElementsAre(Pair("PATH", "/bin"), Pair("LC_TIME", "de_DE"), Pair("HOME", "/home/ada")));
}

TEST(Environment, OfAChildHoldsWhatWasNamedAndGiven) {
    const std::string also[] = {"GITHUB_TOKEN", "NOT_SET"};
    EXPECT_THAT(child_environment(kOurs, also, {{"HOME", "/tmp"}, {"API_KEY", "1"}}),
                ElementsAre(Pair("PATH", "/bin"), Pair("LC_TIME", "de_DE"), Pair("HOME", "/tmp"),
                            Pair("GITHUB_TOKEN", "hush"), Pair("API_KEY", "1")));
    EXPECT_THAT(child_environment({}), IsEmpty());
}

TEST(Environment, OfAWrappedServerHoldsAllExceptWhatIsOurs) {
    Environment expected = kOurs;
    std::erase(expected, std::pair<std::string, std::string>("CALLGATE_PASSPHRASE", "hush"));
    EXPECT_EQ(whole_environment(kOurs), expected);
    EXPECT_THAT(whole_environment(kOurs, {{"CALLGATE_GIVEN", "1"}}), Contains(Pair("CALLGATE_GIVEN", "1")));
}

TEST(Environment, OfThisProcessIsWhatGetenvSees) {
    ::setenv("CALLGATE_TEST_ENTRY", "a=b", 1);
    EXPECT_THAT(own_environment(), Contains(Pair("CALLGATE_TEST_ENTRY", "a=b")));
    ::unsetenv("CALLGATE_TEST_ENTRY");
}

}  // namespace
}  // namespace callgate::os
