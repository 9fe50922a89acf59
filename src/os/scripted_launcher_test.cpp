#include "os/scripted_launcher.h"

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace callgate::os {
namespace {

using namespace std::chrono_literals;

bool readable(const Fd& fd) {
    pollfd watched{fd.get(), POLLIN, 0};
    return ::poll(&watched, 1, 0) == 1;
}

TEST(ScriptedLauncher, PlaysOutputAndExit) {
    ScriptedLauncher launcher;
    ProcessScript script;
    script.output = std::string(200'000, 'o');
    script.exits = ExitStatus{2, 0};
    launcher.add(script);
    const auto process = launcher.launch(ProcessSpec({"tool", "arg"}));
    ASSERT_TRUE(process);
    std::string text(300'000, '\0');
    EXPECT_EQ(::read((*process)->output.get(), text.data(), text.size()), 200'000);
    EXPECT_EQ(::read((*process)->output.get(), text.data(), text.size()), 0);
    EXPECT_TRUE(readable((*process)->ended()));
    EXPECT_EQ((*process)->poll().value(), (ExitStatus{2, 0}));
    EXPECT_EQ(launcher.records().at(0)->spec.argv.at(1), "arg");
}

TEST(ScriptedLauncher, KeepsWhatWasWrittenToItsInput) {
    ScriptedLauncher launcher;
    launcher.add({});
    const auto process = launcher.launch(ProcessSpec({"tool"}));
    ASSERT_EQ(::write((*process)->input.get(), "hello", 5), 5);
    EXPECT_EQ(launcher.records().at(0)->read_input(), "hello");
}

TEST(ScriptedLauncher, RunsUntilASignalEndsIt) {
    ScriptedLauncher launcher;
    ProcessScript script;
    script.exits.reset();
    script.ignores_sigterm = true;
    launcher.add(script);
    {
        const auto process = launcher.launch(ProcessSpec({"tool"}));
        EXPECT_EQ((*process)->wait(1h).value(), std::nullopt) << "without really waiting";
        ASSERT_TRUE((*process)->signal_group(SIGTERM));
        EXPECT_EQ((*process)->poll().value(), std::nullopt);
        EXPECT_FALSE(readable((*process)->ended()));
        ASSERT_TRUE((*process)->signal_group(SIGKILL));
        EXPECT_EQ((*process)->poll().value(), (ExitStatus{0, SIGKILL}));
        EXPECT_TRUE(readable((*process)->ended()));
        EXPECT_FALSE(launcher.records().at(0)->destroyed);
    }
    EXPECT_TRUE(launcher.records().at(0)->destroyed);
    EXPECT_EQ(launcher.records().at(0)->signals, (std::vector<int>{SIGTERM, SIGKILL}));
}

TEST(ScriptedLauncher, FailsToLaunchWhenToldOrOutOfScripts) {
    ScriptedLauncher launcher;
    ProcessScript script;
    script.launch_error = launch_error("tool", ENOENT);
    launcher.add(script);
    EXPECT_EQ(launcher.launch(ProcessSpec({"tool"})).error().message, "Command not found: tool");
    EXPECT_EQ(launcher.launch(ProcessSpec({"tool"})).error().details.at("reason").as_string(), "no_script");
    EXPECT_EQ(launcher.launch(ProcessSpec()).error().code, ErrorCode::invalid_arguments);
}

}  // namespace
}  // namespace callgate::os
