#include "tool/suggest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate {
namespace {

using Names = std::vector<std::string>;

Names suggest(std::string_view given, std::vector<std::string_view> known) {
    return suggest_names(given, known);
}

TEST(Suggestions, FindAMistypedName) {
    EXPECT_EQ(suggest("raed_file", {"delete_user", "read_file", "sum"}), Names{"read_file"});
    EXPECT_EQ(suggest("READ_FILE", {"read_file"}), Names{"read_file"});
}

TEST(Suggestions, FindANameInsideAnother) {
    EXPECT_EQ(suggest("file", {"open_remote_file_handle", "sum"}), Names{"open_remote_file_handle"});
    EXPECT_EQ(suggest("filesystem/read", {"read"}), Names{"read"});
}

TEST(Suggestions, AreThreeAtMostTheLikestFirst) {
    EXPECT_EQ(suggest("read_file", {"read_all", "read_files", "read_file_2", "read_tile", "read_fil"}),
              (Names{"read_files", "read_fil", "read_file_2"}));
}

TEST(Suggestions, OfEqualLikenessComeInNameOrder) {
    EXPECT_EQ(suggest("tool_x", {"tool_d", "tool_b", "tool_c", "tool_a"}),
              (Names{"tool_a", "tool_b", "tool_c"}));
}

TEST(Suggestions, AreNotMadeForWhatIsLikeNothing) {
    EXPECT_EQ(suggest("rm_rf", {"add", "weather", "send_mail"}), Names{});
    EXPECT_EQ(suggest("", {"add"}), Names{});
    EXPECT_EQ(suggest(std::string(300, 'a'), {"a"}), Names{});
}

TEST(Suggestions, LikenessIsWhatIsSharedInOrder) {
    EXPECT_DOUBLE_EQ(similarity("abc", "abc"), 1.0);
    EXPECT_DOUBLE_EQ(similarity("abcd", "abxd"), 0.75);
    EXPECT_DOUBLE_EQ(similarity("ab", "xy"), 0.0);
    EXPECT_DOUBLE_EQ(similarity("a", "xxxxxxaxxxxxx"), 0.7);
}

RC_GTEST_PROP(Suggestions, LikenessIsTheSameBothWaysAndFullOnlyForTheSameName,
              (std::string a, std::string b)) {
    RC_ASSERT(similarity(a, b) == similarity(b, a));
    RC_ASSERT(similarity(a, a) == 1.0);
    RC_ASSERT(similarity(a, b) >= 0.0 && similarity(a, b) <= 1.0);
}

RC_GTEST_PROP(Suggestions, EachIsAKnownNameThatIsLikeEnough, ()) {
    const auto name = rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc_")));
    const auto known = *rc::gen::container<std::vector<std::string>>(name);
    const std::string given = *name;
    const std::vector<std::string_view> views(known.begin(), known.end());
    for (const std::string& suggested : suggest_names(given, views)) {
        RC_ASSERT(std::find(known.begin(), known.end(), suggested) != known.end());
        RC_ASSERT(similarity(given, suggested) >= 0.6);
    }
}

}  // namespace
}  // namespace callgate
