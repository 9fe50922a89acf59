// failpoint_sweep [--hits N] [--jobs N] [--keep DIR] < names: every failpoint × {kill, error, enospc,
// short_write}.
//
// First the workload runs unharmed: it must pass every name. Then it runs once for each name, action and
// chosen moment (the first time the place is passed, the last, and evenly in between), with that one fault,
// in a process of its own; and another process judges what is left. Exit code 1 if anything is wrong, 77
// where the build has no failpoints.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "judge.h"
#include "os/scratch_dir.h"
#include "workload.h"

namespace callgate::failpoints {

namespace {

constexpr const char* kActions[] = {"kill", "error", "enospc", "short_write"};
constexpr unsigned kSecondsForOne = 100;  // then it hangs

struct Options {
    std::uint64_t hits = 2;
    std::size_t jobs = std::max(1u, static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN)));
};

/// One run of the workload with one fault.
struct Case {
    std::string name;
    std::string action;
    std::uint64_t hit = 1;
};

using Hits = std::map<std::string, std::uint64_t>;

/// How a process ended.
int run_in_process(const std::function<void()>& work) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::alarm(kSecondsForOne);
        work();
        std::fflush(stdout);
        std::_Exit(0);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

Hits read_hits(const Place& place) {
    Hits hits;
    std::ifstream file(place.hits());
    std::uint64_t number = 0;
    for (std::string name; file >> name >> number;) hits[name] = number;
    return hits;
}

struct Finding {
    bool reached = false;
    std::vector<std::string> wrongs;
};

/// `order` is what is armed, "" nothing.
Finding run(const Place& place, const std::string& order) {
    Finding finding;
    std::filesystem::create_directories(place.directory);
    const int status = run_in_process([&] {
#ifdef CALLGATE_FAILPOINTS
        if (!base::failpoints().arm_from_text(order)) std::_Exit(9);
#endif
        run_workload(place);
    });
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    finding.reached = killed;
    if (!killed && status != 0) finding.wrongs.push_back(fmt::format("It ended with status {}.", status));
    const std::string report = place.directory + "/report";
    const int judged = run_in_process([&] {
        std::ofstream out(report);
        for (const std::string& wrong : judge(place)) out << wrong << '\n';
    });
    if (judged != 0) finding.wrongs.push_back(fmt::format("The judge ended with status {}.", judged));
    std::ifstream in(report);
    for (std::string wrong; std::getline(in, wrong);) finding.wrongs.push_back(wrong);
    return finding;
}

std::vector<std::uint64_t> moments(std::uint64_t passed, std::uint64_t wanted) {
    std::set<std::uint64_t> chosen;
    for (std::uint64_t i = 0; i < wanted; ++i)
        chosen.insert(wanted == 1 ? 1 : 1 + i * (passed - 1) / (wanted - 1));
    return {chosen.begin(), chosen.end()};
}

/// Every jobs-th case, in a process of its own; a line each is written to `out`.
void run_lane(const std::string& directory, const std::vector<Case>& cases, std::size_t lane,
              std::size_t jobs, const std::string& out) {
    std::ofstream lines(out);
    for (std::size_t i = lane; i < cases.size(); i += jobs) {
        const Case& one = cases[i];
        const Place place{fmt::format("{}/{}", directory, i)};
        Finding finding = run(place, fmt::format("{}={}@{}", one.name, one.action, one.hit));
        if (one.action != "kill") {
            const Hits hits = read_hits(place);
            const auto passed = hits.find(one.name);
            finding.reached = passed != hits.end() && passed->second >= one.hit;
        }
        lines << i << ' ' << finding.reached << ' ' << finding.wrongs.size();
        for (const std::string& wrong : finding.wrongs) lines << '\t' << wrong;
        lines << '\n';
        std::error_code ignored;
        if (finding.wrongs.empty()) std::filesystem::remove_all(place.directory, ignored);
    }
}

int sweep(const Options& options, const std::vector<std::string>& names, const std::string& directory) {
    const Place unharmed{directory + "/unharmed"};
    const Finding census = run(unharmed, "");
    for (const std::string& wrong : census.wrongs) fmt::print("unharmed: {}\n", wrong);
    const Hits passed = read_hits(unharmed);
    std::vector<Case> cases;
    std::set<std::string> unreached;
    for (const std::string& name : names) {
        const auto found = passed.find(name);
        if (found == passed.end()) {
            unreached.insert(name);
            continue;
        }
        for (const char* action : kActions) {
            for (const std::uint64_t hit : moments(found->second, options.hits))
                cases.push_back({name, action, hit});
        }
    }

    run_in_process([&] {
        std::vector<pid_t> lanes;
        for (std::size_t lane = 0; lane < options.jobs; ++lane) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                run_lane(directory, cases, lane, options.jobs, fmt::format("{}/lane-{}", directory, lane));
                std::_Exit(0);
            }
            lanes.push_back(child);
        }
        ::alarm(0);
        for (const pid_t lane : lanes) ::waitpid(lane, nullptr, 0);
    });

    struct Cell {
        std::uint64_t runs = 0;
        std::uint64_t reached = 0;
        std::uint64_t wrong = 0;
    };
    std::map<std::pair<std::string, std::string>, Cell> table;
    std::uint64_t runs = 0;
    std::uint64_t violations = census.wrongs.size();
    for (std::size_t lane = 0; lane < options.jobs; ++lane) {
        std::ifstream lines(fmt::format("{}/lane-{}", directory, lane));
        for (std::string line; std::getline(lines, line);) {
            std::size_t number = 0;
            int reached = 0;
            std::uint64_t wrongs = 0;
            std::sscanf(line.c_str(), "%zu %d %lu", &number, &reached, &wrongs);
            const Case& one = cases.at(number);
            Cell& cell = table[{one.name, one.action}];
            ++cell.runs;
            ++runs;
            cell.reached += reached != 0 ? 1 : 0;
            cell.wrong += wrongs;
            violations += wrongs;
            if (wrongs != 0)
                fmt::print("{}={}@{}: {}\n", one.name, one.action, one.hit, line.substr(line.find('\t') + 1));
        }
    }
    if (runs != cases.size()) {
        fmt::print("Only {} of {} runs were made.\n", runs, cases.size());
        ++violations;
    }

    fmt::print("{:32} {:>7} {:>12} {:>12} {:>12} {:>12}\n", "failpoint", "passed", kActions[0], kActions[1],
               kActions[2], kActions[3]);
    for (const std::string& name : names) {
        const auto found = passed.find(name);
        fmt::print("{:32} {:>7}", name, found == passed.end() ? 0 : found->second);
        for (const char* action : kActions) {
            const Cell cell = table[{name, action}];
            if (cell.reached == 0) unreached.insert(name);
            fmt::print(" {:>12}", cell.reached == 0 ? std::string("unreached")
                                  : cell.wrong != 0 ? fmt::format("{} WRONG", cell.wrong)
                                                    : fmt::format("ok {}/{}", cell.reached, cell.runs));
        }
        fmt::print("\n");
    }
    for (const std::string& name : unreached) fmt::print("unreached: {}\n", name);
    fmt::print("RESULT names={} cases={} unreached={} violations={}\n", names.size(), runs, unreached.size(),
               violations);
    return unreached.empty() && violations == 0 ? 0 : 1;
}

}  // namespace

}  // namespace callgate::failpoints

int main(int argc, char** argv) {
    using namespace callgate;
#ifndef CALLGATE_FAILPOINTS
    fmt::print("not in this build: it has no failpoints (CALLGATE_FAILPOINTS)\n");
    return 77;
#endif
    failpoints::Options options;
    std::string kept;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view option = argv[i];
        if (option == "--hits") options.hits = std::max(1ul, std::stoul(argv[i + 1]));
        if (option == "--jobs") options.jobs = std::max(1ul, std::stoul(argv[i + 1]));
        if (option == "--keep") kept = argv[i + 1];
    }
    std::vector<std::string> names;
    for (std::string name; std::getline(std::cin, name);) names.push_back(name);
    const os::ScratchDir scratch(os::quick_directory());
    const std::string directory = kept.empty() ? scratch.path() : kept;
    std::filesystem::create_directories(directory);
    return failpoints::sweep(options, names, directory);
}
