#include "ledger/sqlite/log_vfs.h"

#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "ledger/sqlite/database.h"
#include "ledger/sqlite/faulty_vfs.h"
#include "os/scratch_dir.h"

namespace callgate::ledger {
namespace {

using Op = FaultyVfs::Op;
using File = FaultyVfs::File;
using Fault = FaultyVfs::Fault;

/// A table in a file, written through the layer that is tested.
struct Notes {
    os::ScratchDir scratch{os::quick_directory()};
    const std::string path = scratch.file("notes.db");
    FaultyVfs disk;
    LogVfs layer{disk.name()};
    Database database = Database::open(path, Access::read_write, layer.name()).value();

    Notes() {
        run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; "
            "CREATE TABLE notes(n INTEGER PRIMARY KEY, text BLOB) STRICT;");
    }

    Result<void> execute(const std::string& sql) { return database.execute(sql.c_str()); }
    void run(const std::string& sql) {
        const auto done = execute(sql);
        ASSERT_TRUE(done) << done.error().message;
    }
    static std::string add(int count, int bytes) {
        return "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < " +
               std::to_string(count) + ") INSERT INTO notes(text) SELECT randomblob(" +
               std::to_string(bytes) + ") FROM n;";
    }
    std::uint64_t log_writes() const { return disk.calls(Op::write, File::log); }

    /// What another connection finds, which reads the log itself.
    std::int64_t seen() const {
        Database reader = Database::open(path, Access::read_only, disk.name()).value();
        EXPECT_EQ(reader.text_of("PRAGMA integrity_check").value(), "ok");
        return reader.integer_of("SELECT count(*) FROM notes").value();
    }
};

TEST(LogVfs, WritesATransactionInOneGo) {
    Notes notes;
    notes.run(Notes::add(1, 10));
    const std::uint64_t before = notes.log_writes();
    const std::uint64_t syncs = notes.disk.calls(Op::sync, File::log);
    notes.run(Notes::add(20, 3'000));
    EXPECT_EQ(notes.log_writes() - before, 1u);
    EXPECT_EQ(notes.disk.calls(Op::sync, File::log) - syncs, 1u);
    EXPECT_EQ(notes.seen(), 21);
}

TEST(LogVfs, WritesALargeOneInPieces) {
    Notes notes;
    notes.run(Notes::add(500, 3'000));
    EXPECT_EQ(notes.seen(), 500);
    EXPECT_GT(notes.log_writes(), 10u);
    EXPECT_LT(notes.log_writes(), 100u);
}

TEST(LogVfs, ReadsBackWhatATransactionHadToPutDownEarly) {
    Notes notes;
    notes.run("PRAGMA cache_size = 10; PRAGMA cache_spill = 1;");
    notes.run("BEGIN; " + Notes::add(300, 3'000));
    // Pages that were put down are read, changed and put down again, at their old place in the log.
    notes.run("UPDATE notes SET text = zeroblob(3000) WHERE n % 3 = 0; COMMIT;");
    EXPECT_EQ(notes.database.integer_of("SELECT count(*) FROM notes WHERE text = zeroblob(3000)").value(),
              100);
    EXPECT_EQ(notes.seen(), 300);
}

TEST(LogVfs, GoesOnAfterATransactionThatWasTakenBack) {
    Notes notes;
    notes.run("PRAGMA cache_size = 10; PRAGMA cache_spill = 1;");
    notes.run("BEGIN; " + Notes::add(300, 3'000) + " ROLLBACK;");
    notes.run(Notes::add(7, 100));
    EXPECT_EQ(notes.seen(), 7);
}

TEST(LogVfs, MovesTheLogAndBeginsItAnew) {
    Notes notes;
    for (int i = 0; i < 3; ++i) {
        notes.run(Notes::add(40, 3'000));
        notes.run("PRAGMA wal_checkpoint(TRUNCATE);");
    }
    notes.run(Notes::add(1, 10));
    EXPECT_EQ(notes.seen(), 121);
}

TEST(LogVfs, FailsATransactionThatCannotBeWritten) {
    for (const Fault fault : {Fault::full, Fault::half, Fault::error, Fault::torn}) {
        Notes notes;
        notes.run(Notes::add(5, 1'000));
        notes.disk.inject(Op::write, File::log, fault);
        const auto failed = notes.execute(Notes::add(50, 1'000));
        ASSERT_FALSE(failed) << "a write that fails only when it is synced fails the commit";
        EXPECT_EQ(is_disk_full(failed.error()), fault == Fault::full || fault == Fault::half);
        EXPECT_FALSE(is_sync_failure(failed.error())) << "the disk was not asked to sync";
        EXPECT_EQ(notes.seen(), 5);
        notes.run(Notes::add(50, 1'000));
        EXPECT_EQ(notes.seen(), 55) << "nothing of the failed one is left over";
    }
}

TEST(LogVfs, LeavesNoHoleWhereSqliteGoesOnAfterAFailedRead) {
    Notes notes;
    notes.run("PRAGMA cache_size = 10; PRAGMA cache_spill = 1;");
    notes.run("BEGIN; " + Notes::add(200, 3'000));
    // What was gathered is written when a page is read back, and cannot be: only that statement fails.
    notes.disk.inject(Op::write, File::log, Fault::full);
    EXPECT_FALSE(notes.execute("UPDATE notes SET text = zeroblob(3000);"));
    if (notes.database.in_transaction()) {
        EXPECT_TRUE(notes.execute("COMMIT"));
    }
    notes.run(Notes::add(1, 10));
    EXPECT_EQ(notes.seen() % 200, 1) << "all of it or nothing";
    EXPECT_EQ(notes.database.integer_of("SELECT count(*) FROM notes WHERE text = zeroblob(3000)").value(), 0);
}

TEST(LogVfs, TellsOfAFailedSync) {
    Notes notes;
    notes.disk.inject(Op::sync, File::log, Fault::error);
    const auto failed = notes.execute(Notes::add(5, 1'000));
    ASSERT_FALSE(failed);
    EXPECT_TRUE(is_sync_failure(failed.error()));
}

TEST(LogVfs, NeedsALayerBelow) {
    EXPECT_THROW(LogVfs("no such layer"), std::invalid_argument);
}

}  // namespace
}  // namespace callgate::ledger
