#include "os/faulty_file_ops.h"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "os/scratch_dir.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

TEST(FaultyFileOps, FailsTheChosenCallAndNoOther) {
    ScratchDir dir;
    RealFileOps real;
    FaultyFileOps files(real);
    const auto fd = files.open(dir.file("a"), OpenMode::create, 0600);
    files.inject(FileOp::write, FileFault::fail_with(ENOSPC), 2);
    EXPECT_TRUE(files.write(*fd, "one"));
    const auto failed = files.write(*fd, "two");
    ASSERT_FALSE(failed);
    EXPECT_EQ(error_number(failed.error()), ENOSPC);
    EXPECT_TRUE(files.write(*fd, "three"));
    EXPECT_EQ(files.stat(*fd)->size, 8u) << "the failed call wrote nothing";
    EXPECT_EQ(files.calls(FileOp::write), 3u);
}

TEST(FaultyFileOps, GoesOnFailingUntilCleared) {
    RealFileOps real;
    FaultyFileOps files(real);
    files.inject(FileOp::stat, FileFault::fail_with(EIO), 1, true);
    EXPECT_FALSE(files.stat(std::string("/")));
    EXPECT_FALSE(files.stat(std::string("/")));
    files.clear();
    EXPECT_TRUE(files.stat(std::string("/")));
}

TEST(FaultyFileOps, CanFailEveryOperation) {
    ScratchDir dir;
    RealFileOps real;
    FaultyFileOps files(real);
    const auto fd = files.open(dir.file("a"), OpenMode::create, 0600);
    for (std::size_t i = 0; i < kFileOpCount; ++i) {
        files.inject(static_cast<FileOp>(i), FileFault::fail_with(EIO), 1, true);
    }
    std::string buffer(4, '\0');
    const int numbers[] = {error_number(files.open(dir.file("b"), OpenMode::create, 0600).error()),
                           error_number(files.read(*fd, buffer).error()),
                           error_number(files.pread(*fd, buffer, 0).error()),
                           error_number(files.write(*fd, "x").error()),
                           error_number(files.pwrite(*fd, "x", 0).error()),
                           error_number(files.truncate(*fd, 0).error()),
                           error_number(files.fsync(*fd).error()),
                           error_number(files.fdatasync(*fd).error()),
                           error_number(files.stat(*fd).error()),
                           error_number(files.rename(dir.file("a"), dir.file("b")).error()),
                           error_number(files.unlink(dir.file("a")).error()),
                           error_number(files.mkdir(dir.file("c"), 0700).error()),
                           error_number(files.try_lock(*fd, LockKind::shared).error())};
    static_assert(std::size(numbers) == kFileOpCount);
    for (const int number : numbers) {
        EXPECT_EQ(number, EIO);
    }
    EXPECT_TRUE(real.stat(dir.file("a")));
    EXPECT_FALSE(real.stat(dir.file("c")));
}

TEST(FaultyFileOps, DoesAPartOfAReadOrWrite) {
    ScratchDir dir;
    RealFileOps real;
    FaultyFileOps files(real);
    const auto fd = files.open(dir.file("a"), OpenMode::create, 0600);
    files.inject(FileOp::pwrite, FileFault::only(2));
    EXPECT_EQ(files.pwrite(*fd, "hello", 0).value(), 2u);
    EXPECT_EQ(files.pwrite(*fd, "hello", 0).value(), 5u);
    files.inject(FileOp::pread, FileFault::only(3));
    std::string buffer(10, '\0');
    EXPECT_EQ(files.pread(*fd, buffer, 0).value(), 3u);
}

}  // namespace
}  // namespace callgate::os
