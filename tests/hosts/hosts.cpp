// Plays random hosts over the real pool and both ledgers, and judges after each what was promised (judge.h).
//
//     hosts [--hosts N] [--seed S] [--lanes L] [--no-mutants]   all of it, and then each rule switched off
//     hosts --only SEED [--off GUARD]                           one host, with its story
//     hosts --run [--hosts N] [--seed S] [--off GUARD]          hosts in this process, until a violation
//
// Host i has the seed S + i. What threads do to each other is not part of a seed: a violation may need a few
// plays to show again. Exit code 0 when every promise held and every mutant was found, 1 when not, 2 for bad
// arguments.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "base/guard.h"

#include "host.h"
#include "mutants.h"

namespace {

using namespace callgate;

struct Orders {
    std::uint64_t hosts = 3'000;
    std::uint64_t seed = 1;
    std::size_t lanes = 2;
    bool mutants = true;
    bool run = false;
    bool only = false;
    std::string off;
};

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<Orders> read_orders(const std::vector<std::string_view>& words) {
    Orders orders;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--no-mutants") {
            orders.mutants = false;
        } else if (words[i] == "--run") {
            orders.run = true;
        } else if (i + 1 == words.size()) {
            return std::nullopt;
        } else if (words[i] == "--off") {
            orders.off = words[++i];
        } else {
            const std::string_view option = words[i];
            const auto count = number(words[++i]);
            if (!count) return std::nullopt;
            if (option == "--hosts") {
                orders.hosts = *count;
            } else if (option == "--lanes") {
                orders.lanes = static_cast<std::size_t>(*count);
            } else if (option == "--seed" || option == "--only") {
                orders.seed = *count;
                orders.only = option == "--only";
            } else {
                return std::nullopt;
            }
        }
    }
    return orders;
}

bool switch_off(const std::string& name) {
    if (name.empty()) return true;
#ifdef CALLGATE_FAILPOINTS
    for (std::size_t i = 0; i < base::kGuardCount; ++i) {
        if (base::kGuardNames[i] != name) continue;
        base::guards_off() = std::uint64_t{1} << i;
        return true;
    }
#endif
    return false;
}

/// Plays hosts in this process, until one breaks a promise.
int run(const Orders& orders) {
    hosts::Settings settings;
    if (!orders.off.empty()) settings.patience = std::chrono::milliseconds(2'500);
    settings.scratch =
        fmt::format("{}/callgate-hosts-{}", std::filesystem::temp_directory_path().string(), ::getpid());
    std::filesystem::create_directories(settings.scratch);
    std::uint64_t calls = 0;
    bool held = true;
    for (std::uint64_t i = 0; i < orders.hosts && held; ++i) {
        fmt::print("HOST {}\n", orders.seed + i);
        std::fflush(stdout);
        hosts::Host host(orders.seed + i, settings);
        host.play();
        calls += host.calls();
        for (const hosts::Board::Violation& one : host.board.violations()) {
            held = false;
            fmt::print("VIOLATION seed={} rule={}\n    {}\n    host: {}\n{}", host.seed, one.rule, one.what,
                       host.options_text(), one.story);
        }
    }
    fmt::print("PLAYED {}\n", calls);
    std::filesystem::remove_all(settings.scratch);
    return held ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    auto orders = read_orders({argv + 1, argv + argc});
    if (!orders || !switch_off(orders->off)) {
        fmt::print(stderr,
                   "usage: hosts [--hosts N] [--seed S] [--lanes L] [--no-mutants] | [--run | --only SEED] "
                   "[--off {}]\n",
                   fmt::join(base::kGuardNames, "|"));
        return 2;
    }
    if (orders->only) orders->hosts = 1;
    if (orders->run || orders->only) return run(*orders);

    const hosts::Tally clean = hosts::play_all(orders->seed, orders->hosts, orders->lanes);
    hosts::Tally found;
#ifdef CALLGATE_FAILPOINTS
    if (orders->mutants) found = hosts::find_mutants(orders->seed, orders->lanes);
#endif
    fmt::print("RESULT hosts={} calls={} violations={} mutants={}/{}\n", clean.hosts, clean.calls,
               clean.violations, found.found, found.mutants);
    return clean.violations == 0 && found.found == found.mutants ? 0 : 1;
}
