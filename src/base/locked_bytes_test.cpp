#include "base/locked_bytes.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_scan.h"

namespace callgate::base {
namespace {

using testing::HasSubstr;

static_assert(!std::is_copy_constructible_v<LockedBytes> && !std::is_copy_assignable_v<LockedBytes>);
static_assert(std::is_nothrow_move_constructible_v<LockedBytes> &&
              std::is_nothrow_move_assignable_v<LockedBytes>);

// The complement of the value, which itself must not stand in the program.
std::string hidden() {
    return complement("correct horse") + complement(" battery") + complement(" staple");
}

LockedBytes revealed() {
    const std::string masked = hidden();
    LockedBytes out(masked.size());
    for (std::size_t i = 0; i < masked.size(); ++i) out.bytes()[i] = static_cast<char>(~masked[i]);
    return out;
}

// What the kernel says of the pages at `address`: "rd wr … lo dd".
std::string kernel_flags(const void* address) {
    std::ifstream in("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(in, line);) {
        std::istringstream fields(line);
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        if (fields >> std::hex >> begin >> dash >> end && dash == '-') {
            const auto at = reinterpret_cast<std::uintptr_t>(address);
            here = begin <= at && at < end;
        } else if (here && line.starts_with("VmFlags:")) {
            return line + " ";
        }
    }
    return "";
}

TEST(LockedBytes, HoldWhatTheyWereGiven) {
    const LockedBytes bytes(std::string_view("a value\0with a zero", 19));
    EXPECT_EQ(bytes.view(), std::string_view("a value\0with a zero", 19));
    EXPECT_EQ(bytes.size(), 19u);
    EXPECT_FALSE(bytes.empty());
}

TEST(LockedBytes, StartAsZeros) {
    LockedBytes bytes(10'000);
    EXPECT_EQ(bytes.view(), std::string(10'000, '\0'));
    bytes.bytes()[9'999] = 'x';
    EXPECT_EQ(bytes.view().back(), 'x');
}

TEST(LockedBytes, MayBeNone) {
    EXPECT_TRUE(LockedBytes().empty());
    EXPECT_TRUE(LockedBytes(std::string_view()).empty());
    EXPECT_TRUE(LockedBytes().locked());
}

TEST(LockedBytes, StayOutOfCoreDumpsAndOffTheSwapDevice) {
    const LockedBytes bytes(std::string_view("value"));
    const std::string flags = kernel_flags(bytes.view().data());
    EXPECT_THAT(flags, HasSubstr(" dd "));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they do nothing on mlock()
    EXPECT_EQ(flags.find(" lo ") != std::string::npos, bytes.locked()) << flags;
#endif
}

TEST(LockedBytes, AreNowhereInMemoryOnceTheyAreGone) {
    {
        const LockedBytes bytes = revealed();
        EXPECT_EQ(copies_in_memory(hidden()), 1u);
    }
    EXPECT_EQ(copies_in_memory(hidden()), 0u);
}

TEST(LockedBytes, AreWipedWhenOthersTakeTheirPlace) {
    LockedBytes bytes = revealed();
    bytes = LockedBytes(std::string_view("another value"));
    EXPECT_EQ(bytes.view(), "another value");
    EXPECT_EQ(copies_in_memory(hidden()), 0u);
}

TEST(LockedBytes, MoveWithoutLeavingACopy) {
    LockedBytes first = revealed();
    const char* const where = first.view().data();
    const LockedBytes second = std::move(first);
    EXPECT_EQ(second.view().data(), where);
    EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(copies_in_memory(hidden()), 1u);
}

TEST(LockedBytes, WipeWhatTheyAreShrunkBy) {
    LockedBytes bytes(std::string_view("keep, drop"));
    const char* const all = bytes.view().data();
    bytes.shrink(4);
    EXPECT_EQ(bytes.view(), "keep");
    EXPECT_EQ(std::string_view(all + 4, 6), std::string(6, '\0'));
    bytes.shrink(100);
    EXPECT_EQ(bytes.view(), "keep");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(LockedBytesDeathTest, SayWhenTheKernelRefusesToLockThemAndWorkAnyway) {
    EXPECT_EXIT(
        {
            const rlimit nothing{};
            ::setrlimit(RLIMIT_MEMLOCK, &nothing);
            // The limit does not hold for the superuser.
            if (::geteuid() == 0 && ::setuid(65'534) != 0) std::_Exit(3);
            const LockedBytes bytes(std::string_view("value"));
            std::_Exit(!bytes.locked() && bytes.view() == "value" ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace callgate::base
