// The past cannot come back unseen: an older ledger, a cut log, a copy, a missing mark.
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/encoding.h"
#include "ledger/audit/export.h"
#include "ledger/sqlite/durable_testing.h"
#include "ledger/sqlite/head_mark.h"
#include "ledger/sqlite/restore.h"

namespace callgate::ledger::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A ledger with or without an anchor, and what can be done to its files while nobody owns it.
struct Home : DurableLedger {
    explicit Home(bool anchored = false)
        : DurableLedger([this](SqliteOptions& options) { options.anchor_file = anchor(); }),
          anchored_(anchored) {}

    std::string anchor() const { return anchored_ ? scratch.file("anchor") : ""; }

    void run_once(std::uint64_t call) {
        ASSERT_FALSE(claim(call, key(call)).error);
        ASSERT_FALSE(settle(call).error);
    }
    /// A run of its owner, with these calls.
    void run(std::initializer_list<std::uint64_t> calls) {
        ASSERT_EQ(opens(), "");
        for (const std::uint64_t call : calls) run_once(call);
        close();
    }
    /// It runs once more, with these calls; then its files, not its mark, are what was kept as "before" that.
    void run_and_put_back(std::initializer_list<std::uint64_t> calls) {
        keep("before");
        run(calls);
        put_back("before");
    }
    static std::string key(std::uint64_t call) { return "k" + std::to_string(call); }
    std::string file(const std::string& name) const { return directory + "/" + name; }
    std::string marks() const { return scratch.file("marks"); }
    /// The files as they are now.
    void keep(const std::string& as) const {
        fs::remove_all(scratch.file(as));
        fs::copy(directory, scratch.file(as), fs::copy_options::recursive);
        fs::remove_all(scratch.file(as + "-marks"));
        fs::copy(marks(), scratch.file(as + "-marks"));
        if (fs::exists(scratch.file("anchor")))
            fs::copy_file(scratch.file("anchor"), scratch.file(as + "-marks/anchor"));
    }
    /// Mark and anchor as they were then.
    void put_mark_back(const std::string& kept) const {
        fs::remove_all(marks());
        fs::copy(scratch.file(kept + "-marks"), marks());
        fs::remove(scratch.file("anchor"));
        if (fs::exists(marks() + "/anchor")) fs::rename(marks() + "/anchor", scratch.file("anchor"));
    }
    void put_back(const std::string& kept) const {
        for (const char* name : {"ledger.db", "ledger.db-wal", "ledger.db-shm"}) fs::remove(file(name));
        for (const char* name : {"ledger.db", "ledger.db-wal"}) {
            if (fs::exists(scratch.file(kept) + "/" + name))
                fs::copy_file(scratch.file(kept) + "/" + name, file(name));
        }
    }
    std::string opens() { return reason_of(open(false)); }
    SqliteOptions options() const {
        SqliteOptions made;
        made.directory = directory;
        made.mark_dir = marks();
        made.anchor_file = anchor();
        made.clock = clock;
        return made;
    }
    Result<Object> restore(RestoreRequest order = {}) {
        close();
        order.by = "root";
        return SqliteLedger::restore(options(), order);
    }
    std::string event_types() {
        std::string all;
        for (const AuditEvent& told : must(ledger->audit({}))) all.append(told.type).append(" ");
        return all;
    }

private:
    const bool anchored_;
};

class ThePast : public ::testing::TestWithParam<bool> {
protected:
    Home home{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Ledger, ThePast, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Anchored" : "Marked"; });

TEST_P(ThePast, ARestoredBackupIsRefusedAndNothingOfItRuns) {
    home.run({1});
    home.run_and_put_back({2});
    const auto refused = home.open(false);
    ASSERT_EQ(reason_of(refused), "rolled_back");
    EXPECT_EQ(refused->code, ErrorCode::ledger_unavailable);
    EXPECT_THAT(refused->message, HasSubstr("callgate ledger restore --ledger"));
    EXPECT_EQ(home.opens(), "rolled_back") << "nothing was changed by refusing it";
}

TEST_P(ThePast, AnotherPastOfTheSameLengthIsRefusedToo) {
    home.run({});
    home.keep("monday");
    home.run({1, 2});
    home.keep("now");
    // The same ledger went another way from Monday on, and comes back where the first one was.
    home.put_back("monday");
    home.put_mark_back("monday");
    ASSERT_EQ(home.opens(), "");
    for (std::uint64_t call = 3; call < 9; ++call) home.run_once(call);
    home.close();
    home.put_mark_back("now");
    EXPECT_EQ(home.opens(), "rolled_back");
}

// What was archived can no longer be compared with a mark or an anchor that is behind it.
TEST_P(ThePast, AnotherPastIsRefusedThoughItHasArchivedItsBeginning) {
    home.run({1});
    home.keep("monday");
    ASSERT_EQ(home.opens(), "");
    for (std::uint64_t call = 2; call <= 140; ++call) home.run_once(call);  // more than a whole tile of 256
    ASSERT_TRUE(home.ledger->archive_audit({}, {}));
    home.run_once(141);
    home.close();
    home.keep("tuesday");
    ASSERT_EQ(home.opens(), "") << "its own mark is past what it has archived";
    home.close();

    home.put_back("monday");
    ASSERT_TRUE(home.restore());
    home.run({});
    home.put_back("tuesday");
    EXPECT_EQ(home.opens(), "rolled_back");
    if (!GetParam()) return;
    // Who puts the mark back as well is seen by the anchor.
    fs::remove_all(home.marks());
    fs::copy(home.scratch.file("tuesday-marks"), home.marks());
    fs::remove(home.marks() + "/anchor");
    EXPECT_EQ(home.opens(), "rolled_back");
}

TEST(TheAnchor, HasTheHeadOfWhatIsArchivedOrNothingIs) {
    Home home(true);
    ASSERT_EQ(home.opens(), "");
    home.run_once(1);
    fs::create_directory(home.anchor());  // so that nothing can be put there
    const auto refused = home.ledger->archive_audit({}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().details.at("reason"), "anchor_behind") << refused.error().message;
    fs::remove(home.anchor());
    EXPECT_TRUE(home.ledger->archive_audit({}, {}));
}

TEST_P(ThePast, ALogThatWasCutOrChangedIsNoticed) {
    ASSERT_EQ(home.opens(), "");
    home.run_once(1);
    home.keep("killed-early");
    home.run_once(2);
    home.keep("killed");
    home.close();
    home.put_back("killed");
    const auto size = fs::file_size(home.file("ledger.db-wal"));
    fs::resize_file(home.file("ledger.db-wal"), size - 4'096);
    EXPECT_EQ(home.opens(), "rolled_back") << "cut";
    home.put_back("killed");
    {
        std::fstream wal(home.file("ledger.db-wal"), std::ios::in | std::ios::out | std::ios::binary);
        wal.seekg(static_cast<std::streamoff>(size) - 2'000);
        const char byte = static_cast<char>(wal.get());
        wal.seekp(static_cast<std::streamoff>(size) - 2'000);
        wal.put(static_cast<char>(byte ^ 4));
    }
    EXPECT_EQ(home.opens(), "rolled_back") << "changed";
    home.put_back("killed-early");
    EXPECT_EQ(home.opens(), "rolled_back") << "older";
}

TEST_P(ThePast, IsNeverInTheWayOfALedgerThatWasStoppedInWhateverWay) {
    for (std::uint64_t round = 1; round <= 4; ++round) {
        ASSERT_EQ(home.opens(), "") << round;
        home.run_once(round);
        (void)home.record("tool_call.succeeded", round);  // a read that waits for its batch
        home.keep("killed");
        if (round % 2 == 0) continue;
        home.close();
        // Killed: what the process had written is all there, the mark too.
        home.put_back("killed");
        home.put_mark_back("killed");
    }
    EXPECT_EQ(home.opens(), "");
    EXPECT_EQ(home.claim(9, "k1").verdict, ClaimVerdict::replay);
    EXPECT_EQ(faults_of(*home.ledger), "");
}

TEST_P(ThePast, AMarkThatLostItsLastWritesInAPowerCutIsBehindAndThatIsFine) {
    ASSERT_EQ(home.opens(), "");
    home.run_once(1);
    home.keep("on-disk");
    home.run_once(2);
    home.close();
    home.put_mark_back("on-disk");
    EXPECT_EQ(home.opens(), "");
    EXPECT_EQ(home.claim(9, "k2").verdict, ClaimVerdict::replay);
}

TEST_P(ThePast, ACopyOfTheDirectoryIsAnotherAndIsRefusedAsMoved) {
    home.run({1});
    // Kept, so that no other directory gets its number.
    fs::rename(home.directory, home.scratch.file("first"));
    fs::copy(home.scratch.file("first"), home.directory, fs::copy_options::recursive);
    fs::permissions(home.directory, fs::perms::owner_all);
    const auto refused = home.open(false);
    ASSERT_EQ(reason_of(refused), "moved");
    EXPECT_THAT(refused->message, HasSubstr("restore --moved"));
    RestoreRequest order;
    order.moved = true;
    const auto accepted = home.restore(order);
    ASSERT_TRUE(accepted) << accepted.error().message;
    EXPECT_EQ(home.opens(), "");
    EXPECT_EQ(home.claim(9, "k1").verdict, ClaimVerdict::replay);
    EXPECT_EQ(home.claim(10, "new").verdict, ClaimVerdict::claimed) << "nothing was lost";
    EXPECT_THAT(home.event_types(), HasSubstr("ledger.moved"));
}

TEST_P(ThePast, WithoutItsMarkItIsRefusedAsMoved) {
    home.run({1});
    fs::remove_all(home.marks());
    EXPECT_EQ(home.opens(), "moved");
    RestoreRequest order;
    order.moved = true;
    ASSERT_TRUE(home.restore(order));
    EXPECT_EQ(home.opens(), "");
    EXPECT_EQ(home.claim(10, "new").verdict, ClaimVerdict::claimed);
}

TEST_P(ThePast, WhereTheDirectoryIsGoneANewLedgerBeginsAndSaysSo) {
    ASSERT_EQ(home.opens(), "");
    home.run_once(1);
    const std::string before = home.event_types();
    EXPECT_THAT(before, ::testing::Not(HasSubstr("ledger.replaced")));
    home.close();
    fs::remove_all(home.directory);
    ASSERT_EQ(home.opens(), "");
    EXPECT_THAT(home.event_types(), HasSubstr("ledger.replaced"));
    EXPECT_NE(home.ledger->recovery().replaces, "");
    EXPECT_EQ(home.claim(9, "k1").verdict, ClaimVerdict::claimed);
    ASSERT_EQ(home.opens(), "") << "and goes on";
}

TEST_P(ThePast, AfterARestoreNoKeyRunsTwice) {
    ASSERT_EQ(home.opens(), "");
    home.run_once(1);
    ASSERT_FALSE(home.claim(2, "k2", EffectClass::keyed).error);
    ASSERT_FALSE(home.claim(3, "k3", EffectClass::verify).error);
    ClaimRequest unsent = home.request(4, "k4");
    unsent.dispatch = false;
    ASSERT_FALSE(home.claim(unsent).error);
    home.ask("ap", 5);
    ASSERT_TRUE(home.vote("ap"));
    home.keep("monday");
    for (std::uint64_t call = 2; call < 5; ++call) {
        if (call == 4) {
            ASSERT_FALSE(home.dispatch(4).error);
        }
        ASSERT_FALSE(home.settle(call).error);
    }
    ASSERT_EQ(home.claim_with("ap", 6, "k6").approval, ApprovalVerdict::ok);
    home.run_once(7);
    home.close();
    home.put_back("monday");
    ASSERT_EQ(home.opens(), "rolled_back");

    const auto report = home.restore();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->at("new_keys"), "held");
    EXPECT_EQ(report->at("revoked"), 1);
    ASSERT_EQ(home.opens(), "");
    EXPECT_EQ(home.claim(11, "k1").verdict, ClaimVerdict::replay);
    for (const auto& [key, effect] :
         {std::pair("k2", EffectClass::keyed), std::pair("k3", EffectClass::verify),
          std::pair("k4", EffectClass::unsafe), std::pair("k6", EffectClass::unsafe),
          std::pair("k7", EffectClass::unsafe), std::pair("never seen", EffectClass::unsafe)}) {
        const ClaimReply reply = home.claim(12, key, effect);
        EXPECT_EQ(reason_of(reply.error), "restored") << key;
        ASSERT_TRUE(reply.error);
        EXPECT_EQ(reply.error->code, ErrorCode::outcome_unknown);
        EXPECT_EQ(reason_of(home.peek(key).error), "restored") << key;
    }
    EXPECT_EQ(home.claim_with("ap", 13, "").approval, ApprovalVerdict::revoked);
    EXPECT_TRUE(must(home.ledger->in_doubt()).empty()) << "no probe decides about what was lost";
    EXPECT_EQ(home.claim(14, "").verdict, ClaimVerdict::claimed) << "without a key nothing is promised";
    EXPECT_THAT(home.event_types(), HasSubstr("ledger.restored"));
    EXPECT_EQ(faults_of(*home.ledger), "");
    ASSERT_EQ(home.opens(), "") << "and it is not refused again";
    EXPECT_EQ(reason_of(home.claim(15, "k7").error), "restored") << "by the next start neither";
}

TEST_P(ThePast, NewKeysAreLetInByAnOperatorWhoSaysWhyOrWhenEveryKeyIsForgotten) {
    home.run({});
    home.run_and_put_back({1});
    ASSERT_TRUE(home.restore());
    EXPECT_EQ(reason_of(home.restore().error()), "nothing_to_restore");
    ASSERT_EQ(home.opens(), "");
    EXPECT_EQ(reason_of(home.claim(3, "k3").error), "restored");
    home.clock->advance(std::chrono::hours(24 * 31) - std::chrono::minutes(1));
    EXPECT_EQ(reason_of(home.claim(3, "k3").error), "restored");
    home.clock->advance(std::chrono::minutes(2));
    EXPECT_EQ(home.claim(3, "k3").verdict, ClaimVerdict::claimed);

    RestoreRequest again;
    again.anyway = true;
    ASSERT_TRUE(home.restore(again));
    RestoreRequest order;
    order.accept_new_keys = true;
    EXPECT_EQ(reason_of(home.restore(order).error()), "reason_missing");
    order.because = "the provider's list shows none";
    ASSERT_TRUE(home.restore(order));
    ASSERT_EQ(home.opens(), "");
    EXPECT_EQ(home.claim(5, "k5").verdict, ClaimVerdict::claimed);
    EXPECT_THAT(home.event_types(), HasSubstr("ledger.gap_ended"));
}

TEST_P(ThePast, CallsOfTheGapThatAnExportHasStayUnknownThoughNewKeysAreLetIn) {
    home.run({1});
    home.keep("monday");
    ASSERT_EQ(home.opens(), "");
    ClaimRequest sent = home.request(2, "k2");
    sent.row.fingerprint = print_of("gap");
    const std::string request = base::hex_encode(
        {reinterpret_cast<const char*>(sent.row.fingerprint.data()), sent.row.fingerprint.size()});
    sent.events.front().has_key = true;
    sent.events.front().request_hash = request;
    ASSERT_FALSE(home.claim(sent).error);
    ASSERT_FALSE(home.settle(2).error);
    {
        std::ofstream out(home.scratch.file("export"), std::ios::binary);
        ASSERT_TRUE(
            export_jsonl(*home.ledger->read_audit().value(), [&](std::string_view text) -> Result<void> {
                out << text;
                return {};
            }));
    }
    home.close();
    home.put_back("monday");
    RestoreRequest order;
    order.accept_new_keys = true;
    order.because = "an export has all";
    order.export_file = home.scratch.file("export");
    const auto report = home.restore(order);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->at("gap").at("calls"), 1);
    EXPECT_GT(report->at("gap").at("events").to_number<int>(), 1);
    ASSERT_EQ(home.opens(), "");
    EXPECT_EQ(home.claim(3, "another").verdict, ClaimVerdict::claimed);
    sent.row.call_id = call_id(4);
    sent.row.owner = home.owner;
    const ClaimReply held = home.claim(sent);
    EXPECT_EQ(reason_of(held.error), "restored");
    EXPECT_EQ(home.state_of(2), CallState::unknown);
    EXPECT_EQ(faults_of(*home.ledger), "");
    ASSERT_TRUE(home.ledger->resolve(call_id(2), false, nullptr, unseen(event("tool_call.resolved"))));
    sent.row.call_id = call_id(5);
    EXPECT_EQ(home.claim(sent).verdict, ClaimVerdict::claimed) << "a person found that it was not applied";
}

TEST(TheGap, EndedByAHandInTheFileIsFoundByTheCheck) {
    Home home;
    home.run({});
    home.run_and_put_back({1});
    ASSERT_TRUE(home.restore());
    ASSERT_EQ(home.opens(), "");
    EXPECT_EQ(faults_of(*home.ledger), "");
    home.close();
    {
        auto file = Database::open(home.file("ledger.db"), Access::read_write);
        ASSERT_TRUE(file->execute("UPDATE restores SET gap_until = 0"));
    }
    ASSERT_EQ(home.opens(), "");
    EXPECT_NE(faults_of(*home.ledger), "");
}

TEST(TheMark, WhoTakesItAwayCannotSayThatThereWasNone) {
    Home home;
    ASSERT_EQ(home.opens(), "");
    home.run_once(1);
    home.set_in_file("DELETE FROM meta WHERE name = 'mark_dir'");
    fs::remove_all(home.marks());
    EXPECT_EQ(home.opens(), "tampered");
}

TEST(TheMark, WhoNamesAnotherDirectoryForItIsFoundByWhoPassesBy) {
    Home home;
    home.run({1});
    home.run_and_put_back({2});
    home.set_in_file("UPDATE meta SET value = '" + home.scratch.file("before-marks") +
                     "' WHERE name = 'mark_dir'");
    SqliteOptions passing = home.options();
    passing.in_passing = true;
    passing.mark_dir = "";
    const auto opened = SqliteLedger::open(std::move(passing));
    ASSERT_FALSE(opened);
    EXPECT_EQ(reason_of(opened.error()), "tampered");
}

TEST(TheMark, AFileOfAVersionWithoutOneGetsItsFirst) {
    Home home;
    ASSERT_EQ(home.opens(), "");
    home.run_once(1);
    home.make_older();
    home.run({});
    home.run_and_put_back({2});
    EXPECT_EQ(home.opens(), "rolled_back");
}

TEST(TheMark, OperatorsVerbsLookForItWhereTheHostHasPutIt) {
    Home home;
    home.run({1});
    SqliteOptions passing = home.options();
    passing.mark_dir.clear();
    passing.in_passing = true;
    EXPECT_TRUE(SqliteLedger::open(std::move(passing)));
}

TEST(TheMark, MovesWithTheHostsSetting) {
    Home home;
    home.run({1});
    home.keep("monday");
    const auto open_elsewhere = [&] {
        SqliteOptions changed = home.options();
        changed.mark_dir = home.scratch.file("elsewhere");
        const auto opened = SqliteLedger::open(std::move(changed));
        return opened ? "" : reason_of(opened.error());
    };
    ASSERT_EQ(open_elsewhere(), "");
    ASSERT_EQ(open_elsewhere(), "");
    home.put_back("monday");
    EXPECT_EQ(open_elsewhere(), "rolled_back");
    EXPECT_EQ(home.opens(), "moved") << "the old one is no longer there";
}

TEST(TheMark, ThatIsAPipeIsRefusedWithoutWaiting) {
    Home home;
    home.run({1});
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(home.marks())) files.push_back(entry.path());
    for (const std::string& file : files) {
        fs::remove(file);
        ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    }
    EXPECT_NE(home.opens(), "");
}

TEST(TheMark, MustBeOutsideTheDirectory) {
    Home home;
    SqliteOptions inside = home.options();
    inside.mark_dir = home.directory + "/marks";
    EXPECT_EQ(reason_of(SqliteLedger::open(std::move(inside)).error()), "mark_inside");
}

TEST(TheMark, OnePlaceThatWasTornLeavesTheOther) {
    os::RealFileOps files;
    base::SystemRng rng;
    const os::ScratchDir dir;
    const Place place = Place::of(files, dir.path()).value();
    {
        auto mark = HeadMark::make(files, rng, dir.path(), "id", place, {}, AuditEnd{5, base::sha256("5")});
        ASSERT_TRUE(mark);
        ASSERT_TRUE(mark->write({6, base::sha256("6")}));
    }
    const auto at_place = [&](std::uint64_t offset) {
        std::fstream file(dir.file("id"), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(offset) + 100);
        file.put('x');
    };
    EXPECT_EQ(HeadMark::look(files, dir.path(), "id").value()->end.events, 6u);
    at_place(4'096);  // the third write
    EXPECT_EQ(HeadMark::look(files, dir.path(), "id").value()->end.events, 5u);
    at_place(0);
    EXPECT_FALSE(HeadMark::look(files, dir.path(), "id").value());
    EXPECT_FALSE(HeadMark::look(files, dir.path(), "another").value());
}

}  // namespace
}  // namespace callgate::ledger::testing
