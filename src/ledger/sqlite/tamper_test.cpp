// A hand in the file: what somebody sets there by SQL, without the ledger's key, takes no effect and is
// found.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/must.h"
#include "ledger/blocking_waiter.h"
#include "ledger/control/filled_ledger.h"
#include "ledger/decisions.h"
#include "ledger/sqlite/database.h"
#include "ledger/sqlite/durable_testing.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/scratch_dir.h"

namespace callgate::ledger {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using testing::done;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Tampered : public ::testing::Test {
protected:
    Tampered() { open(); }

    void open() {
        SqliteOptions options;
        options.directory = directory_;
        options.clock = clock_;
        auto opened = SqliteLedger::open(std::move(options));
        if (!opened) throw std::runtime_error(opened.error().message);
        ledger_ = *opened;
        owner_ = register_owner(*ledger_).value();
    }

    /// As set_in_file; why it does not open any more.
    std::string refusal_after(const std::string& sql) {
        ledger_.reset();
        {
            auto database = Database::open(directory_ + "/ledger.db", Access::read_write);
            EXPECT_TRUE(database->execute(sql.c_str()));
        }
        SqliteOptions options;
        options.directory = directory_;
        options.clock = clock_;
        auto opened = SqliteLedger::open(std::move(options));
        return opened ? "" : testing::reason_of(opened.error());
    }

    /// By somebody else, while nobody owns it.
    void set_in_file(const char* sql) {
        ledger_.reset();
        {
            auto database = Database::open(directory_ + "/ledger.db", Access::read_write);
            ASSERT_TRUE(database) << database.error().message;
            const auto set = database->execute(sql);
            ASSERT_TRUE(set) << set.error().message;
        }
        open();
    }

    Result<Approval> vote(const Approval& approval, std::string who, bool yes = true) {
        Vote cast;
        cast.approver = std::move(who);
        cast.approve = yes;
        return cast_vote(*ledger_, approval.id, std::move(cast), {});
    }

    ClaimReply use(const Approval& approval, std::uint64_t call) {
        ClaimRequest claim;
        claim.row.key = {"", "agent", "send_mail", ""};
        claim.row.call_id = testing::numbered_id(call).bytes;
        claim.row.owner = owner_;
        claim.approval = ApprovalUse{approval.id, approval.digest};
        return done<ClaimReply>(
            [&](ClaimReply& to, Waiter& waiter) { return ledger_->claim(std::move(claim), to, waiter); });
    }

    std::vector<std::string> problems() {
        const auto report = ledger_->check({});
        if (!report) return {report.error().message};
        std::vector<std::string> all;
        for (const Value& one : report->at("problems").as_array())
            all.emplace_back(one.as_string().data(), one.as_string().size());
        EXPECT_EQ(report->at("ok").as_bool(), all.empty());
        return all;
    }

    std::vector<std::string> event_types() {
        std::vector<std::string> types;
        for (const AuditEvent& event : must(ledger_->audit({}))) types.emplace_back(event.type);
        return types;
    }

    os::ScratchDir scratch_;
    std::string directory_ = std::string(scratch_.path()) + "/ledger";
    std::shared_ptr<base::ManualClock> clock_ = std::make_shared<base::ManualClock>();
    std::shared_ptr<SqliteLedger> ledger_;
    OwnerId owner_ = 0;
};

std::string reason_of(const std::optional<Error>& error) {
    return error ? std::string(error->details.at("reason").as_string()) : "";
}

TEST_F(Tampered, NothingIsSaidOfALedgerThatNobodyTouched) {
    const Approval approval = testing::open_approval(*ledger_, 1);
    ASSERT_TRUE(vote(approval, "bob"));
    testing::finished_call(*ledger_, owner_, 2, AttemptEnd::succeeded);
    testing::finished_call(*ledger_, owner_, 3, AttemptEnd::ambiguous);
    EXPECT_EQ(use(approval, 9).approval, ApprovalVerdict::ok);
    clock_->advance(25h);
    ASSERT_TRUE(ledger_->collect());
    EXPECT_THAT(problems(), IsEmpty());
    ledger_.reset();
    open();
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(Tampered, AFlagIsNoApproval) {
    const Approval approval = testing::open_approval(*ledger_, 1);
    set_in_file("UPDATE approvals SET state = 'approved'");
    const ClaimReply refused = use(approval, 9);
    EXPECT_EQ(reason_of(refused.error), "tampered");
    EXPECT_THAT(event_types(), Contains("approval.tampered"));
    EXPECT_FALSE(ledger_->find(testing::numbered_id(9).bytes));
    EXPECT_THAT(problems(), Contains(HasSubstr("approval " + approval.id + " was changed")));
}

TEST_F(Tampered, AVoteInTheFileIsNoVote) {
    const Approval approval = testing::open_approval(*ledger_, 1);
    set_in_file(
        "INSERT INTO votes(approval_id, n, approver, approve, assurance, reason, at, event_seq, event_hash, "
        "mac) SELECT id, 0, 'bob', 1, 'A3', '', created_at, seq, zeroblob(32), zeroblob(32) FROM approvals; "
        "UPDATE approvals SET state = 'approved'");
    EXPECT_EQ(reason_of(use(approval, 9).error), "tampered");
}

TEST_F(Tampered, ADenialThatWasTakenOutStillDenies) {
    const Approval approval = testing::open_approval(*ledger_, 1);
    ASSERT_TRUE(vote(approval, "bob", false));
    set_in_file("DELETE FROM votes; UPDATE approvals SET state = 'pending'");
    EXPECT_FALSE(vote(approval, "carol"));
    EXPECT_EQ(reason_of(use(approval, 9).error), "tampered");
}

TEST_F(Tampered, AUsedApprovalCannotBeMadeFreshByItsState) {
    const Approval approval = testing::open_approval(*ledger_, 1);
    ASSERT_TRUE(vote(approval, "bob"));
    ASSERT_EQ(use(approval, 9).approval, ApprovalVerdict::ok);
    set_in_file("UPDATE approvals SET state = 'approved', consumed_by = ''");
    EXPECT_EQ(reason_of(use(approval, 10).error), "tampered");
}

TEST_F(Tampered, WhatWasChangedKeepsNobodyWaiting) {
    const OpenApprovalRequest request = testing::approval_request(1);
    testing::open_approval(*ledger_, 1);
    set_in_file("UPDATE approvals SET expires_at = expires_at + 1000000");
    OpenApprovalRequest again = request;
    again.approval.id = testing::numbered_id(2).to_string();
    const auto opened = done<OpenApprovalReply>([&](OpenApprovalReply& to, Waiter& waiter) {
        return ledger_->open_approval(std::move(again), to, waiter);
    });
    EXPECT_FALSE(opened.error);
    EXPECT_FALSE(opened.joined);
    EXPECT_THAT(event_types(), Contains("approval.tampered"));
}

TEST_F(Tampered, AFreedKeyIsFoundAndNamed) {
    const std::string id = testing::finished_call(*ledger_, owner_, 2, AttemptEnd::succeeded);
    set_in_file("UPDATE calls SET key_hash = NULL");
    EXPECT_THAT(problems(), Contains(HasSubstr("are not those that this program wrote")));
    // It stays found, whatever becomes of the row.
    clock_->advance(25h);
    ASSERT_TRUE(ledger_->collect());
    EXPECT_THAT(problems(), Contains(HasSubstr("are not those that this program wrote")));
}

TEST_F(Tampered, ADeletedCallIsFound) {
    testing::finished_call(*ledger_, owner_, 2, AttemptEnd::ambiguous);
    set_in_file("DELETE FROM calls; DELETE FROM attempts; DELETE FROM results");
    EXPECT_THAT(problems(), Contains(HasSubstr("are not those that this program wrote")));
}

TEST_F(Tampered, ARemovedTombstoneIsFound) {
    testing::finished_call(*ledger_, owner_, 2, AttemptEnd::succeeded);
    clock_->advance(25h);
    ASSERT_TRUE(ledger_->collect());
    set_in_file("DELETE FROM tombstones");
    EXPECT_THAT(problems(), Contains(HasSubstr("are not those that this program wrote")));
}

TEST_F(Tampered, AnAddedTriggerNeverRunsAndIsFound) {
    const Approval approval = testing::open_approval(*ledger_, 1);
    set_in_file("CREATE TRIGGER t AFTER INSERT ON audit BEGIN UPDATE approvals SET state = 'approved'; END");
    testing::finished_call(*ledger_, owner_, 2, AttemptEnd::succeeded);
    EXPECT_EQ(use(approval, 9).approval, ApprovalVerdict::pending);
    EXPECT_THAT(problems(), Contains("the trigger 't' is not one of the ledger's"));
}

TEST_F(Tampered, TheTallyItselfCannotBeSet) {
    testing::finished_call(*ledger_, owner_, 2, AttemptEnd::succeeded);
    EXPECT_EQ(refusal_after("UPDATE meta SET value = x'' WHERE name = 'tally'; DELETE FROM calls"),
              "tampered");
}

TEST_F(Tampered, WhatALedgerNotesAboutItselfCannotBeSet) {
    testing::finished_call(*ledger_, owner_, 2, AttemptEnd::succeeded);
    std::vector<std::string> names;
    ledger_.reset();
    {
        auto database = Database::open(directory_ + "/ledger.db", Access::read_only);
        auto all = database->prepare("SELECT name FROM meta WHERE name <> 'chain_id' AND name <> 'key_id'");
        while (must(all->step())) names.emplace_back(all->text(0));
    }
    EXPECT_THAT(names,
                ::testing::IsSupersetOf({"reached", "latest", "clocks", "boots", "key_ttl", "tombstone_ttl",
                                         "approval_ttl", "mark_dir", "operator_uids"}));
    const std::string whole = std::string(scratch_.path()) + "/whole";
    std::filesystem::copy(directory_, whole, std::filesystem::copy_options::recursive);
    for (const std::string& name : names) {
        for (const char* what :
             {"UPDATE meta SET value = value + 1 WHERE name = '", "DELETE FROM meta WHERE name = '"}) {
            SCOPED_TRACE(what + name);
            EXPECT_EQ(refusal_after(what + name + "'"), "tampered");
            std::filesystem::copy_file(whole + "/ledger.db", directory_ + "/ledger.db",
                                       std::filesystem::copy_options::overwrite_existing);
        }
    }
    open();
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(Tampered, AVersionThatDoesNotFitTheTablesIsCalledThat) {
    for (int version = 0; version < 8; ++version) {
        SCOPED_TRACE(version);
        EXPECT_EQ(refusal_after("PRAGMA user_version = " + std::to_string(version)), "tampered");
    }
}

// As one that has no tally yet would be: then its rows would be counted as they are.
TEST_F(Tampered, ALedgerCannotBeSetBackToAVersionWithoutATally) {
    testing::finished_call(*ledger_, owner_, 2, AttemptEnd::succeeded);
    EXPECT_EQ(refusal_after(std::string("UPDATE calls SET key_hash = NULL;") + testing::kBackToVersion1),
              "tampered");
}

TEST(TamperedUpgrade, NorOneThatWasUpgraded) {
    testing::DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    durable.claim(1, "k");
    durable.settle(1);
    durable.make_older();
    ASSERT_FALSE(durable.open(false));
    durable.close();
    durable.set_in_file(std::string("UPDATE calls SET key_hash = NULL;") + testing::kBackToVersion1);
    EXPECT_EQ(testing::reason_of(durable.open(false)), "tampered");
}

TEST_F(Tampered, ACheckSaysHowMuchItLookedAt) {
    testing::open_approvals(*ledger_, 1, 20);
    const auto report = ledger_->check({});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_GE(report->at("rows").to_number<std::uint64_t>(), 40u);
    EXPECT_GE(report->at("events").to_number<std::uint64_t>(), 20u);
    EXPECT_GT(report->at("rows_per_s").to_number<std::uint64_t>(), 0u);
}

}  // namespace
}  // namespace callgate::ledger
