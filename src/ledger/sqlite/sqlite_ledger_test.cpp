#include "ledger/sqlite/sqlite_ledger.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"
#include "ledger/audit/anchor.h"
#include "ledger/sqlite/durable_testing.h"
#include "ledger/sqlite/owner_lock.h"
#include "ledger/sqlite/schema.h"
#include "os/faulty_file_ops.h"

namespace callgate::ledger::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::shared_ptr<SqliteLedger> open_at(const std::string& directory,
                                      const std::shared_ptr<base::ManualClock>& clock) {
    SqliteOptions options;
    options.directory = directory;
    options.watch_past = false;  // it is a copy of one that lives
    options.clock = clock;
    auto opened = SqliteLedger::open(std::move(options));
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *opened : nullptr;
}

// Starts

TEST(SqliteLedger, AnOutcomeIsReplayedByTheNextProcess) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    durable.settle(1);
    ASSERT_FALSE(durable.open());
    EXPECT_FALSE(durable.ledger->recovery().unclean);
    const ClaimReply again = durable.claim(2, "k");
    EXPECT_EQ(again.verdict, ClaimVerdict::replay);
    ASSERT_TRUE(again.row.outcome);
    EXPECT_EQ(again.row.outcome->result.value, Value(Object{{"answer", 1}}));
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(SqliteLedger, AnApprovalAndItsVotesOutliveTheProcessAndAreUsedOnce) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.ask("ap", 1);
    ASSERT_FALSE(durable.open());
    ASSERT_TRUE(durable.vote("ap"));
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(durable.ledger->approval("ap")->votes.at(0).approver, "bob");
    EXPECT_EQ(durable.claim_with("ap", 2, "k").approval, ApprovalVerdict::ok);
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(durable.claim_with("ap", 3, "k3").approval, ApprovalVerdict::consumed);
}

TEST(SqliteLedger, ASpentKeyIsStillRefusedAfterAStart) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    durable.settle(1);
    durable.clock->advance(25h);
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(durable.peek("k").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(durable.claim(2, "k").verdict, ClaimVerdict::key_expired);
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(durable.claim(3, "k").verdict, ClaimVerdict::key_expired);
}

TEST(SqliteLedger, AClockSetBackBetweenTwoStartsNeitherFreesKeysNorKeepsApprovalsAlive) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.ask("ap", 1);
    ASSERT_TRUE(durable.vote("ap"));
    durable.claim(1, "k");
    durable.settle(1);
    durable.clock->advance(16min);
    durable.close();
    durable.clock->set_wall(base::ManualClock::kStart - 24h);
    ASSERT_FALSE(durable.open());
    EXPECT_EQ(durable.claim_with("ap", 2, "k2").approval, ApprovalVerdict::expired);
    EXPECT_EQ(durable.claim(3, "k").verdict, ClaimVerdict::replay);
}

// Crashes

TEST(SqliteLedger, WhatADeadProcessHadSentBecomesByItsEffectClass) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "unsafe");
    durable.claim(2, "tx", EffectClass::tx);
    durable.claim(3, "keyed", EffectClass::keyed);
    durable.claim(4, "verify", EffectClass::verify);
    durable.claim(5, "read", EffectClass::read);
    durable.claim(6, "");
    durable.claim(7, "", EffectClass::verify);
    durable.claim(8, "done");
    durable.settle(8);
    const auto next = open_at(left_behind(durable), durable.clock);
    ASSERT_TRUE(next);
    const RecoveryReport& found = next->recovery();
    EXPECT_TRUE(found.unclean);
    EXPECT_EQ(found.open_calls, 7u);
    EXPECT_EQ(found.unknown, 4u);
    EXPECT_EQ(found.left_to_claims, 3u);
    for (const std::uint64_t call : {1u, 2u, 6u}) {
        EXPECT_EQ(next->find(call_id(call))->state, CallState::unknown) << call;
    }
    EXPECT_EQ(next->find(call_id(8))->state, CallState::succeeded);
    EXPECT_EQ(must(next->in_doubt()).size(), 2u) << "both verify calls: their probe can tell";
    EXPECT_EQ(faults_of(*next), "");
}

TEST(SqliteLedger, AStartAfterACrashIsOnTheRecordAndTheFileWasChecked) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    const auto next = open_at(left_behind(durable), durable.clock);
    ASSERT_TRUE(next);
    const auto stats = next->stats();
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->at("check").at("state"), "sound");
    EXPECT_EQ(stats->at("start").at("unclean"), true);
    const auto events = must(next->audit({}));
    EXPECT_EQ(events.back().type, "tool_call.unknown");
    EXPECT_EQ(events.back().call_id, call_id(1));
}

TEST(SqliteLedger, ALargeFileIsCheckedWhileCallsGoOn) {
    DurableLedger durable([](SqliteOptions& options) { options.check_at_once_below = 0; });
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    SqliteOptions options;
    options.directory = left_behind(durable);
    options.watch_past = false;
    options.clock = durable.clock;
    options.check_at_once_below = 0;
    auto next = SqliteLedger::open(std::move(options));
    ASSERT_TRUE(next);
    EXPECT_EQ((*next)->find(call_id(1))->state, CallState::unknown);
    for (;;) {  // it ends by itself
        const auto stats = (*next)->stats();
        ASSERT_TRUE(stats);
        const Value& state = stats->at("check").at("state");
        if (state == "sound") break;
        ASSERT_TRUE(state == "checking" || state == "unchecked") << json::write(state);
        std::this_thread::yield();
    }
}

TEST(SqliteLedger, ACheckIsRightThoughCallsEndWhileItLooks) {
    constexpr std::uint64_t kCalls = 1'000;
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    for (std::uint64_t call = 1; call <= kCalls; ++call) durable.claim(call, "k" + std::to_string(call));
    std::uint64_t freed = 0;
    const auto report = durable.ledger->check([&](std::uint64_t done, std::uint64_t total) {
        if (done != total - 1 || freed != 0) return true;
        // It reads the calls now.
        for (std::uint64_t call = 1; call <= kCalls; ++call)
            freed += durable.settle(call, AttemptEnd::not_applied).settled.released ? 1u : 0u;
        return true;
    });
    ASSERT_TRUE(report);
    EXPECT_EQ(freed, kCalls);
    EXPECT_EQ(report->at("ok"), true) << json::write(report->at("problems")).substr(0, 200);
}

// Owners

TEST(SqliteLedger, ASecondOwnerIsRefusedAndToldWhoOwnsIt) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    SqliteOptions options;
    options.directory = durable.directory;
    options.while_closing = std::chrono::milliseconds(0);
    const auto second = SqliteLedger::open(std::move(options));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::ledger_unavailable);
    EXPECT_EQ(reason_of(second.error()), "ledger_owned");
    EXPECT_THAT(second.error().message, HasSubstr("pid " + std::to_string(::getpid())));
    EXPECT_EQ(durable.claim(1, "k").verdict, ClaimVerdict::claimed) << "the owner goes on";
}

TEST(SqliteLedger, OneThatThisProcessIsJustClosingIsWaitedFor) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    os::RealFileOps real;
    const auto files = std::make_shared<os::FaultyFileOps>(real);
    SqliteOptions options;
    options.directory = durable.directory;
    options.files = files;
    options.while_closing = std::chrono::minutes(10);
    std::thread closes([&] {
        while (files->calls(os::FileOp::lock) == 0) std::this_thread::yield();
        durable.close();
    });
    const auto second = SqliteLedger::open(std::move(options));
    closes.join();
    EXPECT_TRUE(second) << second.error().message;
}

TEST(SqliteLedger, ADirectoryThatOthersMayWriteIsRefused) {
    DurableLedger durable;
    std::filesystem::create_directory(durable.directory);
    std::filesystem::permissions(durable.directory, std::filesystem::perms::all);
    EXPECT_EQ(reason_of(durable.open()), "not_private");
    EXPECT_FALSE(std::filesystem::exists(durable.directory + "/ledger.db"));
}

TEST(SqliteLedger, ADirectoryOfAnotherUserIsRefusedAndItsOwnerNamed) {
    if (::geteuid() != 0) GTEST_SKIP() << "not as this user: only root can give a directory away";
    DurableLedger durable;
    std::filesystem::create_directory(durable.directory);
    std::filesystem::permissions(durable.directory, std::filesystem::perms::owner_all);
    ASSERT_EQ(::chown(durable.directory.c_str(), 12'345, 12'345), 0);
    const auto refused = durable.open();
    EXPECT_EQ(reason_of(refused), "not_private");
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->details.at("owner"), 12'345);
    EXPECT_THAT(refused->message, HasSubstr("belongs to the user 12345"));
    EXPECT_THAT(refused->message, HasSubstr("Run it as that user"));
    EXPECT_THAT(refused->message, HasSubstr("chown -R 0 '" + durable.directory + "'"));
    EXPECT_TRUE(std::filesystem::is_empty(durable.directory));
    ASSERT_EQ(::chown(durable.directory.c_str(), 0, 0), 0);
    EXPECT_FALSE(durable.open());
}

TEST(SqliteLedger, NetworkFilesystemsAreKnownByTheirKind) {
    for (const std::uint64_t kind : {0x6969ull, 0xFF534D42ull, 0xFE534D42ull, 0x01021997ull, 0x65735546ull})
        EXPECT_TRUE(is_network_filesystem(kind));
    for (const std::uint64_t kind : {0xEF53ull, 0x01021994ull, 0x58465342ull, 0x9123683Eull})
        EXPECT_FALSE(is_network_filesystem(kind));
}

TEST(SqliteLedger, OwnersOfEarlierStartsAreNeverTakenForThoseOfThisOne) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    const OwnerId first = durable.owner;
    ASSERT_FALSE(durable.open());
    EXPECT_NE(durable.owner, first);
    ClaimRequest stale = durable.request(1, "k");
    stale.row.owner = first;
    EXPECT_EQ(reason_of(durable.claim(stale).error), "owner_not_alive");
}

// What is in the files

TEST(SqliteLedger, NothingSaidInACallIsInTheFilesInTheClear) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    ClaimRequest asked = durable.request(1, "k", EffectClass::verify);
    asked.row.arguments = std::make_shared<const Value>(Object{{"text", "speak-of-the-arguments"}});
    durable.claim(std::move(asked));
    SettleRequest told;
    told.call_id = call_id(1);
    told.attempt = 1;
    told.end = AttemptEnd::succeeded;
    auto answer = std::make_shared<StoredOutcome>();
    answer->result.value = "speak-of-the-answer";
    answer->call_id = told.call_id;
    told.outcome = answer;
    told.events.push_back(event("tool_call.succeeded", told.call_id));
    told.events.back().detail = "speak-of-the-detail";
    SettleReply reply;
    durable.turn.wait_for(durable.ledger->settle(std::move(told), reply, durable.turn));
    OpenApprovalRequest wish;
    wish.approval.id = "ap";
    wish.approval.arguments = Object{{"text", "speak-of-the-wish"}};
    wish.approval.why = "speak-of-the-why";
    OpenApprovalReply opened;
    durable.turn.wait_for(durable.ledger->open_approval(std::move(wish), opened, durable.turn));
    EXPECT_EQ(durable.ledger->approval("ap")->why, "speak-of-the-why");
    EXPECT_EQ(durable.claim(2, "k", EffectClass::verify).row.outcome->result.value, "speak-of-the-answer");
    for (const char* name : {"ledger.db", "ledger.db-wal"})
        EXPECT_THAT(content_of(durable.directory + "/" + name), Not(HasSubstr("speak-of")));
    durable.close();
    EXPECT_THAT(content_of(durable.directory + "/ledger.db"), Not(HasSubstr("speak-of")));
}

TEST(SqliteLedger, ItsFilesBelongToTheirOwnerAlone) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    for (const char* name : {"ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.key", "audit.key"}) {
        const auto bits = std::filesystem::status(durable.directory + "/" + name).permissions();
        EXPECT_EQ(bits, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write) << name;
    }
}

// The audit

TEST(SqliteLedger, ReadsAreOnTheRecordInTheOrderTheyCameAndBeforeWhatCameLater) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    for (std::uint64_t call = 1; call <= 5; ++call) EXPECT_FALSE(durable.record("tool_call.succeeded", call));
    durable.claim(6, "k");
    std::vector<std::uint64_t> calls;
    std::uint64_t last = 0;
    for (const AuditEvent& told : must(durable.ledger->audit({}))) {
        EXPECT_EQ(told.sequence, last + 1);
        last = told.sequence;
        if (told.call_id != CallId{}) calls.push_back(told.call_id[15]);
    }
    EXPECT_THAT(calls, ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(SqliteLedger, AStrictAuditNumbersAReadBeforeItIsAnswered) {
    DurableLedger durable([](SqliteOptions& options) { options.strict_audit = true; });
    ASSERT_FALSE(durable.open());
    AuditEvent read = event("tool_call.succeeded", call_id(1));
    Reply reply;
    EXPECT_EQ(durable.ledger->record(read, reply, durable.turn), Io::pending);
    durable.turn.wait_for(Io::pending);
    EXPECT_EQ(read.sequence, durable.ledger->audit_count());
}

TEST(SqliteLedger, EverySignedCheckpointReachesTheWitnessAndTheLogHoldsAgainstIt) {
    DurableLedger durable;
    const std::string anchor = durable.scratch.file("anchor");
    DurableLedger witnessed([&](SqliteOptions& options) { options.anchor_file = anchor; });
    ASSERT_FALSE(witnessed.open());
    witnessed.claim(1, "k");
    ASSERT_TRUE(witnessed.ledger->checkpoint());
    witnessed.settle(1);
    ASSERT_FALSE(witnessed.open());
    os::RealFileOps files;
    const auto notes = read_witness_file(files, anchor);
    ASSERT_TRUE(notes);
    ASSERT_FALSE(notes->notes.empty());
    VerifyOptions options;
    options.witnessed = notes->notes;
    const auto report = verify_audit(**witnessed.ledger->read_audit(), options);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->verdict(), AuditVerdict::intact) << report->summary();
}

TEST(SqliteLedger, PayloadsAreErasedWithAnEventAndTheChainStaysWhole) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    durable.settle(1);
    const auto erased = durable.ledger->erase_payloads(call_id(1), "user:ada");
    ASSERT_TRUE(erased);
    EXPECT_EQ(*erased, 2u) << "arguments and result";
    const auto report = verify_audit(**durable.ledger->read_audit(), {});
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->fault) << report->summary();
    EXPECT_EQ(report->erased_payloads, 2u);
    EXPECT_EQ(must(durable.ledger->audit({})).back().type, "audit.erased");
}

TEST(SqliteLedger, WhereNothingWasErasedNothingIsOnTheRecord) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    durable.settle(1);
    const std::uint64_t before = durable.ledger->audit_count();
    EXPECT_EQ(must(durable.ledger->erase_payloads(call_id(9), "user:ada")), 0u);
    EXPECT_EQ(durable.ledger->audit_count(), before);
    // From a segment, which is no file of the ledger, something went.
    EXPECT_EQ(must(durable.ledger->erase_payloads(call_id(9), "user:ada", 1)), 0u);
    EXPECT_EQ(durable.ledger->audit_count(), before + 1);
}

TEST(SqliteLedger, AChangedSigningKeyIsHandedOverInTheLog) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    const auto changed = durable.ledger->rotate_audit_key("user:ada");
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_NE(changed->at("key"), changed->at("old_key"));
    durable.settle(1);
    ASSERT_FALSE(durable.open());
    durable.claim(2, "k2");
    ASSERT_TRUE(durable.ledger->checkpoint());
    const auto report = verify_audit(**durable.ledger->read_audit(), {});
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->fault) << report->summary();
    EXPECT_EQ(Value(report->key), changed->at("key"));
}

// Care of the file

TEST(SqliteLedger, ABackupMadeWhileCallsGoOnOpensAndHoldsWhatWasThere) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    durable.settle(1);
    durable.claim(2, "running");
    const std::string copy = durable.scratch.file("copy");
    std::filesystem::create_directory(copy);
    std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
    const auto made = durable.ledger->backup(copy + "/ledger.db", {});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(reason_of(durable.ledger->backup(copy + "/ledger.db", {}).error()), "file_exists");
    for (const char* name : {"ledger.key", "audit.key"})
        std::filesystem::copy_file(durable.directory + "/" + name, copy + "/" + name);
    const auto restored = open_at(copy, durable.clock);
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->find(call_id(1))->state, CallState::succeeded);
    EXPECT_EQ(restored->find(call_id(2))->state, CallState::unknown) << "it was under way";
    EXPECT_EQ(faults_of(*restored), "");
}

TEST(SqliteLedger, WhatHasExpiredIsCollectedAndItsKeyStaysSpent) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    durable.settle(1);
    durable.claim(2, "lost");
    durable.settle(2, AttemptEnd::ambiguous);
    durable.ask("ap", 3);
    durable.clock->advance(49h);
    const auto collected = durable.ledger->collect();
    ASSERT_TRUE(collected);
    EXPECT_EQ(collected->at("collected"), 2);
    EXPECT_FALSE(durable.ledger->approval("ap"));
    EXPECT_EQ(durable.state_of(2), CallState::unknown) << "until somebody resolves it";
    EXPECT_EQ(durable.claim(4, "k").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(SqliteLedger, AFileOfAnOlderVersionIsBroughtUpToDate) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k", EffectClass::keyed);
    durable.make_older();
    ASSERT_FALSE(durable.open(false));
    EXPECT_EQ(durable.ledger->stats()->at("schema"), ledger_migrations().back().version);
    EXPECT_EQ(durable.claim(2, "k", EffectClass::keyed).row.runs_as, call_id(2));
    EXPECT_EQ(faults_of(*durable.ledger), "");
    ASSERT_FALSE(durable.open(false)) << "once";
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(SqliteLedger, WhatHasExpiredGoesByItself) {
    DurableLedger durable(
        [](SqliteOptions& options) { options.writer.upkeep_every = std::chrono::milliseconds(1); });
    ASSERT_FALSE(durable.open());
    durable.claim(1, "k");
    durable.settle(1);
    const auto held = [&] { return durable.ledger->stats()->at("calls").as_object().size(); };
    EXPECT_EQ(held(), 1u);
    durable.clock->advance(25h);
    while (held() != 0) std::this_thread::yield();
    EXPECT_EQ(durable.claim(2, "k").verdict, ClaimVerdict::key_expired);
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(SqliteLedger, WhatNobodyTookOverInADayIsGivenUp) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    durable.claim(1, "sent", EffectClass::keyed);
    ClaimRequest unsent = durable.request(2, "unsent", EffectClass::unsafe);
    unsent.dispatch = false;
    durable.claim(std::move(unsent));
    durable.ledger->owner_gone(durable.owner);
    durable.owner = must(register_owner(*durable.ledger));
    durable.clock->advance(23h);
    ASSERT_TRUE(durable.ledger->collect());
    EXPECT_EQ(durable.state_of(1), CallState::dispatched) << "the next claim of its key may go on with it";
    durable.claim(3, "alive", EffectClass::keyed);
    durable.clock->advance(2h);
    ASSERT_TRUE(durable.ledger->collect());
    EXPECT_EQ(durable.state_of(1), CallState::unknown) << "told, and a person can resolve it";
    EXPECT_EQ(durable.claim(4, "unsent").verdict, ClaimVerdict::claimed) << "free again";
    EXPECT_EQ(durable.state_of(3), CallState::dispatched);
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

TEST(SqliteLedger, ListsArePagesNewestFirst) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    for (std::uint64_t call = 1; call <= 5; ++call) durable.claim(call, "k" + std::to_string(call));
    durable.settle(3);
    CallQuery query;
    query.limit = 2;
    const auto first = durable.ledger->page_of_calls(query);
    ASSERT_TRUE(first);
    ASSERT_EQ(first->size(), 2u);
    EXPECT_EQ((*first)[0].call_id, call_id(5));
    query.before = base::Uuid{(*first)[1].call_id}.to_string();
    query.state = CallState::dispatched;
    const auto second = durable.ledger->page_of_calls(query);
    ASSERT_TRUE(second);
    ASSERT_EQ(second->size(), 2u);
    EXPECT_EQ((*second)[0].call_id, call_id(2));
    EXPECT_EQ((*second)[1].call_id, call_id(1));
    ASSERT_EQ(durable.ledger->attempts(call_id(3))->size(), 1u);
    EXPECT_EQ(durable.ledger->attempts(call_id(3))->at(0).end, "succeeded");
}

}  // namespace
}  // namespace callgate::ledger::testing
