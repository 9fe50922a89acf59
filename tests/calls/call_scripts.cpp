// Plays random call scripts and checks after each that the promises were kept (oracle.h).
//
//     call_scripts [--scripts N] [--seed S] [--only SEED] [--off GUARD] [--expect-violation] [--all]
//
// Script i has the seed S + i. On a violation: the seed, the rule, and what happened step by step. Exit code
// 0 when every rule held and every terminal state occurred, 1 when not, 2 for bad arguments. With
// --expect-violation 0 and 1 change places: for runs with a guard switched off. --all goes on after a
// violation and names each in one line.
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/guard.h"

#include "script.h"

namespace {

using namespace callgate;

// Those that scripts of one thread can miss: the first ones of all.
constexpr std::array<std::string_view, 8> kGuards{
    "insert_first_claim", "approval_compare_and_set", "epoch_fence",    "record_before_effect",
    "one_terminal",       "never_resend_unsafe",      "enter_or_never", "late_no_frees_key"};

struct Settings {
    std::uint64_t scripts = 20'000;
    std::uint64_t seed = 1;
    bool only = false;
    std::optional<std::size_t> off;
    bool expect_violation = false;
    bool all = false;
};

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<Settings> read_settings(const std::vector<std::string_view>& words) {
    Settings settings;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--expect-violation" || words[i] == "--all") {
            (words[i] == "--all" ? settings.all : settings.expect_violation) = true;
            continue;
        }
        if (i + 1 == words.size()) return std::nullopt;
        const std::string_view option = words[i];
        const std::string_view value = words[++i];
        if (option == "--off") {
            for (std::size_t guard = 0; guard < kGuards.size(); ++guard) {
                if (kGuards[guard] == value) settings.off = guard;
            }
            if (!settings.off) return std::nullopt;
            continue;
        }
        const auto count = number(value);
        if (!count) return std::nullopt;
        if (option == "--scripts") {
            settings.scripts = *count;
        } else if (option == "--seed" || option == "--only") {
            settings.seed = *count;
            settings.only = option == "--only";
        } else {
            return std::nullopt;
        }
    }
    if (settings.only) settings.scripts = 1;
    return settings;
}

struct Totals {
    std::uint64_t scripts = 0;
    std::uint64_t calls = 0;
    std::uint64_t violations = 0;
    std::array<std::uint64_t, kStateCount> states{};
};

// The violated rule; empty if all held.
std::string play(std::uint64_t seed, std::FILE* steps, Totals* totals) {
    calls::Script script(seed, steps);
    script.play();
    if (totals != nullptr) {
        ++totals->scripts;
        totals->calls += script.oracle.calls();
        for (std::size_t i = 0; i < kStateCount; ++i) totals->states[i] += script.oracle.states()[i];
    }
    return script.oracle.violation();
}

void report(std::uint64_t seed, const std::string& violation) {
    const std::string again = play(seed, stdout, nullptr);
    fmt::print("VIOLATION seed={} (call_scripts --only {})\n    {}\n", seed, seed, violation);
    if (again != violation) fmt::print("    played again: {}\n", again.empty() ? "nothing" : again);
}

}  // namespace

int main(int argc, char** argv) {
    const auto settings = read_settings({argv + 1, argv + argc});
    if (!settings) {
        fmt::print(stderr,
                   "usage: call_scripts [--scripts N] [--seed S] [--only SEED] [--off {}] "
                   "[--expect-violation] [--all]\n",
                   fmt::join(kGuards, "|"));
        return 2;
    }
    if (settings->off) {
#ifdef CALLGATE_FAILPOINTS
        base::guards_off() = 1u << *settings->off;
#else
        fmt::print(stderr, "not in this build: its guards cannot be switched off (CALLGATE_FAILPOINTS)\n");
        return 77;
#endif
    }
    fmt::print("seeds {} to {}{}\n", settings->seed, settings->seed + settings->scripts - 1,
               settings->off ? fmt::format(", without {}", kGuards[*settings->off]) : "");
    Totals totals;
    for (std::uint64_t i = 0; i < settings->scripts && (settings->all || totals.violations == 0); ++i) {
        const std::string violation = play(settings->seed + i, settings->only ? stdout : nullptr, &totals);
        if (violation.empty()) continue;
        ++totals.violations;
        if (settings->all || settings->only) {
            fmt::print("VIOLATION seed={} {}\n", settings->seed + i, violation);
        } else {
            report(settings->seed + i, violation);
        }
    }
    std::size_t seen = 0;
    for (std::size_t i = 0; i < kStateCount; ++i) {
        fmt::print("{:>16} {:>9}\n", to_string(static_cast<State>(i)), totals.states[i]);
        if (totals.states[i] > 0) ++seen;
    }
    fmt::print("RESULT scripts={} calls={} violations={} states_seen={}/{}\n", totals.scripts, totals.calls,
               totals.violations, seen, kStateCount);
    const bool all_held = totals.violations == 0 && (settings->only || seen == kStateCount);
    if (settings->expect_violation) return totals.violations > 0 ? 0 : 1;
    return all_held ? 0 : 1;
}
