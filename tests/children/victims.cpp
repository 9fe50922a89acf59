#include "victims.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/must.h"
#include "base/rng.h"
#include "census.h"
#include "talk.h"

namespace callgate::children {
namespace {

using namespace std::chrono_literals;

constexpr std::array kKindsOfVictims = {"deaf",    "orphan", "storm",   "runaway",
                                        "stopped", "echo",   "garbage", "silent"};
constexpr std::size_t kChildren = 4;

[[noreturn]] void be_a_victim(const std::string& marker, int number, int tell) {
    os::RealChildLauncher launcher(must(os::find_launcher()));
    std::vector<std::unique_ptr<os::Child>> children;
    for (std::size_t i = 0; i < kChildren; ++i) {
        const char* kind =
            kKindsOfVictims[(static_cast<std::size_t>(number) * kChildren + i) % kKindsOfVictims.size()];
        children.push_back(must(launcher.launch(hostile(marker, kind))));
        static_cast<void>(::write(tell, "c", 1));
    }
    for (;;) ::pause();
}

}  // namespace

VictimReport kill_owners(const std::string& marker, int kills, unsigned seed) {
    VictimReport report;
    base::SeededRng rng(seed);
    for (int number = 0; number < kills; ++number) {
        const std::string mark = fmt::format("{}-v{}", marker, number);
        std::array<int, 2> told{};
        if (::pipe2(told.data(), O_CLOEXEC) != 0) std::abort();
        const os::Fd reads(told[0]);
        os::Fd writes(told[1]);
        const pid_t owner = ::fork();
        if (owner == 0) be_a_victim(mark, number, writes.get());
        writes.reset();
        // After so many have begun, and a moment more.
        const std::uint64_t wanted = rng.below(kChildren + 1);
        char byte = 0;
        for (std::uint64_t i = 0; i < wanted && ::read(reads.get(), &byte, 1) == 1; ++i) ++report.children;
        ::poll(nullptr, 0, static_cast<int>(rng.below(15)));
        ::kill(owner, SIGKILL);
        while (::waitpid(owner, nullptr, 0) < 0 && errno == EINTR) {
        }
        ++report.kills;
        const std::size_t left = alive_after(mark, 20s);
        if (left > 0) fmt::print(stderr, "children: {} left of owner {} ({} begun)\n", left, number, wanted);
        report.orphans += left;
    }
    return report;
}

}  // namespace callgate::children
