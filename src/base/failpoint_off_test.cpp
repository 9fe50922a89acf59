#undef CALLGATE_FAILPOINTS
#include "base/failpoint.h"

#include <gtest/gtest.h>

namespace callgate::base {
namespace {

// What is usable in a constant expression leaves nothing behind at run time.
constexpr int all_forms() {
    CALLGATE_FAILPOINT("base.test_off");
    if (CALLGATE_FAILPOINT_ACTION("base.test_off")) {
        return 1;
    }
    return 0;
}
static_assert(all_forms() == 0);

Result<int> seam() {
    CALLGATE_FAILPOINT_RETURN("base.test_off");
    return 1;
}

TEST(FailpointsOff, AreConstantsThatTheCompilerRemoves) {
    EXPECT_EQ(all_forms(), 0);
    EXPECT_EQ(seam().value(), 1);
}

}  // namespace
}  // namespace callgate::base
