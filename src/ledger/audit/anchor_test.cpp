#include "ledger/audit/anchor.h"

#include <gtest/gtest.h>

#include <callgate/json.h>

#include "base/failpoint.h"
#include "ledger/audit/audit_testing.h"
#include "ledger/audit/export.h"
#include "os/faulty_file_ops.h"
#include "os/files.h"
#include "os/scratch_dir.h"
#include "os/scripted_launcher.h"

namespace callgate::ledger {
namespace {

class AnchorFileTest : public testing::Test {
protected:
    std::vector<std::string> anchored() { return read_witness_file(files, path).value().notes; }

    os::ScratchDir dir;
    os::RealFileOps files;
    os::FaultyFileOps disk{files};
    std::string path = dir.file("anchor.jsonl");
};

TEST_F(AnchorFileTest, KeepsEveryCheckpoint) {
    AnchorFile anchor(disk, path);
    ASSERT_TRUE(anchor.submit("one\n"));
    ASSERT_TRUE(anchor.submit("two\n"));
    ASSERT_TRUE(AnchorFile(disk, path).submit("three\n"));
    EXPECT_EQ(anchored(), (std::vector<std::string>{"one\n", "two\n", "three\n"}));
    EXPECT_EQ(read_witness_file(files, path)->unreadable, 0u);
    EXPECT_EQ(disk.calls(os::FileOp::fdatasync), 3u);
}

TEST_F(AnchorFileTest, PassesOverALineThatWasCutShort) {
    AnchorFile anchor(disk, path);
    ASSERT_TRUE(anchor.submit("one\n"));
    disk.inject(os::FileOp::write, os::FileFault::only(7));
    disk.inject(os::FileOp::write, os::FileFault::fail_with(ENOSPC), 2);
    const auto failed = anchor.submit("two\n");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::audit_failure);
    EXPECT_EQ(failed.error().details.at("errno"), ENOSPC);
    EXPECT_EQ(anchored(), (std::vector<std::string>{"one\n"}));
    ASSERT_TRUE(anchor.submit("two\n"));
    EXPECT_EQ(anchored(), (std::vector<std::string>{"one\n", "two\n"}));
    EXPECT_EQ(read_witness_file(files, path)->unreadable, 1u);
}

TEST_F(AnchorFileTest, SaysWhenItIsNotDurable) {
    AnchorFile anchor(disk, path);
    disk.inject(os::FileOp::fdatasync, os::FileFault::fail_with(EIO));
    EXPECT_FALSE(anchor.submit("one\n"));
    EXPECT_EQ(AnchorFile(disk, dir.file("missing/anchor")).submit("x").error().details.at("reason"),
              "anchor_unwritable");
    EXPECT_FALSE(read_witness_file(files, dir.file("missing")));
}

#ifdef CALLGATE_FAILPOINTS
TEST_F(AnchorFileTest, CanFailBeforeAndAfterWriting) {
    AnchorFile anchor(disk, path);
    base::failpoints().arm("audit.before_anchor", base::FailAction::error);
    EXPECT_FALSE(anchor.submit("one\n"));
    EXPECT_FALSE(files.stat(path));
    base::failpoints().arm("audit.after_anchor", base::FailAction::error);
    EXPECT_FALSE(anchor.submit("one\n"));
    base::failpoints().clear();
    EXPECT_EQ(anchored().size(), 1u);
}
#endif

/// Checkpoints of a log of one, two, … events.
std::vector<std::string> notes_of_a_log(std::size_t count) {
    TestLog log;
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < count; ++i) {
        log.add(usual_facts());
        notes.push_back(log.checkpoint());
    }
    return notes;
}

TEST(ReadWitness, TakesNotesAsTheyArePrintedAndTheLinesOfAnAnchorFile) {
    const auto notes = notes_of_a_log(3);
    for (const std::string& text :
         {notes[0] + notes[1] + notes[2], notes[0] + "\n" + notes[1] + "\n\n\n" + notes[2] + "\n",
          checkpoint_line(notes[0]) + checkpoint_line(notes[1]) + checkpoint_line(notes[2]),
          "\n" + notes[0] + checkpoint_line(notes[1]) + notes[2]}) {
        const WitnessNotes read = read_witness(text);
        EXPECT_EQ(read.notes, notes) << text;
        EXPECT_EQ(read.unreadable, 0u) << text;
    }
    EXPECT_TRUE(read_witness("").notes.empty());
    EXPECT_EQ(read_witness("\n\n").unreadable, 0u);
}

TEST(ReadWitness, TakesWhatTheVerbPrintsAsJson) {
    const auto notes = notes_of_a_log(2);
    const auto document = [&](std::size_t i) { return Value{{"checkpoint", notes[i]}}; };
    for (const std::string& text :
         {json::write_pretty(document(0)) + '\n' + json::write_pretty(document(1)) + '\n',
          json::write(document(0)) + '\n' + json::write(document(1)) + '\n',
          json::write_pretty(document(0)) + '\n' + notes[1]}) {
        const WitnessNotes read = read_witness(text);
        EXPECT_EQ(read.notes, notes) << text;
        EXPECT_EQ(read.unreadable, 0u) << text;
    }
    const WitnessNotes other = read_witness("\"checkpoint\": \"none\"\n{\"checkpoint\": 1}\n");
    EXPECT_TRUE(other.notes.empty());
    EXPECT_EQ(other.unreadable, 2u);
}

TEST(ReadWitness, CountsTheLinesThatAreNeither) {
    const auto notes = notes_of_a_log(2);
    WitnessNotes read = read_witness("# kept by ann\n" + notes[0] + "Monday\n" + notes[1]);
    EXPECT_EQ(read.notes, notes);
    EXPECT_EQ(read.unreadable, 2u);
    read = read_witness("garbage\nand more of it, with no end");
    EXPECT_TRUE(read.notes.empty());
    EXPECT_EQ(read.unreadable, 2u);
}

TEST(ReadWitness, ANoteThatWasCutShortTakesNoOtherWithIt) {
    const auto notes = notes_of_a_log(2);
    for (std::size_t left = 1; left < notes[0].size(); ++left) {
        const std::string cut = notes[0].substr(0, left);
        const WitnessNotes last = read_witness(notes[1] + cut);
        EXPECT_EQ(last.notes, std::vector{notes[1]}) << cut;
        EXPECT_GT(last.unreadable, 0u) << cut;
        const WitnessNotes first = read_witness(cut + "\n" + notes[1]);
        EXPECT_EQ(first.notes.back(), notes[1]) << cut;
        EXPECT_TRUE(first.notes.size() == 2 || first.unreadable > 0) << cut;
    }
}

TEST(WitnessCommand, IsGivenTheNoteOnItsInput) {
    os::ScriptedLauncher launcher;
    launcher.add({});
    ASSERT_TRUE(
        WitnessCommand(launcher, {"send", "--to", "host"}, std::chrono::seconds(5)).submit("the note\n"));
    EXPECT_EQ(launcher.records()[0]->spec.argv, (std::vector<std::string>{"send", "--to", "host"}));
    EXPECT_EQ(launcher.records()[0]->read_input(), "the note\n");
}

TEST(WitnessCommand, SaysWhyACheckpointWasNotTaken) {
    os::ScriptedLauncher launcher;
    os::ProcessScript refuses;
    refuses.exits = os::ExitStatus{3, 0};
    refuses.errors = "disk full\n";
    launcher.add(refuses);
    os::ProcessScript hangs;
    hangs.exits.reset();
    launcher.add(hangs);
    WitnessCommand witness(launcher, {"send"}, std::chrono::milliseconds(10));
    auto failed = witness.submit("note");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().details.at("reason"), "witness_refused");
    EXPECT_NE(failed.error().message.find("exit code 3, disk full"), std::string::npos)
        << failed.error().message;
    failed = witness.submit("note");
    EXPECT_EQ(failed.error().details.at("reason"), "witness_timed_out");
    EXPECT_TRUE(launcher.records()[1]->destroyed);
    EXPECT_FALSE(witness.submit("note")) << "nothing to launch";
}

TEST(WitnessCommand, SurvivesACommandThatDoesNotReadItsInput) {
    os::RealProcessLauncher launcher;
    EXPECT_TRUE(
        WitnessCommand(launcher, {"true"}, std::chrono::seconds(60)).submit(std::string(100'000, 'x')));
    const auto refused = WitnessCommand(launcher, {"false"}, std::chrono::seconds(60)).submit("note");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().details.at("reason"), "witness_refused");
}

}  // namespace
}  // namespace callgate::ledger
