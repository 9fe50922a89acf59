#include "mcp/member_text.h"

#include <gtest/gtest.h>

namespace callgate::mcp {
namespace {

TEST(MemberText, IsFoundWhateverStandsAround) {
    EXPECT_EQ(member_text(R"({"a":1,"result": {"x":"}\"{"} ,"b":[{}]})", "result"), R"({"x":"}\"{"})");
    EXPECT_EQ(member_text(R"( { "\u0072esult" : [1, {"result":2}], "b":3} )", "result"),
              R"([1, {"result":2}])");
    EXPECT_EQ(member_text(R"({"a":{"result":1},"b":"\\","result":1.50})", "result"), "1.50");
    EXPECT_EQ(member_text(R"({"a":"result","b":null})", "result"), "");
    EXPECT_EQ(member_text("{}", "result"), "");
    EXPECT_EQ(member_text("[]", "result"), "");
}

}  // namespace
}  // namespace callgate::mcp
