// Files that are not what a ledger left: cut, replaced, mixed up, damaged. Opening them gives a clear error
// or a ledger that has everything it ever answered for; in between there is nothing.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kCalls = 30;

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string key(std::uint64_t call) {
    return "k" + std::to_string(call);
}

/// A ledger that has answered for kCalls calls and two approvals, closed.
class BadFiles : public ::testing::Test {
protected:
    void SetUp() override {
        fill(durable);
        durable.close();
    }

    static void fill(DurableLedger& at) {
        ASSERT_FALSE(at.open(false));
        for (std::uint64_t call = 1; call <= kCalls; ++call) {
            ASSERT_FALSE(at.claim(call, key(call)).error);
            ASSERT_TRUE(at.settle(call).settled.accepted);
        }
        ASSERT_FALSE(at.ask("pending", 91).error);
        ASSERT_FALSE(at.ask("approved", 92).error);
        ASSERT_TRUE(at.vote("approved"));
    }

    fs::path file(std::string_view name) const { return fs::path(durable.directory) / name; }

    /// Refused with this reason, in words that say what to do.
    void expect_refused(std::string_view reason, std::string_view words) {
        const auto refused = durable.open(false);
        ASSERT_TRUE(refused);
        EXPECT_EQ(reason_of(refused), reason) << refused->message;
        EXPECT_NE(refused->message.find(words), std::string::npos) << refused->message;
    }

    /// What a ledger that says it is sound must have. "" if it has it all.
    static std::string missing(DurableLedger& at) {
        for (std::uint64_t call = 1; call <= kCalls; ++call) {
            const auto row = at.ledger->find(call_id(call));
            if (!row || row->state != CallState::succeeded || !row->outcome ||
                row->outcome->result.value != Value(Object{{"answer", call}}))
                return "call " + std::to_string(call);
            const PeekReply reply = at.peek(key(call));
            // A key that is refused is not lost: nothing runs again.
            if (!reply.error && reply.verdict != ClaimVerdict::replay &&
                reply.verdict != ClaimVerdict::key_reused && reply.verdict != ClaimVerdict::key_expired)
                return key(call);
        }
        const auto pending = at.ledger->approval("pending");
        if (!pending || pending->state != ApprovalState::pending) return "an approval that waits";
        const auto approved = at.ledger->approval("approved");
        if (!approved || approved->state != ApprovalState::approved) return "an approval that was given";
        return "";
    }

    /// Opened, whatever the files are now: nothing may be lost without a word.
    enum class Verdict : std::uint8_t { refused, found_by_check, correct, lost };
    Verdict verdict_of_opening() {
        if (const auto refused = durable.open(false)) {
            EXPECT_NE(reason_of(refused), "") << refused->message;
            EXPECT_NE(reason_of(refused), "-") << refused->message;
            return Verdict::refused;
        }
        const std::string lost = missing(durable);
        const std::string found = faults_of(*durable.ledger);
        durable.close();
        if (!found.empty()) return Verdict::found_by_check;
        if (lost.empty()) return Verdict::correct;
        ADD_FAILURE() << lost << " is gone, and nothing says so";
        return Verdict::lost;
    }

    // Without the mark, which would refuse every older file before anything else is looked at.
    DurableLedger durable{[](SqliteOptions& options) { options.watch_past = false; }};
};

TEST_F(BadFiles, ALedgerThatIsWholeHasItAll) {
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
}

TEST_F(BadFiles, ACutDatabaseIsNeverTakenForAWholeOne) {
    const std::string whole = read(file("ledger.db"));
    ASSERT_GT(whole.size(), 10'000u);
    std::vector<std::size_t> sizes{0, 1, 15, 16, 17, 99, 100, 101, 511, 512, 4095, 4096, 4097};
    for (std::size_t size = 8192; size < whole.size(); size += 4096) sizes.push_back(size);
    for (std::size_t size = 5000; size < whole.size(); size += 20'011) sizes.push_back(size);
    sizes.push_back(whole.size() - 100);
    for (const std::size_t size : sizes) {
        write(file("ledger.db"), std::string_view(whole).substr(0, size));
        SCOPED_TRACE("cut to " + std::to_string(size) + " bytes of " + std::to_string(whole.size()));
        EXPECT_NE(verdict_of_opening(), Verdict::correct);
        for (const char* beside : {"ledger.db-wal", "ledger.db-shm"}) fs::remove(file(beside));
        if (HasFailure()) return;
    }
    write(file("ledger.db"), whole);
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
}

TEST_F(BadFiles, ADatabaseThatIsGoneIsNotMadeAnewBesideTheKeysOfTheLastOne) {
    const std::string whole = read(file("ledger.db"));
    fs::remove(file("ledger.db"));
    expect_refused("ledger_lost", "Restore ledger.db");
    EXPECT_FALSE(fs::exists(file("ledger.db"))) << "what is to be restored has its place free";
    write(file("ledger.db"), "");
    expect_refused("ledger_lost", "Restore ledger.db");
    write(file("ledger.db"), whole);
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
}

TEST_F(BadFiles, AnythingElseInItsPlaceIsRefusedAndNotTouched) {
    const std::string garbage = [] {
        std::mt19937_64 random(1);
        std::string bytes(20'000, '\0');
        std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
        return bytes;
    }();
    for (const std::string& bytes : {garbage, std::string("# a text\n"), std::string(4096, '\0')}) {
        write(file("ledger.db"), bytes);
        expect_refused("not_a_database", "Move it away");
        EXPECT_TRUE(read(file("ledger.db")) == bytes);
    }
}

class ForeignDatabase : public BadFiles, public ::testing::WithParamInterface<const char*> {};

TEST_P(ForeignDatabase, OfAnotherProgramIsRefusedAndNotTouched) {
    fs::remove(file("ledger.db"));
    {
        auto foreign = Database::open(file("ledger.db"), Access::read_write);
        ASSERT_TRUE(foreign);
        ASSERT_TRUE(foreign->execute(GetParam()));
        ASSERT_TRUE(foreign->execute("CREATE TABLE songs(title); INSERT INTO songs VALUES('One')"));
    }
    const std::string bytes = read(file("ledger.db"));
    expect_refused("foreign_database", "another program");
    EXPECT_TRUE(read(file("ledger.db")) == bytes);
}

INSTANTIATE_TEST_SUITE_P(Journal, ForeignDatabase,
                         ::testing::Values("PRAGMA journal_mode = DELETE", "PRAGMA journal_mode = WAL",
                                           "PRAGMA application_id = 99; PRAGMA user_version = 1"));

TEST_F(BadFiles, ALedgerOfANewerVersionIsRefusedAndNotTouched) {
    {
        auto newer = Database::open(file("ledger.db"), Access::read_write);
        ASSERT_TRUE(newer);
        ASSERT_TRUE(newer->execute("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)"));
    }
    const std::string bytes = read(file("ledger.db"));
    expect_refused("newer_schema", "newer");
    EXPECT_TRUE(read(file("ledger.db")) == bytes);
}

TEST_F(BadFiles, WhatIsNoFileInItsPlaceIsRefused) {
    const fs::path elsewhere = fs::path(durable.scratch.path()) / "elsewhere";
    fs::rename(file("ledger.db"), elsewhere);
    fs::create_directory(file("ledger.db"));
    expect_refused("not_a_database", "Move it away");
    fs::remove(file("ledger.db"));
    ASSERT_EQ(::mkfifo(file("ledger.db").c_str(), 0600), 0);
    expect_refused("not_a_database", "Move it away");
    fs::remove(file("ledger.db"));
    fs::create_symlink(elsewhere, file("ledger.db"));
    expect_refused("symbolic_link", "Put the file itself there");
    fs::remove(file("ledger.db"));
    fs::create_symlink("nowhere", file("ledger.db"));
    EXPECT_TRUE(durable.open(false));
    fs::remove(file("ledger.db"));
    fs::rename(elsewhere, file("ledger.db"));
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
}

TEST_F(BadFiles, ALockThatIsALinkIsNotFollowedAndWhatItPointsToIsNotTouched) {
    const std::string elsewhere = durable.scratch.file("elsewhere");
    write(elsewhere, "somebody's own");
    fs::remove(file("ledger.lock"));
    fs::create_symlink(elsewhere, file("ledger.lock"));
    expect_refused("symbolic_link", "ledger.lock' is a symbolic link");
    EXPECT_EQ(read(elsewhere), "somebody's own");
    fs::remove(file("ledger.lock"));
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
}

TEST_F(BadFiles, TheKeyOfAnotherLedgerIsRefusedAndTheRightOnePutsItRight) {
    DurableLedger other;
    fill(other);
    other.close();
    const std::string right = read(file("ledger.key"));
    fs::copy_file(other.directory + "/ledger.key", file("ledger.key"), fs::copy_options::overwrite_existing);
    expect_refused("wrong_key", "Put");
    write(file("ledger.key"), "no key\n");
    EXPECT_TRUE(durable.open(false));
    write(file("ledger.key"), right);
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);

    const std::string signing = read(file("audit.key"));
    fs::copy_file(other.directory + "/audit.key", file("audit.key"), fs::copy_options::overwrite_existing);
    expect_refused("key_mismatch", "Restore the right file");
    write(file("audit.key"), signing);
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
}

TEST_F(BadFiles, AKeyThatIsGoneIsNotMadeAnew) {
    for (const char* name : {"ledger.key", "audit.key"}) {
        const std::string right = read(file(name));
        fs::remove(file(name));
        expect_refused("key_missing", name);
        EXPECT_FALSE(fs::exists(file(name))) << "a new key would only hide that the right one is gone";
        write(file(name), right);
        fs::permissions(file(name), fs::perms::owner_read | fs::perms::owner_write);
    }
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
}

/// The files of a ledger whose process was killed: the log is still beside the database.
void take_unclean(DurableLedger& at, const fs::path& to) {
    fs::create_directory(to);
    for (const char* name : {"ledger.db", "ledger.db-wal", "ledger.key", "audit.key"})
        fs::copy_file(fs::path(at.directory) / name, to / name);
}

/// Of the same shape, so that pages of one fit into the other, and perhaps under the same key. Its log begins
/// with what a start writes, or holds no more than its last commit.
struct OtherLog {
    bool same_key;
    bool short_log;
    std::uint64_t calls;
};

class LogOfAnother : public BadFiles, public ::testing::WithParamInterface<OtherLog> {};

TEST_P(LogOfAnother, IsNotTakenForItsOwn) {
    const auto [same_key, short_log, calls] = GetParam();
    DurableLedger other([is_short = short_log](SqliteOptions& options) {
        if (is_short) options.writer.checkpoint_pages = 1;
    });
    if (same_key) {
        fs::create_directory(other.directory);
        fs::permissions(other.directory, fs::perms::owner_all);
        fs::copy_file(file("ledger.key"), other.directory + "/ledger.key");
    }
    fill(other);
    other.close();
    ASSERT_FALSE(other.open(false));
    for (std::uint64_t call = 100; call < 100 + calls; ++call)
        ASSERT_FALSE(other.claim(call, key(call)).error);
    const fs::path killed = fs::path(other.scratch.path()) / "killed";
    take_unclean(other, killed);
    fs::copy_file(killed / "ledger.db-wal", file("ledger.db-wal"));
    const std::string ours = read(file("ledger.db"));

    EXPECT_EQ(verdict_of_opening(), Verdict::refused);
    EXPECT_TRUE(read(file("ledger.db")) == ours) << "nothing of the other may get into ours";
    fs::remove(file("ledger.db-wal"));
    fs::remove(file("ledger.db-shm"));
    EXPECT_EQ(verdict_of_opening(), Verdict::correct) << "without it all is well";
}

INSTANTIATE_TEST_SUITE_P(Logs, LogOfAnother,
                         ::testing::Values(OtherLog{false, false, 1}, OtherLog{false, false, 40},
                                           OtherLog{true, false, 1}, OtherLog{true, false, 40},
                                           OtherLog{false, true, 1}, OtherLog{false, true, 40},
                                           OtherLog{true, true, 1}, OtherLog{true, true, 2},
                                           OtherLog{true, true, 40}));

class OldLog : public BadFiles, public ::testing::WithParamInterface<std::uint64_t> {};

TEST_P(OldLog, OfAnEarlierTimeIsNotTakenForItsOwn) {
    ASSERT_FALSE(durable.open(false));
    for (std::uint64_t call = 100; call < 100 + GetParam(); ++call)
        ASSERT_FALSE(durable.claim(call, key(call)).error);
    const std::string old = read(file("ledger.db-wal"));
    ASSERT_FALSE(old.empty());
    for (std::uint64_t call = 200; call < 240; ++call) {
        ASSERT_FALSE(durable.claim(call, key(call)).error);
        ASSERT_TRUE(durable.settle(call).settled.accepted);
    }
    durable.close();
    // Whether the file goes on to a newer log or not: what it knew last is in the file alone.
    ASSERT_FALSE(durable.open(false));
    ASSERT_FALSE(durable.claim(300, key(300)).error);
    durable.close();
    const std::string ours = read(file("ledger.db"));
    write(file("ledger.db-wal"), old);

    expect_refused("foreign_log", "Restore both together");
    EXPECT_TRUE(read(file("ledger.db")) == ours);
    fs::remove(file("ledger.db-wal"));
    fs::remove(file("ledger.db-shm"));
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
}

INSTANTIATE_TEST_SUITE_P(Logs, OldLog, ::testing::Values(1, 2, 40));

TEST_F(BadFiles, ALogThatIsItsOwnIsTakenHoweverOftenTheOwnerWasKilled) {
    for (std::uint64_t round = 0; round < 6; ++round) {
        ASSERT_FALSE(durable.open(false));
        for (std::uint64_t call = 100 + 10 * round; call < 100 + 11 * round; ++call) {
            ASSERT_FALSE(durable.claim(call, key(call)).error);
            ASSERT_TRUE(durable.settle(call).settled.accepted);
        }
        const fs::path killed = fs::path(durable.scratch.path()) / "killed";
        take_unclean(durable, killed);
        durable.close();
        for (const char* name : {"ledger.db", "ledger.db-wal"})
            fs::copy_file(killed / name, file(name), fs::copy_options::overwrite_existing);
        fs::remove_all(killed);
    }
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
    ASSERT_FALSE(durable.open(false));
    EXPECT_EQ(durable.state_of(154), CallState::succeeded);
}

/// The last version of each page that a log has committed.
std::map<std::uint32_t, std::string> pages_of(const std::string& log) {
    constexpr std::size_t kHeader = 32;
    constexpr std::size_t kFrameHeader = 24;
    const auto number = [&log](std::size_t at) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(log[at + i]);
        return value;
    };
    const std::size_t page = number(8);
    std::map<std::uint32_t, std::string> committed;
    std::map<std::uint32_t, std::string> pending;
    for (std::size_t at = kHeader; at + kFrameHeader + page <= log.size(); at += kFrameHeader + page) {
        if (log.compare(at + 8, 8, log, 16, 8) != 0) break;  // of the log before
        pending[number(at)] = log.substr(at + kFrameHeader, page);
        if (number(at + 4) == 0) continue;
        for (auto& [which, content] : pending) committed[which] = std::move(content);
        pending.clear();
    }
    return committed;
}

// The power goes while the log is moved into the file: of each page, any sector may have got there.
TEST_F(BadFiles, ACutInTheMoveOfTheLogDoesNotMakeItAnothers) {
    constexpr std::size_t kSector = 512;
    ASSERT_FALSE(durable.open(false));
    for (std::uint64_t call = 100; call < 130; ++call) {
        ASSERT_FALSE(durable.claim(call, key(call)).error);
        ASSERT_TRUE(durable.settle(call).settled.accepted);
    }
    const std::string before = read(file("ledger.db"));
    const std::string log = read(file("ledger.db-wal"));
    durable.close();
    const auto pages = pages_of(log);
    ASSERT_GT(pages.size(), 10u);
    std::mt19937_64 random(20261116);
    for (int trial = 0; trial < 100 && !HasFailure(); ++trial) {
        const std::uint64_t moved = random() % 101;  // percent of the sectors
        const bool whole_pages = random() % 4 == 0;
        std::string torn = before;
        for (const auto& [which, content] : pages) {
            const bool any = random() % 100 < moved;
            for (std::size_t at = 0; at < content.size(); at += kSector) {
                if (whole_pages ? !any : random() % 100 >= moved) continue;
                const std::size_t to = (which - 1) * content.size() + at;
                if (torn.size() < to + kSector) torn.resize(to + kSector);
                torn.replace(to, kSector, content, at, kSector);
            }
        }
        write(file("ledger.db"), torn);
        write(file("ledger.db-wal"), log);
        fs::remove(file("ledger.db-shm"));
        SCOPED_TRACE("trial " + std::to_string(trial));
        ASSERT_EQ(durable.open(false).value_or(Error(ErrorCode::internal, "")).message, "");
        EXPECT_EQ(missing(durable), "");
        if (trial % 10 == 0) {
            EXPECT_EQ(faults_of(*durable.ledger), "");
        }
        EXPECT_EQ(durable.state_of(129), CallState::succeeded);
        durable.close();
    }
}

TEST_F(BadFiles, AFlippedBitInTheDatabaseNeverFreesAKeyOrLosesAnOutcomeSilently) {
    const std::string whole = read(file("ledger.db"));
    std::mt19937_64 random(20261115);
    std::array<int, 4> verdicts{};
    for (int trial = 0; trial < 200 && !HasFailure(); ++trial) {
        std::string damaged = whole;
        const std::size_t at = random() % damaged.size();
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
        write(file("ledger.db"), damaged);
        SCOPED_TRACE("trial " + std::to_string(trial) + ", byte " + std::to_string(at));
        ++verdicts[static_cast<std::size_t>(verdict_of_opening())];
        for (const char* beside : {"ledger.db-wal", "ledger.db-shm"}) fs::remove(file(beside));
    }
    EXPECT_GT(verdicts[0], 0);
    EXPECT_GT(verdicts[1], 0);
}

TEST_F(BadFiles, WhatAnotherProgramHasLockedIsRefused) {
    auto other = Database::open(file("ledger.db"), Access::read_write);
    ASSERT_TRUE(other);
    ASSERT_TRUE(other->execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE"));
    expect_refused("locked", "Another program has locked the ledger's file");
    *other = Database();
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
}

/// Opens the files that may be written as if they may not.
class ReadOnlyFiles {
public:
    ReadOnlyFiles() : vfs_(*sqlite3_vfs_find(nullptr)) {
        vfs_.pNext = nullptr;
        vfs_.zName = "read-only";
        vfs_.xOpen = [](sqlite3_vfs*, sqlite3_filename path, sqlite3_file* opened, int flags, int* out) {
            flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
            sqlite3_vfs* usual = sqlite3_vfs_find(nullptr);
            return usual->xOpen(usual, path, opened, flags | SQLITE_OPEN_READONLY, out);
        };
        sqlite3_vfs_register(&vfs_, 0);
    }
    ~ReadOnlyFiles() { sqlite3_vfs_unregister(&vfs_); }
    ReadOnlyFiles(const ReadOnlyFiles&) = delete;
    ReadOnlyFiles& operator=(const ReadOnlyFiles&) = delete;

private:
    sqlite3_vfs vfs_;
};

TEST_F(BadFiles, WhatMayNotBeWrittenIsRefused) {
    const ReadOnlyFiles as_read_only;
    SqliteOptions options;
    options.directory = durable.directory;
    options.vfs = "read-only";
    const auto opened = SqliteLedger::open(std::move(options));
    ASSERT_FALSE(opened);
    EXPECT_EQ(reason_of(opened.error()), "read_only");
    EXPECT_NE(opened.error().message.find("may not be written"), std::string::npos);
    EXPECT_EQ(verdict_of_opening(), Verdict::correct);
}

}  // namespace
}  // namespace callgate::ledger::testing
