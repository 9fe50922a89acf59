#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/context.h>

namespace callgate {
namespace {

TEST(ScopeSet, HoldsEachScopeOnceInOrder) {
    ScopeSet scopes{"mail:send", "files:read", "mail:send"};
    scopes.add("calendar");
    scopes.add("files:read");
    EXPECT_EQ(scopes.all(), (std::vector<std::string>{"calendar", "files:read", "mail:send"}));
}

TEST(ScopeSet, KnowsOnlyExactNamesAndNoWildcards) {
    const ScopeSet scopes{"files:*", "mail"};
    EXPECT_TRUE(scopes.contains("mail"));
    EXPECT_FALSE(scopes.contains("mai"));
    EXPECT_FALSE(scopes.contains("mail:send"));
    EXPECT_FALSE(scopes.contains("files:read"));
    EXPECT_FALSE(ScopeSet{}.contains(""));
}

RC_GTEST_PROP(ScopeSet, BehavesLikeASetWhateverTheOrder, (std::vector<std::string> given)) {
    ScopeSet one_by_one;
    for (const std::string& scope : given) one_by_one.add(scope);
    const std::set<std::string> model(given.begin(), given.end());
    RC_ASSERT(one_by_one == ScopeSet(given));
    RC_ASSERT(std::ranges::equal(one_by_one.all(), model));
    for (const std::string& scope : given) RC_ASSERT(one_by_one.contains(scope));
}

}  // namespace
}  // namespace callgate
