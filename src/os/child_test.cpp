#include "os/child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process_table.h"
#include "os/scratch_dir.h"

namespace callgate::os {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kPatience = 60'000;  // milliseconds; never reached unless something is wrong

bool becomes_readable(const Fd& fd) {
    pollfd watched{fd.get(), POLLIN, 0};
    return ::poll(&watched, 1, kPatience) == 1;
}

std::string read_line_of(const Fd& fd) {
    std::string line;
    char c = 0;
    while (becomes_readable(fd) && ::read(fd.get(), &c, 1) == 1 && c != '\n') line.push_back(c);
    return line;
}

std::string read_all_of(const Fd& fd) {
    std::string all;
    std::array<char, 4096> block;
    for (;;) {
        if (!becomes_readable(fd)) {
            ADD_FAILURE() << "somebody still holds the other end";
            return all;
        }
        const ssize_t got = ::read(fd.get(), block.data(), block.size());
        if (got <= 0) return all;
        all.append(block.data(), static_cast<std::size_t>(got));
    }
}

ChildState wait_for(Child& child, ChildStage stage) {
    for (;;) {
        ChildState now = child.state();
        if (now.stage >= stage) return now;
        if (!becomes_readable(child.changed())) {
            ADD_FAILURE() << "the child does not come to the stage";
            return now;
        }
    }
}

struct Started {
    RealChildLauncher launcher{find_launcher().value()};
    std::unique_ptr<Child> child;

    explicit Started(ChildSpec spec) {
        spec.close_grace = std::min(spec.close_grace, 50ms);
        spec.term_grace = std::min(spec.term_grace, 50ms);
        if (spec.environment.empty()) spec.environment = child_environment(own_environment());
        auto made = launcher.launch(spec);
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        if (made) child = std::move(*made);
    }
    explicit Started(const std::string& script) : Started(ChildSpec({"/bin/sh", "-c", script})) {}

    ChildState gone() { return wait_for(*child, ChildStage::gone); }
    std::string line() { return read_line_of(child->output); }
};

// Whether the process whose number this is has ended, and has been reaped or is only waiting for that.
bool has_gone(pid_t pid) {
    const Fd pidfd(open_pidfd(pid));
    return !pidfd || becomes_readable(pidfd);
}

pid_t pid_in(const std::string& line) {
    return static_cast<pid_t>(std::stol(line));
}

TEST(Child, TalksOverItsStreamsUntilItsInputEnds) {
    Started cat(ChildSpec({"cat"}));
    EXPECT_EQ(cat.child->send("hello\n").value(), 6u);
    EXPECT_EQ(cat.line(), "hello");
    EXPECT_EQ(cat.child->send("again\n").value(), 6u);
    EXPECT_EQ(cat.line(), "again");
    EXPECT_EQ(wait_for(*cat.child, ChildStage::running).stage, ChildStage::running);
    EXPECT_GT(cat.child->pid(), 0);
    cat.child->input.reset();
    const ChildState state = cat.gone();
    EXPECT_EQ(state.exit, ExitStatus{});
    EXPECT_FALSE(state.refused || state.launcher_killed);
    EXPECT_EQ(read_all_of(cat.child->output), "");
}

TEST(Child, IsEndedByClosingItsInput) {
    Started cat(ChildSpec({"cat"}));
    cat.child->end();
    cat.child->end();
    EXPECT_EQ(cat.gone().exit, ExitStatus{}) << "it had the time to end by itself";
}

TEST(Child, SaysHowItEnded) {
    EXPECT_EQ(Started("exit 7").gone().exit, (ExitStatus{7, 0}));
    EXPECT_EQ(Started("kill -9 $$").gone().exit, (ExitStatus{0, SIGKILL}));
}

TEST(Child, ThatDoesNotHeedTheEndOfItsInputIsAskedToEnd) {
    Started child("trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.02; done");
    EXPECT_EQ(child.line(), "ready");
    child.child->end();
    EXPECT_EQ(child.line(), "asked");
    EXPECT_EQ(child.gone().exit, (ExitStatus{5, 0}));
}

TEST(Child, ThatIgnoresBothIsKilled) {
    Started child("trap '' TERM; echo ready; while :; do sleep 1; done");
    EXPECT_EQ(child.line(), "ready");
    child.child->end();
    EXPECT_EQ(child.gone().exit, (ExitStatus{0, SIGKILL}));
}

TEST(Child, TakesAllThatCameOfItWithIt) {
    // In a session of its own, twice forked, deaf to SIGTERM, stopped.
    for (const std::string script : {"setsid sh -c 'echo $$; exec sleep 1000' & read -r line",
                                     "(setsid sh -c 'echo $$; exec sleep 1000' &) ; read -r line",
                                     "(trap '' TERM; setsid sh -c 'echo $$; exec sleep 1000' &) ; exec cat",
                                     "(setsid sh -c 'echo $$; kill -STOP $$' &) ; exec cat"}) {
        Started child(script);
        const pid_t below = pid_in(child.line());
        ProcessEntry entry;
        EXPECT_TRUE(read_process(below, entry)) << script;
        child.child->end();
        child.gone();
        EXPECT_FALSE(read_process(below, entry)) << script;
    }
}

TEST(Child, ThatEndsByItselfTakesAllThatCameOfItWithIt) {
    Started child("setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & read -r line; exit 3");
    const pid_t below = pid_in(child.line());
    child.child->send("\n").value();
    EXPECT_EQ(wait_for(*child.child, ChildStage::exited).exit, (ExitStatus{3, 0}));
    child.gone();
    ProcessEntry entry;
    EXPECT_FALSE(read_process(below, entry));
}

TEST(Child, LetGoEndsInItsOwnTime) {
    Started child("trap '' TERM; (setsid sh -c 'echo $$; exec sleep 1000' &) ; while :; do sleep 1; done");
    const pid_t below = pid_in(child.line());
    child.child.reset();
    EXPECT_EQ(child.launcher.ending(), 1u) << "nobody waited for it";
    EXPECT_TRUE(has_gone(below));
}

TEST(Child, WhoseLauncherGoesWaitsForNoMoreThanItHasTo) {
    pid_t below = 0;
    {
        Started child(
            "trap '' TERM; (setsid sh -c 'echo $$; exec sleep 1000' &) ; while :; do sleep 1; done");
        below = pid_in(child.line());
    }
    ProcessEntry entry;
    EXPECT_FALSE(read_process(below, entry)) << "the launcher's end waits for the child's";
}

TEST(Child, ThatStoppedItsLauncherIsEndedAllTheSame) {
    Started child("kill -STOP $PPID; echo ready; exec cat");
    EXPECT_EQ(child.line(), "ready");
    child.child->end();
    child.gone();
}

TEST(Child, ThatKilledItsLauncherIsReported) {
    Started child("echo $$; kill -9 $PPID; exec sleep 1000");
    const pid_t command = pid_in(child.line());
    EXPECT_TRUE(child.gone().launcher_killed);
    EXPECT_EQ(child.launcher.launchers_killed(), 1u);
    ::kill(command, SIGKILL);
}

TEST(Child, EndsWhenItsOwnerIsKilled) {
    std::array<int, 2> told{};
    ASSERT_EQ(::pipe2(told.data(), O_CLOEXEC), 0);
    const Fd reads(told[0]);
    Fd writes(told[1]);
    const pid_t owner = ::fork();
    if (owner == 0) {
        Started child(
            "trap '' TERM; (setsid sh -c 'echo $$; exec sleep 1000' &) ; while :; do sleep 1; done");
        const std::string line = child.line() + "\n";
        static_cast<void>(::write(writes.get(), line.data(), line.size()));
        ::kill(::getpid(), SIGKILL);
    }
    writes.reset();
    const pid_t below = pid_in(read_line_of(reads));
    ASSERT_EQ(::waitpid(owner, nullptr, 0), owner);
    EXPECT_TRUE(has_gone(below));
}

TEST(Child, ThatCannotBeStartedSaysWhy) {
    const ChildState unknown = Started(ChildSpec({"no-such-command-anywhere"})).gone();
    ASSERT_TRUE(unknown.refused);
    EXPECT_EQ(unknown.refused->message, "Command not found: no-such-command-anywhere");
    EXPECT_EQ(unknown.refused->details.at("reason"), "command_not_found");
    EXPECT_FALSE(unknown.exit);
    const ChildState directory = Started(ChildSpec({"/tmp"})).gone();
    ASSERT_TRUE(directory.refused);
    EXPECT_EQ(directory.refused->details.at("reason"), "command_permission");
}

TEST(Child, IsNotLaunchedFromABadSpec) {
    RealChildLauncher launcher(find_launcher().value());
    EXPECT_EQ(launcher.launch(ChildSpec()).error().code, ErrorCode::invalid_arguments);
    ChildSpec nul({"cat"});
    nul.environment = {{"A", std::string("b\0c", 3)}};
    EXPECT_EQ(launcher.launch(nul).error().code, ErrorCode::invalid_arguments);
    ChildSpec nowhere({"cat"});
    nowhere.directory = "/no/such/directory";
    EXPECT_EQ(launcher.launch(nowhere).error().details.at("reason"), "directory_missing");
    RealChildLauncher missing("/no/such/callgate-launch");
    const auto refused = missing.launch(ChildSpec({"cat"}));
    EXPECT_EQ(refused.error().details.at("reason"), "launcher_missing");
    EXPECT_THAT(refused.error().message, HasSubstr("/no/such/callgate-launch"));
}

TEST(Child, HasTheGivenEnvironmentAndNoOther) {
    ChildSpec spec({"/usr/bin/env"});
    spec.environment = {{"ONE", "1"}, {"PATH", "/bin"}};
    Started child(spec);
    EXPECT_EQ(read_all_of(child.child->output), "ONE=1\nPATH=/bin\n");
}

TEST(Child, IsLookedUpInItsOwnPath) {
    const ScratchDir dir;
    const std::string script = dir.file("only-here");
    std::ofstream(script) << "#!/bin/sh\necho found\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    ChildSpec spec({"only-here"});
    spec.environment = {{"PATH", dir.path()}};
    EXPECT_EQ(Started(spec).line(), "found");
}

TEST(Child, RunsWhereItIsTold) {
    const ScratchDir dir;
    ChildSpec spec({"pwd", "-P"});
    spec.directory = dir.path();
    EXPECT_EQ(Started(spec).line(), std::filesystem::canonical(dir.path()).string());
}

TEST(Child, InheritsNoDescriptorNoTerminalAndNoIgnoredSignal) {
    const Fd open_and_inherited(::open("/dev/null", O_RDONLY));
    ASSERT_TRUE(open_and_inherited);
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    Started child(
        "ls /proc/self/fd | tr '\\n' ' '; echo; grep SigIgn /proc/self/status; (: </dev/tty) 2>&- || echo "
        "none");
    std::signal(SIGPIPE, before);
    EXPECT_EQ(child.line(), "0 1 2 3 ") << "3 is the directory that ls reads";
    const std::string ignored = child.line();
    EXPECT_EQ(std::stoull(ignored.substr(ignored.find('\t')), nullptr, 16) >> (SIGPIPE - 1) & 1, 0u)
        << ignored;
    EXPECT_EQ(child.line(), "none");
}

TEST(Child, ThatReadsNoMoreIsAnErrorAndNoSignal) {
    Started child("exec 0<&-; echo closed; exec sleep 1000");
    EXPECT_EQ(child.line(), "closed");
    const auto sent = child.child->send("x");
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().details.at("reason"), "child_gone");
    child.child->input.reset();
    EXPECT_FALSE(child.child->send("x"));
}

TEST(Child, ThatDoesNotReadLetsUsWait) {
    Started child(ChildSpec({"sleep", "1000"}));
    const std::string text(1 << 20, 'x');
    const std::size_t first = child.child->send(text).value();
    EXPECT_LT(first, text.size());
    EXPECT_EQ(child.child->send(text).value(), 0u);
    child.child->end();
    child.gone();
}

TEST(Child, ThatIsNotReadWaits) {
    Started child("head -c 4000000 /dev/zero; echo written >&2");
    pollfd errors{child.child->errors.get(), POLLIN, 0};
    EXPECT_TRUE(becomes_readable(child.child->output));
    EXPECT_EQ(::poll(&errors, 1, 0), 0) << "it still writes";
    EXPECT_EQ(read_all_of(child.child->output).size(), 4'000'000u);
    EXPECT_EQ(read_line_of(child.child->errors), "written");
}

TEST(Child, LauncherIsFoundBesideTheProgramOrWhereItIsSaidToBe) {
    EXPECT_EQ(find_launcher("/opt/launch").value(), "/opt/launch");
    EXPECT_THAT(find_launcher().value(), ::testing::EndsWith("/callgate-launch"));
}

}  // namespace
}  // namespace callgate::os
