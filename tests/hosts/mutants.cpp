#include "mutants.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace callgate::hosts {
namespace {

/// The rules, as guard.h names them. Not here: those that only two owners or a death can show.
constexpr std::string_view kMutants[] = {
    "insert_first_claim",
    "approval_compare_and_set",
    "schema_check",
    "a0_previews",
    "limit_concurrent",
    "limit_rate",
    "one_at_a_resource",
    "parent_deadline",
    "nesting_limit",
    "scopes_checked",
    "key_is_the_request",
    "enter_or_never",
    "late_no_frees_key",
    "queue_bounded",
    "queued_is_no_fault",
    "callback_faults_counted",
    "callbacks_in_order",
    "callbacks_elsewhere",
    "finite_arguments",
    "approvals_capped",
    "places_are_waited_for",
    "stale_not_joined",
    "rule_by_content",
    "slot_cancels",
    "nested_whichever_way",
    "digest_connector",
    "digest_config_ref",
    "finite_results",
    "hooks_once",
    "batch_suffix",
    "suffix_reserved",
    "longest_is_no_limit",
    "one_local_principal",
    "mute_exceptions",
    "thrown_errors_kept",
    "defaults_filled_in",
};
constexpr std::uint64_t kMostHosts = 3'000;  // to find a mutant
constexpr std::uint64_t kTogether = 50;      // in one process

struct Run {
    std::uint64_t hosts = 0;
    std::uint64_t calls = 0;
    bool held = false;
    std::string rule;   // the first that was broken
    std::string story;  // what it said
};

Run play(std::uint64_t seed, std::uint64_t hosts, std::string_view off) {
    std::array<char, 4096> self{};
    if (::readlink("/proc/self/exe", self.data(), self.size() - 1) < 0) return {};
    std::string command = fmt::format("exec '{}' --run --seed {} --hosts {}", self.data(), seed, hosts);
    if (!off.empty()) command += fmt::format(" --off {}", off);
    command += " 2>&1";
    Run run;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return run;
    std::array<char, 4096> text{};
    std::uint64_t last = seed;
    while (std::fgets(text.data(), static_cast<int>(text.size()), pipe) != nullptr) {
        const std::string_view line(text.data());
        if (line.starts_with("HOST ")) {
            ++run.hosts;
            last = seed + run.hosts - 1;
        } else if (line.starts_with("PLAYED ")) {
            run.calls = std::strtoull(text.data() + 7, nullptr, 10);
        } else {
            const auto rule = line.find("rule=");
            if (run.rule.empty() && rule != std::string_view::npos)
                run.rule = std::string(line.substr(rule + 5, line.find_last_not_of('\n') - rule - 4));
            if (run.story.size() < 8'000) run.story += line;
        }
    }
    const int status = ::pclose(pipe);
    run.held = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!run.held && run.rule.empty()) {
        run.rule = "death";
        run.story += fmt::format("VIOLATION seed={} rule=death\n    the process died ({})\n", last, status);
    }
    return run;
}

/// Does the pieces 0 … count - 1, several at once.
void in_lanes(std::size_t lanes, std::uint64_t count, const std::function<void(std::uint64_t)>& piece) {
    std::atomic<std::uint64_t> next{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < lanes; ++i) {
        threads.emplace_back([&] {
            for (std::uint64_t mine = next++; mine < count; mine = next++) piece(mine);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

Tally play_all(std::uint64_t seed, std::uint64_t hosts, std::size_t lanes) {
    Tally tally;
    std::mutex mutex;
    in_lanes(lanes, (hosts + kTogether - 1) / kTogether, [&](std::uint64_t piece) {
        std::uint64_t from = piece * kTogether;
        const std::uint64_t until = std::min(hosts, from + kTogether);
        while (from < until) {
            const Run run = play(seed + from, until - from, {});
            from += std::max<std::uint64_t>(run.hosts, 1);
            const std::lock_guard lock(mutex);
            tally.hosts += run.hosts;
            tally.calls += run.calls;
            if (run.held) continue;
            ++tally.violations;
            fmt::print("{}", run.story);
            std::fflush(stdout);
        }
    });
    return tally;
}

Tally find_mutants(std::uint64_t seed, std::size_t lanes) {
    Tally tally;
    std::mutex mutex;
    tally.mutants = std::size(kMutants);
    in_lanes(lanes, std::size(kMutants), [&](std::uint64_t number) {
        const Run run = play(seed, kMostHosts, kMutants[number]);
        const std::lock_guard lock(mutex);
        if (!run.held) ++tally.found;
        fmt::print("  without {:<28} {}\n", kMutants[number],
                   run.held ? fmt::format("NOT FOUND in {} hosts", run.hosts)
                            : fmt::format("found by {} at host {}", run.rule, run.hosts));
        std::fflush(stdout);
    });
    return tally;
}

}  // namespace callgate::hosts
