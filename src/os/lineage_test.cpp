#include "os/lineage.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/descent.h"
#include "os/process_table.h"
#include "os/scratch_dir.h"
#include "os/unix_socket.h"

namespace callgate::os {
namespace {

// A process that waits until this object goes.
class Forked {
public:
    template <class Work>
    explicit Forked(Work work) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
        Fd waits(ends[0]);
        until_ = Fd(ends[1]);
        pid_ = ::fork();
        if (pid_ != 0) return;
        until_.reset();
        work();
        char byte = 0;
        static_cast<void>(::read(waits.get(), &byte, 1));
        ::_exit(0);
    }
    ~Forked() { end(); }
    Forked(const Forked&) = delete;
    Forked& operator=(const Forked&) = delete;

    pid_t pid() const { return pid_; }
    void end() {
        until_.reset();
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }

private:
    Fd until_;
    pid_t pid_ = 0;
};

struct Listening {
    ScratchDir dir;
    std::string path = dir.file("socket");
    Fd socket = listen_unix(path, 0600).value();

    Fd accept() const {
        pollfd wait{socket.get(), POLLIN, 0};
        EXPECT_EQ(::poll(&wait, 1, 60'000), 1);
        auto accepted = accept_unix(socket).value();
        EXPECT_TRUE(accepted);
        return accepted ? std::move(*accepted) : Fd();
    }
};

ProcessId self() {
    return process_id(::getpid()).value();
}

TEST(Lineage, AProcessHasAnIdOfItsOwn) {
    const Forked child([] {});
    const auto id = process_id(child.pid());
    ASSERT_TRUE(id);
    EXPECT_NE(*id, self());
    EXPECT_EQ(process_id(child.pid()), id);
    EXPECT_FALSE(process_id(0));
}

TEST(Lineage, AChildDescendsFromItsParentsAndFromNobodyElse) {
    const Forked child([] {});
    const Forked other([] {});
    const ProcessId us[] = {self()};
    const ProcessId others[] = {process_id(other.pid()).value(),
                                process_id(::getppid()).value_or(ProcessId{})};
    EXPECT_EQ(descent_of(child.pid(), us), Descent::below);
    EXPECT_EQ(descent_of(::getpid(), us), Descent::below) << "a root is below itself";
    EXPECT_EQ(descent_of(child.pid(), std::span(others, 1)), Descent::elsewhere);
    EXPECT_EQ(descent_of(child.pid(), std::span(others + 1, 1)), Descent::below)
        << "of a parent's parent, too";
    EXPECT_EQ(descent_of(::getppid(), us), Descent::elsewhere);
}

TEST(Lineage, ANumberThatAnotherHasByNowIsNoRoot) {
    const Forked child([] {});
    ProcessId earlier = self();
    --earlier.started;
    EXPECT_EQ(descent_of(child.pid(), std::span(&earlier, 1)), Descent::elsewhere);
}

TEST(Lineage, AProcessThatHasEndedIsGone) {
    Forked child([] {});
    const ProcessId us[] = {self()};
    child.end();
    EXPECT_EQ(descent_of(child.pid(), us), Descent::gone);
}

TEST(Lineage, APeerIsKnownByTheProcessThatConnected) {
    const Listening listening;
    const Fd ours = connect_unix(listening.path).value();
    const Fd accepted_ours = listening.accept();
    const PeerOrigin us = origin_of_peer(accepted_ours, {});
    EXPECT_EQ(us.from_us, Descent::elsewhere) << "this process is no descendant of its own";
    EXPECT_EQ(us.pid, ::getpid());

    const Forked child([&] { connect_unix(listening.path).value().release(); });
    const Fd accepted = listening.accept();
    const PeerOrigin theirs = origin_of_peer(accepted, {});
    EXPECT_EQ(theirs.from_us, Descent::below);
    EXPECT_EQ(theirs.from_others, Descent::elsewhere);
    EXPECT_EQ(theirs.pid, child.pid());
    const ProcessId root[] = {process_id(child.pid()).value()};
    EXPECT_EQ(origin_of_peer(accepted, root).from_others, Descent::below);
}

TEST(Lineage, APeerWhoseProcessHasEndedIsGoneWhoeverHoldsItsEnd) {
    const Listening listening;
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    const Fd kept(pair[0]);
    const Fd passed(pair[1]);
    {
        // What it connected stays open in a process that it leaves behind.
        Forked child([&] {
            connect_unix(listening.path).value().release();
            if (::fork() == 0) {
                char byte = 0;
                static_cast<void>(::read(passed.get(), &byte, 1));
                ::_exit(0);
            }
            ::_exit(0);
        });
        child.end();
    }
    const Fd accepted = listening.accept();
    EXPECT_EQ(origin_of_peer(accepted, {}).from_us, Descent::gone);
    EXPECT_EQ(origin_of_peer(accepted, {}).from_others, Descent::gone);
    static_cast<void>(::write(kept.get(), "", 1));
}

TEST(Lineage, WhatALauncherStartedIsKnownWhoeverItsParentIs) {
    const Forked plain([] {});
    EXPECT_FALSE(is_from_launcher(plain.pid()));
    EXPECT_FALSE(is_from_launcher(::getpid()));
    std::array<int, 2> told{};
    ASSERT_EQ(::pipe2(told.data(), O_CLOEXEC), 0);
    const Fd reads(told[0]);
    const Fd writes(told[1]);
    const Forked marked([&] {
        const bool lowered = lower_descent_limit();
        static_cast<void>(::write(writes.get(), lowered ? "y" : "n", 1));
    });
    char answer = 0;
    ASSERT_EQ(::read(reads.get(), &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    EXPECT_TRUE(is_from_launcher(marked.pid()));
    std::uint64_t limit = 0;
    EXPECT_TRUE(read_descent_limit(marked.pid(), limit));
    EXPECT_LT(limit, std::uint64_t{1} << 60);
}

TEST(Lineage, AProcessTableKeepsWhatIsBelow) {
    const Forked child([] {});
    std::vector<ProcessEntry> room(65'536);
    const std::size_t listed = list_processes(room);
    ASSERT_GT(listed, 1u);
    EXPECT_LT(listed, room.size());
    const std::size_t below = keep_below(std::span(room).first(listed), ::getpid());
    ASSERT_EQ(below, 1u);
    EXPECT_EQ(room[0].pid, child.pid());
    EXPECT_EQ(room[0].parent, ::getpid());
}

TEST(Lineage, AProcessCannotLieAboutItsParentByItsName) {
    const Listening ready;
    const Forked child([&] {
        ::prctl(PR_SET_NAME, ") S 1 1 1");
        connect_unix(ready.path).value().release();
    });
    ready.accept();
    ProcessEntry entry;
    ASSERT_TRUE(read_process(child.pid(), entry));
    EXPECT_EQ(entry.parent, ::getpid());
    EXPECT_EQ(entry.started, process_id(child.pid())->started);
    EXPECT_GE(entry.started, self().started);
}

// What a process with this input, below a shell that has it as well, takes for its client.
pid_t client_seen_with(int input) {
    std::array<int, 2> told{};
    if (::pipe2(told.data(), O_CLOEXEC) != 0) return -1;
    const Fd reads(told[0]);
    Fd writes(told[1]);
    const pid_t shell = ::fork();
    if (shell == 0) {
        ::dup2(input, 0);
        const pid_t inner = ::fork();
        if (inner == 0) {
            const auto client = client_of_stdio();
            const pid_t pid = client ? client->pid : 0;
            static_cast<void>(::write(writes.get(), &pid, sizeof pid));
            ::_exit(0);
        }
        ::waitpid(inner, nullptr, 0);
        ::_exit(0);
    }
    pid_t seen = -1;
    if (::read(reads.get(), &seen, sizeof seen) != static_cast<ssize_t>(sizeof seen)) seen = -1;
    writes.reset();
    ::waitpid(shell, nullptr, 0);
    return seen;
}

TEST(Lineage, TheClientIsWhoDoesNotHaveOurInputItself) {
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    const Fd theirs(pair[0]);
    const Fd ours(pair[1]);
    EXPECT_EQ(client_seen_with(theirs.get()), ::getpid());
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const Fd reads(pipe[0]);
    const Fd writes(pipe[1]);
    EXPECT_EQ(client_seen_with(reads.get()), ::getpid());
    const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(client_seen_with(null.get()), 0) << "nobody is at the other end";
}

TEST(Lineage, AnEarlierProcessOfTheNumberIsNotSignalled) {
    const Forked child([] {});
    ProcessEntry entry;
    ASSERT_TRUE(read_process(child.pid(), entry));
    ProcessEntry earlier = entry;
    --earlier.started;
    EXPECT_FALSE(signal_process(earlier, SIGKILL));
    EXPECT_TRUE(signal_process(entry, SIGKILL));
}

}  // namespace
}  // namespace callgate::os
