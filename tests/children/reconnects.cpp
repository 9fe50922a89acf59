#include "reconnects.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/must.h"
#include "census.h"
#include "talk.h"

namespace callgate::children {
namespace {

using namespace std::chrono_literals;

ReconnectReport be_an_agent(const std::string& marker, int upstreams, int times) {
    ReconnectReport report;
    const std::size_t before = open_descriptors();
    {
        os::RealChildLauncher launcher(must(os::find_launcher()));
        for (int round = 0; round < times; ++round) {
            std::vector<std::unique_ptr<os::Child>> children;
            for (int i = 0; i < upstreams; ++i)
                children.push_back(must(launcher.launch(hostile(marker, "echo"))));
            for (const auto& child : children) {
                std::string line;
                const bool answered = child->send("hello\n") && hear(*child, line) && line == "hello";
                ++(answered ? report.connections : report.failed);
                child->end();
            }
            for (const auto& child : children) {
                if (!gone(*child)) ++report.failed;
            }
        }
    }
    report.zombies = zombies_of(::getpid());
    const std::size_t after = open_descriptors();
    report.descriptors = after > before ? after - before : 0;
    return report;
}

}  // namespace

ReconnectReport reconnect(const std::string& marker, int agents, int upstreams, int times) {
    ReconnectReport all;
    std::array<int, 2> told{};
    if (::pipe2(told.data(), O_CLOEXEC) != 0) std::abort();
    const os::Fd reads(told[0]);
    os::Fd writes(told[1]);
    std::vector<pid_t> processes;
    for (int i = 0; i < agents; ++i) {
        const pid_t agent = ::fork();
        if (agent == 0) {
            const ReconnectReport report = be_an_agent(marker, upstreams, times);
            static_cast<void>(::write(writes.get(), &report, sizeof report));
            ::_exit(0);
        }
        processes.push_back(agent);
    }
    writes.reset();
    ReconnectReport one;
    while (::read(reads.get(), &one, sizeof one) == static_cast<ssize_t>(sizeof one)) {
        all.connections += one.connections;
        all.failed += one.failed;
        all.zombies += one.zombies;
        all.descriptors += one.descriptors;
    }
    for (const pid_t agent : processes) {
        while (::waitpid(agent, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    all.orphans = alive(marker);
    return all;
}

}  // namespace callgate::children
