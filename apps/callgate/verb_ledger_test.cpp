#include "verb_ledger.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "ledger/sqlite/database.h"
#include "ledger_access.h"
#include "operator_testing.h"
#include "operator_verb.h"

namespace callgate::cli {
namespace {

using ::testing::HasSubstr;
using testing::LedgerTest;
using ::testing::Not;
using testing::Ran;

class VerbLedger : public ::testing::TestWithParam<bool> {
protected:
    LedgerTest test{GetParam()};

    void ready() {
        if (!GetParam()) test.let_go();
    }
};

INSTANTIATE_TEST_SUITE_P(Ledger, VerbLedger, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Owned" : "Free"; });

TEST_P(VerbLedger, StatsTellWhatThereIs) {
    ledger::testing::open_approval(test.ledger(), 1);
    ready();
    const Ran ran = test.run({"ledger", "stats"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("approvals"));
    EXPECT_EQ(number_at(test.json({"ledger", "stats"}).at("approvals"), "pending"), 1);
}

TEST_P(VerbLedger, StatsCountWhatHasExpiredAsExpired) {
    ledger::testing::open_approval(test.ledger(), 1);
    ledger::testing::open_approval(test.ledger(), 2, Object(), "agent", std::chrono::milliseconds(0));
    ready();
    const Value counts = test.json({"ledger", "stats"}).at("approvals");
    EXPECT_EQ(number_at(counts, "pending"), 1) << json::write(counts);
    EXPECT_EQ(number_at(counts, "expired"), 1) << json::write(counts);
}

TEST_P(VerbLedger, ASoundLedgerPassesItsCheck) {
    ready();
    const Ran ran = test.run({"ledger", "check"}, "");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("the ledger is whole"));
    EXPECT_EQ(test.json({"ledger", "check"}).at("ok"), true);
}

TEST_P(VerbLedger, ABackupIsALedgerFileAndReplacesNothing) {
    ready();
    const os::ScratchDir dir;
    const Ran ran = test.run({"ledger", "backup", dir.file("copy.db")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_GT(std::filesystem::file_size(dir.file("copy.db")), 0u);
    const Ran again = test.run({"ledger", "backup", dir.file("copy.db")});
    EXPECT_EQ(again.exit_code, 2);
    EXPECT_THAT(again.err, HasSubstr("copy.db"));
    const Ran inside = test.run({"ledger", "backup", test.directory() + "/ledger.db-journal"});
    EXPECT_EQ(inside.exit_code, 2);
    EXPECT_THAT(inside.err, HasSubstr("Name a place outside"));
}

TEST_P(VerbLedger, GcTellsWhatItTookAway) {
    ready();
    EXPECT_EQ(test.json({"ledger", "gc"}).at("collected"), 0);
}

TEST(LedgerRestore, AnOlderLedgerIsRefusedWithWhatToDoAndAcceptedByAnOperator) {
    namespace fs = std::filesystem;
    LedgerTest test;
    test.let_go();
    const os::ScratchDir aside;
    const std::string file = test.directory() + "/ledger.db";
    fs::copy_file(file, aside.file("monday"));
    test.open_again();
    ledger::testing::open_approval(test.ledger(), 1);
    test.let_go();
    fs::copy_file(aside.file("monday"), file, fs::copy_options::overwrite_existing);

    const Ran refused = test.run({"ledger", "stats"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("callgate ledger restore"));
    EXPECT_NE(test.run({"ledger", "restore"}).exit_code, 0) << "nobody has confirmed it";
    EXPECT_EQ(test.run({"ledger", "restore"}, "n\n").exit_code, kNo);
    EXPECT_NE(test.run({"ledger", "restore", "--moved", "--yes"}).exit_code, 0) << "it is behind";
    EXPECT_EQ(test.run({"ledger", "restore", "--moved", "--anyway", "--yes"}).exit_code, 2) << "either or";
    const Ran restored = test.run({"ledger", "restore"}, "y\n");
    EXPECT_EQ(restored.exit_code, 0) << restored.err;
    EXPECT_THAT(restored.err, HasSubstr("Accept that what came after event"));
    EXPECT_THAT(restored.out, HasSubstr("--accept-new-keys"));
    EXPECT_EQ(test.run({"ledger", "stats"}).exit_code, 0);
    EXPECT_EQ(test.run({"ledger", "restore", "--yes"}).exit_code, kNo) << "nothing is to be restored";
    const Ran keys =
        test.run({"ledger", "restore", "--accept-new-keys", "--because", "none in flight"}, "n\n");
    EXPECT_EQ(keys.exit_code, kNo);
    EXPECT_THAT(keys.err, HasSubstr("keys that this ledger does not know run from now on"));
    EXPECT_THAT(keys.err, Not(HasSubstr("is lost")));
    EXPECT_THAT(test.run({"ledger", "restore", "--anyway"}, "n\n").err,
                HasSubstr("Nothing shows that anything was lost."));
    // A directory of marks that has none of this ledger shows nothing, as often as it is named.
    const Ran missing = test.run({"ledger", "restore", "--yes", "--mark-dir", test.directory() + "/../no"});
    EXPECT_EQ(missing.exit_code, kUnusable);
    EXPECT_THAT(missing.err, HasSubstr("There is no directory"));
    const os::ScratchDir wrong;
    for (int i = 0; i < 2; ++i) {
        const Ran refused_too = test.run({"ledger", "restore", "--yes", "--mark-dir", wrong.path()});
        EXPECT_EQ(refused_too.exit_code, kUnusable) << refused_too.out;
        EXPECT_THAT(refused_too.err, HasSubstr("There is no mark of this ledger in '" + wrong.path()));
    }
    EXPECT_EQ(test.run({"ledger", "stats"}).exit_code, 0) << "its own mark is still there";
    EXPECT_EQ(test.run({"ledger", "restore", "--yes", "--accept-new-keys", "--because", "none in flight"})
                  .exit_code,
              0);
}

TEST(LedgerRestore, WhereThereIsNoLedgerNoneIsMade) {
    const os::ScratchDir dir;
    std::ostringstream out;
    std::ostringstream err;
    Console console{out, err, {}, {}};
    EXPECT_EQ(run_program({"ledger", "restore", "--yes", "--ledger", dir.file("none")}, console), 2);
    std::istringstream person("y\n");
    console.err_terminal.is_terminal = true;
    console.person = &person;
    err.str({});
    EXPECT_EQ(run_program({"ledger", "restore", "--ledger", dir.file("none")}, console), 2);
    EXPECT_THAT(err.str(), HasSubstr("There is no ledger in"));
    EXPECT_THAT(err.str(), Not(HasSubstr("Accept"))) << "nothing is asked about what is not there";
    EXPECT_FALSE(std::filesystem::exists(dir.file("none")));
}

TEST(LedgerDirectory, IsWhatIsGivenOrWhatTheEnvironmentSays) {
    EXPECT_EQ(ledger_directory("/x/y").value(), "/x/y");
    ::setenv("CALLGATE_LEDGER", "/from/environment", 1);
    EXPECT_EQ(ledger_directory("").value(), "/from/environment");
    EXPECT_EQ(ledger_directory("/x").value(), "/x");
    ::unsetenv("CALLGATE_LEDGER");
    const char* before = std::getenv("XDG_STATE_HOME");
    const std::string own = before != nullptr ? before : "";
    ::setenv("XDG_STATE_HOME", "/state", 1);
    EXPECT_EQ(ledger_directory("").value(), "/state/callgate");
    ::setenv("XDG_STATE_HOME", "relative", 1);
    EXPECT_THAT(ledger_directory("").value(), ::testing::EndsWith("/.local/state/callgate"));
    own.empty() ? ::unsetenv("XDG_STATE_HOME") : ::setenv("XDG_STATE_HOME", own.c_str(), 1);
}

TEST(OperatorVerb, DurationsAreToldInTwoUnits) {
    EXPECT_EQ(duration_text(0), "0 s");
    EXPECT_EQ(duration_text(45), "45 s");
    EXPECT_EQ(duration_text(60), "1 min");
    EXPECT_EQ(duration_text(872), "14 min 32 s");
    EXPECT_EQ(duration_text(3 * 86'400 + 4 * 3'600 + 59), "3 d 4 h");
}

TEST(OperatorVerb, AReportOfAnyShapeHasALineForEachValue) {
    EXPECT_EQ(
        outline({{"calls", {{"unknown", 2}, {"failed", 10}}}, {"bytes", 4096}, {"problems", {"a", "b"}}},
                Style{}),
        "  calls\n"
        "    unknown  2\n"
        "    failed   10\n"
        "  bytes      4096\n"
        "  problems   a\n"
        "             b\n");
}

TEST(VerbLedgerElsewhere, GcGoesByWhatTheHostSaidAboutKeeping) {
    using std::chrono::days;
    ledger::SqliteOptions host;
    host.kept.key_ttl = std::chrono::seconds(0);
    host.kept.tombstone_ttl = days(365);
    LedgerTest test(false, std::move(host));
    ledger::testing::finished_call(test.ledger(), test.owner(), 1, ledger::AttemptEnd::succeeded);
    test.let_go();
    EXPECT_EQ(number_at(test.json({"ledger", "gc"}), "collected"), 1);
    auto file = ledger::Database::open(test.directory() + "/ledger.db", ledger::Access::read_only).value();
    const std::chrono::microseconds until(file.integer_of("SELECT max(until) FROM tombstones").value());
    EXPECT_GT(until, base::SystemClock().wall_now().time_since_epoch() + days(300));
}

}  // namespace
}  // namespace callgate::cli
