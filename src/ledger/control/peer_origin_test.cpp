#include "ledger/control/peer_origin.h"

#include <array>
#include <csignal>
#include <future>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/control/client.h"
#include "ledger/control/control_testing.h"
#include "ledger/control/server.h"
#include "os/descent.h"
#include "os/scratch_dir.h"

namespace callgate::ledger {
namespace {

using testing::Bench;
using testing::FakeOperations;
using ::testing::HasSubstr;
using testing::id_text;

struct OwnerOfOne : Bench {
    os::ScratchDir dir;
    FakeOperations operations{ledger, clock};
    ControlService service{ledger, operations, clock};
    std::unique_ptr<ControlServer> server;

    void serve(ControlOptions options = {}) {
        options.directory = dir.path();
        server = ControlServer::start(service, clock, std::move(options)).value();
    }
    std::size_t votes() { return ledger.approval("a1")->votes.size(); }
};

// In a forked process, which has none of its parent's threads: asks, and returns all that it is answered.
std::string asked_raw(const std::string& path, const std::string& request) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) return "no connection";
    static_cast<void>(::send(fd, request.data(), request.size(), MSG_NOSIGNAL));
    ::shutdown(fd, SHUT_WR);
    std::string all;
    std::array<char, 4096> block{};
    for (ssize_t got = 0; (got = ::read(fd, block.data(), block.size())) > 0;)
        all.append(block.data(), static_cast<std::size_t>(got));
    return all;
}

std::string vote() {
    return framed({{"v", 1},
                   {"verb", "approvals.vote"},
                   {"id", "a1"},
                   {"approve", true},
                   {"digest", "digest of request"}});
}

// What a process that `become` made something of is answered to a vote.
template <class Become>
std::string answer_to_a_process(const std::string& directory, Become become) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "no pipe";
    const os::Fd reads(ends[0]);
    os::Fd writes(ends[1]);
    const std::string path = directory + '/' + kControlSocket;
    const std::string request = vote();
    const pid_t child = ::fork();
    if (child == 0) {
        become();
        const std::string answer = asked_raw(path, request);
        static_cast<void>(::write(writes.get(), answer.data(), answer.size()));
        ::_exit(0);
    }
    writes.reset();
    std::string answer;
    std::array<char, 4096> block{};
    for (ssize_t got = 0; (got = ::read(reads.get(), block.data(), block.size())) > 0;)
        answer.append(block.data(), static_cast<std::size_t>(got));
    ::waitpid(child, nullptr, 0);
    return answer;
}

TEST(PeerOrigin, WhatTheOwnerStartedMayNotVote) {
    OwnerOfOne owner;
    owner.ask("a1", id_text(1));
    owner.serve();
    EXPECT_THAT(answer_to_a_process(owner.dir.path(), [] {}), HasSubstr("own_descendant"));
    EXPECT_THAT(answer_to_a_process(owner.dir.path(), [] { ::setsid(); }), HasSubstr("own_descendant"));
    EXPECT_EQ(owner.votes(), 0u);
    EXPECT_EQ(owner.server->refused_descendants(), 2u);
    EXPECT_EQ(owner.server->requests(), 0u);
}

TEST(PeerOrigin, TheOwnerItselfMay) {
    OwnerOfOne owner;
    owner.ask("a1", id_text(1));
    owner.serve();
    ControlClient client = ControlClient::connect(owner.dir.path()).value();
    EXPECT_TRUE(client.ask(
        {{"verb", "approvals.vote"}, {"id", "a1"}, {"approve", true}, {"digest", "digest of request"}}));
    EXPECT_EQ(owner.votes(), 1u);
}

TEST(PeerOrigin, WhatALauncherStartedMayNotEvenAsAnOrphan) {
    OwnerOfOne owner;
    owner.ask("a1", id_text(1));
    owner.serve();
    // A double fork, whose end has come to whoever is a subreaper or init.
    const std::string answer = answer_to_a_process(owner.dir.path(), [] {
        os::lower_descent_limit();
        const pid_t between = ::getpid();
        if (::fork() != 0) ::_exit(0);
        while (::getppid() == between) ::sched_yield();
    });
    EXPECT_THAT(answer, HasSubstr("own_descendant"));
    EXPECT_EQ(owner.votes(), 0u);
}

TEST(PeerOrigin, AClientAndWhatItStartedMayNotVote) {
    OwnerOfOne owner;
    owner.ask("a1", id_text(1));
    ControlOptions options;
    options.clients.push_back(os::process_id(::getpid()).value());
    // As if this process were the client and the owner another.
    options.origin_of = [](const os::Fd& fd, std::span<const os::ProcessId> clients) {
        os::PeerOrigin origin = os::origin_of_peer(fd, clients);
        origin.from_us = os::Descent::elsewhere;
        return origin;
    };
    owner.serve(options);
    EXPECT_THAT(answer_to_a_process(owner.dir.path(), [] {}), HasSubstr("client_descendant"));
    EXPECT_EQ(owner.votes(), 0u);
}

TEST(PeerOrigin, SomebodyElsesProcessMay) {
    OwnerOfOne owner;
    owner.ask("a1", id_text(1));
    ControlOptions options;
    options.origin_of = [](const os::Fd& fd, std::span<const os::ProcessId> clients) {
        os::PeerOrigin origin = os::origin_of_peer(fd, clients);
        origin.from_us = os::Descent::elsewhere;
        return origin;
    };
    owner.serve(options);
    EXPECT_THAT(answer_to_a_process(owner.dir.path(), [] {}), HasSubstr("\"ok\":true"));
    EXPECT_EQ(owner.votes(), 1u);
    EXPECT_EQ(owner.server->refused_descendants(), 0u);
}

TEST(PeerOrigin, WhoCannotBeSeenMayNot) {
    OwnerOfOne owner;
    ControlOptions options;
    options.origin_of = [](const os::Fd&, std::span<const os::ProcessId>) { return os::PeerOrigin(); };
    owner.serve(options);
    const auto answer = ControlClient::connect(owner.dir.path()).value().ask({{"verb", "ping"}});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().details.at("reason"), "peer_gone");
}

TEST(PeerOrigin, TheHostHearsOfWhoWasRefused) {
    OwnerOfOne owner;
    std::promise<RefusedPeer> heard;
    ControlOptions options;
    options.on_refused = [&](const RefusedPeer& peer) { heard.set_value(peer); };
    owner.serve(options);
    answer_to_a_process(owner.dir.path(), [] {});
    const RefusedPeer peer = heard.get_future().get();
    EXPECT_GT(peer.pid, 0);
    EXPECT_EQ(peer.uid, ::geteuid());
    EXPECT_EQ(peer.why.details.at("reason"), "own_descendant");
    EXPECT_EQ(peer.refused, 1u);
}

}  // namespace
}  // namespace callgate::ledger
