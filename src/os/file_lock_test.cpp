#include "os/file_lock.h"

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/faulty_file_ops.h"
#include "os/files.h"
#include "os/scratch_dir.h"

namespace callgate::os {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string reason_of(const Error& error) {
    return std::string(error.details.at("reason").as_string());
}

class FileLockTest : public testing::Test {
protected:
    ScratchDir dir;
    RealFileOps files;
    std::string path = dir.file("data");
};

TEST_F(FileLockTest, OnlyOneHoldsItAtATime) {
    {
        const auto held = FileLock::take(files, path, 0ms);
        ASSERT_TRUE(held);
        const auto refused = FileLock::take(files, path, 0ms);
        ASSERT_FALSE(refused);
        EXPECT_EQ(reason_of(refused.error()), "file_locked");
        EXPECT_TRUE(refused.error().retryable);
        EXPECT_THAT(refused.error().message, HasSubstr(path));
    }
    EXPECT_TRUE(FileLock::take(files, path, 0ms));
}

TEST_F(FileLockTest, ThreadsThatWaitGetTheirTurn) {
    int counter = 0;  // guarded by the file lock alone
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int n = 0; n < 25; ++n) {
                    const auto lock = FileLock::take(files, path, 60'000ms);
                    ASSERT_TRUE(lock);
                    const int seen = counter;
                    std::this_thread::yield();
                    counter = seen + 1;
                }
            });
        }
    }
    EXPECT_EQ(counter, 100);
}

TEST_F(FileLockTest, GoesWithTheProcessThatHeldIt) {
    int told[2];
    ASSERT_EQ(::pipe(told), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto held = FileLock::take(files, path, 0ms);
        const char answer = held ? 'y' : 'n';
        (void)!::write(told[1], &answer, 1);
        for (;;) ::pause();
    }
    char answer = 0;
    ASSERT_EQ(::read(told[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    EXPECT_FALSE(FileLock::take(files, path, 0ms));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(FileLock::take(files, path, 0ms));
    ::close(told[0]);
    ::close(told[1]);
}

TEST_F(FileLockTest, AFileThatCannotBeMadeOrLockedIsNamed) {
    const auto missing = FileLock::take(files, dir.file("no/such/data"), 0ms);
    ASSERT_FALSE(missing);
    EXPECT_EQ(reason_of(missing.error()), "file_unwritable");
    EXPECT_THAT(missing.error().message, HasSubstr("no/such/data.lock"));
    FaultyFileOps faulty(files);
    faulty.inject(FileOp::lock, FileFault::fail_with(ENOLCK));
    EXPECT_EQ(reason_of(FileLock::take(faulty, path, 0ms).error()), "file_unwritable");
}

TEST_F(FileLockTest, InterruptionsAreNoFailures) {
    FaultyFileOps faulty(files);
    faulty.inject(FileOp::open, FileFault::fail_with(EINTR));
    faulty.inject(FileOp::lock, FileFault::fail_with(EINTR));
    EXPECT_TRUE(FileLock::take(faulty, path, 60'000ms));
}

}  // namespace
}  // namespace callgate::os
