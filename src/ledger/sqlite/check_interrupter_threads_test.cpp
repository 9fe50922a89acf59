#include "ledger/sqlite/check_interrupter.h"

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "ledger/sqlite/database.h"
#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

constexpr const char* kEndless =
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";

TEST(CheckInterrupter, EndsWhatIsNotWantedAnyMoreAndWhatIsBegunAfterwards) {
    const os::ScratchDir scratch;
    Database database = Database::open(scratch.file("db"), Access::read_write).value();
    std::atomic<int> asked{0};
    const CheckInterrupter interrupter(database.raw(), [&] { return ++asked < 3; });
    EXPECT_FALSE(database.integer_of(kEndless));
    EXPECT_GE(asked, 3);
    EXPECT_FALSE(database.integer_of(kEndless));
}

TEST(CheckInterrupter, LeavesWhatIsWantedAlone) {
    const os::ScratchDir scratch;
    Database database = Database::open(scratch.file("db"), Access::read_write).value();
    CheckInterrupter interrupter(database.raw(), [] { return true; });
    interrupter.look();
    EXPECT_EQ(database.integer_of("SELECT 7"), 7);
}

// Whether a thread of this process waits for something.
bool waits(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    return name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0;
}

constexpr std::uint64_t kWalking = 50;       // reads after which SQLite is in the midst of the b-trees
constexpr std::uint64_t kManyReads = 1'500;  // fewer than a whole check needs
constexpr std::uint64_t kFewReads = 200;

/// Holds a check in the midst of the b-trees until somebody has called it off, which is when their thread
/// waits again.
struct Hold {
    std::atomic<bool> armed{false};
    std::atomic<pid_t> calls_off{0};  // the thread
    std::atomic<std::uint64_t> reads{0};

    void before_read() {
        if (!armed || ++reads != kWalking) return;
        // Not for ever: where nobody calls it off, it reads everything.
        for (int i = 0; i < 2'000'000; ++i) {
            if (const pid_t thread = calls_off; thread != 0 && waits(thread)) return;
            std::this_thread::yield();
        }
    }
};

/// In the file, and not in the log any more: the writer has no reason to read it.
void store_large_outcome(DurableLedger& durable) {
    ASSERT_FALSE(durable.open());
    ASSERT_FALSE(durable.claim(1, "k1").error);
    const SettleReply reply = durable.settle_with(1, Value(std::string(8u << 20, 'x')));
    ASSERT_FALSE(reply.error) << reply.error->message;
    ASSERT_FALSE(durable.open());
}

TEST(CheckInterrupter, ACheckIsCalledOffInTheMidstOfTheBTrees) {
    DurableLedger durable;
    Hold hold;
    const pid_t self = ::gettid();
    durable.vfs.before_read = [&] {
        if (::gettid() == self) hold.before_read();
    };
    store_large_outcome(durable);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
    hold.armed = true;
    const auto called_off = durable.ledger->check([&](std::uint64_t, std::uint64_t) {
        if (hold.reads < kWalking) return true;
        hold.calls_off = ::gettid();
        return false;
    });
    ASSERT_FALSE(called_off);
    EXPECT_EQ(called_off.error().code, ErrorCode::cancelled);
    EXPECT_LT(hold.reads, kFewReads);

    hold.reads = kWalking;  // nobody is held any more
    const auto whole = durable.ledger->check({});
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->at("ok"), true);
    EXPECT_GT(hold.reads, kManyReads);
}

TEST(CheckInterrupter, ClosingDoesNotWaitForTheCheckOfALargeFile) {
    DurableLedger durable;
    store_large_outcome(durable);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());

    Hold hold;
    const pid_t self = ::gettid();
    FaultyVfs vfs;
    vfs.before_read = [&] {
        if (::gettid() != self) hold.before_read();
    };
    hold.armed = true;
    SqliteOptions options;
    options.directory = left_behind(durable);
    options.watch_past = false;
    options.clock = durable.clock;
    options.check_at_once_below = 0;
    options.vfs = vfs.name();
    auto next = SqliteLedger::open(std::move(options));
    ASSERT_TRUE(next) << next.error().message;
    while (hold.reads < kWalking) std::this_thread::yield();
    hold.calls_off = self;
    next->reset();
    EXPECT_LT(hold.reads, kFewReads);
}

}  // namespace
}  // namespace callgate::ledger::testing
