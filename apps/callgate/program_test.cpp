#include "program.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <callgate/json.h>

#include "options.h"
#include "program_testing.h"

namespace callgate::cli {
namespace {

using testing::Ran;

Ran run_line(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    const Console console{out, err, {}, {}};
    const int exit_code = run_program(arguments, console);
    return {exit_code, out.str(), err.str()};
}

TEST(Program, HelpIsWhatComesWithoutAVerb) {
    const Ran bare = run_line({});
    EXPECT_EQ(bare.exit_code, 0);
    EXPECT_NE(bare.out.find("Usage: callgate VERB"), std::string::npos);
    EXPECT_EQ(run_line({"--help"}).out, bare.out);
    EXPECT_EQ(run_line({"-h"}).out, bare.out);
}

TEST(Program, VersionIsOneLine) {
    EXPECT_EQ(run_line({"--version"}).out, "callgate " CALLGATE_VERSION "\n");
    EXPECT_EQ(run_line({"--version"}).exit_code, 0);
}

// Every verb that does something, by its words.
std::vector<std::vector<std::string>> all_verbs() {
    static std::ostringstream sink;
    static const Console console{sink, sink, {}, {}};
    static const auto program = make_program(console);
    std::vector<std::vector<std::string>> out;
    const auto walk = [&](const auto& self, const Verb& verb, std::vector<std::string> words) -> void {
        if (!verb.is_group()) out.push_back(words);
        for (const Verb& one : verb.verbs()) {
            auto deeper = words;
            deeper.push_back(one.name());
            self(self, one, std::move(deeper));
        }
    };
    walk(walk, *program, {});
    return out;
}

const Verb& verb_of(const Verb& program, const std::vector<std::string>& words) {
    const Verb* verb = &program;
    for (const std::string& word : words) verb = verb->find(word);
    return *verb;
}

std::string help_of(std::vector<std::string> verb) {
    verb.emplace_back("--help");
    return run_line(verb).out;
}

TEST(Program, EveryVerbHasItsOwnHelp) {
    EXPECT_GE(all_verbs().size(), 38u);
    for (const auto& verb : all_verbs()) {
        const std::string help = help_of(verb);
        EXPECT_NE(help.find("Usage: callgate " + verb.front()), std::string::npos) << help;
        EXPECT_NE(help.find("Exit codes"), std::string::npos) << verb.back();
        EXPECT_NE(help.find("Examples"), std::string::npos) << verb.back();
    }
    EXPECT_NE(help_of({"policy"}).find("lint"), std::string::npos);
}

TEST(Program, HelpNamesEveryOptionAndNoOther) {
    std::ostringstream sink;
    const Console console{sink, sink, {}, {}};
    const auto program = make_program(console);
    for (const auto& words : all_verbs()) {
        const std::string help = help_of(words);
        std::size_t options = 1;  // --help
        for (const Option& option : verb_of(*program, words).options()) {
            EXPECT_FALSE(option.help.empty()) << option.names;
            EXPECT_NE(help.find("\n  " + option.shown()), std::string::npos) << option.names;
            if (!option.is_positional()) ++options;
        }
        std::size_t described = 0;
        for (std::size_t at = help.find("\n  -"); at != std::string::npos; at = help.find("\n  -", at + 1))
            ++described;
        EXPECT_EQ(described, options) << words.back();
    }
}

TEST(Program, HelpFitsATerminal) {
    std::vector<std::vector<std::string>> verbs = all_verbs();
    for (const char* group : {"", "policy", "secrets", "approvals", "operator", "calls", "audit", "ledger"})
        verbs.push_back(*group == '\0' ? std::vector<std::string>{} : std::vector<std::string>{group});
    for (const auto& verb : verbs) {
        std::istringstream lines(help_of(verb));
        for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 80u) << line;
    }
}

TEST(Program, HelpIsAVerbToo) {
    EXPECT_EQ(run_line({"help"}).out, run_line({"--help"}).out);
    for (const auto& verb : all_verbs()) {
        std::vector<std::string> words = verb;
        words.insert(words.begin(), "help");
        EXPECT_EQ(run_line(words).out, help_of(verb)) << verb.back();
    }
    const Ran none = run_line({"help", "aproval"});
    EXPECT_EQ(none.exit_code, kUnusable);
    EXPECT_NE(none.err.find("Did you mean approvals?"), std::string::npos) << none.err;
    EXPECT_EQ(run_line({"help", "call", "list"}).exit_code, kUnusable);
}

TEST(Program, VersionIsAVerbToo) {
    EXPECT_EQ(run_line({"version"}).out, run_line({"--version"}).out);
    EXPECT_EQ(json::parse(run_line({"version", "--json"}).out).value().at("version"), CALLGATE_VERSION);
}

TEST(Program, AnUnknownVerbIsCalledThat) {
    for (const std::vector<std::string>& line :
         std::vector<std::vector<std::string>>{{"bogus"}, {"bogus", "more"}, {"calls", "bogus"}}) {
        const Ran ran = run_line(line);
        EXPECT_EQ(ran.exit_code, kUnusable);
        EXPECT_NE(ran.err.find("There is no such verb"), std::string::npos) << ran.err;
    }
    EXPECT_NE(run_line({"aprovals", "list"}).err.find("Did you mean approvals?"), std::string::npos);
    // What there is, where nothing is near; and no word on options, which another verb may have.
    const std::string none = run_line({"bogus", "--json"}).out;
    EXPECT_NE(none.find("The verbs are validate, tools, call, "), std::string::npos) << none;
    EXPECT_EQ(none.find("There is no option"), std::string::npos) << none;
    EXPECT_EQ(none.find("complete,"), std::string::npos) << "it is hidden";
    EXPECT_NE(run_line({"calls", "bogus"}).err.find("The verbs are list, show, resolve."), std::string::npos);
    EXPECT_NE(run_line({"calls"}).err.find("Say which: list, show, resolve"), std::string::npos);
}

TEST(Program, AnEmptyKeyIsRefusedRatherThanLeftOut) {
    for (const std::vector<std::string>& line :
         std::vector<std::vector<std::string>>{{"call", "add", "{}", "--ledger", "memory", "--key", ""},
                                               {"call", "add", "{}", "--ledger", "memory", "--key="},
                                               {"call", "--key=", "add", "{}", "--ledger", "memory"},
                                               {"call", "--resume", ""},
                                               {"secrets", "check", "--key-env", ""}}) {
        const Ran ran = run_line(line);
        EXPECT_EQ(ran.exit_code, kUnusable) << line.back();
        EXPECT_NE(ran.err.find("--help"), std::string::npos) << ran.err;
    }
    EXPECT_NE(run_line({"call", "add", "--key", ""}).err.find("--key: the value is empty"),
              std::string::npos);
}

TEST(Program, WrongUsageIsExitCodeTwoAndNamesTheHelp) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"frobnicate"},
          {"validate"},
          {"validate", "--frobnicate", "a.json"},
          {"validate", "a.json", "b.json", "c.json"},
          {"validate", "--draft", "draft-03", "a.json"},
          {"validate", "--coerce=wild", "a.json"},
          {"validate", "--color=pink", "a.json"},
          {"validate", "--max-depth", "-1", "a.json"},
          {"validate", "--max-bytes", "0", "a.json"},
          {"validate", "--max-errors", "many", "a.json"},
          {"validate", "--resource"},
          {"tools", "extra"},
          {"call"},
          {"call", "add", "{}", "more"},
          {"call", "add", "--timeout", "0"},
          {"call", "add", "--timeout", "soon"},
          {"call", "add", "--autonomy", "A5"},
          {"policy"},
          {"policy", "test"},
          {"policy", "lint", "a.json", "b.json"},
          {"secrets"},
          {"secrets", "get", "github", "token"},
          {"secrets", "list"},
          {"secrets", "set", "github"},
          {"secrets", "set", "github", "token", "the value"},
          {"secrets", "check", "github"},
          {"secrets", "check", "a", "b", "--key-env=K", "--key-file=F"},
          {"secrets", "remove", "a", "b", "--only-version=0"},
          {"secrets", "rotate-key"}}) {
        const Ran ran = run_line(arguments);
        EXPECT_EQ(ran.exit_code, 2) << arguments.back();
        EXPECT_EQ(ran.out, "") << arguments.back();
        EXPECT_NE(ran.err.find("--help"), std::string::npos) << ran.err;
    }
}

TEST(Program, ANumberThatIsNoneIsSaidInOneSentence) {
    struct Case {
        std::vector<std::string> line;
        std::string says;
    };
    for (const Case& one : std::vector<Case>{
             {{"audit", "prove", "x"}, "SEQ: 'x' was given; a whole number, 1 or more, is expected."},
             {{"audit", "prove", "--from", "0"}, "--from: '0' was given; a whole number, 1 or more,"},
             {{"audit", "archive", "--at-least", "-3"}, "--at-least: '-3' was given;"},
             {{"audit", "archive", "--max-events", "1e6"}, "--max-events: '1e6' was given;"},
             {{"audit", "archive", "--keep", "x"}, "--keep: 'x' was given; a whole number is expected."},
             {{"audit", "archive", "--keep", "18446744073709551616"}, "--keep: '1844"},
             {{"audit", "tail", "-n", "1001"},
              "'1001' was given; a whole number from 1 to 1000 is expected."},
             {{"secrets", "remove", "a", "b", "--only-version", "0"},
              "--only-version: a whole number, 1 or more, is expected."}}) {
        const Ran ran = run_line(one.line);
        EXPECT_EQ(ran.exit_code, 2);
        EXPECT_NE(ran.err.find(one.says), std::string::npos) << ran.err;
        EXPECT_LT(ran.err.size(), 160u) << ran.err;
    }
}

TEST(Program, AnEmptyValueOfAnOptionIsRefused) {
    for (const std::vector<std::string>& line :
         std::vector<std::vector<std::string>>{{"audit", "tail", "--call", ""},
                                               {"calls", "list", "--before", ""},
                                               {"calls", "list", "--ledger", ""},
                                               {"calls", "list", "--ledger="},
                                               {"calls", "list", "--tool", ""},
                                               {"call", "add", "--principal", ""},
                                               {"call", "add", "--scope", "", "--ledger", "memory"},
                                               {"ledger", "restore", "--export", ""}}) {
        const Ran ran = run_line(line);
        EXPECT_EQ(ran.exit_code, 2) << line[1] << line[2];
        EXPECT_NE(ran.err.find("the value is empty"), std::string::npos) << ran.err;
    }
}

TEST(Program, AMistypedOptionOrVerbIsToldWhatWasMeant) {
    EXPECT_NE(run_line({"cal"}).err.find("Did you mean call?"), std::string::npos);
    EXPECT_NE(run_line({"call", "add", "--timout", "5"}).err.find("Did you mean --timeout?"),
              std::string::npos);
    EXPECT_NE(run_line({"call", "add", "--aprove-as=x"}).err.find("Did you mean --approve-as?"),
              std::string::npos);
    EXPECT_NE(run_line({"policy", "tset", "a.json"}).err.find("Did you mean test?"), std::string::npos);
    EXPECT_EQ(run_line({"call", "add", "--zzz"}).err.find("Did you mean"), std::string::npos);
}

TEST(Program, WrongUsageIsJsonWhereJsonWasAskedFor) {
    const Ran ran = run_line({"validate", "--json", "--frobnicate"});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err, "");
    const auto answer = json::parse(ran.out);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->at("valid"), false);
    EXPECT_EQ(answer->at("error").at("details").at("reason"), "usage");

    const Ran call = run_line({"call", "--json", "--frobnicate"});
    EXPECT_EQ(call.exit_code, 2);
    EXPECT_EQ(call.err, "");
    EXPECT_EQ(json::parse(call.out).value().at("error").at("details").at("reason"), "usage");
}

TEST(Program, NeverRepeatsAnArgumentThatMayBeASecret) {
    const std::string secret = "hunter2-hunter2";
    for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
             {"secrets", "set", "mail", "password", secret},
             {"secrets", "set", "mail", "password", "--json", secret},
             {"secrets", "rotate", "mail", "password", "--value=" + secret},
             {"secrets", "remove", "mail", "password", "--only-version", secret},
             {"secrets", "check", "--color", secret},
             {"secrets", secret},
             {"call", "add", "{}", secret},
             {"tools", secret},
             {secret}}) {
        const Ran ran = run_line(line);
        EXPECT_EQ(ran.exit_code, kUnusable);
        EXPECT_EQ((ran.out + ran.err).find(secret), std::string::npos) << ran.err;
        EXPECT_NE((ran.out + ran.err).find("--help"), std::string::npos) << ran.err;
    }
    EXPECT_NE(run_line({"secrets", "rotate", "a", "b", "--value=" + secret}).err.find("--value"),
              std::string::npos);
    EXPECT_NE(run_line({"secrets", "set", "a", "b", secret}).err.find("standard input"), std::string::npos);
}

}  // namespace
}  // namespace callgate::cli
