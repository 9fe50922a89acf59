#include "os/file_ops.h"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/scratch_dir.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

using testing::HasSubstr;

class FileOpsTest : public testing::Test {
protected:
    std::string read_all(const Fd& fd) {
        std::string out(100, '\0');
        const auto got = files_.pread(fd, out, 0);
        EXPECT_TRUE(got);
        out.resize(*got);
        return out;
    }

    ScratchDir dir_;
    RealFileOps files_;
};

TEST_F(FileOpsTest, WritesReadsAndResizesAFile) {
    const auto path = dir_.file("a");
    const auto fd = files_.open(path, OpenMode::create, 0640);
    ASSERT_TRUE(fd);
    EXPECT_EQ(files_.write(*fd, "hello").value(), 5u);
    EXPECT_EQ(files_.pwrite(*fd, "J", 0).value(), 1u);
    EXPECT_TRUE(files_.fdatasync(*fd));
    EXPECT_TRUE(files_.fsync(*fd));
    EXPECT_EQ(read_all(*fd), "Jello");
    EXPECT_TRUE(files_.truncate(*fd, 2));
    EXPECT_EQ(read_all(*fd), "Je");
    const auto info = files_.stat(path);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->kind, FileKind::regular);
    EXPECT_EQ(info->size, 2u);
    EXPECT_EQ(info->permissions & 07137, 0u) << "no more than was asked for";
    EXPECT_EQ(info->inode, files_.stat(*fd)->inode);
    EXPECT_NE(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(FileOpsTest, AppendsAtTheEnd) {
    const auto path = dir_.file("log");
    for (const auto* line : {"one\n", "two\n"}) {
        const auto fd = files_.open(path, OpenMode::append);
        ASSERT_TRUE(files_.write(*fd, line));
    }
    EXPECT_EQ(read_all(*files_.open(path, OpenMode::read)), "one\ntwo\n");
}

TEST_F(FileOpsTest, MakesRenamesAndRemoves) {
    ASSERT_TRUE(files_.mkdir(dir_.file("sub")));
    EXPECT_EQ(files_.stat(dir_.file("sub"))->kind, FileKind::directory);
    EXPECT_EQ(files_.stat(dir_.file("sub"))->permissions, 0700u);
    EXPECT_EQ(files_.stat("/dev/null")->kind, FileKind::other);
    ASSERT_TRUE(files_.open(dir_.file("a"), OpenMode::create_exclusive));
    ASSERT_TRUE(files_.rename(dir_.file("a"), dir_.file("sub/b")));
    EXPECT_FALSE(files_.stat(dir_.file("a")));
    ASSERT_TRUE(files_.unlink(dir_.file("sub/b")));
    EXPECT_FALSE(files_.stat(dir_.file("sub/b")));
    EXPECT_TRUE(files_.fsync(*files_.open(dir_.file("sub"), OpenMode::directory)));
}

TEST_F(FileOpsTest, EveryFailureNamesTheFileAndTheReason) {
    const auto missing = files_.open(dir_.file("none"), OpenMode::read_write);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::internal);
    EXPECT_EQ(error_number(missing.error()), ENOENT);
    EXPECT_EQ(missing.error().message, "Cannot open " + dir_.file("none") + ": No such file or directory.");

    ASSERT_TRUE(files_.open(dir_.file("a"), OpenMode::create));
    EXPECT_EQ(error_number(files_.open(dir_.file("a"), OpenMode::create_exclusive).error()), EEXIST);
    EXPECT_EQ(error_number(files_.open(dir_.file("a"), OpenMode::directory).error()), ENOTDIR);
    EXPECT_EQ(error_number(files_.mkdir(dir_.path()).error()), EEXIST);
    EXPECT_EQ(error_number(files_.unlink(dir_.file("none")).error()), ENOENT);
    EXPECT_EQ(error_number(files_.rename(dir_.file("none"), dir_.file("b")).error()), ENOENT);
    EXPECT_EQ(error_number(files_.write(Fd(), "x").error()), EBADF);
    EXPECT_EQ(error_number(files_.truncate(Fd(), 0).error()), EBADF);
    EXPECT_EQ(error_number(files_.try_lock(Fd(), LockKind::exclusive).error()), EBADF);
}

TEST_F(FileOpsTest, APathWithANulByteIsRefusedAndNotCutShort) {
    ASSERT_TRUE(files_.open(dir_.file("a"), OpenMode::create));
    const std::string path = dir_.file("a") + std::string("\0b", 2);
    EXPECT_EQ(error_number(files_.open(path, OpenMode::read).error()), EINVAL);
    EXPECT_EQ(error_number(files_.stat(path).error()), EINVAL);
    EXPECT_EQ(error_number(files_.unlink(path).error()), EINVAL);
    EXPECT_EQ(error_number(files_.mkdir(path).error()), EINVAL);
    EXPECT_EQ(error_number(files_.rename(path, path).error()), EINVAL);
    EXPECT_TRUE(files_.stat(dir_.file("a")));
}

TEST_F(FileOpsTest, ALockBelongsToItsDescriptorAndGoesWithIt) {
    const auto path = dir_.file("lock");
    auto first = files_.open(path, OpenMode::create);
    auto second = files_.open(path, OpenMode::create);
    EXPECT_TRUE(files_.try_lock(*first, LockKind::exclusive).value());
    EXPECT_TRUE(files_.try_lock(*first, LockKind::exclusive).value());
    EXPECT_FALSE(files_.try_lock(*second, LockKind::exclusive).value());
    EXPECT_FALSE(files_.try_lock(*second, LockKind::shared).value());
    // Closing another descriptor of the same file drops nothing.
    files_.open(path, OpenMode::read)->reset();
    EXPECT_FALSE(files_.try_lock(*second, LockKind::shared).value());
    first->reset();
    EXPECT_TRUE(files_.try_lock(*second, LockKind::shared).value());
    auto third = files_.open(path, OpenMode::create);
    EXPECT_TRUE(files_.try_lock(*third, LockKind::shared).value());
    EXPECT_FALSE(files_.try_lock(*third, LockKind::exclusive).value());
    ASSERT_TRUE(files_.unlock(*second));
    EXPECT_TRUE(files_.try_lock(*third, LockKind::exclusive).value());
}

TEST(Fd, IsClosedOnceByItsLastOwner) {
    RealFileOps files;
    auto opened = files.open("/dev/null", OpenMode::read);
    const int number = opened->get();
    Fd moved = std::move(*opened);
    EXPECT_FALSE(*opened);
    EXPECT_EQ(moved.get(), number);
    EXPECT_NE(::fcntl(number, F_GETFD), -1);
    moved = Fd();
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

}  // namespace
}  // namespace callgate::os
