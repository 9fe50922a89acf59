#include "verb_call.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <streambuf>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/json.h>
#include <callgate/runtime.h>

#include "call_report.h"
#include "os/scratch_dir.h"
#include "program.h"
#include "program_testing.h"
#include "progress_line.h"

namespace callgate::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Ran;

const std::string kMail = R"({"to": ["ada@example.org"], "subject": "Hi"})";

Ran run(std::vector<std::string> arguments, std::string typed = {}, bool at_terminal = false) {
    std::ostringstream out;
    std::ostringstream err;
    std::istringstream in(typed);
    Console console{out, err, {}, {}};
    if (at_terminal) {
        console.err_terminal.is_terminal = true;
        console.person = &in;
    }
    arguments.insert(arguments.begin(), "call");
    if (std::ranges::find(arguments, "--ledger") == arguments.end())
        arguments.insert(arguments.end(), {"--ledger", "memory"});
    const int exit_code = run_program(arguments, console);
    return {exit_code, out.str(), err.str()};
}

TEST(VerbCall, TheResultGoesToStandardOutputAndTheVerdictToStandardError) {
    const Ran ran = run({"add", R"({"a": 5, "b": 3})"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.out, "8\n");
    EXPECT_EQ(ran.err, "✓ add: succeeded\n");
}

struct ExitCase {
    std::vector<std::string> arguments;
    int exit_code;
    std::string state;
    std::string says;
};

TEST(VerbCall, ExitCodesSayWhatBecameOfTheCall) {
    const std::vector<ExitCase> cases = {
        {{"add", R"({"a": 1, "b": 2})"}, 0, "succeeded", "succeeded"},
        {{"add", R"({"a": "1", "b": 2})"}, 0, "succeeded", "succeeded"},
        {{"flaky", R"({"failures": 2})"}, 0, "succeeded", "at attempt 3"},
        {{"flaky", R"({"failures": 9})"}, 1, "failed", "4 attempts"},
        {{"fail"}, 1, "failed", "The disk is full."},
        {{"fail", R"({"how": "throw", "message": "boom"})"}, 1, "failed", "boom"},
        {{"ad"}, 3, "not_found", "Did you mean: add?"},
        {{"add", "{"}, 3, "invalid", "     1 | {"},
        {{"add", "[1, 2]"}, 3, "invalid", "not an array"},
        {{"add", "7"}, 3, "invalid", "must be a JSON object"},
        {{"add"}, 3, "invalid", "Missing required parameter: a"},
        {{"add", R"({"a": 1, "b": 2, "c": 3})"}, 3, "invalid", "Unknown parameter: c"},
        {{"notes", R"({"name": "todo"})", "--action", "read"}, 3, "scope_denied", "--scope notes"},
        {{"notes", R"({"name": "todo"})", "--scope", "notes"}, 3, "invalid", "--action"},
        {{"notes", R"({"name": "todo"})", "--action", "read", "--scope", "notes"}, 0, "succeeded", ""},
        {{"add", R"({"a": 1, "b": 2})", "--autonomy", "A0"}, 3, "previewed", "does not support"},
        {{"add", R"({"a": 1, "b": 2})", "--autonomy", "A1"}, 4, "needs_approval", "--approve-as"},
        {{"send_mail", kMail}, 4, "needs_approval", "--approve-as NAME"},
        {{"send_mail", R"({"to": ["a@x.org", "b@x.org"], "subject": "Hi"})"}, 3, "denied", "critical"},
        {{"send_mail", kMail, "--autonomy", "A4"}, 0, "succeeded", ""},
        {{"fail", R"({"how": "lost"})"}, 5, "unknown", "Find out before you call again"},
    };
    for (const ExitCase& one : cases) {
        const Ran ran = run(one.arguments);
        EXPECT_EQ(ran.exit_code, one.exit_code) << ran.err;
        EXPECT_THAT(ran.err, HasSubstr(one.says));
        EXPECT_EQ(ran.out.empty(), one.exit_code != 0) << ran.out;

        auto with_json = one.arguments;
        with_json.emplace_back("--json");
        const Ran json = run(with_json);
        EXPECT_EQ(json.exit_code, one.exit_code);
        EXPECT_EQ(json.err, "");
        EXPECT_EQ(json.answer().at("state"), Value(one.state));
        EXPECT_EQ(json.answer().at("success"), one.exit_code == 0);
        EXPECT_EQ(json.answer().at("error").is_null(), one.exit_code == 0);
    }
}

TEST(VerbCall, JsonHasWhatACallerNeedsToGoOn) {
    const Value answer = run({"add", R"({"a": 1, "b": 2})", "--json"}).answer();
    EXPECT_EQ(answer.at("tool_name"), "add");
    EXPECT_EQ(answer.at("content"), 3);
    EXPECT_EQ(answer.at("arguments"), (Value{{"a", 1}, {"b", 2}}));
    EXPECT_EQ(answer.at("call_id").as_string().size(), 36u);
    EXPECT_EQ(answer.at("attempts"), 1);
    EXPECT_EQ(answer.at("replayed"), false);
    EXPECT_EQ(answer.at("safe_new_key"), false) << "it has been done";
    EXPECT_TRUE(answer.at("approval").is_null());
    EXPECT_EQ(answer.as_object().if_contains("trace"), nullptr);

    const Value asked = run({"send_mail", kMail, "--json"}).answer();
    EXPECT_EQ(asked.at("approval").at("state"), "pending");
    EXPECT_EQ(asked.at("approval").at("risk"), "high");
    EXPECT_EQ(asked.at("error").at("code"), "approval_required");
    EXPECT_EQ(asked.at("error").at("details").as_object().if_contains("how_to_approve"), nullptr);
    EXPECT_THAT(asked.at("preview").at("summary").as_string().c_str(), HasSubstr("Would send 'Hi'"));
    EXPECT_EQ(run({"fail", R"({"how": "lost"})", "--json"}).answer().at("safe_new_key"), false);
}

TEST(VerbCall, ACallThatNeedsApprovalOutlivesTheProgram) {
    const os::ScratchDir dir;
    const std::string ledger = dir.file("ledger");
    const auto operators = [&](std::vector<std::string> arguments, std::string typed = {}) {
        std::ostringstream out;
        std::ostringstream err;
        std::istringstream in(typed);
        Console console{out, err, {}, {}};
        console.err_terminal.is_terminal = true;
        console.person = &in;
        arguments.insert(arguments.end(), {"--ledger", ledger});
        return run_program(arguments, console);
    };
    const Ran asked = run({"send_mail", kMail, "--ledger", ledger});
    EXPECT_EQ(asked.exit_code, 4);
    EXPECT_THAT(asked.err, HasSubstr("callgate approvals approve "));
    const Value again = run({"send_mail", kMail, "--ledger", ledger, "--json"}).answer();
    const std::string approval(again.at("approval").at("id").as_string());
    EXPECT_THAT(asked.err, HasSubstr(approval)) << "the same call joins the open approval";
    EXPECT_EQ(again.at("error").at("details").at("how_to_approve"),
              Value("callgate approvals approve " + approval + " --ledger '" + ledger + "'"));

    const std::string call_id(again.at("call_id").as_string());
    EXPECT_EQ(run({"--resume", call_id, "--ledger", ledger}).exit_code, 4) << "nobody has decided yet";
    EXPECT_EQ(operators({"approvals", "approve", approval}, "y\n"), 0);
    const Ran resumed = run({"--resume", call_id, "--ledger", ledger}, "n\n", true);
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(resumed.err, "✓ send_mail: succeeded\n") << "there is nothing left to ask";
    EXPECT_EQ(resumed.out, "sent 'Hi' to ada@example.org\n");
    EXPECT_EQ(run({"--resume", call_id, "--ledger", ledger}).exit_code, 3) << "an approval serves once";
}

TEST(VerbCall, CallingAgainAfterAnApprovalRunsIt) {
    const os::ScratchDir dir;
    const std::string ledger = dir.file("ledger");
    const Value asked = run({"send_mail", kMail, "--ledger", ledger, "--json"}).answer();
    std::ostringstream out;
    const Console console{out, out, {}, {}};
    const Value shown = [&] {
        EXPECT_EQ(run_program({"approvals", "list", "--json", "--ledger", ledger}, console), 0);
        return json::parse(out.str()).value();
    }();
    EXPECT_EQ(
        run_program({"approvals", "approve", std::string(asked.at("approval").at("id").as_string()), "--yes",
                     "--digest", std::string(shown.at("approvals").at(0).at("digest").as_string()),
                     "--ledger", ledger},
                    console),
        0);
    EXPECT_EQ(run({"send_mail", kMail, "--ledger", ledger}).out, "sent 'Hi' to ada@example.org\n");
}

TEST(VerbCall, AKeyIsRememberedFromRunToRun) {
    const os::ScratchDir dir;
    const std::vector<std::string> call = {"add",      R"({"a": 1, "b": 2})", "--key", "k",
                                           "--ledger", dir.file("ledger"),    "--json"};
    EXPECT_EQ(run(call).answer().at("replayed"), false);
    const Value again = run(call).answer();
    EXPECT_EQ(again.at("replayed"), true);
    EXPECT_EQ(again.at("content"), 3);
}

TEST(VerbCall, ALedgerThatAnotherProcessOwnsIsToldSo) {
    const os::ScratchDir dir;
    RuntimeOptions options;
    options.ledger_dir = dir.file("ledger");
    const auto owner = Runtime::open(options);
    ASSERT_TRUE(owner);
    const Ran ran = run({"add", R"({"a": 1, "b": 2})", "--ledger", options.ledger_dir});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("owns"));
}

TEST(VerbCall, AnOwnerWhoGoesSoonIsWaitedFor) {
    const os::ScratchDir dir;
    RuntimeOptions options;
    options.ledger_dir = dir.file("ledger");
    auto owner = Runtime::open(options);
    ASSERT_TRUE(owner);
    Ran ran;
    std::thread calls([&] { ran = run({"add", R"({"a": 1, "b": 2})", "--ledger", options.ledger_dir}); });
    owner->reset();
    calls.join();
    EXPECT_EQ(ran.out, "3\n") << ran.err;
}

// A person's answer, before which something else happens.
class Meanwhile : public std::streambuf {
public:
    Meanwhile(std::function<void()> first, std::string answer)
        : first_(std::move(first)), answer_(std::move(answer)) {}

private:
    int_type underflow() override {
        if (!first_) return traits_type::eof();
        std::exchange(first_, nullptr)();
        setg(answer_.data(), answer_.data(), answer_.data() + answer_.size());
        return traits_type::to_int_type(answer_.front());
    }

    std::function<void()> first_;
    std::string answer_;
};

TEST(VerbCall, WhereSomebodyElseWasFasterAYesGoesOnAndANoDoesNot) {
    for (const bool yes : {true, false}) {
        const os::ScratchDir dir;
        const std::string ledger = dir.file("ledger");
        Meanwhile answer(
            [&] {
                std::ostringstream out;
                const Console console{out, out, {}, {}};
                ASSERT_EQ(run_program({"approvals", "list", "--json", "--ledger", ledger}, console), 0);
                const Value one = json::parse(out.str()).value().at("approvals").at(0);
                EXPECT_EQ(
                    run_program({"approvals", "approve", std::string(one.at("id").as_string()), "--yes",
                                 "--digest", std::string(one.at("digest").as_string()), "--ledger", ledger},
                                console),
                    0)
                    << out.str();
            },
            yes ? "y\n" : "n\n");
        std::istream in(&answer);
        std::ostringstream out;
        std::ostringstream err;
        Console console{out, err, {}, {}};
        console.err_terminal.is_terminal = true;
        console.person = &in;
        EXPECT_EQ(run_program({"call", "send_mail", kMail, "--ledger", ledger}, console), yes ? 0 : 4);
        EXPECT_EQ(out.str(), yes ? "sent 'Hi' to ada@example.org\n" : "");
        if (!yes) {
            EXPECT_THAT(err.str(), HasSubstr("callgate approvals revoke "));
        }
    }
}

TEST(VerbCall, WhatIsKeptHasNoApprovalByWhoWasOnlyNamed) {
    const os::ScratchDir dir;
    const Ran ran = run({"send_mail", kMail, "--approve-as", "grace", "--ledger", dir.file("ledger")});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.err, HasSubstr("callgate approvals approve"));
}

TEST(VerbCall, AnUnknownOutcomeComesWithTheWayToResolveIt) {
    const os::ScratchDir dir;
    const Ran ran = run({"fail", R"({"how": "lost"})", "--ledger", dir.file("ledger")});
    EXPECT_EQ(ran.exit_code, 5);
    EXPECT_THAT(ran.err, HasSubstr("callgate calls resolve "));
    EXPECT_THAT(run({"fail", R"({"how": "lost"})"}).err, Not(HasSubstr("calls resolve")));
}

TEST(VerbCall, WhereAnEarlierCallWithTheKeyIsUnknownItIsThatOneThatCanBeResolved) {
    const os::ScratchDir dir;
    const std::vector<std::string> asked{"fail", R"({"how": "lost"})", "--key",
                                         "k",    "--ledger",           dir.file("ledger")};
    const auto told = [](const Ran& ran) {
        const std::size_t at = ran.err.find("callgate calls resolve ");
        return at == std::string::npos ? std::string() : ran.err.substr(at, ran.err.find(' ', at + 24) - at);
    };
    const std::string first = told(run(asked));
    EXPECT_NE(first, "");
    const Ran again = run(asked);
    EXPECT_EQ(again.exit_code, 5);
    EXPECT_EQ(told(again), first);
}

Ran on_ledger(std::vector<std::string> arguments, const std::string& ledger) {
    std::ostringstream out;
    std::ostringstream err;
    const Console console{out, err, {}, {}};
    arguments.insert(arguments.end(), {"--ledger", ledger});
    const int exit_code = run_program(arguments, console);
    return {exit_code, out.str(), err.str()};
}

TEST(VerbCall, ARepeatOfAnUnknownCallLeadsToTheOneThatCanBeResolved) {
    const os::ScratchDir dir;
    const std::string ledger = dir.file("ledger");
    const std::vector<std::string> asked{"fail",  R"({"how": "lost"})", "--key", "k", "--ledger", ledger,
                                         "--json"};
    const std::string first(run(asked).answer().at("call_id").as_string());
    run({"fail", R"({"how": "lost"})", "--key", "other", "--ledger", ledger});
    const std::string second(run(asked).answer().at("call_id").as_string());
    const Ran shown = on_ledger({"calls", "show", second}, ledger);
    EXPECT_THAT(shown.out, HasSubstr("fail: refused"));
    EXPECT_THAT(shown.out, HasSubstr("callgate calls resolve " + first));
    EXPECT_THAT(shown.out, Not(HasSubstr("calls resolve " + second)));
    const auto resolve = [&](const std::string& id) {
        return on_ledger({"calls", "resolve", id, "--not-applied", "--evidence", "x", "--yes"}, ledger);
    };
    const Ran refused = resolve(second);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr(first));
    EXPECT_EQ(resolve(first).exit_code, 0);
    EXPECT_THAT(on_ledger({"calls", "show", second}, ledger).out, HasSubstr(first + ", is not_applied"));
}

TEST(VerbCall, AKeyThatARestoreHoldsComesWithWhatEndsThat) {
    const os::ScratchDir dir;
    const std::string ledger = dir.file("ledger");
    const std::vector<std::string> held{"add", R"({"a": 7, "b": 2})", "--key", "q", "--ledger", ledger};
    EXPECT_EQ(run({"add", R"({"a": 1, "b": 2})", "--key", "k", "--ledger", ledger}).exit_code, 0);
    ASSERT_EQ(on_ledger({"ledger", "restore", "--anyway", "--yes"}, ledger).exit_code, 0);
    const Ran ran = run(held);
    EXPECT_EQ(ran.exit_code, 5);
    EXPECT_THAT(ran.err, Not(HasSubstr("calls resolve")));
    EXPECT_THAT(ran.err, HasSubstr("It is held until 2"));
    EXPECT_THAT(ran.err,
                HasSubstr("callgate ledger restore --accept-new-keys --ledger '" + ledger + "' --because"));
    auto as_json = held;
    as_json.emplace_back("--json");
    const std::string call(run(as_json).answer().at("call_id").as_string());
    const Ran shown = on_ledger({"calls", "show", call}, ledger);
    EXPECT_THAT(shown.out, HasSubstr("add: refused"));
    EXPECT_THAT(shown.out, HasSubstr("callgate ledger restore --accept-new-keys"));
    EXPECT_THAT(shown.out, Not(HasSubstr("calls resolve")));
    ASSERT_EQ(
        on_ledger({"ledger", "restore", "--accept-new-keys", "--because", "x", "--yes"}, ledger).exit_code,
        0);
    EXPECT_EQ(run(held).exit_code, 0) << "the hint holds";
}

TEST(VerbCall, TheWayToResumeIsThatOfWhoAskedWithWhatTheyWereGranted) {
    const os::ScratchDir dir;
    const std::string ledger = dir.file("it's");
    const Ran asked = run({"send_mail", kMail, "--principal", "ann lee", "--scope", "notes", "--scope", "a b",
                           "--autonomy", "A1", "--ledger", ledger});
    ASSERT_EQ(asked.exit_code, 4);
    const std::string rest = " --ledger '" + dir.file("it'\\''s") +
                             "' --principal 'ann lee' --scope 'a b' --scope notes --autonomy A1\n";
    const auto way = [](const std::string& text) {
        const std::size_t at = text.find("callgate call --resume ");
        return at == std::string::npos ? std::string() : text.substr(at + 59);
    };
    const Value one = on_ledger({"approvals", "list", "--json"}, ledger).answer().at("approvals").at(0);
    const Ran approved = on_ledger({"approvals", "approve", std::string(one.at("id").as_string()), "--yes",
                                    "--digest", std::string(one.at("digest").as_string())},
                                   ledger);
    EXPECT_EQ(way(approved.out), rest) << approved.err;
    EXPECT_THAT(asked.err, HasSubstr("--principal 'ann lee' --scope notes --scope 'a b' --autonomy A1\n"));
}

TEST(VerbCall, NeedsANameOrACallToResume) {
    EXPECT_EQ(run({}).exit_code, 2);
    EXPECT_EQ(run({"add", "{}", "--resume", "x"}).exit_code, 2);
    const Ran none = run({"--resume", "01975f2e-7c1a-7000-8000-0123456789ab"});
    EXPECT_EQ(none.exit_code, 3);
    EXPECT_THAT(none.err, HasSubstr("No call of yours with this id waits for an approval."));
    const os::ScratchDir dir;
    const std::string ledger = dir.file("ledger");
    EXPECT_EQ(run({"add", R"({"a": 1, "b": 2})", "--ledger", ledger}).exit_code, 0);
    for (const std::string id : {"dead", "zzzz", "01975f2e-7c1a-7000-8000-0123456789ab"})
        EXPECT_EQ(run({"--resume", id, "--ledger", ledger}).exit_code, 3) << id;
}

TEST(VerbCall, TheTraceShowsEachStage) {
    const Ran ran = run({"add", R"({"a": 1, "b": 2})", "--trace"});
    EXPECT_EQ(ran.out, "3\n");
    std::size_t at = 0;
    for (const std::string stage : {"stage", "resolve", "authorize", "validate", "classify", "gate", "claim",
                                    "dispatch", "shape", "settle"}) {
        const std::size_t found = ran.err.find("  " + stage + " ", at);
        ASSERT_NE(found, std::string::npos) << stage << "\n" << ran.err;
        at = found;
    }
    const Value trace = run({"ad", "--trace", "--json"}).answer().at("trace");
    EXPECT_EQ(trace.as_array().front().at("stage"), "resolve");
    EXPECT_EQ(trace.as_array().front().at("decision"), "not_found");
}

TEST(VerbCall, AnotherPersonApprovesAndTheCallGoesOn) {
    const Ran ran = run({"send_mail", kMail, "--approve-as", "grace"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.out, "sent 'Hi' to ada@example.org\n");
    EXPECT_THAT(ran.err, HasSubstr("needs approval"));
    EXPECT_THAT(ran.err, HasSubstr("grace approves"));
    const Value answer = run({"send_mail", kMail, "--approve-as", "grace", "--json"}).answer();
    EXPECT_EQ(answer.at("approval").at("state"), "consumed");
    EXPECT_EQ(answer.at("approval").at("votes").as_array().front().at("approver"), "grace");
}

TEST(VerbCall, WhoAsksCannotApprove) {
    const Ran ran = run({"send_mail", kMail, "--principal", "eve", "--approve-as", "Eve"});
    EXPECT_EQ(ran.exit_code, 4);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("cannot decide it"));
    const Ran json = run({"send_mail", kMail, "--approve-as", "local", "--json"});
    EXPECT_EQ(json.exit_code, 4);
    EXPECT_EQ(json.answer().at("error").at("details").at("reason"), "self_approval");
}

TEST(VerbCall, OnATerminalYouAreAsked) {
    const Ran yes = run({"send_mail", kMail}, "y\n", true);
    EXPECT_EQ(yes.exit_code, 0);
    EXPECT_THAT(yes.err, HasSubstr("Approve? [y/N] "));
    EXPECT_EQ(yes.out, "sent 'Hi' to ada@example.org\n");
    for (const std::string no : {"n\n", "no\n", "d\n"}) {
        const Ran refused = run({"send_mail", kMail}, no, true);
        EXPECT_EQ(refused.exit_code, 3);
        EXPECT_EQ(refused.out, "");
        EXPECT_THAT(refused.err, HasSubstr("A person refused this call."));
    }
    for (const std::string nothing : {"\n", "of course not\n"}) {
        const Ran open = run({"send_mail", kMail}, nothing, true);
        EXPECT_EQ(open.exit_code, 4) << "only a no denies";
        EXPECT_THAT(open.err, HasSubstr("Nothing was decided"));
    }
    const Ran silence = run({"send_mail", kMail}, "", true);
    EXPECT_EQ(silence.exit_code, 4) << "nobody decided";
    EXPECT_THAT(run({"send_mail", kMail, "--json"}, "y\n", true).err, Not(HasSubstr("Approve?")));
}

TEST(VerbCall, WhatIsCutIsNamedAndCanBeSeenBeforeItIsApproved) {
    std::string lorem;
    for (int i = 0; i < 300; ++i) lorem += "lorem ipsum ";
    const std::string arguments = json::write(Object{{"text", lorem + "THE END"}, {"name", "the name"}});
    const std::vector<std::string> call = {"notes", arguments, "--action", "delete", "--scope", "notes"};
    const Ran cut = run(call, "y\n", true);
    EXPECT_EQ(cut.exit_code, 1) << "it ran; there is no such note";
    for (const std::string text :
         {"the name", "THE END", "/text is cut: it has 3607 bytes", "f shows all of it"})
        EXPECT_THAT(cut.err, HasSubstr(text));
    EXPECT_THAT(cut.err, Not(HasSubstr(lorem)));
    const Ran whole = run(call, "f\nn\n", true);
    EXPECT_EQ(whole.exit_code, 3);
    EXPECT_THAT(whole.err, HasSubstr(lorem));
    EXPECT_THAT(run(call).err, HasSubstr("--json shows all of it."));
}

TEST(VerbCall, ProgressIsALineEachWhereThereIsNoTerminal) {
    const Ran ran = run({"count", R"({"to": 2, "step_ms": 0})"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(
        ran.err,
        "count: counted to 1 (1 of 2, 50 %)\ncount: counted to 2 (2 of 2, 100 %)\n✓ count: succeeded\n");
    EXPECT_EQ(run({"count", R"({"to": 2, "step_ms": 0})", "--json"}).err, "");
}

TEST(VerbCall, ProgressIsWrittenOverOnATerminal) {
    const Ran ran = run({"count", R"({"to": 2, "step_ms": 0})"}, "", true);
    EXPECT_THAT(ran.err, HasSubstr("\rcount: counted to 1 (1 of 2, 50 %)"));
    EXPECT_THAT(ran.err, HasSubstr(" \r✓ count: succeeded"));

    std::ostringstream stream;
    Terminal narrow;
    narrow.is_terminal = true;
    narrow.width = 20;
    ProgressLine line(stream, narrow);
    Progress progress;
    progress.tool = "t";
    progress.message = "a long story \x1b[2J that does not fit";
    line.show(progress);
    progress.message = "short";
    line.show(progress);
    line.clear();
    EXPECT_EQ(stream.str(), "\rt: a long story …\rt: short         \r        \r");
}

TEST(VerbCall, ADeadlineEndsASlowTool) {
    const Ran ran = run({"count", R"({"to": 1000, "step_ms": 10000})", "--timeout", "20"});
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_THAT(ran.err, HasSubstr("--timeout MS gives it longer"));
}

TEST(VerbCall, WhatAToolSaysCannotWriteToTheTerminal) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"fail", R"({"message": "\u001b[2J\u202e"})"},
             {"send_mail", R"({"to": ["\u001b[2J"], "subject": "\u001b]0;x\u0007"})", "--approve-as",
              "\x1b[2Jx"},
             {"\x1b[2J"},
             {"add", "{\"\x1b[2J"},
             {"notes", R"({"name": "\u001b[2J"})", "--scope", "notes", "--action", "\x1b[2J"}}) {
        const Ran ran = run(arguments);
        for (const std::string bad : {"\x1b", "\x07", "\u202e"})
            EXPECT_THAT(ran.out + ran.err, Not(HasSubstr(bad)));
    }
}

TEST(VerbCall, EveryStateHasAnExitCode) {
    OutcomeData data;
    for (std::size_t i = 0; i < kStateCount; ++i) {
        data.state = static_cast<State>(i);
        data.succeeded = data.state == State::succeeded;
        data.error = Error(ErrorCode::internal, "x");
        const Outcome outcome(data);
        EXPECT_EQ(exit_of(outcome) == CallExit::ok, data.succeeded);
        EXPECT_NE(exit_of(outcome), CallExit::unusable);
        EXPECT_THAT(to_text(outcome, std::nullopt, Style()), HasSubstr("call: "));
    }
}

}  // namespace
}  // namespace callgate::cli
