// Kills a worker that owns a durable ledger, again and again, and holds what is on the record against what
// really happened (lane.h, worker.h, oracle.h, checker.h).
//
//     crash [--kills N] [--seed S] [--lanes N] [--directory DIR] [--control-kills N] [--keep DIR]
//
// At the end the control: the same with the rule switched off that an unsafe call is never sent again; the
// harness must see the double effects. The last line is the RESULT. Exit code 0 if nothing was doubled, lost,
// orphaned, stuck or broken, the control was seen, and at least 30 % of the kills fell between the dispatch
// and the outcome of a call; 1 if not; 2 for bad arguments; 77 where the build has no failpoints.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lane.h"

namespace {

using namespace callgate;
using namespace callgate::fault;

constexpr double kWantedInEffect = 30.0;

struct Options {
    std::uint64_t kills = 10'000;
    std::uint64_t seed = 1;
    std::uint64_t lanes = 2;
    std::uint64_t control_kills = 300;
    std::string directory = "/dev/shm";
    std::string kept;
};

std::optional<Options> read_options(const std::vector<std::string_view>& words) {
    Options options;
    const std::map<std::string_view, std::uint64_t*> numbers = {{"--kills", &options.kills},
                                                                {"--seed", &options.seed},
                                                                {"--lanes", &options.lanes},
                                                                {"--control-kills", &options.control_kills}};
    for (std::size_t i = 0; i < words.size(); i += 2) {
        if (i + 1 == words.size()) return std::nullopt;
        const std::string_view value = words[i + 1];
        if (words[i] == "--directory") {
            options.directory = value;
        } else if (words[i] == "--keep") {
            options.kept = value;
        } else {
            const auto number = numbers.find(words[i]);
            if (number == numbers.end()) return std::nullopt;
            const auto [end, error] =
                std::from_chars(value.data(), value.data() + value.size(), *number->second);
            if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
        }
    }
    if (options.kills == 0 || options.lanes == 0 || options.lanes > 64) return std::nullopt;
    return options;
}

/// Runs a lane for each plan, all at once. False if one could not go on.
bool run_lanes(const std::vector<LanePlan>& plans, std::vector<LaneReport*>& reports) {
    std::vector<pid_t> processes;
    for (const LanePlan& plan : plans) {
        LaneReport* report = make_shared_memory<LaneReport>();
        reports.push_back(report);
        std::fflush(stdout);
        const pid_t process = ::fork();
        if (process == 0) run_lane(plan, *report);
        processes.push_back(process);
    }
    bool well = true;
    for (std::size_t i = 0; i < processes.size(); ++i) {
        int status = 0;
        ::waitpid(processes[i], &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        fmt::print("lane with seed {} gave up (status {}): {}\n", plans[i].seed, status,
                   reports[i]->trouble.data());
        well = false;
    }
    return well;
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

LaneReport sum(const std::vector<LaneReport*>& reports, std::map<std::string, std::uint64_t>& places) {
    LaneReport all;
    for (const LaneReport* one : reports) {
        all.kills += one->kills;
        all.in_effect += one->in_effect;
        all.at_failpoints += one->at_failpoints;
        all.while_opening += one->while_opening;
        all.in_races += one->in_races;
        all.refusals += one->refusals;
        all.two_owners += one->two_owners;
        all.rounds += one->rounds;
        all.found.keys += one->found.keys;
        all.found.effects += one->found.effects;
        all.found.doubled += one->found.doubled;
        all.found.lost += one->found.lost;
        all.found.orphans += one->found.orphans;
        all.found.stuck += one->found.stuck;
        all.found.chain_breaks += one->found.chain_breaks;
        all.found.unknown += one->found.unknown;
        all.found.events += one->found.events;
        for (std::size_t i = 0; i < kStateCount; ++i) all.told[i] += one->told[i];
        std::istringstream lines(one->places.data());
        std::string name;
        for (std::uint64_t kills = 0; lines >> name >> kills;) places[name] += kills;
    }
    return all;
}

void print(const LaneReport& all, const std::map<std::string, std::uint64_t>& places, double took) {
    fmt::print("{} kills in {} rounds, {:.1f} s, {:.0f} a second\n", all.kills, all.rounds, took,
               static_cast<double>(all.kills) / took);
    fmt::print("  {} at failpoints, {} before the worker had the ledger, {} with others that wanted it\n",
               all.at_failpoints, all.while_opening, all.in_races);
    fmt::print("  {} refusals of a second owner, {} second owners\n", all.refusals, all.two_owners);
    fmt::print("  {} effects, {} events of the audit verified\n  told:", all.found.effects, all.found.events);
    for (std::size_t i = 0; i < kStateCount; ++i) {
        if (all.told[i] > 0) fmt::print(" {} {}", to_string(static_cast<State>(i)), all.told[i]);
    }
    fmt::print("\n  killed at:\n");
    for (const auto& [name, kills] : places) fmt::print("    {:<32} {:>6}\n", name, kills);
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = read_options({argv + 1, argv + argc});
    if (!options) {
        fmt::print(stderr,
                   "usage: crash [--kills N] [--seed S] [--lanes N] [--directory DIR] "
                   "[--control-kills N] [--keep DIR]\n");
        return 2;
    }
#ifndef CALLGATE_FAILPOINTS
    fmt::print(stderr, "not in this build: it has no failpoints (CALLGATE_FAILPOINTS)\n");
    return 77;
#endif
    const std::string directory = fmt::format("{}/callgate-crash-{}", options->directory, ::getpid());
    std::filesystem::create_directories(directory);
    if (!options->kept.empty()) std::filesystem::create_directories(options->kept);
    std::vector<LanePlan> plans(options->lanes);
    for (std::size_t i = 0; i < plans.size(); ++i) {
        plans[i].directory = directory;
        plans[i].seed = options->seed + i;
        plans[i].kills = (options->kills + options->lanes - 1) / options->lanes;
        plans[i].kept = options->kept;
    }
    fmt::print("seeds {} to {}\n", options->seed, options->seed + plans.size() - 1);
    const auto began = std::chrono::steady_clock::now();
    std::vector<LaneReport*> reports;
    const bool well = run_lanes(plans, reports);
    std::map<std::string, std::uint64_t> places;
    const LaneReport all = sum(reports, places);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    print(all, places, took.count());

    fmt::print("the control: unsafe calls are sent again\n");
    LanePlan control;
    control.directory = directory + "/control";
    control.seed = options->seed;
    control.kills = options->control_kills;
    control.kills_per_round = 50;
    control.resends = true;
    control.until_double = true;
    std::vector<LaneReport*> control_report;
    const bool control_well = run_lanes({control}, control_report);
    const std::uint64_t control_double = control_report[0]->found.doubled;
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);

    const double in_effect = percent(all.in_effect, all.kills);
    const Verdict& found = all.found;
    fmt::print(
        "RESULT kills={} keys={} double={} lost={} orphan={} stuck={} chain_breaks={} unknown_pct={:.1f} "
        "c3_c4_pct={:.1f} control_double={}\n",
        all.kills, found.keys, found.doubled, found.lost, found.orphans, found.stuck, found.chain_breaks,
        percent(found.unknown, found.keys), in_effect, control_double);
    const bool held = found.doubled + found.lost + found.orphans + found.stuck + found.chain_breaks == 0 &&
                      all.two_owners == 0;
    return well && control_well && held && control_double > 0 && in_effect >= kWantedInEffect ? 0 : 1;
}
