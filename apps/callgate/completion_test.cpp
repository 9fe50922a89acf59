#include "completion.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "help_text.h"
#include "program.h"

namespace callgate::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class CompletionOfTheProgram : public ::testing::Test {
protected:
    Completion at(const std::vector<std::string>& words) {
        return complete(*program_, words, [] {
            return std::vector<Completion::Word>{{"add", "adds"}, {"send_mail", "sends"}};
        });
    }

    std::vector<std::string> words(const std::vector<std::string>& words) {
        std::vector<std::string> out;
        for (const Completion::Word& one : at(words).words) out.push_back(one.word);
        return out;
    }

    std::ostringstream sink_;
    Console console_{sink_, sink_, {}, {}};
    std::unique_ptr<Verb> program_ = make_program(console_);
};

TEST_F(CompletionOfTheProgram, VerbsAndTheVerbsBelowThem) {
    EXPECT_THAT(words({"cal"}), ElementsAre("call", "calls"));
    EXPECT_THAT(words({"calls", ""}), ElementsAre("list", "show", "resolve"));
    EXPECT_THAT(words({""}), Not(Contains("complete"))) << "it is the scripts' own";
    EXPECT_THAT(words({"no_such_verb", ""}), IsEmpty());
    EXPECT_THAT(words({"help", "calls", ""}), ElementsAre("list", "show", "resolve"));
    EXPECT_THAT(words({}), words({""}));
}

// What stands in the help at the head of a line, of every verb there is.
TEST_F(CompletionOfTheProgram, ExactlyTheOptionsThatTheHelpShows) {
    std::size_t verbs = 0;
    const auto walk = [&](const auto& self, const Verb& verb, std::vector<std::string> path) -> void {
        ++verbs;
        std::vector<std::string> shown;
        std::istringstream lines(help_text(verb));
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with("  -")) continue;
            std::istringstream names(line);
            for (std::string name; names >> name && name.starts_with('-');) {
                const bool another_follows = name.ends_with(',');
                shown.push_back(name.substr(0, name.find_first_of(",[")));
                if (!another_follows) break;
            }
        }
        path.emplace_back("-");
        EXPECT_THAT(words(path), ::testing::UnorderedElementsAreArray(shown)) << verb.command();
        path.pop_back();
        for (const Verb& one : verb.verbs()) {
            path.push_back(one.name());
            self(self, one, path);
            path.pop_back();
        }
    };
    walk(walk, *program_, {});
    EXPECT_GE(verbs, 48u);
}

TEST_F(CompletionOfTheProgram, AnOptionThatMayNotStandAgainIsNotOffered) {
    EXPECT_THAT(words({"calls", "list", "--json", "--"}), Not(Contains("--json")));
    EXPECT_THAT(words({"calls", "list", "--unknown", "--"}), Not(Contains("--state")))
        << "they exclude each other";
    EXPECT_THAT(words({"calls", "list", "--state", "failed", "--"}), Not(Contains("--unknown")));
    EXPECT_THAT(words({"call", "--scope", "a", "--sc"}), ElementsAre("--scope"));
}

TEST_F(CompletionOfTheProgram, ValuesThatAreOneOfAFew) {
    EXPECT_THAT(words({"call", "add", "--autonomy", ""}), ElementsAre("A0", "A1", "A2", "A3", "A4"));
    EXPECT_THAT(words({"calls", "list", "--state=f"}), ElementsAre("--state=failed"));
    EXPECT_THAT(words({"validate", "--coerce="}), ElementsAre("--coerce=standard", "--coerce=full"));
    EXPECT_THAT(words({"calls", "list", "--unknown="}), IsEmpty()) << "a flag has no value";
    EXPECT_THAT(words({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
}

TEST_F(CompletionOfTheProgram, ToolsFilesAndFolders) {
    EXPECT_THAT(words({"call", "s"}), ElementsAre("send_mail"));
    EXPECT_THAT(words({"calls", "list", "--tool=a"}), ElementsAre("--tool=add"));
    EXPECT_EQ(at({"validate", ""}).paths, Completes::file);
    EXPECT_EQ(at({"policy", "lint", "x"}).paths, Completes::file);
    EXPECT_EQ(at({"calls", "list", "--ledger", ""}).paths, Completes::directory);
    EXPECT_EQ(at({"calls", "list", "--ledger=/t"}).paths, Completes::directory);
    EXPECT_EQ(at({"calls", "list", "--limit", ""}).paths, Completes::nothing);
}

TEST_F(CompletionOfTheProgram, WhatOnlyThePersonKnowsIsLeftToThem) {
    EXPECT_THAT(words({"call", "add", ""}), IsEmpty()) << "the arguments";
    EXPECT_THAT(words({"call", "add", "--key", ""}), IsEmpty());
    EXPECT_THAT(words({"calls", "show", ""}), IsEmpty()) << "an id would need the ledger";
    EXPECT_THAT(words({"calls", "show", "0197", ""}), Contains("--full")) << "nothing else can follow";
}

TEST_F(CompletionOfTheProgram, BehindTwoHyphensNothingIsAnOption) {
    EXPECT_THAT(words({"call", "--", "a"}), ElementsAre("add"));
    EXPECT_THAT(words({"call", "--", "-"}), IsEmpty());
    EXPECT_THAT(words({"call", "--key", "--", "a"}), ElementsAre("add")) << "the value of --key";
}

TEST_F(CompletionOfTheProgram, TheAnswerIsOneWordALine) {
    EXPECT_EQ(completion_answer(at({"validate", "x"})), "file\n");
    EXPECT_EQ(completion_answer(at({"call", "a"})), "nothing\nadd\tadds\n");
    const std::string all = completion_answer(at({"call", "-"}));
    EXPECT_EQ(std::ranges::count(all, '\t') + 1, std::ranges::count(all, '\n'));
}

TEST_F(CompletionOfTheProgram, AShellThatIsNotKnownHasNoScript) {
    for (const char* shell : {"bash", "zsh", "fish"})
        EXPECT_NE(completion_script(shell).find("complete --"), std::string::npos);
    EXPECT_EQ(completion_script("tcsh"), "");
}

}  // namespace
}  // namespace callgate::cli
