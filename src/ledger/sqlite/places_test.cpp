// Where a ledger is opened, and where it is not.
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

/// In a directory of its own, whose permissions can be changed.
std::optional<Error> open_in_parent(const std::string& parent, mode_t permissions,
                                    std::optional<uid_t> owner = {}) {
    std::filesystem::create_directory(parent);
    EXPECT_EQ(::chmod(parent.c_str(), permissions), 0);
    if (owner) {
        EXPECT_EQ(::chown(parent.c_str(), *owner, static_cast<gid_t>(-1)), 0);
    }
    SqliteOptions options;
    options.directory = parent + "/ledger";
    const auto opened = SqliteLedger::open(std::move(options));
    return opened ? std::nullopt : std::optional(opened.error());
}

TEST(LedgerPlace, IsNotInADirectoryWhereOthersCouldPutAnotherInItsPlace) {
    const os::ScratchDir scratch;
    EXPECT_FALSE(open_in_parent(scratch.file("private"), 0700));
    EXPECT_FALSE(open_in_parent(scratch.file("readable"), 0755));
    for (const mode_t open : {0770u, 0702u, 0777u}) {
        const auto refused = open_in_parent(scratch.file("open" + std::to_string(open)), open);
        EXPECT_EQ(reason_of(refused), "not_private") << std::oct << open;
        ASSERT_TRUE(refused);
        EXPECT_TRUE(refused->details.contains("parent"));
    }
    EXPECT_FALSE(open_in_parent(scratch.file("like_tmp"), 01777)) << "the sticky bit keeps others out";
}

TEST(LedgerPlace, IsNotInAnotherUsersDirectory) {
    if (::geteuid() != 0) GTEST_SKIP() << "not as this user: only root can give a directory away";
    const os::ScratchDir scratch;
    const auto refused = open_in_parent(scratch.file("theirs"), 0755, 4'711);
    EXPECT_EQ(reason_of(refused), "not_private");
}

TEST(LedgerPlace, IsJudgedByWhereALinkLeads) {
    const os::ScratchDir scratch;
    ASSERT_FALSE(open_in_parent(scratch.file("open"), 0700));
    ASSERT_EQ(::chmod(scratch.file("open").c_str(), 0777), 0);
    std::filesystem::create_directory_symlink(scratch.file("open") + "/ledger", scratch.file("link"));
    SqliteOptions options;
    options.directory = scratch.file("link");
    const auto opened = SqliteLedger::open(std::move(options));
    ASSERT_FALSE(opened);
    EXPECT_EQ(reason_of(opened.error()), "not_private");
}

TEST(LedgerPlace, HasAFileThatOthersCannotWrite) {
    const os::ScratchDir scratch;
    ASSERT_FALSE(open_in_parent(scratch.file("own"), 0755));
    const std::string file = scratch.file("own") + "/ledger/ledger.db";
    for (const mode_t open : {0620u, 0602u, 0666u}) {
        ASSERT_EQ(::chmod(file.c_str(), open), 0);
        EXPECT_EQ(reason_of(open_in_parent(scratch.file("own"), 0755)), "not_private") << std::oct << open;
    }
    ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
    EXPECT_FALSE(open_in_parent(scratch.file("own"), 0755));
}

TEST(LedgerPlace, WhoseLockIsNoFileIsRefusedWithoutWaiting) {
    for (const bool directory : {false, true}) {
        const os::ScratchDir scratch;
        SqliteOptions options;
        options.directory = scratch.file("ledger");
        ASSERT_EQ(::mkdir(options.directory.c_str(), 0700), 0);
        const std::string lock = options.directory + "/ledger.lock";
        ASSERT_EQ(directory ? ::mkdir(lock.c_str(), 0700) : ::mkfifo(lock.c_str(), 0600), 0);
        const auto opened = SqliteLedger::open(std::move(options));
        ASSERT_FALSE(opened);
        EXPECT_EQ(reason_of(opened.error()), "not_a_file");
    }
}

}  // namespace
}  // namespace callgate::ledger::testing
