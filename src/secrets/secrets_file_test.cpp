#include "secrets/secrets_file.h"

#include <cerrno>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/failpoint.h"
#include "base/memory_scan.h"
#include "os/faulty_file_ops.h"
#include "os/file_lock.h"
#include "os/files.h"
#include "os/scratch_dir.h"
#include "redact/secret_set.h"
#include "secrets/rules.h"
#include "secrets/secrets_testing.h"

namespace callgate::secrets {
namespace {

using namespace std::chrono_literals;
using base::SealKey;
using testing::HasSubstr;
using testing::Not;

SealKey key_of(char fill) {
    return SealKey::from_bytes(std::string(32, fill)).value();
}

std::string value_of(const SecretsFile& file, std::string_view connector, std::string_view key) {
    const auto found = file.open(connector, key);
    return found ? std::string(found->record.value) : "none";
}

class SecretsFileTest : public testing::Test {
protected:
    SecretsFile made(char key = 'a') { return SecretsFile(files, rng, clock, path, key_of(key)); }
    std::string content() { return os::read_file(disk, path, kMaxFileBytes).value(); }
    void put(const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

    os::ScratchDir dir;
    os::RealFileOps disk;
    os::FaultyFileOps files{disk};
    base::SeededRng rng{1};
    base::ManualClock clock;
    std::string path = dir.file("secrets");
    SecretsFile file = made();
};

TEST_F(SecretsFileTest, KeepsOneValuePerConnectorAndKey) {
    EXPECT_EQ(file.set("github", "token", "value-of-github"), 1u);
    EXPECT_EQ(file.set("gitlab", "token", "value-of-gitlab"), 1u);
    EXPECT_EQ(file.set("a", "bc", "value-of-a-bc"), 1u);
    EXPECT_EQ(value_of(file, "github", "token"), "value-of-github");
    EXPECT_EQ(value_of(file, "gitlab", "token"), "value-of-gitlab");
    EXPECT_EQ(value_of(file, "ab", "c"), "none");
    const SecretsFile later = made();
    EXPECT_EQ(value_of(later, "github", "token"), "value-of-github");
}

TEST_F(SecretsFileTest, AMissingFileHoldsNothing) {
    const auto missing = file.open("github", "token");
    EXPECT_EQ(reason_of(missing), "no_such_secret");
    EXPECT_THAT(missing.error().message, HasSubstr("callgate secrets set"));
    EXPECT_THAT(missing.error().message, HasSubstr(path));
    EXPECT_TRUE(file.probe());
    EXPECT_FALSE(file.check()->exists);
    EXPECT_EQ(reason_of(file.rotate("github", "token", "a new value")), "no_such_secret");
    EXPECT_EQ(reason_of(file.remove("github", "token", {})), "no_such_secret");
    EXPECT_FALSE(disk.stat(path)) << "what changes nothing writes nothing";
}

TEST_F(SecretsFileTest, BelongsToItsOwnerAlone) {
    ASSERT_TRUE(file.set("github", "token", "long enough"));
    EXPECT_EQ(disk.stat(path)->permissions, 0600u);
}

TEST_F(SecretsFileTest, SettingDropsTheVersionBefore) {
    ASSERT_TRUE(file.set("github", "token", "first value"));
    EXPECT_EQ(file.set("github", "token", "second value"), 2u);
    EXPECT_EQ(value_of(file, "github", "token"), "second value");
    EXPECT_EQ(file.check()->records, 1u);
    EXPECT_EQ(reason_of(file.remove("github", "token", 1)), "no_such_version");
}

TEST_F(SecretsFileTest, RotatingKeepsTheVersionBeforeUntilTheNextChange) {
    ASSERT_TRUE(file.set("github", "token", "first value"));
    EXPECT_EQ(file.rotate("github", "token", "second value"), 2u);
    EXPECT_EQ(value_of(file, "github", "token"), "second value");
    EXPECT_EQ(file.check("github", "token").value()->previous, 1u);
    EXPECT_EQ(file.check()->records, 2u);
    EXPECT_EQ(file.check()->secrets, 1u);
    EXPECT_EQ(file.rotate("github", "token", "third value"), 3u);
    EXPECT_EQ(file.check("github", "token").value()->previous, 2u);
    EXPECT_EQ(file.check()->records, 2u);
}

TEST_F(SecretsFileTest, RemovingTheNewVersionBringsTheOldOneBack) {
    ASSERT_TRUE(file.set("github", "token", "first value"));
    ASSERT_TRUE(file.rotate("github", "token", "second value"));
    EXPECT_TRUE(file.remove("github", "token", 2));
    EXPECT_EQ(value_of(file, "github", "token"), "first value");
    EXPECT_EQ(reason_of(file.remove("github", "token", 2)), "no_such_version");
    EXPECT_TRUE(file.remove("github", "token", 1));
    EXPECT_EQ(value_of(file, "github", "token"), "none");
}

TEST_F(SecretsFileTest, RemovingTakesAllVersionsOfOneSecret) {
    ASSERT_TRUE(file.set("github", "token", "first value"));
    ASSERT_TRUE(file.rotate("github", "token", "second value"));
    ASSERT_TRUE(file.set("slack", "token", "other value"));
    EXPECT_TRUE(file.remove("github", "token", {}));
    EXPECT_EQ(value_of(file, "github", "token"), "none");
    EXPECT_EQ(value_of(file, "slack", "token"), "other value");
    EXPECT_EQ(file.check()->records, 1u);
}

TEST_F(SecretsFileTest, CheckTellsVersionAndTimeAndNoValue) {
    EXPECT_EQ(file.check("github", "token").value(), std::nullopt);
    ASSERT_TRUE(file.set("github", "token", "first value"));
    clock.advance(1h);
    ASSERT_TRUE(file.set("github", "token", "second value"));
    const auto info = file.check("github", "token").value();
    ASSERT_TRUE(info);
    EXPECT_EQ(info->version, 2u);
    EXPECT_EQ(info->set_at, base::ManualClock::kStart + 1h);
    EXPECT_EQ(info->previous, std::nullopt);
}

TEST_F(SecretsFileTest, CheckOpensEveryRecord) {
    ASSERT_TRUE(file.set("github", "token", "first value"));
    ASSERT_TRUE(file.set("slack", "token", "second value"));
    const auto info = file.check();
    ASSERT_TRUE(info);
    EXPECT_TRUE(info->exists);
    EXPECT_EQ(info->secrets, 2u);
    EXPECT_EQ(info->key_id, key_of('a').id());
    // A record that a fault of ours sealed wrongly: the file as a whole is sound.
    SecretsImage image;
    image.records.push_back(seal_record(key_of('a'), "c", "k", 1, {}, "the value"));
    image.records.front().version = 2;
    put(write_image(key_of('a'), rng, image));
    EXPECT_TRUE(file.probe());
    EXPECT_EQ(reason_of(file.check()), "secrets_damaged");
    EXPECT_EQ(reason_of(file.open("c", "k")), "secrets_damaged");
}

TEST_F(SecretsFileTest, AChangeByAnotherProcessIsSeenAtTheNextLook) {
    ASSERT_TRUE(file.set("github", "token", "first value"));
    SecretsFile other = made();
    EXPECT_EQ(value_of(other, "github", "token"), "first value");
    ASSERT_TRUE(file.set("github", "token", "second value"));
    EXPECT_EQ(value_of(other, "github", "token"), "second value");
    ASSERT_TRUE(other.remove("github", "token", {}));
    EXPECT_EQ(value_of(file, "github", "token"), "none");
    ASSERT_TRUE(disk.unlink(path));
    EXPECT_EQ(value_of(other, "github", "token"), "none");
    ASSERT_TRUE(file.set("github", "token", "third value"));
    EXPECT_EQ(value_of(other, "github", "token"), "third value");
}

TEST_F(SecretsFileTest, AnUnchangedFileIsNotReadAgain) {
    ASSERT_TRUE(file.set("github", "token", std::string(60'000, 'v')));
    EXPECT_NE(value_of(file, "github", "token"), "none");
    const auto reads = files.calls(os::FileOp::read);
    for (int i = 0; i < 5; ++i) EXPECT_NE(value_of(file, "github", "token"), "none");
    EXPECT_EQ(files.calls(os::FileOp::read), reads);
}

TEST_F(SecretsFileTest, OfTwoWritersAtOnceNeitherLosesItsChange) {
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&, i] {
                SecretsFile mine = made();  // as another process would
                for (int n = 0; n < 10; ++n) {
                    const auto name = "key" + std::to_string(i) + "-" + std::to_string(n);
                    EXPECT_TRUE(mine.set("c", name, "value-of-" + name));
                }
            });
        }
    }
    EXPECT_EQ(file.check()->secrets, 40u);
    for (int i = 0; i < 4; ++i) {
        for (int n = 0; n < 10; ++n) {
            const auto name = "key" + std::to_string(i) + "-" + std::to_string(n);
            EXPECT_EQ(value_of(file, "c", name), "value-of-" + name);
        }
    }
}

TEST_F(SecretsFileTest, AWrongKeyForeignAndDamagedFilesAreNamedAndLeftAlone) {
    ASSERT_TRUE(file.set("github", "token", "the value"));
    const std::string good = content();
    SecretsFile wrong = made('b');
    EXPECT_EQ(reason_of(wrong.open("github", "token")), "wrong_key");
    EXPECT_EQ(reason_of(wrong.check("github", "token")), "wrong_key");
    EXPECT_EQ(reason_of(wrong.set("github", "token", "new value")), "wrong_key");
    EXPECT_EQ(content(), good);

    std::string newer = good;
    newer[19] = 9;
    for (const auto& [bytes, reason] :
         std::map<std::string, std::string>{{"", "not_a_secrets_file"},
                                            {"[secrets]\ntoken = 1\n", "not_a_secrets_file"},
                                            {good.substr(0, good.size() / 2), "secrets_damaged"},
                                            {newer, "secrets_version"}}) {
        put(bytes);
        EXPECT_EQ(reason_of(file.open("github", "token")), reason);
        EXPECT_EQ(reason_of(file.probe()), reason);
        const auto refused = file.set("github", "token", "new value");
        EXPECT_EQ(reason_of(refused), reason);
        EXPECT_THAT(refused.error().message, HasSubstr(path));
        EXPECT_EQ(content(), bytes);
    }
    put(good);
    EXPECT_EQ(value_of(file, "github", "token"), "the value");
}

TEST_F(SecretsFileTest, WhatCannotBeReadIsToldAndNotTakenForEmpty) {
    ASSERT_TRUE(disk.mkdir(path));
    EXPECT_EQ(reason_of(file.open("github", "token")), "file_is_directory");
    EXPECT_EQ(reason_of(file.set("github", "token", "the value")), "file_is_directory");
}

TEST_F(SecretsFileTest, NamesAndValuesAreHeldToTheRules) {
    EXPECT_EQ(reason_of(file.set("", "token", "long enough")), "bad_name");
    EXPECT_EQ(reason_of(file.set("github", std::string(256, 'k'), "long enough")), "bad_name");
    EXPECT_EQ(reason_of(file.set("github", "token", "1234567")), "secret_too_short");
    const std::string large(redact::SecretSet::kMaxBytes, 'v');
    EXPECT_EQ(reason_of(file.rotate("github", "token", large + "v")), "secret_too_long");
    EXPECT_TRUE(file.set("github", "token", large));
    EXPECT_EQ(value_of(file, "github", "token"), large);
}

TEST_F(SecretsFileTest, HoldsALimitedNumberOfSecrets) {
    SecretsImage image;
    for (std::size_t i = 0; i < kMaxSecrets; ++i)
        image.records.push_back(
            seal_record(key_of('a'), "c", "k" + std::to_string(i), 1, {}, "value " + std::to_string(i)));
    put(write_image(key_of('a'), rng, image));
    EXPECT_EQ(reason_of(file.set("c", "one more", "long enough")), "too_many_secrets");
    EXPECT_EQ(file.set("c", "k17", "another value"), 2u);
    EXPECT_EQ(value_of(file, "c", "k9999"), "value 9999");
}

TEST_F(SecretsFileTest, VersionsDoNotStartAgainWhenTheyRunOut) {
    SecretsImage image;
    image.records.push_back(seal_record(key_of('a'), "c", "k", 0xffffffff, {}, "the value"));
    put(write_image(key_of('a'), rng, image));
    EXPECT_EQ(reason_of(file.set("c", "k", "another value")), "too_many_versions");
    EXPECT_EQ(value_of(file, "c", "k"), "the value");
}

TEST_F(SecretsFileTest, CanBeSealedAnewUnderAnotherKey) {
    ASSERT_TRUE(file.set("github", "token", "first value"));
    clock.advance(1h);
    ASSERT_TRUE(file.rotate("github", "token", "second value"));
    ASSERT_TRUE(file.set("slack", "token", "other value"));
    const SecretsFile left_behind = made();
    ASSERT_TRUE(file.rotate_key(key_of('b')));
    EXPECT_EQ(value_of(file, "github", "token"), "second value");
    EXPECT_EQ(file.check()->key_id, key_of('b').id());
    EXPECT_EQ(file.check("github", "token").value()->previous, 1u);
    EXPECT_EQ(file.check("github", "token").value()->set_at, base::ManualClock::kStart + 1h);
    EXPECT_EQ(value_of(made('b'), "slack", "token"), "other value");
    EXPECT_EQ(reason_of(left_behind.open("github", "token")), "wrong_key");
    ASSERT_TRUE(file.set("slack", "token", "newest value"));
    EXPECT_EQ(value_of(made('b'), "slack", "token"), "newest value");
}

TEST_F(SecretsFileTest, ATurnThatCannotBeTakenIsToldAndNothingIsWritten) {
    files.inject(os::FileOp::lock, os::FileFault::fail_with(ENOLCK));
    EXPECT_EQ(reason_of(file.set("c", "k", "the value")), "file_unwritable");
    EXPECT_FALSE(disk.stat(path));
    EXPECT_TRUE(file.set("c", "k", "the value"));
}

// Every call to the disk of every change fails once, by error and by doing a part only: the file is then the
// old one or the new one, and the store goes on working.
TEST_F(SecretsFileTest, AFailingDiskLeavesTheOldFileOrTheNewOne) {
    int failures = 0;
    for (std::size_t op = 0; op < os::kFileOpCount; ++op) {
        for (std::uint64_t nth = 1;; ++nth) {
            files.clear();
            ASSERT_TRUE(file.set("c", "k", "old value"));
            const auto before = files.calls(static_cast<os::FileOp>(op));
            files.inject(static_cast<os::FileOp>(op), os::FileFault::fail_with(ENOSPC), nth);
            const auto changed = file.set("c", "k", "new value");
            const auto calls = files.calls(static_cast<os::FileOp>(op)) - before;
            files.clear();
            const std::string now = value_of(made(), "c", "k");
            EXPECT_EQ(value_of(file, "c", "k"), now);
            if (changed) {
                EXPECT_EQ(now, "new value");
            } else {
                ++failures;
                EXPECT_THAT(now, testing::AnyOf("old value", "new value"));
                EXPECT_THAT(changed.error().message, Not(HasSubstr("value\"")));
            }
            if (calls < nth) break;
        }
    }
    EXPECT_GE(failures, 6);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 2) << "file and lock";
}

TEST_F(SecretsFileTest, AKeyChangeThatFailsLateIsStillKnown) {
    ASSERT_TRUE(file.set("c", "k", "the value"));
    files.clear();
    files.inject(os::FileOp::fsync, os::FileFault::fail_with(EIO), 2);  // of the directory
    EXPECT_FALSE(file.rotate_key(key_of('b')));
    EXPECT_EQ(value_of(file, "c", "k"), "the value");
    EXPECT_EQ(value_of(made('b'), "c", "k"), "the value");
}

TEST_F(SecretsFileTest, ErrorsNeverContainTheValue) {
    const std::string value = "SENTINEL-VALUE-" + std::string(redact::SecretSet::kMaxBytes, 'x');
    std::string said;
    for (const auto& answer :
         {file.set("", "k", value), file.set("c", "k", value), file.set("c", "k", value.substr(0, 7)),
          file.rotate("c", "k", value.substr(0, 20))}) {
        ASSERT_FALSE(answer);
        said += answer.error().message;
    }
    EXPECT_THAT(said, Not(HasSubstr("SENTIN")));
}

TEST_F(SecretsFileTest, ValuesAreInMemoryOnlyWhileTheyAreOpen) {
    const std::string hidden =
        base::complement("correct horse") + base::complement(" battery") + base::complement(" staple");
    {
        base::LockedBytes plain(hidden.size());
        for (std::size_t i = 0; i < hidden.size(); ++i) plain.bytes()[i] = static_cast<char>(~hidden[i]);
        ASSERT_TRUE(file.set("c", "k", plain.view()));
    }
    EXPECT_EQ(base::copies_in_memory(hidden), 0u);
    {
        const auto found = file.open("c", "k");
        ASSERT_TRUE(found);
        EXPECT_EQ(base::copies_in_memory(hidden), 1u);
    }
    EXPECT_EQ(base::copies_in_memory(hidden), 0u);
    ASSERT_TRUE(file.rotate_key(key_of('b')));
    EXPECT_EQ(base::copies_in_memory(hidden), 0u);
}

#ifdef CALLGATE_FAILPOINTS
TEST_F(SecretsFileTest, FailsBeforeOrAfterTheFileIsWritten) {
    ASSERT_TRUE(file.set("c", "k", "old value"));
    base::failpoints().arm("secrets.before_file_write", base::FailAction::enospc);
    EXPECT_FALSE(file.set("c", "k", "new value"));
    EXPECT_EQ(value_of(file, "c", "k"), "old value");
    base::failpoints().arm("secrets.after_file_write", base::FailAction::error);
    EXPECT_FALSE(file.set("c", "k", "new value"));
    EXPECT_EQ(value_of(file, "c", "k"), "new value");
    base::failpoints().clear();
}
#endif

// Against a plain map: whatever is done, in whatever order, every look gives what was put there last.
RC_GTEST_PROP(SecretsFileModel, BehavesLikeAMapWithOnePreviousVersion, ()) {
    const os::ScratchDir dir;
    os::RealFileOps disk;
    base::SeededRng rng(1);
    const base::ManualClock clock;
    char key = 'a';
    SecretsFile file(disk, rng, clock, dir.file("secrets"), key_of(key));
    std::map<std::string, std::map<std::uint32_t, std::string>> model;
    const int steps = *rc::gen::inRange(1, 12);
    for (int step = 0; step < steps; ++step) {
        const std::string name = "k" + std::to_string(*rc::gen::inRange(0, 3));
        const std::string value = "value of step " + std::to_string(step);
        auto& versions = model[name];
        const std::uint32_t next = versions.empty() ? 1 : versions.rbegin()->first + 1;
        switch (*rc::gen::inRange(0, 5)) {
            case 0:
                RC_ASSERT(file.set("c", name, value) == next);
                versions = {{next, value}};
                break;
            case 1: {
                const auto rotated = file.rotate("c", name, value);
                RC_ASSERT(rotated.has_value() == !versions.empty());
                if (!rotated) break;
                versions.erase(versions.begin(), std::prev(versions.end()));
                versions[next] = value;
                break;
            }
            case 2:
                RC_ASSERT(file.remove("c", name, {}).has_value() == !versions.empty());
                versions.clear();
                break;
            case 3:
                RC_ASSERT(file.remove("c", name, next - 1).has_value() == !versions.empty());
                versions.erase(next - 1);
                break;
            case 4: RC_ASSERT(file.rotate_key(key_of(++key)).has_value()); break;
        }
        const SecretsFile fresh(disk, rng, clock, dir.file("secrets"), key_of(key));
        for (const auto& [one, kept] : model) {
            RC_ASSERT(value_of(file, "c", one) == (kept.empty() ? "none" : kept.rbegin()->second));
            RC_ASSERT(value_of(fresh, "c", one) == value_of(file, "c", one));
        }
        RC_ASSERT(fresh.check().has_value());
    }
}

}  // namespace
}  // namespace callgate::secrets
