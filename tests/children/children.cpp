// Hostile children are started and ended, their owners killed, and what is left is counted. README.md tells
// what the counts mean.
//
//     children [--cycles 1000] [--kills 100] [--reconnects 1000] [--agents 10] [--upstreams 4] [--seed 1]
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/must.h"
#include "census.h"
#include "ledger/control/client.h"
#include "os/child.h"
#include "os/scratch_dir.h"
#include "os/subreaper.h"
#include "owner.h"
#include "reconnects.h"
#include "victims.h"

namespace {

using namespace callgate;
using namespace callgate::children;

struct Plan {
    int cycles = 1'000;
    int kills = 100;
    int reconnects = 1'000;
    int agents = 10;
    int upstreams = 4;
    unsigned seed = 1;
};

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "children: %s\n", why.c_str());
    std::exit(2);
}

Plan plan_of(int argc, char** argv) {
    Plan plan;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const int value = std::atoi(argv[i + 1]);
        if (name == "--cycles") {
            plan.cycles = value;
        } else if (name == "--kills") {
            plan.kills = value;
        } else if (name == "--reconnects") {
            plan.reconnects = value;
        } else if (name == "--agents") {
            plan.agents = value;
        } else if (name == "--upstreams") {
            plan.upstreams = value;
        } else if (name == "--seed") {
            plan.seed = static_cast<unsigned>(value);
        } else {
            give_up(fmt::format("there is no option '{}'", name));
        }
    }
    return plan;
}

struct Judged {
    OwnerReport owner;
    bool operator_heard = false;
};

/// An owner in a process of its own, and an operator who is none of its descendants: this process.
Judged own(OwnerPlan plan) {
    std::array<int, 2> down{};
    std::array<int, 2> up{};
    std::array<int, 2> report{};
    if (::pipe2(down.data(), O_CLOEXEC) != 0 || ::pipe2(up.data(), O_CLOEXEC) != 0 ||
        ::pipe2(report.data(), O_CLOEXEC) != 0)
        give_up("no pipe");
    const pid_t owner = ::fork();
    if (owner == 0) {
        ::dup2(down[0], 0);
        ::dup2(up[1], 1);
        for (const int fd : {down[0], down[1], up[0], up[1], report[0]}) ::close(fd);
        const OwnerReport counted = run_owner(plan);
        static_cast<void>(::write(report[1], &counted, sizeof counted));
        std::_Exit(0);
    }
    for (const int fd : {down[0], up[1], report[1]}) ::close(fd);
    const os::Fd go_on(down[1]);
    const os::Fd heard(up[0]);
    const os::Fd counts(report[0]);
    Judged judged;
    char word[16] = {};
    if (::read(heard.get(), word, sizeof word - 1) <= 0) give_up("the owner ended");
    auto client = ledger::ControlClient::connect(plan.directory);
    if (client && plan.refuses) {
        const auto vote = client->ask({{"verb", "approvals.vote"},
                                       {"id", approval_id()},
                                       {"approve", true},
                                       {"digest", approval_digest()}});
        judged.operator_heard = vote.has_value();
        if (!vote) std::fprintf(stderr, "children: the operator: %s\n", vote.error().message.c_str());
    }
    static_cast<void>(::write(go_on.get(), "\n", 1));
    if (::read(counts.get(), &judged.owner, sizeof judged.owner) != static_cast<ssize_t>(sizeof judged.owner))
        give_up("the owner ended without a report");
    while (::waitpid(owner, nullptr, 0) < 0 && errno == EINTR) {
    }
    return judged;
}

}  // namespace

int main(int argc, char** argv) {
    const Plan plan = plan_of(argc, argv);
    // What is left of those that are killed comes to this process, and goes with it.
    if (!os::become_subreaper()) std::abort();
    const os::ScratchDir dir;
    const std::string marker = fmt::format("callgate-children-{}", ::getpid());

    OwnerPlan served;
    served.marker = marker + "-o";
    served.directory = dir.file("ledger");
    served.cycles = plan.cycles;
    const Judged owned = own(served);

    OwnerPlan open = served;
    open.marker = marker + "-c";
    open.directory = dir.file("control");
    open.cycles = 16;
    open.refuses = false;
    const Judged control = own(open);

    const VictimReport killed = kill_owners(marker, plan.kills, plan.seed);
    const ReconnectReport connected = reconnect(marker + "-r", plan.agents, plan.upstreams, plan.reconnects);
    os::end_left_behind(std::chrono::seconds(10));
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }

    const std::size_t zombies = owned.owner.zombies + connected.zombies + zombies_of(::getpid());
    const std::size_t orphans = owned.owner.orphans + killed.orphans + connected.orphans;
    const std::size_t descriptors = owned.owner.descriptors + connected.descriptors;
    const std::size_t stuck = owned.owner.stuck + connected.failed;
    fmt::print(
        "RESULT zombies={} orphans={} fds={} self_approvals={} cycles={} kills={} children_of_killed={} "
        "reconnects={} "
        "stuck={} votes_tried={} votes_refused={} operator_heard={} control_self_approvals={}\n",
        zombies, orphans, descriptors, owned.owner.self_approvals, plan.cycles, killed.kills, killed.children,
        connected.connections, stuck, owned.owner.tried, owned.owner.refused, owned.operator_heard ? 1 : 0,
        control.owner.self_approvals);
    const bool kept = zombies == 0 && orphans == 0 && descriptors == 0 && owned.owner.self_approvals == 0 &&
                      stuck == 0 && owned.owner.refused == owned.owner.tried && owned.operator_heard &&
                      control.owner.self_approvals > 0;
    return kept ? 0 : 1;
}
