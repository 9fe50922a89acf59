#include "os/files.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/faulty_file_ops.h"
#include "os/scratch_dir.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

using testing::HasSubstr;

class FilesTest : public testing::Test {
protected:
    void put(const std::string& name, std::string_view content) {
        std::ofstream(dir_.file(name), std::ios::binary) << content;
    }
    std::string reason(const Result<std::string>& result) {
        return result ? "" : std::string(result.error().details.at("reason").as_string());
    }
    std::size_t entries() {
        std::size_t count = 0;
        for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
            ++count;
        }
        return count;
    }

    ScratchDir dir_;
    RealFileOps real_;
    FaultyFileOps files_{real_};
    base::SeededRng rng_{1};
};

TEST_F(FilesTest, ReadsAWholeFileUpToTheLimit) {
    put("a", std::string(100'000, 'x'));
    EXPECT_EQ(read_file(files_, dir_.file("a"), 100'000)->size(), 100'000u);
    put("empty", "");
    EXPECT_EQ(read_file(files_, dir_.file("empty"), 0).value(), "");
}

TEST_F(FilesTest, SaysWhyAFileCannotBeRead) {
    put("a", "12345");
    const auto large = read_file(files_, dir_.file("a"), 4);
    EXPECT_EQ(reason(large), "file_too_large");
    EXPECT_THAT(large.error().message, HasSubstr("larger than the limit of 4 bytes"));
    EXPECT_EQ(large.error().code, ErrorCode::config_error);

    EXPECT_EQ(reason(read_file(files_, dir_.file("none"), 10)), "file_missing");
    EXPECT_EQ(reason(read_file(files_, dir_.file("a/b"), 10)), "file_missing");
    const auto directory = read_file(files_, dir_.path(), 10);
    EXPECT_EQ(reason(directory), "file_is_directory");
    EXPECT_EQ(directory.error().message, dir_.path() + " is a directory. Give the path of a file.");

    ASSERT_EQ(::mkfifo(dir_.file("pipe").c_str(), 0600), 0);
    EXPECT_EQ(reason(read_file(files_, dir_.file("pipe"), 10)), "file_is_special");
    EXPECT_EQ(reason(read_file(files_, "/dev/zero", 10)), "file_is_special");

    files_.inject(FileOp::open, FileFault::fail_with(EACCES));
    EXPECT_EQ(reason(read_file(files_, dir_.file("a"), 10)), "file_permission");
    files_.inject(FileOp::read, FileFault::fail_with(EIO));
    const auto broken = read_file(files_, dir_.file("a"), 10);
    EXPECT_EQ(reason(broken), "file_unreadable");
    EXPECT_THAT(broken.error().message, HasSubstr("Input/output error"));
}

TEST_F(FilesTest, AFileThatClaimsToBeEmptyIsStillHeldToTheLimit) {
    // The kernel says size 0 for it.
    const auto all = read_file(files_, "/proc/self/status", 1u << 20);
    ASSERT_TRUE(all);
    EXPECT_GT(all->size(), 100u);
    EXPECT_EQ(reason(read_file(files_, "/proc/self/status", 100)), "file_too_large");
}

TEST_F(FilesTest, CarriesOnAfterInterruptionsAndShortCalls) {
    const std::string content(1'000, 'c');
    for (const auto op :
         {FileOp::open, FileOp::write, FileOp::fsync, FileOp::rename, FileOp::stat, FileOp::read}) {
        files_.inject(op, FileFault::fail_with(EINTR));
    }
    files_.inject(FileOp::write, FileFault::only(7), 2, true);
    ASSERT_TRUE(write_file_atomically(files_, rng_, dir_.file("a"), content));
    files_.inject(FileOp::read, FileFault::only(3), 2, true);
    EXPECT_EQ(read_file(files_, dir_.file("a"), 1'000).value(), content);
}

TEST_F(FilesTest, AFileIsReplacedWholeWithTheGivenPermissions) {
    put("key", "old");
    ASSERT_TRUE(write_file_atomically(files_, rng_, dir_.file("key"), "new", 0600));
    EXPECT_EQ(read_file(files_, dir_.file("key"), 10).value(), "new");
    EXPECT_EQ(files_.stat(dir_.file("key"))->permissions, 0600u);
    EXPECT_EQ(entries(), 1u);
    EXPECT_EQ(files_.calls(FileOp::fsync), 2u) << "the file and its directory";
}

TEST_F(FilesTest, WhenReplacingFailsTheOldFileStaysAndNothingIsLeftBehind) {
    put("key", "old");
    const std::pair<FileOp, int> faults[] = {
        {FileOp::open, EMFILE}, {FileOp::write, ENOSPC}, {FileOp::fsync, EIO}, {FileOp::rename, EROFS}};
    for (const auto& [op, number] : faults) {
        files_.clear();
        files_.inject(op, FileFault::fail_with(number));
        const auto written = write_file_atomically(files_, rng_, dir_.file("key"), "new");
        ASSERT_FALSE(written);
        EXPECT_EQ(error_number(written.error()), number);
        EXPECT_EQ(written.error().message,
                  "The file " + dir_.file("key") + " was not written: " + errno_text(number) + ".");
        EXPECT_EQ(read_file(real_, dir_.file("key"), 10).value(), "old");
        EXPECT_EQ(entries(), 1u);
    }
}

TEST_F(FilesTest, ADiskThatFillsUpHalfWayLosesNothing) {
    put("key", "old");
    files_.inject(FileOp::write, FileFault::only(2));
    files_.inject(FileOp::write, FileFault::fail_with(ENOSPC), 2);
    EXPECT_FALSE(write_file_atomically(files_, rng_, dir_.file("key"), "new content"));
    EXPECT_EQ(read_file(real_, dir_.file("key"), 10).value(), "old");
    files_.clear();
    files_.inject(FileOp::write, FileFault::only(0), 1, true);
    EXPECT_FALSE(write_file_atomically(files_, rng_, dir_.file("key"), "new"))
        << "a write of nothing is no progress";
}

TEST_F(FilesTest, AnUncertainDirectorySyncIsToldAsSuch) {
    files_.inject(FileOp::fsync, FileFault::fail_with(EIO), 2);
    const auto written = write_file_atomically(files_, rng_, dir_.file("key"), "new");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr("not certain to survive a power cut"));
    EXPECT_EQ(read_file(real_, dir_.file("key"), 10).value(), "new");
}

TEST_F(FilesTest, SomebodyElsesFileOfTheTemporaryNameIsNotTouched) {
    base::SeededRng same(1);
    const std::string name = fmt::format("key.{:016x}.tmp", same.next_u64());
    put(name, "theirs");
    EXPECT_FALSE(write_file_atomically(files_, rng_, dir_.file("key"), "new"));
    EXPECT_EQ(read_file(files_, dir_.file(name), 10).value(), "theirs");
}

RC_GTEST_PROP(Files, WhateverIsWrittenAtAnyOffsetInAnyPiecesIsReadBack,
              (const std::string& content, std::uint8_t piece, std::uint16_t offset)) {
    ScratchDir dir;
    RealFileOps real;
    FaultyFileOps files(real);
    files.inject(FileOp::pwrite, FileFault::only(std::size_t{1} + piece), 1, true);
    auto fd = real.open(dir.file("a"), OpenMode::create);
    RC_ASSERT(fd.has_value());
    RC_ASSERT(pwrite_all(files, *fd, content, offset).has_value());
    const auto back = read_file(files, dir.file("a"), 1u << 20);
    RC_ASSERT(back.has_value());
    const std::size_t size = content.empty() ? 0 : content.size() + offset;
    RC_ASSERT(back->size() == size);
    RC_ASSERT((content.empty() || back->substr(offset) == content));
}

TEST(Paths, DirectoryOf) {
    EXPECT_EQ(directory_of("a/b/c"), "a/b");
    EXPECT_EQ(directory_of("c"), ".");
    EXPECT_EQ(directory_of("/c"), "/");
}

}  // namespace
}  // namespace callgate::os
