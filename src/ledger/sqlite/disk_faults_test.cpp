#include <thread>

#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "ledger/sqlite/durable_testing.h"
#include "os/faulty_file_ops.h"

namespace callgate::ledger::testing {
namespace {

using Op = FaultyVfs::Op;
using File = FaultyVfs::File;
using Fault = FaultyVfs::Fault;

/// Reads go on, whatever became of writing.
void expect_call_1_can_be_read(DurableLedger& durable) {
    EXPECT_EQ(durable.state_of(1), CallState::succeeded);
    EXPECT_EQ(durable.peek("k1").verdict, ClaimVerdict::replay);
    const auto page = durable.ledger->page_of_calls({});
    ASSERT_TRUE(page);
    EXPECT_EQ(page->size(), 1u);
    EXPECT_EQ(durable.events("tool_call.succeeded", 1), 1u);
    EXPECT_TRUE(durable.ledger->stats());
}

TEST(DiskFaults, AFailedSyncStopsTheLedgerAndNothingIsSyncedAgain) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    ASSERT_FALSE(durable.claim(1, "k1").error);
    ASSERT_TRUE(durable.settle(1).settled.accepted);
    durable.vfs.inject(Op::sync, File::log, Fault::error);

    const auto failed = durable.claim(2, "k2").error;
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code, ErrorCode::ledger_unavailable);
    EXPECT_EQ(reason_of(failed), "sync_failed");
    EXPECT_TRUE(is_stopped(failed));
    const std::uint64_t syncs = durable.vfs.calls(Op::sync);
    const std::uint64_t writes = durable.vfs.calls(Op::write);

    for (const auto& error : {durable.claim(3, "k3").error, durable.dispatch(2).error,
                              durable.settle(2).error, durable.ask("a", 4).error,
                              durable.record("tool_call.succeeded"), durable.ledger->ready_to_record()}) {
        EXPECT_EQ(reason_of(error), "sync_failed");
        EXPECT_TRUE(is_stopped(error));
    }
    EXPECT_FALSE(durable.vote("a"));
    EXPECT_FALSE(durable.ledger->checkpoint());
    EXPECT_FALSE(durable.ledger->collect());
    EXPECT_FALSE(durable.ledger->flush());
    expect_call_1_can_be_read(durable);
    durable.close();
    EXPECT_EQ(durable.vfs.calls(Op::sync), syncs) << "a failed sync is never tried again, by closing neither";
    EXPECT_EQ(durable.vfs.calls(Op::write), writes);

    ASSERT_FALSE(durable.open(false));
    EXPECT_TRUE(durable.ledger->recovery().unclean);
    EXPECT_EQ(durable.state_of(1), CallState::succeeded);
    // Whether the second was written nobody can know; if so, it was never sent, and says it may have been.
    EXPECT_TRUE(!durable.state_of(2) || durable.state_of(2) == CallState::unknown);
    EXPECT_FALSE(durable.state_of(3));
    EXPECT_EQ(faults_of(*durable.ledger), "");
    EXPECT_FALSE(durable.claim(5, "k5").error);
}

TEST(DiskFaults, ASyncThatFailsWhileTheLogIsMovedIntoTheFileStopsItToo) {
    DurableLedger durable([](SqliteOptions& options) { options.writer.checkpoint_pages = 1; });
    ASSERT_FALSE(durable.open());
    ASSERT_FALSE(durable.claim(1, "k1").error);
    ASSERT_FALSE(durable.settle(1).error);
    durable.vfs.inject(Op::sync, File::database, Fault::error);
    // What is written is answered before the log is moved, and that waits while there is more to write.
    while (!durable.ledger->ready_to_record()) (void)durable.record("tool_call.attempted", 7);

    const auto refused = durable.claim(2, "k2").error;
    EXPECT_EQ(reason_of(refused), "sync_failed");
    EXPECT_TRUE(is_stopped(refused));
    const std::uint64_t syncs = durable.vfs.calls(Op::sync);
    expect_call_1_can_be_read(durable);
    durable.close();
    EXPECT_EQ(durable.vfs.calls(Op::sync), syncs);

    ASSERT_FALSE(durable.open(false));
    EXPECT_EQ(durable.state_of(1), CallState::succeeded);
    EXPECT_FALSE(durable.state_of(2));
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(DiskFaults, ASyncThatFailsWhileItIsClosedIsNotTriedAgain) {
    for (int round = 0; round < 20; ++round) {
        DurableLedger durable([](SqliteOptions& options) { options.writer.checkpoint_pages = 1; });
        ASSERT_FALSE(durable.open());
        ASSERT_FALSE(durable.claim(1, "k1").error);
        ASSERT_FALSE(durable.settle(1).error);
        ASSERT_TRUE(durable.ledger->flush());
        while (durable.ledger->stats()->at("wal_pages").to_number<int>() != 0) std::this_thread::yield();
        const std::uint64_t syncs = durable.vfs.calls(Op::sync, File::database);
        durable.vfs.inject(Op::sync, File::database, Fault::error);
        durable.close();
        ASSERT_EQ(durable.vfs.calls(Op::sync, File::database), syncs + 1);

        ASSERT_FALSE(durable.open(false));
        EXPECT_EQ(durable.state_of(1), CallState::succeeded);
        EXPECT_EQ(faults_of(*durable.ledger), "");
    }
}

TEST(DiskFaults, ABrokenDiskStopsItAndWhatWasAnsweredIsThereAfterwards) {
    for (const Fault fault : {Fault::error, Fault::torn}) {
        DurableLedger durable;
        ASSERT_FALSE(durable.open());
        ASSERT_FALSE(durable.claim(1, "k1").error);
        ASSERT_TRUE(durable.settle(1).settled.accepted);
        durable.vfs.inject(Op::write, File::log, fault);
        const auto failed = durable.claim(2, "k2").error;
        EXPECT_EQ(reason_of(failed), "io_error");
        EXPECT_TRUE(is_stopped(failed));
        expect_call_1_can_be_read(durable);

        ASSERT_FALSE(durable.open(false));
        EXPECT_EQ(durable.state_of(1), CallState::succeeded);
        EXPECT_FALSE(durable.state_of(2));
        EXPECT_EQ(faults_of(*durable.ledger), "");
    }
}

TEST(DiskFaults, AFullDiskIsToldNothingIsHalfDoneAndServiceReturnsByItself) {
    for (const Fault fault : {Fault::full, Fault::half}) {
        DurableLedger durable;
        ASSERT_FALSE(durable.open());
        ASSERT_FALSE(durable.claim(1, "k1").error);
        ASSERT_TRUE(durable.settle(1).settled.accepted);
        ASSERT_FALSE(durable.claim(9, "k9").error);
        ASSERT_FALSE(durable.ask("open", 5).error);
        durable.vfs.inject(Op::write, File::log, fault, 1, true);

        const auto refused = durable.claim(2, "k2").error;
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->code, ErrorCode::ledger_unavailable);
        EXPECT_EQ(reason_of(refused), "disk_full");
        EXPECT_FALSE(is_stopped(refused));
        EXPECT_EQ(reason_of(durable.settle(9).error), "disk_full");
        EXPECT_EQ(reason_of(durable.ask("a", 4).error), "disk_full");
        EXPECT_EQ(reason_of(durable.vote("open").error()), "disk_full");
        EXPECT_EQ(reason_of(durable.record("tool_call.succeeded", 7)), "disk_full");
        EXPECT_EQ(reason_of(durable.ledger->ready_to_record()), "disk_full");
        // What is there can be read, and nothing of what was refused is.
        EXPECT_EQ(durable.peek("k1").verdict, ClaimVerdict::replay);
        EXPECT_FALSE(durable.state_of(2));
        EXPECT_EQ(durable.events("tool_call.succeeded", 1), 1u);
        EXPECT_EQ(durable.events("tool_call.attempted", 2), 0u);
        EXPECT_EQ(durable.state_of(9), CallState::dispatched);
        EXPECT_FALSE(durable.ledger->approval("a"));
        EXPECT_EQ(durable.ledger->approval("open")->state, ApprovalState::pending);

        durable.vfs.clear();
        while (durable.ledger->ready_to_record()) std::this_thread::yield();
        EXPECT_FALSE(durable.record("tool_call.succeeded", 8));
        EXPECT_FALSE(durable.claim(2, "k2").error);
        EXPECT_EQ(durable.state_of(9), CallState::succeeded) << "how it ended was not lost";
        EXPECT_EQ(durable.events("tool_call.succeeded", 9), 1u);
        EXPECT_FALSE(durable.settle(9).settled.accepted);
        EXPECT_TRUE(durable.vote("open"));
        EXPECT_EQ(faults_of(*durable.ledger), "");
        EXPECT_EQ(durable.events("tool_call.attempted", 2), 1u);
        EXPECT_EQ(durable.events("tool_call.succeeded", 7), 0u);
        EXPECT_EQ(durable.events("tool_call.succeeded", 8), 1u);

        ASSERT_FALSE(durable.open(false));
        EXPECT_FALSE(durable.ledger->recovery().unclean);
        EXPECT_EQ(durable.state_of(9), CallState::succeeded);
        EXPECT_EQ(faults_of(*durable.ledger), "");
    }
}

TEST(DiskFaults, AProbesVerdictThatFoundNoRoomLeavesNothingStuck) {
    using Verdict = Reconciliation::Verdict;
    for (const Verdict verdict : {Verdict::applied, Verdict::not_applied}) {
        DurableLedger durable;
        ASSERT_FALSE(durable.open());
        ASSERT_FALSE(durable.claim(1, "k1", EffectClass::verify).error);
        ASSERT_FALSE(durable.settle(1, AttemptEnd::ambiguous, false).error);
        ASSERT_EQ(durable.state_of(1), CallState::reconciling);
        durable.vfs.inject(Op::write, File::log, Fault::full, 1, true);
        EXPECT_EQ(reason_of(durable.conclude(1, 1, verdict).error), "disk_full");
        durable.vfs.clear();
        while (durable.ledger->ready_to_record()) std::this_thread::yield();
        EXPECT_EQ(durable.state_of(1),
                  verdict == Verdict::applied ? CallState::succeeded : CallState::unknown);
        EXPECT_EQ(faults_of(*durable.ledger), "");
    }
}

TEST(DiskFaults, WhereItIsSoConfiguredReadsGoOnUnrecordedWhileTheDiskIsFull) {
    DurableLedger durable([](SqliteOptions& options) { options.reads_without_record = true; });
    ASSERT_FALSE(durable.open());
    durable.vfs.inject(Op::write, File::log, Fault::full, 1, true);
    EXPECT_EQ(reason_of(durable.claim(1, "k1").error), "disk_full");
    EXPECT_FALSE(durable.ledger->ready_to_record());
    EXPECT_FALSE(durable.record("tool_call.succeeded", 2));
    EXPECT_EQ(reason_of(durable.claim(3, "k3").error), "disk_full")
        << "what needs a record is refused all the same";
    durable.vfs.clear();
    EXPECT_FALSE(durable.claim(1, "k1").error);
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(DiskFaults, AReadThatWasAnsweredBeforeTheDiskWasFullIsOnTheRecordWhenThereIsRoomAgain) {
    DurableLedger durable([](SqliteOptions& options) { options.writer.batch_delay = std::chrono::hours(1); });
    ASSERT_FALSE(durable.open());
    ASSERT_FALSE(durable.record("tool_call.succeeded", 7));
    durable.vfs.inject(Op::write, File::log, Fault::half, 1, true);
    EXPECT_EQ(reason_of(durable.claim(1, "k1").error), "disk_full");
    EXPECT_EQ(reason_of(durable.claim(1, "k1").error), "disk_full");
    durable.vfs.clear();
    EXPECT_FALSE(durable.claim(1, "k1").error);
    EXPECT_EQ(durable.events("tool_call.succeeded", 7), 1u);
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(DiskFaults, AFullDiskDuringTheMoveOfTheLogLosesNothing) {
    DurableLedger durable([](SqliteOptions& options) { options.writer.checkpoint_pages = 1; });
    ASSERT_FALSE(durable.open());
    durable.vfs.inject(Op::write, File::database, Fault::full, 1, true);
    for (std::uint64_t call = 1; call <= 5; ++call) {
        ASSERT_FALSE(durable.claim(call, "k" + std::to_string(call)).error);
        ASSERT_TRUE(durable.settle(call).settled.accepted);
    }
    durable.vfs.clear();
    ASSERT_FALSE(durable.claim(6, "k6").error);
    EXPECT_EQ(faults_of(*durable.ledger), "");
    ASSERT_FALSE(durable.open(false));
    for (std::uint64_t call = 1; call <= 5; ++call) EXPECT_EQ(durable.state_of(call), CallState::succeeded);
}

#ifdef CALLGATE_FAILPOINTS

TEST(DiskFaults, OneThatFailsByItselfTakesNoOtherOfItsCommitWithIt) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    Holding holding;
    ClaimReply first;
    durable.ledger->claim(durable.request(1, "k1"), first, holding);
    holding.until_held();

    // These wait together, so they are one commit.
    constexpr std::uint64_t kOfOneCommit = 5;
    std::vector<ClaimReply> replies(kOfOneCommit);
    std::vector<Turn> turns(kOfOneCommit);
    for (std::uint64_t i = 0; i < kOfOneCommit; ++i)
        durable.ledger->claim(durable.request(10 + i, "t" + std::to_string(i)), replies[i], turns[i]);
    base::failpoints().arm("ledger.after_claim", base::FailAction::error, 3);
    holding.let_go();
    for (Turn& turn : turns) turn.wait_for(Io::pending);
    base::failpoints().clear();

    for (std::uint64_t i = 0; i < kOfOneCommit; ++i) {
        const bool failed = i == 2;
        EXPECT_EQ(replies[i].error.has_value(), failed) << i;
        EXPECT_EQ(durable.state_of(10 + i).has_value(), !failed) << i;
        EXPECT_EQ(durable.events("tool_call.attempted", 10 + i), failed ? 0u : 1u) << i;
    }
    EXPECT_EQ(replies[2].error->details.at("failpoint").as_string(), "ledger.after_claim");
    EXPECT_EQ(durable.ledger->stats()->at("writer").at("largest_batch").to_number<int>(), 4);
    EXPECT_FALSE(durable.ledger->ready_to_record()) << "it was no fault of the disk";
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

#endif

TEST(DiskFaults, AUsedUpShareOfTheDiskIsCalledAFullDiskAndServiceReturns) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.vfs.inject(Op::write, File::log, Fault::quota, 1, true);
    const auto failed = durable.claim(1, "k1").error;
    ASSERT_EQ(reason_of(failed), "disk_full");
    ASSERT_FALSE(is_stopped(failed));
    durable.vfs.clear();
    while (durable.claim(2, "k2").error) std::this_thread::yield();
    EXPECT_EQ(durable.state_of(2), CallState::dispatched);
}

TEST(DiskFaults, AStartWithoutRoomSaysSo) {
    for (const os::FileOp op : {os::FileOp::mkdir, os::FileOp::open}) {
        for (const int error : {ENOSPC, EDQUOT}) {
            os::RealFileOps real;
            auto files = std::make_shared<os::FaultyFileOps>(real);
            files->inject(op, os::FileFault::fail_with(error), 1, true);
            DurableLedger durable([&](SqliteOptions& options) { options.files = files; });
            const auto refused = durable.open();
            ASSERT_TRUE(refused);
            EXPECT_EQ(reason_of(refused), "disk_full") << refused->message;
        }
    }
    os::RealFileOps real;
    auto files = std::make_shared<os::FaultyFileOps>(real);
    files->inject(os::FileOp::open, os::FileFault::fail_with(ENOSPC), 2, true);
    DurableLedger durable([&](SqliteOptions& options) { options.files = files; });
    EXPECT_EQ(reason_of(durable.open()), "disk_full");
}

}  // namespace
}  // namespace callgate::ledger::testing
