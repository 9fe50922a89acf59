#include <callgate/result.h>

#include <functional>
#include <stdexcept>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace callgate {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

ToolFailure caught(const std::function<void()>& run) {
    try {
        run();
    } catch (...) {
        return failure_from_exception();
    }
    return {};
}

TEST(Thrown, AnExceptionIsADefiniteFailureWithItsMessageAndType) {
    const ToolFailure failure = caught([] { throw std::out_of_range("no such row"); });
    EXPECT_EQ(failure.error.code, ErrorCode::exception);
    EXPECT_EQ(failure.error.message, "no such row");
    EXPECT_EQ(failure.applied, Applied::answered);
    EXPECT_EQ(json::write(failure.error.details), R"({"exception_type":"std::out_of_range"})");
}

TEST(Thrown, AValueThatIsNoExceptionLeavesOpenWhatWasDone) {
    const ToolFailure failure = caught([] { throw 42; });
    EXPECT_EQ(failure.error.code, ErrorCode::caught);
    EXPECT_EQ(failure.error.details.at("thrown_type"), "int");
    EXPECT_EQ(failure.applied, Applied::maybe);
}

TEST(Thrown, ATracedErrorTellsWhereItWasMade) {
    const ToolFailure failure = caught([] { throw TracedError("lost"); });
    EXPECT_EQ(failure.error.message, "lost");
    const Array& stack = failure.error.details.at("stack").as_array();
    EXPECT_THAT(std::string(stack.at(0).as_string()), HasSubstr("thrown_test.cpp:"));
    EXPECT_GE(stack.size(), 2u);
    EXPECT_LE(stack.size(), 5u);
    static_assert(std::is_nothrow_copy_constructible_v<TracedError>);
}

TEST(Thrown, CausesFollowOneAnotherInnermostLast) {
    const ToolFailure failure = caught([] {
        try {
            try {
                throw 7;
            } catch (...) {
                std::throw_with_nested(std::runtime_error("no reply"));
            }
        } catch (...) {
            std::throw_with_nested(std::logic_error("no weather"));
        }
    });
    EXPECT_EQ(failure.error.message, "no weather");
    const Array& stack = failure.error.details.at("stack").as_array();
    ASSERT_THAT(stack, SizeIs(2));
    EXPECT_THAT(std::string(stack[0].as_string()), HasSubstr("no reply"));
    EXPECT_EQ(stack[1], "caused by a value of type int");
}

TEST(Thrown, MessagesAreBoundedAndAlwaysText) {
    EXPECT_EQ(caught([] { throw std::runtime_error(std::string(1 << 20, 'x')); }).error.message.size(),
              4'096u);
    EXPECT_EQ(caught([] { throw std::runtime_error("\xFF"); }).error.message, "\xEF\xBF\xBD");
    const ToolFailure failure = caught([] {
        try {
            throw std::runtime_error(std::string(1 << 20, 'x'));
        } catch (...) {
            std::throw_with_nested(std::runtime_error("outer"));
        }
    });
    EXPECT_LE(failure.error.details.at("stack").at(0).as_string().size(), 512u);
}

}  // namespace
}  // namespace callgate
