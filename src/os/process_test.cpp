#include "os/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/scratch_dir.h"

namespace callgate::os {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kLong = 60s;  // never reached unless something is wrong

std::string drain(const Fd& fd) {
    std::string out;
    std::array<char, 4096> block;
    for (;;) {
        pollfd watched{fd.get(), POLLIN, 0};
        if (::poll(&watched, 1, 60'000) == 0) {
            ADD_FAILURE() << "somebody still holds the other end";
            return out;
        }
        const ssize_t got = ::read(fd.get(), block.data(), block.size());
        if (got <= 0) {
            return out;
        }
        out.append(block.data(), static_cast<std::size_t>(got));
    }
}

std::string read_line(const Fd& fd) {
    std::string out;
    char c = 0;
    while (::read(fd.get(), &c, 1) == 1 && c != '\n') {
        out.push_back(c);
    }
    return out;
}

std::unique_ptr<Process> start(ProcessSpec spec) {
    RealProcessLauncher launcher;
    auto process = launcher.launch(spec);
    EXPECT_TRUE(process) << (process ? "" : process.error().message);
    return process ? std::move(*process) : nullptr;
}

ProcessSpec shell(const std::string& script) {
    return ProcessSpec({"/bin/sh", "-c", script});
}

TEST(Process, TalksOverItsPipes) {
    const auto process = start(ProcessSpec({"cat"}));
    ASSERT_EQ(::write(process->input.get(), "hello", 5), 5);
    process->input.reset();
    EXPECT_EQ(drain(process->output), "hello");
    EXPECT_EQ(drain(process->errors), "");
    EXPECT_EQ(process->wait(kLong).value(), ExitStatus{});
}

TEST(Process, ReadsAllThatItIsGiven) {
    const auto process = start(ProcessSpec({"wc", "-c"}));
    process->give_input(std::string(200'000, 'x'));
    EXPECT_FALSE(process->input);
    EXPECT_EQ(read_line(process->output), "200000");
}

TEST(Process, ThatEndedWithoutReadingIsNoTroubleToWhoGivesItInput) {
    const auto process = start(ProcessSpec({"true"}));
    ASSERT_TRUE(*process->wait(kLong));
    process->give_input(std::string(200'000, 'x'));
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << "nor later";
}

TEST(Process, KeepsOutputAndErrorsApart) {
    const auto process = start(shell("echo out; echo err >&2"));
    EXPECT_EQ(drain(process->output), "out\n");
    EXPECT_EQ(drain(process->errors), "err\n");
}

TEST(Process, GetsItsArgumentsAsTheyAreWithoutAShell) {
    const auto process = start(ProcessSpec({"printf", "%s|", "$HOME; rm -rf *", "", "a b", "\"'`"}));
    EXPECT_EQ(drain(process->output), "$HOME; rm -rf *||a b|\"'`|");
}

TEST(Process, SaysHowItEnded) {
    auto process = start(shell("exit 3"));
    EXPECT_EQ(process->wait(kLong).value(), (ExitStatus{3, 0}));
    EXPECT_EQ(process->poll().value(), (ExitStatus{3, 0})) << "may be asked again";
    EXPECT_EQ(process->poll().value()->to_string(), "exit code 3");
    process = start(shell("kill -9 $$"));
    EXPECT_EQ(process->wait(kLong).value(), (ExitStatus{0, SIGKILL}));
    EXPECT_EQ(process->poll().value()->to_string(), "signal 9 (Killed)");
}

TEST(Process, IsPolledWithoutWaiting) {
    const auto process = start(ProcessSpec({"cat"}));
    EXPECT_EQ(process->poll().value(), std::nullopt);
    EXPECT_EQ(process->wait(0ms).value(), std::nullopt);
    process->input.reset();
    pollfd watched{process->ended().get(), POLLIN, 0};
    EXPECT_EQ(::poll(&watched, 1, 60'000), 1);
    EXPECT_EQ(process->poll().value(), ExitStatus{});
}

TEST(Process, HasExactlyTheGivenEnvironment) {
    auto spec = ProcessSpec({"/usr/bin/env"});
    spec.environment = {{"A", "1"}, {"B", "two words"}, {"C", ""}};
    EXPECT_EQ(drain(start(spec)->output), "A=1\nB=two words\nC=\n");
    spec.environment.reset();
    EXPECT_THAT(drain(start(spec)->output), HasSubstr("PATH="));
}

TEST(Process, RunsInTheGivenDirectory) {
    const ScratchDir dir;
    auto spec = ProcessSpec({"/bin/pwd", "-P"});
    spec.directory = dir.path();
    std::array<char, 4096> real;
    ASSERT_NE(::realpath(dir.path().c_str(), real.data()), nullptr);
    EXPECT_EQ(drain(start(spec)->output), std::string(real.data()) + "\n");
}

TEST(Process, InheritsNoDescriptorOfOurs) {
    const int leaky = ::open("/dev/null", O_RDONLY);  // not close-on-exec
    ASSERT_GE(leaky, 0);
    const auto process = start(shell("ls /proc/$$/fd"));
    EXPECT_EQ(drain(process->output), "0\n1\n2\n");
    ::close(leaky);
}

TEST(Process, StartsWithDefaultSignalsEvenIfWeIgnoreThem) {
    const auto former = ::signal(SIGTERM, SIG_IGN);
    const auto process = start(ProcessSpec({"cat"}));
    ASSERT_TRUE(process->signal_group(SIGTERM));
    EXPECT_EQ(process->wait(kLong).value(), (ExitStatus{0, SIGTERM}));
    ::signal(SIGTERM, former);
}

TEST(Process, ItsWholeGroupIsSignalled) {
    const auto process = start(shell("sleep 1000 & echo started; wait"));
    EXPECT_EQ(read_line(process->output), "started");
    ASSERT_TRUE(process->signal_group(SIGKILL));
    // The end of file comes when the last holder of the pipe is gone: the grandchild, too.
    EXPECT_EQ(drain(process->output), "");
    EXPECT_EQ(process->wait(kLong).value(), (ExitStatus{0, SIGKILL}));
    EXPECT_TRUE(process->signal_group(SIGKILL)) << "that nobody is left is no error";
}

TEST(Process, GrandchildrenThatOutliveItAreStillReached) {
    const auto process = start(shell("sleep 1000 & echo started"));
    EXPECT_EQ(read_line(process->output), "started");
    EXPECT_EQ(process->wait(kLong).value(), ExitStatus{});
    ASSERT_TRUE(process->signal_group(SIGKILL));
    EXPECT_EQ(drain(process->output), "");
}

TEST(Process, TakesItsGroupWithItWhenItGoesAway) {
    auto process = start(shell("sleep 1000 & echo started; wait"));
    const pid_t pid = process->pid();
    EXPECT_EQ(read_line(process->output), "started");
    const Fd output = std::move(process->output);
    process.reset();
    EXPECT_EQ(drain(output), "");
    EXPECT_EQ(::kill(pid, 0), -1);
    EXPECT_EQ(errno, ESRCH) << "and is reaped";
}

TEST(Process, NullInputIsAtItsEndAndNullOutputGoesNowhere) {
    auto spec = shell("cat; echo gone >&2; echo kept");
    spec.input = Stdio::null;
    spec.errors = Stdio::null;
    const auto process = start(spec);
    EXPECT_FALSE(process->input);
    EXPECT_FALSE(process->errors);
    EXPECT_EQ(drain(process->output), "kept\n");
}

TEST(Launch, ACommandThatDoesNotExistIsAnErrorOfLaunching) {
    RealProcessLauncher launcher;
    for (const auto* command : {"no-such-command-here", "/no/such/command"}) {
        const auto process = launcher.launch(ProcessSpec({command}));
        ASSERT_FALSE(process);
        EXPECT_EQ(process.error().code, ErrorCode::transport);
        EXPECT_EQ(process.error().message, std::string("Command not found: ") + command);
        EXPECT_EQ(process.error().details.at("reason").as_string(), "command_not_found");
    }
}

TEST(Launch, ACommandThatMayNotBeExecutedIsAnErrorOfLaunching) {
    const ScratchDir dir;
    std::ofstream(dir.file("tool")) << "#!/bin/sh\n";
    RealProcessLauncher launcher;
    for (const auto& command : {dir.file("tool"), dir.path()}) {
        const auto process = launcher.launch(ProcessSpec({command}));
        ASSERT_FALSE(process);
        EXPECT_EQ(process.error().message, "Permission denied: " + command);
    }
}

TEST(Launch, OtherFailuresAreToldInTheSystemsWords) {
    const ScratchDir dir;
    std::ofstream(dir.file("tool")) << "not a program";
    ASSERT_EQ(::chmod(dir.file("tool").c_str(), 0700), 0);
    RealProcessLauncher launcher;
    const auto process = launcher.launch(ProcessSpec({dir.file("tool")}));
    ASSERT_FALSE(process);
    EXPECT_EQ(process.error().message, "Cannot start " + dir.file("tool") + ": Exec format error");
    const auto large = launcher.launch(ProcessSpec({"true", std::string(10u << 20, 'x')}));
    ASSERT_FALSE(large);
    EXPECT_THAT(large.error().message, HasSubstr("Argument list too long"));
}

TEST(Launch, AMissingDirectoryIsNotMistakenForAMissingCommand) {
    auto spec = ProcessSpec({"true"});
    spec.directory = "/no/such/directory";
    RealProcessLauncher launcher;
    const auto process = launcher.launch(spec);
    ASSERT_FALSE(process);
    EXPECT_EQ(process.error().message, "Working directory not found: /no/such/directory");
}

TEST(Launch, ASpecThatCannotBeMeantIsRefused) {
    RealProcessLauncher launcher;
    std::vector<ProcessSpec> specs{ProcessSpec(), ProcessSpec({""}),
                                   ProcessSpec({"true", std::string("a\0b", 3)})};
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
             {"", "x"}, {"A=B", "x"}, {std::string("A\0", 2), "x"}, {"A", std::string("x\0", 2)}}) {
        specs.push_back(ProcessSpec({"true"}));
        specs.back().environment = {{name, value}};
    }
    for (const auto& spec : specs) {
        const auto process = launcher.launch(spec);
        ASSERT_FALSE(process);
        EXPECT_EQ(process.error().code, ErrorCode::invalid_arguments);
    }
}

TEST(Launch, LeavesNoDescriptorsBehindWhenItFails) {
    const auto lowest_free = [] {
        const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(fd);
        return fd;
    };
    const int before = lowest_free();
    RealProcessLauncher launcher;
    for (int i = 0; i < 10; ++i) {
        EXPECT_FALSE(launcher.launch(ProcessSpec({"no-such-command-here"})));
    }
    EXPECT_EQ(lowest_free(), before);
}

}  // namespace
}  // namespace callgate::os
