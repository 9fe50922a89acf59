#include "secrets/exec_helper.h"

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/json.h>

#include "base/memory_scan.h"
#include "os/scripted_launcher.h"
#include "redact/secret_set.h"
#include "secrets/secrets_testing.h"

namespace callgate::secrets {
namespace {

using namespace std::chrono_literals;
using os::ExitStatus;
using os::ProcessScript;
using redact::SecretSet;
using testing::HasSubstr;
using testing::Not;

ExecSecretsOptions options() {
    return ExecSecretsOptions({"helper", "--vault=main"});
}

class ExecHelperTest : public testing::Test {
protected:
    void answers(std::string output, std::optional<ExitStatus> exits = ExitStatus{}) {
        ProcessScript script;
        script.output = std::move(output);
        script.errors = "STDERR of the helper";
        script.exits = exits;
        launcher.add(std::move(script));
    }
    std::string ask(std::string_view connector = "github", std::string_view key = "token") {
        const auto value = helper.ask(connector, key);
        return value ? std::string(value->view()) : "none";
    }
    std::string refusal() {
        const auto value = helper.ask("github", "token");
        if (value) return "fine";
        said = value.error().message + json::write(value.error().details);
        EXPECT_EQ(value.error().code, ErrorCode::config_error);
        EXPECT_THAT(said, Not(HasSubstr("STDERR")));
        EXPECT_THAT(said, Not(HasSubstr("SENTINEL")));
        return reason_of(value);
    }

    os::ScriptedLauncher launcher;
    base::ManualClock clock;
    ExecHelper helper{launcher, clock, options()};
    std::string said;
};

TEST_F(ExecHelperTest, IsAskedOnItsInputAndNotInItsArguments) {
    answers("the value of it\n");
    EXPECT_EQ(ask("git\"hub", "token"), "the value of it");
    ASSERT_EQ(launcher.records().size(), 1u);
    auto& record = *launcher.records().front();
    EXPECT_EQ(record.spec.argv, (std::vector<std::string>{"helper", "--vault=main"}));
    EXPECT_EQ(record.spec.errors, os::Stdio::null);
    EXPECT_EQ(record.read_input(), "{\"connector\":\"git\\\"hub\",\"key\":\"token\"}\n");
    EXPECT_TRUE(record.destroyed);
}

TEST_F(ExecHelperTest, OneLineEndIsDroppedAndNothingElse) {
    const auto given = std::vector<std::string>{"a value!",     "a value!\n", "a value!\r\n",
                                                "a value!\n\n", " a value! ", std::string("a\0value!", 8)};
    const auto kept = std::vector<std::string>{"a value!",   "a value!",   "a value!",
                                               "a value!\n", " a value! ", std::string("a\0value!", 8)};
    for (std::size_t i = 0; i < given.size(); ++i) {
        helper.revoke_all();
        answers(given[i]);
        EXPECT_EQ(ask(), kept[i]);
    }
}

TEST_F(ExecHelperTest, SaysThatThereIsNoSuchSecretByItsExitCode) {
    answers("SENTINEL", ExitStatus{3, 0});
    EXPECT_EQ(refusal(), "no_such_secret");
}

TEST_F(ExecHelperTest, AnyOtherEndIsAFailure) {
    answers("SENTINEL VALUE", ExitStatus{1, 0});
    EXPECT_EQ(refusal(), "helper_failed");
    EXPECT_THAT(said, HasSubstr("exit code 1"));
    answers("SENTINEL VALUE", ExitStatus{0, SIGSEGV});
    EXPECT_EQ(refusal(), "helper_failed");
    EXPECT_THAT(said, HasSubstr("signal 11"));
}

TEST_F(ExecHelperTest, AnswersThatCouldBeNoSecretAreRefused) {
    for (const std::string& output :
         {std::string(), std::string("\n"), std::string("SENTINE\n"),
          std::string(SecretSet::kMaxBytes + 1, 'x'), std::string(SecretSet::kMaxBytes + 3, 'x'),
          std::string(1u << 20, 'x')}) {
        answers(output);
        EXPECT_EQ(refusal(), "helper_output") << output.size();
    }
    answers(std::string(SecretSet::kMaxBytes, 'x') + "\r\n");
    EXPECT_EQ(ask().size(), SecretSet::kMaxBytes);
}

TEST_F(ExecHelperTest, AHelperThatCannotBeStartedIsNamed) {
    ProcessScript script;
    script.launch_error = os::launch_error("helper", ENOENT);
    launcher.add(std::move(script));
    EXPECT_EQ(refusal(), "command_not_found");
    EXPECT_THAT(said, HasSubstr("helper"));
}

TEST_F(ExecHelperTest, AHelperThatDoesNotEndIsEnded) {
    ExecSecretsOptions hasty = options();
    hasty.timeout = 1ms;
    ExecHelper impatient(launcher, clock, hasty);
    answers("SENTINEL VALUE", std::nullopt);
    const auto value = impatient.ask("github", "token");
    EXPECT_EQ(reason_of(value), "helper_timeout");
    EXPECT_TRUE(launcher.records().front()->destroyed);
}

TEST_F(ExecHelperTest, AnswersAreUsedAgainForAShortWhile) {
    answers("first value");
    answers("second value");
    EXPECT_EQ(ask(), "first value");
    clock.advance(29'999ms);
    EXPECT_EQ(ask(), "first value");
    clock.advance(1ms);
    EXPECT_EQ(ask(), "second value");
}

TEST_F(ExecHelperTest, FailuresAreNotRemembered) {
    answers("", ExitStatus{1, 0});
    answers("the value of it");
    EXPECT_EQ(ask(), "none");
    EXPECT_EQ(ask(), "the value of it");
}

TEST_F(ExecHelperTest, EachSecretIsAskedForByItself) {
    answers("value of github");
    answers("value of gitlab");
    EXPECT_EQ(ask("github", "token"), "value of github");
    EXPECT_EQ(ask("gitlab", "token"), "value of gitlab");
    EXPECT_EQ(ask("github", "token"), "value of github");
}

TEST_F(ExecHelperTest, WhatIsRevokedIsAskedForAgainAtOnce) {
    answers("first value");
    answers("other value");
    answers("second value");
    answers("third value");
    EXPECT_EQ(ask(), "first value");
    EXPECT_EQ(ask("slack", "token"), "other value");
    helper.revoke("github", "token");
    EXPECT_EQ(ask(), "second value");
    EXPECT_EQ(ask("slack", "token"), "other value");
    helper.revoke_all();
    EXPECT_EQ(ask(), "third value");
}

// Does something else while the helper is being asked.
class BusyLauncher final : public os::ProcessLauncher {
public:
    explicit BusyLauncher(os::ProcessLauncher& inner) : inner_(inner) {}
    Result<std::unique_ptr<os::Process>> launch(const os::ProcessSpec& spec) override {
        auto launched = inner_.launch(spec);
        meanwhile();
        return launched;
    }
    std::function<void()> meanwhile;

private:
    os::ProcessLauncher& inner_;
};

TEST_F(ExecHelperTest, AnAnswerThatWasUnderWayWhenRevokedIsNotKept) {
    BusyLauncher busy(launcher);
    ExecHelper asked(busy, clock, options());
    busy.meanwhile = [&] { asked.revoke("github", "token"); };
    answers("first value");
    answers("second value");
    EXPECT_EQ(asked.ask("github", "token")->view(), "first value");
    EXPECT_EQ(asked.ask("github", "token")->view(), "second value");
}

TEST_F(ExecHelperTest, AHelperThatClosedItsInputDoesNotEndThisProcess) {
    BusyLauncher busy(launcher);
    ExecHelper asked(busy, clock, options());
    busy.meanwhile = [&] { launcher.records().front()->input.reset(); };
    answers("the value of it");
    EXPECT_EQ(asked.ask("github", "token")->view(), "the value of it");
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << "nor later";
}

TEST_F(ExecHelperTest, NothingIsKeptWhereTheOperatorSaysSo) {
    ExecSecretsOptions forgetful = options();
    forgetful.keep = 0ms;
    ExecHelper none(launcher, clock, forgetful);
    answers("first value");
    answers("second value");
    EXPECT_EQ(none.ask("c", "k")->view(), "first value");
    EXPECT_EQ(none.ask("c", "k")->view(), "second value");
}

TEST_F(ExecHelperTest, NamesThatJsonCannotHoldAreNotAskedFor) {
    EXPECT_FALSE(helper.ask("git\xff", "token"));
    EXPECT_FALSE(helper.ask("", "token"));
    EXPECT_TRUE(launcher.records().empty());
}

TEST(ExecHelperOptions, HaveRanges) {
    EXPECT_TRUE(check(options()));
    EXPECT_FALSE(check(ExecSecretsOptions()));
    EXPECT_FALSE(check(ExecSecretsOptions({""})));
    for (const auto timeout : {0ms, 300'001ms}) {
        ExecSecretsOptions bad = options();
        bad.timeout = timeout;
        EXPECT_EQ(reason_of(check(bad)), "bad_helper");
    }
    for (const auto keep : {-1ms, 60'001ms}) {
        ExecSecretsOptions bad = options();
        bad.keep = keep;
        EXPECT_EQ(reason_of(check(bad)), "bad_helper");
    }
}

class RealHelper : public testing::Test {
protected:
    Result<base::LockedBytes> ask(const std::string& script, std::chrono::milliseconds timeout = 60s) {
        ExecSecretsOptions how({"/bin/sh", "-c", script});
        how.timeout = timeout;
        return ExecHelper(launcher, clock, how).ask("github", "token");
    }

    os::RealProcessLauncher launcher;
    base::ManualClock clock;
};

TEST_F(RealHelper, MayLeaveItsInputUnread) {
    const auto value = ask("exec 0<&-; echo the value of it");
    ASSERT_TRUE(value) << value.error().message;
    EXPECT_EQ(value->view(), "the value of it");
}

TEST_F(RealHelper, MaySpeakInPieces) {
    EXPECT_EQ(ask("printf 'the '; printf 'value '; printf 'of it\\n'")->view(), "the value of it");
}

TEST_F(RealHelper, WritesErrorsToNobody) {
    const auto value = ask("echo SENTINEL >&2; exit 1");
    EXPECT_EQ(reason_of(value), "helper_failed");
    EXPECT_THAT(value.error().message, Not(HasSubstr("SENTINEL")));
}

TEST_F(RealHelper, ThatNeverStopsTalkingIsCutOff) {
    EXPECT_EQ(reason_of(ask("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done")),
              "helper_output");
}

TEST_F(RealHelper, ThatHangsIsEnded) {
    EXPECT_EQ(reason_of(ask("while :; do read x; done", 20ms)), "helper_timeout");
}

TEST_F(RealHelper, LeavesNothingInMemory) {
    const std::string hidden =
        base::complement("0123456789") + base::complement("9876543210") + base::complement("xyz");
    {
        const auto value = ask("printf 01234567; printf 8998765; printf 43210xyz");
        ASSERT_TRUE(value);
        EXPECT_EQ(base::complement(value->view()), hidden);
        EXPECT_EQ(base::copies_in_memory(hidden), 1u);
    }
    EXPECT_EQ(base::copies_in_memory(hidden), 0u);
}

}  // namespace
}  // namespace callgate::secrets
