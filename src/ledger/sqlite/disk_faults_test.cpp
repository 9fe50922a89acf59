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
void expect_call_1_can_be_read(Desk& desk) {
    EXPECT_EQ(desk.state_of(1), CallState::succeeded);
    EXPECT_EQ(desk.peek("k1").verdict, ClaimVerdict::replay);
    const auto page = desk.ledger->page_of_calls({});
    ASSERT_TRUE(page);
    EXPECT_EQ(page->size(), 1u);
    EXPECT_EQ(desk.events("tool_call.succeeded", 1), 1u);
    EXPECT_TRUE(desk.ledger->stats());
}

TEST(DiskFaults, AFailedSyncStopsTheLedgerAndNothingIsSyncedAgain) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    ASSERT_FALSE(desk.claim(1, "k1").error);
    ASSERT_TRUE(desk.settle(1).settled.accepted);
    desk.vfs.inject(Op::sync, File::log, Fault::error);

    const auto failed = desk.claim(2, "k2").error;
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code, ErrorCode::ledger_unavailable);
    EXPECT_EQ(reason_of(failed), "sync_failed");
    EXPECT_TRUE(is_stopped(failed));
    const std::uint64_t syncs = desk.vfs.calls(Op::sync);
    const std::uint64_t writes = desk.vfs.calls(Op::write);

    for (const auto& error :
         {desk.claim(3, "k3").error, desk.dispatch(2).error, desk.settle(2).error, desk.ask("a", 4).error,
          desk.record("tool_call.succeeded"), desk.ledger->ready_to_record()}) {
        EXPECT_EQ(reason_of(error), "sync_failed");
        EXPECT_TRUE(is_stopped(error));
    }
    EXPECT_FALSE(desk.vote("a"));
    EXPECT_FALSE(desk.ledger->checkpoint());
    EXPECT_FALSE(desk.ledger->collect());
    EXPECT_FALSE(desk.ledger->flush());
    expect_call_1_can_be_read(desk);
    desk.close();
    EXPECT_EQ(desk.vfs.calls(Op::sync), syncs) << "a failed sync is never tried again, by closing neither";
    EXPECT_EQ(desk.vfs.calls(Op::write), writes);

    ASSERT_FALSE(desk.open(false));
    EXPECT_TRUE(desk.ledger->recovery().unclean);
    EXPECT_EQ(desk.state_of(1), CallState::succeeded);
    // Whether the second was written nobody can know; if so, it was never sent, and says it may have been.
    EXPECT_TRUE(!desk.state_of(2) || desk.state_of(2) == CallState::unknown);
    EXPECT_FALSE(desk.state_of(3));
    EXPECT_EQ(faults_of(*desk.ledger), "");
    EXPECT_FALSE(desk.claim(5, "k5").error);
}

TEST(DiskFaults, ASyncThatFailsWhileTheLogIsMovedIntoTheFileStopsItToo) {
    Desk desk([](SqliteOptions& options) { options.writer.checkpoint_pages = 1; });
    ASSERT_FALSE(desk.open());
    ASSERT_FALSE(desk.claim(1, "k1").error);
    ASSERT_FALSE(desk.settle(1).error);
    desk.vfs.inject(Op::sync, File::database, Fault::error);
    // What is written is answered before the log is moved, and that waits while there is more to write.
    while (!desk.ledger->ready_to_record()) (void)desk.record("tool_call.attempted", 7);

    const auto refused = desk.claim(2, "k2").error;
    EXPECT_EQ(reason_of(refused), "sync_failed");
    EXPECT_TRUE(is_stopped(refused));
    const std::uint64_t syncs = desk.vfs.calls(Op::sync);
    expect_call_1_can_be_read(desk);
    desk.close();
    EXPECT_EQ(desk.vfs.calls(Op::sync), syncs);

    ASSERT_FALSE(desk.open(false));
    EXPECT_EQ(desk.state_of(1), CallState::succeeded);
    EXPECT_FALSE(desk.state_of(2));
    EXPECT_EQ(faults_of(*desk.ledger), "");
}

TEST(DiskFaults, ASyncThatFailsWhileItIsClosedIsNotTriedAgain) {
    for (int round = 0; round < 20; ++round) {
        Desk desk([](SqliteOptions& options) { options.writer.checkpoint_pages = 1; });
        ASSERT_FALSE(desk.open());
        ASSERT_FALSE(desk.claim(1, "k1").error);
        ASSERT_FALSE(desk.settle(1).error);
        ASSERT_TRUE(desk.ledger->flush());
        while (desk.ledger->stats()->at("wal_pages").to_number<int>() != 0) std::this_thread::yield();
        const std::uint64_t syncs = desk.vfs.calls(Op::sync, File::database);
        desk.vfs.inject(Op::sync, File::database, Fault::error);
        desk.close();
        ASSERT_EQ(desk.vfs.calls(Op::sync, File::database), syncs + 1);

        ASSERT_FALSE(desk.open(false));
        EXPECT_EQ(desk.state_of(1), CallState::succeeded);
        EXPECT_EQ(faults_of(*desk.ledger), "");
    }
}

TEST(DiskFaults, ABrokenDiskStopsItAndWhatWasAnsweredIsThereAfterwards) {
    for (const Fault fault : {Fault::error, Fault::torn}) {
        Desk desk;
        ASSERT_FALSE(desk.open());
        ASSERT_FALSE(desk.claim(1, "k1").error);
        ASSERT_TRUE(desk.settle(1).settled.accepted);
        desk.vfs.inject(Op::write, File::log, fault);
        const auto failed = desk.claim(2, "k2").error;
        EXPECT_EQ(reason_of(failed), "io_error");
        EXPECT_TRUE(is_stopped(failed));
        expect_call_1_can_be_read(desk);

        ASSERT_FALSE(desk.open(false));
        EXPECT_EQ(desk.state_of(1), CallState::succeeded);
        EXPECT_FALSE(desk.state_of(2));
        EXPECT_EQ(faults_of(*desk.ledger), "");
    }
}

TEST(DiskFaults, AFullDiskIsToldNothingIsHalfDoneAndServiceReturnsByItself) {
    for (const Fault fault : {Fault::full, Fault::half}) {
        Desk desk;
        ASSERT_FALSE(desk.open());
        ASSERT_FALSE(desk.claim(1, "k1").error);
        ASSERT_TRUE(desk.settle(1).settled.accepted);
        ASSERT_FALSE(desk.claim(9, "k9").error);
        ASSERT_FALSE(desk.ask("open", 5).error);
        desk.vfs.inject(Op::write, File::log, fault, 1, true);

        const auto refused = desk.claim(2, "k2").error;
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->code, ErrorCode::ledger_unavailable);
        EXPECT_EQ(reason_of(refused), "disk_full");
        EXPECT_FALSE(is_stopped(refused));
        EXPECT_EQ(reason_of(desk.settle(9).error), "disk_full");
        EXPECT_EQ(reason_of(desk.ask("a", 4).error), "disk_full");
        EXPECT_EQ(reason_of(desk.vote("open").error()), "disk_full");
        EXPECT_EQ(reason_of(desk.record("tool_call.succeeded", 7)), "disk_full");
        EXPECT_EQ(reason_of(desk.ledger->ready_to_record()), "disk_full");
        // What is there can be read, and nothing of what was refused is.
        EXPECT_EQ(desk.peek("k1").verdict, ClaimVerdict::replay);
        EXPECT_FALSE(desk.state_of(2));
        EXPECT_EQ(desk.events("tool_call.succeeded", 1), 1u);
        EXPECT_EQ(desk.events("tool_call.attempted", 2), 0u);
        EXPECT_EQ(desk.state_of(9), CallState::dispatched);
        EXPECT_FALSE(desk.ledger->approval("a"));
        EXPECT_EQ(desk.ledger->approval("open")->state, ApprovalState::pending);

        desk.vfs.clear();
        while (desk.ledger->ready_to_record()) std::this_thread::yield();
        EXPECT_FALSE(desk.record("tool_call.succeeded", 8));
        EXPECT_FALSE(desk.claim(2, "k2").error);
        EXPECT_EQ(desk.state_of(9), CallState::succeeded) << "how it ended was not lost";
        EXPECT_EQ(desk.events("tool_call.succeeded", 9), 1u);
        EXPECT_FALSE(desk.settle(9).settled.accepted);
        EXPECT_TRUE(desk.vote("open"));
        EXPECT_EQ(faults_of(*desk.ledger), "");
        EXPECT_EQ(desk.events("tool_call.attempted", 2), 1u);
        EXPECT_EQ(desk.events("tool_call.succeeded", 7), 0u);
        EXPECT_EQ(desk.events("tool_call.succeeded", 8), 1u);

        ASSERT_FALSE(desk.open(false));
        EXPECT_FALSE(desk.ledger->recovery().unclean);
        EXPECT_EQ(desk.state_of(9), CallState::succeeded);
        EXPECT_EQ(faults_of(*desk.ledger), "");
    }
}

TEST(DiskFaults, AProbesVerdictThatFoundNoRoomLeavesNothingStuck) {
    using Verdict = Reconciliation::Verdict;
    for (const Verdict verdict : {Verdict::applied, Verdict::not_applied}) {
        Desk desk;
        ASSERT_FALSE(desk.open());
        ASSERT_FALSE(desk.claim(1, "k1", EffectClass::verify).error);
        ASSERT_FALSE(desk.settle(1, AttemptEnd::ambiguous, false).error);
        ASSERT_EQ(desk.state_of(1), CallState::reconciling);
        desk.vfs.inject(Op::write, File::log, Fault::full, 1, true);
        EXPECT_EQ(reason_of(desk.conclude(1, 1, verdict).error), "disk_full");
        desk.vfs.clear();
        while (desk.ledger->ready_to_record()) std::this_thread::yield();
        EXPECT_EQ(desk.state_of(1), verdict == Verdict::applied ? CallState::succeeded : CallState::unknown);
        EXPECT_EQ(faults_of(*desk.ledger), "");
    }
}

TEST(DiskFaults, WhereItIsSoConfiguredReadsGoOnUnrecordedWhileTheDiskIsFull) {
    Desk desk([](SqliteOptions& options) { options.reads_without_record = true; });
    ASSERT_FALSE(desk.open());
    desk.vfs.inject(Op::write, File::log, Fault::full, 1, true);
    EXPECT_EQ(reason_of(desk.claim(1, "k1").error), "disk_full");
    EXPECT_FALSE(desk.ledger->ready_to_record());
    EXPECT_FALSE(desk.record("tool_call.succeeded", 2));
    EXPECT_EQ(reason_of(desk.claim(3, "k3").error), "disk_full")
        << "what needs a record is refused all the same";
    desk.vfs.clear();
    EXPECT_FALSE(desk.claim(1, "k1").error);
    EXPECT_EQ(faults_of(*desk.ledger), "");
}

TEST(DiskFaults, AReadThatWasAnsweredBeforeTheDiskWasFullIsOnTheRecordWhenThereIsRoomAgain) {
    Desk desk([](SqliteOptions& options) { options.writer.batch_delay = std::chrono::hours(1); });
    ASSERT_FALSE(desk.open());
    ASSERT_FALSE(desk.record("tool_call.succeeded", 7));
    desk.vfs.inject(Op::write, File::log, Fault::half, 1, true);
    EXPECT_EQ(reason_of(desk.claim(1, "k1").error), "disk_full");
    EXPECT_EQ(reason_of(desk.claim(1, "k1").error), "disk_full");
    desk.vfs.clear();
    EXPECT_FALSE(desk.claim(1, "k1").error);
    EXPECT_EQ(desk.events("tool_call.succeeded", 7), 1u);
    EXPECT_EQ(faults_of(*desk.ledger), "");
}

TEST(DiskFaults, AFullDiskDuringTheMoveOfTheLogLosesNothing) {
    Desk desk([](SqliteOptions& options) { options.writer.checkpoint_pages = 1; });
    ASSERT_FALSE(desk.open());
    desk.vfs.inject(Op::write, File::database, Fault::full, 1, true);
    for (std::uint64_t call = 1; call <= 5; ++call) {
        ASSERT_FALSE(desk.claim(call, "k" + std::to_string(call)).error);
        ASSERT_TRUE(desk.settle(call).settled.accepted);
    }
    desk.vfs.clear();
    ASSERT_FALSE(desk.claim(6, "k6").error);
    EXPECT_EQ(faults_of(*desk.ledger), "");
    ASSERT_FALSE(desk.open(false));
    for (std::uint64_t call = 1; call <= 5; ++call) EXPECT_EQ(desk.state_of(call), CallState::succeeded);
}

#ifdef CALLGATE_FAILPOINTS

TEST(DiskFaults, OneThatFailsByItselfTakesNoOtherOfItsCommitWithIt) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    Holding holding;
    ClaimReply first;
    desk.ledger->claim(desk.request(1, "k1"), first, holding);
    holding.until_held();

    // These wait together, so they are one commit.
    constexpr std::uint64_t kCalls = 5;
    std::vector<ClaimReply> replies(kCalls);
    std::vector<Turn> turns(kCalls);
    for (std::uint64_t i = 0; i < kCalls; ++i)
        desk.ledger->claim(desk.request(10 + i, "t" + std::to_string(i)), replies[i], turns[i]);
    base::failpoints().arm("ledger.after_claim", base::FailAction::error, 3);
    holding.let_go();
    for (Turn& turn : turns) turn.wait_for(Io::pending);
    base::failpoints().clear();

    for (std::uint64_t i = 0; i < kCalls; ++i) {
        const bool failed = i == 2;
        EXPECT_EQ(replies[i].error.has_value(), failed) << i;
        EXPECT_EQ(desk.state_of(10 + i).has_value(), !failed) << i;
        EXPECT_EQ(desk.events("tool_call.attempted", 10 + i), failed ? 0u : 1u) << i;
    }
    EXPECT_EQ(replies[2].error->details.at("failpoint").as_string(), "ledger.after_claim");
    EXPECT_EQ(desk.ledger->stats()->at("writer").at("largest_batch").to_number<int>(), 4);
    EXPECT_FALSE(desk.ledger->ready_to_record()) << "it was no fault of the disk";
    EXPECT_EQ(faults_of(*desk.ledger), "");
}

#endif

TEST(DiskFaults, AUsedUpShareOfTheDiskIsCalledAFullDiskAndServiceReturns) {
    Desk desk;
    ASSERT_FALSE(desk.open());
    desk.vfs.inject(Op::write, File::log, Fault::quota, 1, true);
    const auto failed = desk.claim(1, "k1").error;
    ASSERT_EQ(reason_of(failed), "disk_full");
    ASSERT_FALSE(is_stopped(failed));
    desk.vfs.clear();
    while (desk.claim(2, "k2").error) std::this_thread::yield();
    EXPECT_EQ(desk.state_of(2), CallState::dispatched);
}

TEST(DiskFaults, AStartWithoutRoomSaysSo) {
    for (const os::FileOp op : {os::FileOp::mkdir, os::FileOp::open}) {
        for (const int error : {ENOSPC, EDQUOT}) {
            os::RealFileOps real;
            auto files = std::make_shared<os::FaultyFileOps>(real);
            files->inject(op, os::FileFault::fail_with(error), 1, true);
            Desk desk([&](SqliteOptions& options) { options.files = files; });
            const auto refused = desk.open();
            ASSERT_TRUE(refused);
            EXPECT_EQ(reason_of(refused), "disk_full") << refused->message;
        }
    }
    os::RealFileOps real;
    auto files = std::make_shared<os::FaultyFileOps>(real);
    files->inject(os::FileOp::open, os::FileFault::fail_with(ENOSPC), 2, true);
    Desk desk([&](SqliteOptions& options) { options.files = files; });
    EXPECT_EQ(reason_of(desk.open()), "disk_full");
}

}  // namespace
}  // namespace callgate::ledger::testing
