#include "schema/names.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::schema {
namespace {

TEST(Names, NumbersNamesInTheOrderTheyCame) {
    Names names;
    EXPECT_EQ(names.find("a"), Names::kUnknown);
    EXPECT_EQ(names.add("a"), 0u);
    EXPECT_EQ(names.add(""), 1u);
    EXPECT_EQ(names.add("a"), 0u);
    EXPECT_EQ(names.add("a longer name than eight"), 2u);
    EXPECT_EQ(names.find("a longer name than eight"), 2u);
    EXPECT_EQ(names.find("a longer name than eigh7"), Names::kUnknown);
    EXPECT_EQ(names[2], "a longer name than eight");
}

TEST(Names, FindsNamesAfterBeingMoved) {
    Names names;
    for (int i = 0; i < 100; ++i) names.add("member number " + std::to_string(i));
    const Names moved = std::move(names);
    EXPECT_EQ(moved.find("member number 99"), 99u);
}

RC_GTEST_PROP(Names, FindsExactlyWhatWasAdded,
              (const std::vector<std::string>& added, const std::string& other)) {
    Names names;
    std::set<std::string> known(added.begin(), added.end());
    for (const std::string& name : added) names.add(name);
    RC_ASSERT(names.size() == known.size());
    for (const std::string& name : added) {
        const std::string padded = name + "########";
        RC_ASSERT(names[names.find(name)] == name);
        RC_ASSERT(names.find(name) == names.find_padded(std::string_view(padded).substr(0, name.size())));
    }
    RC_ASSERT((names.find(other) != Names::kUnknown) == known.contains(other));
}

}  // namespace
}  // namespace callgate::schema
