// The audit's beginning in segments: nothing goes before it is safe elsewhere, and what stays goes on from
// there.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "ledger/audit/event_proof.h"
#include "ledger/audit/proof.h"
#include "ledger/audit/segment_file.h"
#include "ledger/audit/verify.h"
#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void make_calls(DurableLedger& durable, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t call = from; call <= to; ++call) {
        ASSERT_FALSE(durable.claim(call, "k" + std::to_string(call)).error);
        ASSERT_TRUE(durable.settle(call).settled.accepted);
    }
}

Object archive(DurableLedger& durable, const std::function<void(ArchiveRequest&)>& change = {}) {
    ArchiveRequest request;
    request.by = "bob";
    if (change) change(request);
    auto done = durable.ledger->archive_audit(request, {});
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return done.value_or(Object());
}

std::vector<std::string> files_in(const Object& report) {
    std::vector<std::string> files;
    for (const Value& one : report.at("segments").as_array()) files.emplace_back(one.at("file").as_string());
    return files;
}

/// Segments, and then what is in the ledger, in one go.
VerifyReport verify_all(DurableLedger& durable, const std::vector<std::string>& segments,
                        VerifyOptions options = {}) {
    ExportVerifier verifier(std::move(options));
    for (const std::string& segment : segments) {
        verifier.feed(content_of(segment));
        verifier.next_file();
    }
    auto reader = durable.ledger->read_audit();
    EXPECT_TRUE(reader);
    EXPECT_TRUE(export_jsonl(**reader, [&](std::string_view piece) -> Result<void> {
        verifier.feed(piece);
        return {};
    }));
    return verifier.finish();
}

VerifyReport verify_file(const std::string& content, VerifyOptions options = {}) {
    ExportVerifier verifier(std::move(options));
    verifier.feed(content);
    return verifier.finish();
}

std::uint64_t rows_in(DurableLedger& durable, const char* table) {
    auto file = Database::open(durable.directory + "/ledger.db", Access::read_only);
    EXPECT_TRUE(file);
    return static_cast<std::uint64_t>(
        file->integer_of(std::string("SELECT count(*) FROM ") + table).value_or(0));
}

TEST(AuditArchive, TakesTheBeginningOutAndWhatStaysGoesOnFromASignedHead) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    make_calls(durable, 1, 20);
    const Object first = archive(durable);
    ASSERT_EQ(files_in(first).size(), 1u);
    EXPECT_GE(first.at("archived").to_number<int>(), 41);
    EXPECT_EQ(rows_in(durable, "audit"), 1u) << "only that it was archived is left";
    EXPECT_EQ(faults_of(*durable.ledger), "");
    const auto checked = durable.ledger->check({});
    ASSERT_TRUE(checked);
    EXPECT_TRUE(checked->at("ok").as_bool()) << json::write(*checked);
    EXPECT_EQ(checked->at("archived_up_to"), first.at("archived"));

    make_calls(durable, 21, 30);
    const auto report = verify_all(durable, {});
    EXPECT_FALSE(report.fault) << report.summary();
    EXPECT_EQ(report.after, first.at("archived").to_number<std::uint64_t>());
    EXPECT_NE(report.summary().find("archived"), std::string::npos);

    const Object second = archive(durable);
    std::vector<std::string> all = files_in(first);
    std::ranges::copy(files_in(second), std::back_inserter(all));
    const auto whole = verify_all(durable, all);
    EXPECT_FALSE(whole.fault) << whole.summary();
    EXPECT_EQ(whole.after, 0u);
    EXPECT_EQ(whole.events, durable.ledger->audit_count());
    EXPECT_EQ(whole.open_calls, 0u);
    EXPECT_EQ(durable.ledger->audit_segments()->at("segments").as_array().size(), 2u);
}

TEST(AuditArchive, ASegmentByItselfIsVerifiedFromItsOwnSignedHead) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    make_calls(durable, 1, 5);
    const std::string one = content_of(files_in(archive(durable))[0]);
    make_calls(durable, 6, 9);
    const std::string two = content_of(files_in(archive(durable))[0]);
    EXPECT_FALSE(verify_file(one).fault);
    const auto report = verify_file(two);
    EXPECT_FALSE(report.fault) << report.summary();
    EXPECT_GT(report.after, 0u);
    EXPECT_EQ(report.events, report.signed_events);
    VerifyOptions pinned;
    pinned.pinned.push_back(*VerifyingKey::parse(report.key));
    EXPECT_FALSE(verify_file(two, pinned).fault);
    EXPECT_TRUE(report.sealed_payloads == 0 || report.payloads >= report.sealed_payloads);
}

TEST(AuditArchive, AWitnessOfOnlyWhatWasArchivedHasComparedNothing) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    make_calls(durable, 1, 3);
    VerifyOptions options;
    options.witnessed.push_back(must(durable.ledger->checkpoint()));
    make_calls(durable, 4, 6);
    const auto segments = files_in(archive(durable));
    make_calls(durable, 7, 7);
    const auto report = verify_all(durable, {}, options);
    EXPECT_EQ(report.verdict(), AuditVerdict::unwitnessed) << report.summary();
    EXPECT_EQ(report.witness_notes, 1u);
    EXPECT_EQ(report.compared_notes, 0u);
    EXPECT_NE(report.summary().find("Nothing was compared"), std::string::npos);
    EXPECT_EQ(verify_all(durable, segments, options).verdict(), AuditVerdict::intact);
}

TEST(AuditArchive, AKeyThatWasChangedInWhatIsArchivedIsFollowedWithItsSegment) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    make_calls(durable, 1, 3);
    VerifyOptions options;
    options.pinned.push_back(
        *VerifyingKey::parse(must(durable.ledger->rotate_audit_key("ada")).at("old_key").as_string()));
    make_calls(durable, 4, 4);
    const auto segments = files_in(archive(durable));
    make_calls(durable, 5, 5);
    const auto report = verify_all(durable, {}, options);
    ASSERT_TRUE(report.fault);
    EXPECT_EQ(report.fault->kind, FaultKind::key);
    EXPECT_NE(report.fault->sentence.find("--segment FILE"), std::string::npos) << report.summary();
    EXPECT_FALSE(verify_all(durable, segments, options).fault);
}

TEST(AuditArchive, AnythingChangedInASegmentIsFound) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    make_calls(durable, 1, 3);
    archive(durable);
    make_calls(durable, 4, 6);
    const std::string whole = content_of(files_in(archive(durable))[0]);
    ASSERT_FALSE(verify_file(whole).fault);
    const std::size_t header = whole.find('\n');
    for (std::size_t at = 0; at < whole.size(); at += at < header ? 3 : 41) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        const auto report = verify_file(changed);
        // A sealed payload's bytes are the seal's to protect.
        const std::size_t line = whole.rfind('\n', at) + 1;
        const std::size_t payloads = whole.find("\"payloads\"", line);
        if (payloads != std::string::npos && payloads < at) continue;
        EXPECT_TRUE(report.fault) << "byte " << at;
    }
    EXPECT_TRUE(verify_file(whole.substr(0, whole.size() - 20)).fault);
}

TEST(AuditArchive, ASegmentThatIsMissingOrOfAnotherPlaceIsFound) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    std::vector<std::string> files;
    for (std::uint64_t i = 0; i < 3; ++i) {
        make_calls(durable, 1 + 4 * i, 4 + 4 * i);
        files.push_back(files_in(archive(durable))[0]);
    }
    EXPECT_FALSE(verify_all(durable, files).fault);
    for (const std::vector<std::string>& wrong : {std::vector<std::string>{files[0], files[2]},
                                                  {files[1], files[0], files[2]},
                                                  {files[0], files[0]},
                                                  {files[0], files[1]}}) {
        const auto report = verify_all(durable, wrong);
        ASSERT_TRUE(report.fault);
        EXPECT_EQ(report.fault->kind, FaultKind::sequence) << report.summary();
    }
}

TEST(AuditArchive, ProofsOfWhatStaysHold) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    make_calls(durable, 1, 150);  // over the edge of a tile
    archive(durable);
    make_calls(durable, 151, 160);
    ASSERT_TRUE(durable.ledger->checkpoint());
    auto reader = durable.ledger->read_audit();
    ASSERT_TRUE(reader);
    const std::uint64_t size = *(*reader)->size();
    const auto head = (*reader)->archived();
    ASSERT_TRUE(head && *head);
    const std::uint64_t archived = parse_checkpoint((*head)->note)->checkpoint.size;
    ASSERT_GT(archived, 256u);
    const std::vector<VerifyingKey> keys{*VerifyingKey::parse((*head)->key)};
    for (std::uint64_t event = archived + 1; event <= size; ++event) {
        const auto proof = prove_event(**reader, event);
        ASSERT_TRUE(proof) << event << ": " << proof.error().message;
        EXPECT_TRUE(check_event_proof(*proof, keys)) << event;
    }
    EXPECT_FALSE(prove_event(**reader, archived));
    EXPECT_TRUE(consistency_proof(**reader, archived, size));
}

TEST(AuditArchive, TheNextStartGoesOnWithTheLog) {
    for (const std::uint64_t calls : {1u, 60u, 127u, 128u, 200u}) {
        DurableLedger durable;
        ASSERT_FALSE(durable.open());
        make_calls(durable, 1, calls);
        const auto files = files_in(archive(durable));
        for (int start = 0; start < 2; ++start) {
            ASSERT_FALSE(durable.open());
            const auto call = 1'000 + static_cast<std::uint64_t>(start);
            make_calls(durable, call, call);
        }
        const auto report = verify_all(durable, files);
        EXPECT_FALSE(report.fault) << calls << ": " << report.summary();
    }
}

TEST(AuditArchive, AKilledOwnersLogIsItsOwnAfterArchiving) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    make_calls(durable, 1, 30);
    archive(durable);
    SqliteOptions options;
    options.directory = left_behind(durable);
    options.watch_past = false;  // it is a copy of one that lives
    options.clock = durable.clock;
    const auto next = SqliteLedger::open(std::move(options));
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(faults_of(**next), "");
}

TEST(AuditArchive, RotatesBySizeAndByTime) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    make_calls(durable, 1, 10);
    EXPECT_EQ(archive(durable, [](ArchiveRequest& request) { request.at_least = 1'000; }).at("archived"), 0);
    EXPECT_EQ(archive(durable, [](ArchiveRequest& request) { request.older_than = std::chrono::hours(24); })
                  .at("archived"),
              0);
    ASSERT_TRUE(durable.ledger->checkpoint());
    const std::uint64_t old = durable.ledger->audit_count();
    durable.clock->advance(std::chrono::hours(25));
    make_calls(durable, 11, 20);
    EXPECT_EQ(archive(durable, [](ArchiveRequest& request) { request.older_than = std::chrono::hours(24); })
                  .at("archived")
                  .to_number<std::uint64_t>(),
              old);
    make_calls(durable, 21, 25);
    const std::uint64_t before = durable.ledger->audit_count();
    const auto kept = archive(durable, [](ArchiveRequest& request) { request.keep_events = 5; });
    EXPECT_GT(kept.at("archived").to_number<std::uint64_t>(), 0u);
    EXPECT_LE(old + kept.at("archived").to_number<std::uint64_t>() + 5, before);
}

// Each segment is an event of its own, which is none of the last that there were.
TEST(AuditArchive, WhatStaysAreTheLastEventsAsTheyWereWhenItBegan) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    for (std::uint64_t call = 1; call <= 6; ++call) {
        make_calls(durable, call, call);
        ASSERT_TRUE(durable.ledger->checkpoint());
    }
    const std::uint64_t before = durable.ledger->audit_count();
    const Object report = archive(durable, [](ArchiveRequest& request) {
        request.keep_events = 5;
        request.max_events = 3;
    });
    EXPECT_GE(report.at("segments").as_array().size(), 3u);
    EXPECT_LE(report.at("archived").to_number<std::uint64_t>(), before - 5);
    for (const Value& one : report.at("segments").as_array())
        EXPECT_LE(one.at("last").to_number<int>() - one.at("first").to_number<int>(), 2);
    EXPECT_EQ(
        archive(durable, [&](ArchiveRequest& request) { request.keep_events = before * 2; }).at("archived"),
        0);
    EXPECT_FALSE(verify_all(durable, files_in(report)).fault);
}

TEST(AuditArchive, SegmentsThatWouldBeSmallerThanFromCheckpointToCheckpointAreRefused) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    make_calls(durable, 1, 3);
    ArchiveRequest request;
    request.max_events = 1;
    const auto refused = durable.ledger->archive_audit(request, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().details.at("reason"), "no_checkpoint");
    request.max_events = refused.error().details.at("max_events").to_number<std::uint64_t>();
    EXPECT_TRUE(durable.ledger->archive_audit(request, {}));
    request.max_events = 1;
    request.keep_events = durable.ledger->audit_count();
    EXPECT_TRUE(durable.ledger->archive_audit(request, {})) << "there is nothing to archive";
}

TEST(AuditArchive, TwoLedgersMayArchiveIntoOneDirectory) {
    DurableLedger one;
    DurableLedger other;
    const std::string shared = one.scratch.file("archive");
    const auto into = [&](ArchiveRequest& request) { request.directory = shared; };
    std::vector<std::string> of_one;
    for (DurableLedger* durable : {&one, &other}) {
        ASSERT_FALSE(durable->open(false));
        make_calls(*durable, 1, 3);
        const auto files = files_in(archive(*durable, into));
        ASSERT_FALSE(files.empty());
        if (durable == &one) of_one = files;
    }
    EXPECT_FALSE(verify_all(one, of_one).fault);
}

// After a restore the same numbers are of other events.
TEST(AuditArchive, WhatAnotherPastHasArchivedIsNotReplaced) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    make_calls(durable, 1, 3);
    const std::string chain = must(durable.ledger->read_audit())->chain_id();
    const std::uint64_t last = durable.ledger->audit_count();
    const std::string name =
        fmt::format("{}/segments/audit-{}-{:012}-{:012}.jsonl", durable.directory, chain, 1, last);
    std::filesystem::create_directory(durable.directory + "/segments");
    std::ofstream(name, std::ios::binary) << "of another past";
    const auto files = files_in(archive(durable));
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(files.front(), name.substr(0, name.size() - 6) + "-2.jsonl");
    EXPECT_EQ(content_of(name), "of another past");
    EXPECT_FALSE(verify_all(durable, files).fault);
}

// Each segment is an event itself: on a disk that is slow enough it would never end.
TEST(AuditArchive, DoesNotRunAfterItsOwnEvents) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    make_calls(durable, 1, 3);
    ArchiveRequest request;
    request.by = "bob";
    const auto sign = [&](std::uint64_t, std::uint64_t) {
        EXPECT_TRUE(durable.ledger->checkpoint());  // as one is after a while
        return true;
    };
    const auto done = durable.ledger->archive_audit(request, sign);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->at("segments").as_array().size(), 1u);
}

TEST(AuditArchive, IsCalledOffBetweenSegmentsToo) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    make_calls(durable, 1, 3);
    ArchiveRequest request;
    request.by = "bob";
    const auto done =
        durable.ledger->archive_audit(request, [](std::uint64_t, std::uint64_t) { return false; });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::cancelled);
}

TEST(AuditArchive, LargeLogsBecomeSeveralSegments) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    for (std::uint64_t i = 0; i < 4; ++i) {
        make_calls(durable, 1 + 10 * i, 10 + 10 * i);
        ASSERT_TRUE(durable.ledger->checkpoint());
    }
    const Object report = archive(durable, [](ArchiveRequest& request) { request.max_events = 25; });
    EXPECT_GE(report.at("segments").as_array().size(), 4u);
    EXPECT_FALSE(verify_all(durable, files_in(report)).fault);
}

TEST(AuditArchive, TheFileGetsSmaller) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    const std::string filler(3'000, 'x');
    for (std::uint64_t call = 1; call <= 300; ++call) {
        ASSERT_FALSE(durable.claim(call, "k" + std::to_string(call)).error);
        ASSERT_TRUE(durable.settle_with(call, Object{{"filler", filler}}).settled.accepted);
    }
    durable.close();
    const auto before = std::filesystem::file_size(durable.directory + "/ledger.db");
    ASSERT_FALSE(durable.open(false));
    archive(durable);
    durable.clock->advance(std::chrono::hours(24 * 60));
    ASSERT_TRUE(durable.ledger->collect());
    ASSERT_TRUE(durable.ledger->collect());
    durable.close();
    const auto after = std::filesystem::file_size(durable.directory + "/ledger.db");
    EXPECT_LT(after, before / 4) << before;
}

TEST(AuditArchive, ThatDidNotReachTheRecordTakesNothingAway) {
    for (const char* place : {"ledger.before_archive", "ledger.after_archive"}) {
        DurableLedger durable;
        ASSERT_FALSE(durable.open());
        make_calls(durable, 1, 5);
        ASSERT_TRUE(durable.ledger->checkpoint());
        const std::uint64_t events = rows_in(durable, "audit");
        ArchiveRequest request;
        {
            base::failpoints().arm(place, base::FailAction::error);
            EXPECT_FALSE(durable.ledger->archive_audit(request, {})) << place;
            base::failpoints().disarm(place);
        }
        EXPECT_EQ(rows_in(durable, "audit"), events);
        EXPECT_EQ(faults_of(*durable.ledger), "");
        EXPECT_TRUE(durable.ledger->archive_audit(request, {}));
        EXPECT_EQ(faults_of(*durable.ledger), "");
    }
}

TEST(AuditArchive, ABrokenLogIsNotArchived) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    make_calls(durable, 1, 5);
    durable.close();
    {
        auto file = Database::open(durable.directory + "/ledger.db", Access::read_write);
        ASSERT_TRUE(file);
        ASSERT_TRUE(file->execute(
            "UPDATE audit SET event = CAST(replace(CAST(event AS TEXT), 'A2', 'A3') AS BLOB) WHERE seq = 3"));
    }
    ASSERT_FALSE(durable.open());
    const std::uint64_t events = rows_in(durable, "audit");
    const auto refused = durable.ledger->archive_audit({}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::audit_failure);
    EXPECT_GE(rows_in(durable, "audit"), events);
}

TEST(AuditArchive, EventsThatWereDeletedCannotBePassedOffAsArchived) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    make_calls(durable, 1, 5);
    archive(durable);
    make_calls(durable, 6, 8);
    durable.close();
    {
        auto file = Database::open(durable.directory + "/ledger.db", Access::read_write);
        ASSERT_TRUE(file);
        ASSERT_TRUE(
            file->execute("UPDATE audit_segments SET last = last + 2; DELETE FROM audit WHERE seq <= "
                          "(SELECT last FROM audit_segments)"));
    }
    if (durable.open()) return;  // refused at start is as good
    const auto checked = durable.ledger->check({});
    EXPECT_TRUE(!checked || !checked->at("ok").as_bool());
}

TEST(AuditArchive, WhatIsErasedInASegmentLeavesItWhole) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open());
    AuditFacts facts;
    facts.type = "tool_call.succeeded";
    facts.call_id = call_id(7);
    facts.detail = "what somebody wants to have erased";
    AuditEvent told(facts);
    Reply reply;
    durable.turn.wait_for(durable.ledger->record(told, reply, durable.turn));
    const std::string file = files_in(archive(durable))[0];
    const std::string before = content_of(file);
    EXPECT_EQ(before.find("somebody"), std::string::npos) << "payloads stay sealed";
    EXPECT_EQ(verify_file(before).sealed_payloads, 1u);
    os::RealFileOps files;
    EXPECT_EQ(erase_in_segment(files, file, call_id(8)).value(), 0u);
    EXPECT_EQ(content_of(file), before);
    EXPECT_EQ(erase_in_segment(files, file, call_id(7)).value(), 1u);
    const auto report = verify_file(content_of(file));
    EXPECT_FALSE(report.fault) << report.summary();
    EXPECT_EQ(report.erased_payloads, 1u);
    EXPECT_EQ(report.sealed_payloads, 0u);
    EXPECT_LT(content_of(file).size(), before.size());
}

}  // namespace
}  // namespace callgate::ledger::testing
