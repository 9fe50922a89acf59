#include "verb_audit.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator_testing.h"
#include "operator_verb.h"

namespace callgate::cli {
namespace {

using ledger::AttemptEnd;
using ledger::testing::finished_call;
using ::testing::HasSubstr;
using testing::LedgerTest;
using testing::Ran;
using ::testing::StartsWith;

class VerbAudit : public ::testing::TestWithParam<bool> {
protected:
    LedgerTest test{GetParam()};
    os::ScratchDir dir;

    std::string call(std::uint64_t number, AttemptEnd end = AttemptEnd::succeeded) {
        return finished_call(test.ledger(), test.owner(), number, end);
    }
    void ready() {
        if (!GetParam()) test.let_go();
    }
    std::string vkey() const { return text_at(test.json({"audit", "key"}), "key"); }
    std::string file(const std::string& name, std::string_view content) const {
        std::ofstream(dir.file(name)) << content;
        return dir.file(name);
    }
    static std::string content(const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }
};

INSTANTIATE_TEST_SUITE_P(Ledger, VerbAudit, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Owned" : "Free"; });

TEST_P(VerbAudit, EraseSaysWhetherThereWasAnything) {
    const std::string one = call(1);
    ready();
    const Ran erased = test.run({"audit", "erase", one, "--yes"});
    EXPECT_EQ(erased.exit_code, 0) << erased.err;
    EXPECT_THAT(erased.out, HasSubstr("payloads are erased"));
    EXPECT_THAT(erased.out, HasSubstr("its approvals"));
    const Value before = test.json({"audit", "tail", "-n", "1"});
    const Ran again = test.run({"audit", "erase", one, "--yes"});
    EXPECT_EQ(again.exit_code, kNo);
    EXPECT_THAT(again.out, HasSubstr("Nothing is erased"));
    EXPECT_EQ(test.json({"audit", "tail", "-n", "1"}), before) << "what did not happen is not recorded";
}

TEST_P(VerbAudit, TailShowsTheLastEventsOldestFirst) {
    const std::string one = call(1);
    const std::string two = call(2, AttemptEnd::failed);
    ready();
    const Ran ran = test.run({"audit", "tail", "-n", "4"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_LT(ran.out.find("tool_call.succeeded"), ran.out.find("tool_call.failed"));
    const Value last = test.json({"audit", "tail", "-n", "1"}).at("events");
    EXPECT_EQ(last.as_array().size(), 1u);
    EXPECT_EQ(test.json({"audit", "tail", "--type", "tool_call.succeeded"}).at("events").as_array().size(),
              1u);
    const Value of_call = test.json({"audit", "tail", "--call", two}).at("events");
    ASSERT_EQ(of_call.as_array().size(), 2u);
    EXPECT_EQ(of_call.at(1).at("type"), "tool_call.failed");
    EXPECT_EQ(test.json({"audit", "tail", "--call", one, "--type", "tool_call.failed"})
                  .at("events")
                  .as_array()
                  .size(),
              0u);
    EXPECT_THAT(test.run({"audit", "tail", "--type", "nothing"}).out, HasSubstr("no event that fits"));
}

TEST_P(VerbAudit, ShowTellsOneEventOrThoseOfACall) {
    const std::string id = call(1);
    ready();
    const auto number = number_at(test.json({"audit", "show", id}).at("events").at(1), "sequence");
    const Ran ran = test.run({"audit", "show", std::to_string(number)});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("tool_call.succeeded"));
    EXPECT_THAT(ran.out, HasSubstr("hash"));
    EXPECT_EQ(test.run({"audit", "show", "1000000"}).exit_code, 1);
    EXPECT_EQ(test.run({"audit", "show", "01975f2e-7c1a-7000-8000-0123456789ab"}).exit_code, 1);
    EXPECT_EQ(test.run({"audit", "show", "neither"}).exit_code, 2);
}

TEST_P(VerbAudit, WhatIsNeitherANumberNorAnIdIsToldSo) {
    ready();
    for (const char* which : {"0", "1x", "yesterday"})
        EXPECT_EQ(test.run({"audit", "show", which}).exit_code, 2) << which;
}

TEST_P(VerbAudit, WhoLooksLeavesNoEvent) {
    call(1);
    ready();
    const Value before = test.json({"audit", "tail", "-n", "100"});
    EXPECT_EQ(test.run({"approvals", "list"}).exit_code, 0);
    EXPECT_EQ(test.run({"calls", "list"}).exit_code, 0);
    EXPECT_EQ(test.run({"ledger", "check"}).exit_code, 0);
    EXPECT_EQ(test.json({"audit", "tail", "-n", "100"}), before);
}

TEST_P(VerbAudit, AWholeLogVerifiesAndSaysWhatNobodyWitnessed) {
    call(1);
    ready();
    const Ran ran = test.run({"audit", "verify"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("unwitnessed"));
    const Value report = test.json({"audit", "verify", "--key", vkey()});
    EXPECT_EQ(report.at("verdict"), "unwitnessed") << json::write(report);
    EXPECT_EQ(report.at("pinned"), true);
    EXPECT_EQ(test.run({"audit", "verify", "--key", "garbage"}).exit_code, 2);
    EXPECT_EQ(test.run({"audit", "verify", "--witness", dir.file("none")}).exit_code, 2);
    EXPECT_EQ(test.run({"audit", "verify", "--from-export", dir.file("none")}).exit_code, 2);
}

TEST_P(VerbAudit, WhatWasKeptOfCheckpointsIsAWitness) {
    call(1);
    ready();
    std::string kept = test.run({"audit", "checkpoint"}).out;
    const Value one = test.json({"audit", "verify", "--witness", file("one", kept)});
    EXPECT_EQ(one.at("verdict"), "intact") << json::write(one);
    EXPECT_EQ(one.at("witness_notes"), 1);
    kept += "\n" + test.run({"audit", "checkpoint"}).out;
    const Value two = test.json({"audit", "verify", "--witness", file("two", kept)});
    EXPECT_EQ(two.at("verdict"), "intact") << json::write(two);
    EXPECT_EQ(two.at("witness_notes"), 2);
    EXPECT_EQ(two.at("unreadable_witness_lines"), 0);
    const Ran torn = test.run({"audit", "verify", "--witness", file("torn", kept + "callgate/aud")});
    EXPECT_EQ(torn.exit_code, 0) << torn.err;
    EXPECT_THAT(torn.out, HasSubstr("intact"));
    EXPECT_THAT(torn.out, HasSubstr("file that cannot be read: 1"));
    EXPECT_EQ(test.json({"audit", "verify", "--witness", file("torn", kept + "callgate/aud")})
                  .at("unreadable_witness_lines"),
              1);
}

TEST_P(VerbAudit, WhatWasKeptAsJsonIsAWitness) {
    call(1);
    ready();
    const std::string kept = test.run({"audit", "checkpoint", "--json"}).out;
    const Value report = test.json({"audit", "verify", "--witness", file("one", kept)});
    EXPECT_EQ(report.at("verdict"), "intact") << json::write(report);
    EXPECT_EQ(report.at("unreadable_witness_lines"), 0);
}

TEST_P(VerbAudit, OneIsNotMany) {
    call(1);
    ready();
    ASSERT_EQ(test.run({"audit", "archive", "--yes"}).exit_code, 0);
    EXPECT_THAT(test.run({"audit", "archive", "--yes"}).out, HasSubstr("1 event is archived"))
        << "that the others were";
}

TEST_P(VerbAudit, AWitnessOfOnlyWhatWasArchivedIsAnError) {
    call(1);
    ready();
    const std::string witness = file("witness", test.run({"audit", "checkpoint"}).out);
    ASSERT_EQ(test.run({"audit", "rotate-key", "--yes"}).exit_code, 0) << "one more event";
    const Value archived = test.json({"audit", "archive", "--to", dir.path() + "/segments", "--yes"});
    const Ran ran = test.run({"audit", "verify", "--witness", witness});
    EXPECT_EQ(ran.exit_code, 2) << ran.out;
    EXPECT_THAT(ran.err, HasSubstr("Nothing was compared"));
    const std::string segment = text_at(list_at(archived, "segments")[0], "file");
    EXPECT_THAT(test.run({"audit", "verify", "--witness", witness, "--segment", segment}).out,
                HasSubstr("intact"));
}

TEST_P(VerbAudit, AWitnessThatSawMoreThanThereIsFindsWhatWasCutOff) {
    call(1);
    ready();
    const Ran exported = test.run({"audit", "export"});
    ASSERT_EQ(test.run({"audit", "rotate-key", "--yes"}).exit_code, 0) << "one more event";
    const std::string witness = file("witness", test.run({"audit", "checkpoint"}).out);
    const Ran ran =
        test.run({"audit", "verify", "--from-export", file("old", exported.out), "--witness", witness});
    EXPECT_EQ(ran.exit_code, 1) << ran.out;
    EXPECT_THAT(ran.out, HasSubstr("witness_size"));
}

TEST_P(VerbAudit, AWitnessOfNothingIsAnError) {
    call(1);
    ready();
    const std::string foreign = [&] {
        LedgerTest made;
        made.let_go();
        return made.run({"audit", "checkpoint"}).out;
    }();
    const auto refused = [&](std::string_view content) {
        const Ran ran = test.run({"audit", "verify", "--witness", file("witness", content)});
        EXPECT_EQ(ran.exit_code, 2) << ran.out;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, HasSubstr("callgate audit checkpoint"));
        return ran.err;
    };
    EXPECT_THAT(refused(""), HasSubstr("is empty"));
    EXPECT_THAT(refused("garbage\nmore garbage\n"),
                HasSubstr("holds no checkpoint (lines that cannot be read: 2)"));
    const std::string origin = foreign.substr(0, foreign.find('\n'));
    EXPECT_THAT(refused(foreign + "torn"),
                HasSubstr("holds checkpoints of " + origin + ", but none of this log"));
    const Ran ran = test.run({"audit", "verify", "--json", "--witness", file("witness", "garbage\n")});
    EXPECT_EQ(json::parse(ran.out).value().at("error").at("details").at("reason"), "witness_unreadable");
}

TEST_P(VerbAudit, AnotherKeyThanThePinnedOneIsAFault) {
    call(1);
    ready();
    const std::string foreign = [&] {
        LedgerTest made;
        made.let_go();
        return text_at(made.json({"audit", "key"}), "key");
    }();
    const Ran ran = test.run({"audit", "verify", "--key", foreign});
    EXPECT_EQ(ran.exit_code, 1) << ran.out;
    EXPECT_THAT(ran.out, HasSubstr("broken"));
}

TEST_P(VerbAudit, AnExportIsTheWholeLogAndVerifiesElsewhere) {
    call(1);
    call(2);
    ready();
    const std::string path = dir.file("audit.jsonl");
    const Ran ran = test.run({"audit", "export", "-o", path});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(test.run({"audit", "export", "-o", path}).exit_code, 2) << "it is there already";
    const std::string text = content(path);
    EXPECT_THAT(text, StartsWith("{\"callgate_audit\":1"));
    EXPECT_THAT(test.run({"audit", "export"}).out, StartsWith(text)) << "a start adds an event of its own";
    EXPECT_EQ(test.run({"audit", "verify", "--from-export", path, "--key", vkey()}).exit_code, 0);

    std::string edited = text;
    edited.replace(edited.find("send_mail"), 9, "send_mall");
    const Ran bad = test.run({"audit", "verify", "--from-export", file("edited", edited)});
    EXPECT_EQ(bad.exit_code, 1);
    EXPECT_THAT(bad.out, HasSubstr("broken"));
    EXPECT_EQ(test.run({"audit", "verify", "--from-export", file("garbage", "\xFF\x00 garbage")}).exit_code,
              1);
}

TEST_P(VerbAudit, APartOfTheLogGoesToCollectorsInTheirFormat) {
    call(1);
    ready();
    const Ran ran = test.run({"audit", "export", "--format", "cef", "--from", "2", "--to", "3"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, StartsWith("CEF:0|"));
    EXPECT_EQ(std::ranges::count(ran.out, '\n'), 2);
}

TEST_P(VerbAudit, AnEventIsProvenToWhoHasOnlyTheKey) {
    const std::string id = call(1);
    ready();
    const Ran proof = test.run({"audit", "prove", "2"});
    EXPECT_EQ(proof.exit_code, 0) << proof.err;
    const std::string path = file("proof.json", proof.out);
    const Ran good = test.run({"audit", "prove", "--check", path, "--key", vkey()});
    EXPECT_EQ(good.exit_code, 0) << good.err;
    EXPECT_THAT(good.out, HasSubstr("the proof holds"));
    EXPECT_EQ(test.run({"audit", "prove", "--check", path}).exit_code, 2) << "which key?";

    Value changed = json::parse(proof.out).value();
    std::string event(changed.at("event").as_string());
    event.replace(event.find("agent"), 5, "eve77");
    changed.as_object()["event"] = event;
    const Ran bad =
        test.run({"audit", "prove", "--check", file("bad.json", json::write(changed)), "--key", vkey()});
    EXPECT_EQ(bad.exit_code, 1);
    EXPECT_THAT(bad.err, HasSubstr("does not hold"));
    EXPECT_EQ(test.run({"audit", "prove", "1000000"}).exit_code, 1);
    EXPECT_EQ(test.run({"audit", "prove"}).exit_code, 2);
    EXPECT_EQ(test.run({"audit", "prove", "2", "--from", "1", "--to", "2"}).exit_code, 2);
}

TEST_P(VerbAudit, OneCheckpointIsProvenToBeTheBeginningOfAnother) {
    call(1);
    const std::string first = test.ledger().checkpoint().value();
    call(2);
    const std::string second = test.ledger().checkpoint().value();
    const auto size_of = [](const std::string& note) {
        std::istringstream lines(note);
        std::string line;
        std::getline(lines, line);
        std::getline(lines, line);
        return line;
    };
    ready();
    const Ran proof = test.run({"audit", "prove", "--from", size_of(first), "--to", size_of(second)});
    EXPECT_EQ(proof.exit_code, 0) << proof.err;
    const std::string path = file("growth.json", proof.out);
    EXPECT_EQ(test.run({"audit", "prove", "--check", path, "--key", vkey()}).exit_code, 0);
    Value changed = json::parse(proof.out).value();
    changed.as_object()["to"] = changed.at("from");
    EXPECT_EQ(test.run({"audit", "prove", "--check", file("bad.json", json::write(changed)), "--key", vkey()})
                  .exit_code,
              1);
    EXPECT_EQ(test.run({"audit", "prove", "--from", "1", "--to", "999999"}).exit_code, 1);
}

TEST_P(VerbAudit, ACheckpointIsSignedAndARotatedKeyStillVerifies) {
    call(1);
    ready();
    const std::string before = vkey();
    EXPECT_THAT(test.run({"audit", "checkpoint"}).out, StartsWith("callgate/audit/"));
    EXPECT_EQ(test.run({"audit", "rotate-key"}).exit_code, 2) << "nobody can be asked";
    EXPECT_EQ(test.run({"audit", "rotate-key"}, "n\n").exit_code, 1);
    EXPECT_EQ(vkey(), before);
    EXPECT_EQ(test.run({"audit", "rotate-key", "--yes"}).exit_code, 0);
    EXPECT_NE(vkey(), before);
    const Ran ran = test.run({"audit", "verify", "--key", before});
    EXPECT_EQ(ran.exit_code, 0) << "whoever pinned the old one can follow: " << ran.out;
    EXPECT_EQ(test.json({"audit", "tail", "--type", "audit.key_rotated"}).at("events").as_array().size(), 1u);
}

}  // namespace
}  // namespace callgate::cli
