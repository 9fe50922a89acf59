#include "secrets/key_source.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/failpoint.h"
#include "os/faulty_file_ops.h"
#include "os/files.h"
#include "os/scratch_dir.h"
#include "secrets/secrets_testing.h"

namespace callgate::secrets {
namespace {

using base::SealKey;
using testing::HasSubstr;
using testing::Not;

const std::string kBytes = "0123456789abcdef0123456789ABCDE!";

class KeySourceTest : public testing::Test {
protected:
    void put(const std::string& to, const std::string& content, mode_t mode = 0600) {
        std::ofstream(to, std::ios::binary) << content;
        ASSERT_EQ(::chmod(to.c_str(), mode), 0);
    }

    os::ScratchDir dir;
    os::RealFileOps files;
    base::SeededRng rng{7};
    std::string path = dir.file("key");
    std::string expected = SealKey::from_bytes(kBytes)->id();
};

TEST_F(KeySourceTest, AKeyFileHoldsBytesOrHexadecimalOrBase64) {
    using base::Base64Alphabet;
    using base::Base64Padding;
    for (const std::string& text :
         {kBytes, base::hex_encode(kBytes), base::hex_encode(kBytes, base::HexCase::upper) + "\n",
          base::base64_encode(kBytes) + "\r\n",
          base::base64_encode(kBytes, Base64Alphabet::url, Base64Padding::without)}) {
        put(path, text);
        const auto key = load_key(files, KeySource::file(path));
        ASSERT_TRUE(key) << text << ": " << key.error().message;
        EXPECT_EQ(key->id(), expected) << text;
    }
}

TEST_F(KeySourceTest, ThirtyTwoBytesThatLookLikeTextAreTakenAsTheyAre) {
    put(path, std::string(31, 'a') + "\n");
    EXPECT_EQ(load_key(files, KeySource::file(path))->id(),
              SealKey::from_bytes(std::string(31, 'a') + "\n")->id());
}

TEST_F(KeySourceTest, AnythingElseIsNoKeyAndNotRepeated) {
    for (const std::string& text : {std::string(), std::string("SENTINEL"), std::string(31, 'S'),
                                    std::string(64, 'S'), std::string(300, 'S'), kBytes + "SENT"}) {
        put(path, text);
        const auto key = load_key(files, KeySource::file(path));
        EXPECT_EQ(reason_of(key), "key_text") << text;
        EXPECT_THAT(key.error().message, HasSubstr(path));
        EXPECT_THAT(key.error().message, HasSubstr("openssl rand -hex 32"));
        EXPECT_THAT(key.error().message, Not(HasSubstr("SENT")));
    }
}

TEST_F(KeySourceTest, AFileThatOthersMayReadIsRefused) {
    for (const mode_t mode : {0640u, 0604u, 0660u, 0666u, 0610u, 0777u}) {
        put(path, kBytes, mode);
        const auto key = load_key(files, KeySource::file(path));
        EXPECT_EQ(reason_of(key), "key_permission") << mode;
        EXPECT_THAT(key.error().message, HasSubstr("chmod 600 " + path));
    }
    for (const mode_t mode : {0600u, 0400u}) {
        put(dir.file("own" + std::to_string(mode)), kBytes, mode);
        EXPECT_TRUE(load_key(files, KeySource::file(dir.file("own" + std::to_string(mode))))) << mode;
    }
}

TEST_F(KeySourceTest, AFileOfAnotherUserIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "not as this user: only root can give a file away";
    put(path, kBytes);
    ASSERT_EQ(::chown(path.c_str(), 12'345, 12'345), 0);
    const auto key = load_key(files, KeySource::file(path));
    EXPECT_EQ(reason_of(key), "key_owner");
    EXPECT_THAT(key.error().message, HasSubstr("12345"));
}

TEST_F(KeySourceTest, WhatIsNoFileIsRefusedWithoutWaiting) {
    EXPECT_EQ(reason_of(load_key(files, KeySource::file(dir.file("none")))), "key_missing");
    EXPECT_EQ(reason_of(load_key(files, KeySource::file(dir.path()))), "key_unreadable");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(reason_of(load_key(files, KeySource::file(path))), "key_unreadable");
}

TEST_F(KeySourceTest, AKeyFromTheEnvironmentIsReadOnceAndWiped) {
    const auto source = KeySource::environment("CALLGATE_TEST_KEY");
    ::setenv("CALLGATE_TEST_KEY", base::base64_encode(kBytes).c_str(), 1);
    const char* const where = std::getenv("CALLGATE_TEST_KEY");
    const auto key = load_key(files, source);
    ASSERT_TRUE(key);
    EXPECT_EQ(key->id(), expected);
    EXPECT_EQ(std::getenv("CALLGATE_TEST_KEY"), nullptr);
    EXPECT_EQ(std::string_view(where, 8), std::string(8, '\0'));
    const auto again = load_key(files, source);
    EXPECT_EQ(reason_of(again), "key_missing");
    EXPECT_THAT(again.error().message, HasSubstr("CALLGATE_TEST_KEY"));
    ::setenv("CALLGATE_TEST_KEY", "SENTINEL", 1);
    const auto bad = load_key(files, source);
    EXPECT_EQ(reason_of(bad), "key_text");
    EXPECT_THAT(bad.error().message, Not(HasSubstr("SENTINEL")));
    EXPECT_EQ(std::getenv("CALLGATE_TEST_KEY"), nullptr);
}

TEST_F(KeySourceTest, ACredentialIsAFileThatSystemdMade) {
    const auto source = KeySource::credential("key");
    ::unsetenv("CREDENTIALS_DIRECTORY");
    EXPECT_EQ(reason_of(load_key(files, source)), "key_missing");
    ::setenv("CREDENTIALS_DIRECTORY", dir.path().c_str(), 1);
    EXPECT_EQ(reason_of(load_key(files, source)), "key_missing");
    put(path, kBytes, 0440);
    EXPECT_EQ(load_key(files, source)->id(), expected);
    put(dir.file("open"), kBytes, 0444);
    EXPECT_EQ(reason_of(load_key(files, KeySource::credential("open"))), "key_permission");
    for (const auto* name : {"", ".", "..", "../key", "a/b"}) {
        EXPECT_EQ(reason_of(load_key(files, KeySource::credential(name))), "key_source") << name;
    }
    ::unsetenv("CREDENTIALS_DIRECTORY");
}

TEST_F(KeySourceTest, AMissingKeyIsMadeOnceAndKept) {
    const auto made = load_or_create_key(files, rng, path);
    ASSERT_TRUE(made);
    const auto info = files.stat(path);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->permissions, 0600u);
    EXPECT_EQ(info->size, 65u);
    EXPECT_EQ(load_or_create_key(files, rng, path)->id(), made->id());
    EXPECT_EQ(load_key(files, KeySource::file(path))->id(), made->id());
    EXPECT_NE(load_or_create_key(files, rng, dir.file("other"))->id(), made->id());
}

TEST_F(KeySourceTest, AKeyThatIsThereIsNeverReplaced) {
    put(path, "garbage");
    EXPECT_EQ(reason_of(load_or_create_key(files, rng, path)), "key_text");
    put(path, kBytes, 0644);
    EXPECT_EQ(reason_of(load_or_create_key(files, rng, path)), "key_permission");
    EXPECT_EQ(os::read_file(files, path, 100).value(), kBytes);
}

TEST_F(KeySourceTest, ALinkLeadsToAKeyElsewhereThatIsCheckedAsAnyOther) {
    const std::string elsewhere = dir.file("other-disk.key");
    const auto made = load_or_create_key(files, rng, elsewhere);
    std::filesystem::create_symlink(elsewhere, path);
    EXPECT_EQ(load_or_create_key(files, rng, path)->id(), made->id());
    ASSERT_EQ(::chmod(elsewhere.c_str(), 0644), 0);
    EXPECT_EQ(reason_of(load_or_create_key(files, rng, path)), "key_permission");
}

TEST_F(KeySourceTest, ALinkThatLeadsNowhereIsNoReasonForANewKey) {
    std::filesystem::create_symlink(dir.file("not-mounted/ledger.key"), path);
    const auto none = load_or_create_key(files, rng, path);
    EXPECT_EQ(reason_of(none), "key_missing");
    EXPECT_THAT(none.error().message, HasSubstr("symbolic link that leads to no file"));
    EXPECT_TRUE(std::filesystem::is_symlink(path));
    EXPECT_THAT(load_key(files, KeySource::file(path)).error().message, HasSubstr("Is the disk"));
}

TEST_F(KeySourceTest, WhoStartsAtTheSameTimeGetsTheSameKey) {
    base::SystemRng system;
    std::vector<std::string> ids(8);
    {
        std::vector<std::jthread> threads;
        for (auto& id : ids)
            threads.emplace_back([&] { id = load_or_create_key(files, system, path).value().id(); });
    }
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1u);
}

TEST_F(KeySourceTest, AKeyThatCannotBeWrittenIsNotUsed) {
    for (const auto& [op, number] : std::vector<std::pair<os::FileOp, int>>{
             {os::FileOp::write, ENOSPC}, {os::FileOp::fsync, EIO}, {os::FileOp::rename, EIO}}) {
        os::FaultyFileOps faulty(files);
        faulty.inject(op, os::FileFault::fail_with(number));
        EXPECT_FALSE(load_or_create_key(faulty, rng, path));
        EXPECT_FALSE(files.stat(path));
    }
    os::FaultyFileOps faulty(files);
    faulty.inject(os::FileOp::write, os::FileFault::only(3));
    faulty.inject(os::FileOp::read, os::FileFault::only(1), 1, true);
    const auto made = load_or_create_key(faulty, rng, path);
    ASSERT_TRUE(made);
    EXPECT_EQ(load_key(faulty, KeySource::file(path))->id(), made->id());
}

#ifdef CALLGATE_FAILPOINTS
TEST_F(KeySourceTest, FailsBeforeOrAfterTheKeyIsWrittenButNeverHalfway) {
    base::failpoints().arm("secrets.before_key_write", base::FailAction::error);
    EXPECT_FALSE(load_or_create_key(files, rng, path));
    EXPECT_FALSE(files.stat(path));
    base::failpoints().arm("secrets.after_key_write", base::FailAction::error);
    EXPECT_FALSE(load_or_create_key(files, rng, path));
    const auto kept = load_key(files, KeySource::file(path));
    ASSERT_TRUE(kept);
    EXPECT_EQ(load_or_create_key(files, rng, path)->id(), kept->id());
    base::failpoints().clear();
}
#endif

}  // namespace
}  // namespace callgate::secrets
