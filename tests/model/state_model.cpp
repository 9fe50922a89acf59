// Explores the ledger's rules (world.h, keys_world.h, approvals_world.h) and checks their invariants in every
// state that it comes to.
//
//     state_model [--faults N] [--one-key-faults N] [--max-states N] [--thorough]
//
// First each effect class alone: one key, three nodes; then every pair of effect classes: two keys. Unsafe
// and tx alone: anything may go wrong any number of times, until there is nothing new. The others: as many
// things go wrong as the options say (one key 3, two keys 1), and no more states are looked at than
// --max-states (250,000) for each line of the table; a line that ends there says how deep everything was
// seen. --thorough: one key without a limit on what goes wrong, and 6,000,000 states for each line (1 GB).
//
// Then the life of one key (fingerprints, stale calls, tombstones) by effect class, and approvals (votes,
// expiry, withdrawal, use, for one and for two people): small worlds, looked at to their end.
//
// Then the controls, which must be found: the fence switched off, a take-over that sends an unsafe call
// again, a probe that breaks its contract; and each rule of the small worlds given a wrong input: calls that
// never grow old, no tombstones, one fingerprint for all, an approval used as if it were new, no expiry, any
// digest, nobody who asked. The last line is the RESULT. Exit code 0 if every invariant held, every control
// was found and every kind of step occurred; 1 if not; 2 for bad arguments.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/guard.h"
#include "tool/words.h"

#include "approvals_world.h"
#include "explore.h"
#include "keys_world.h"
#include "small_world.h"

namespace {

using namespace callgate;
using namespace callgate::model;

/// What has to occur somewhere, or the exploration says nothing about it.
constexpr std::string_view kMustOccur[] = {"claimed", "dispatched", "reconciling", "succeeded", "failed",
                                           "unknown", "cancelled",  "not_applied", "take-over", "fenced",
                                           "late",    "released",   "refused",     "probe",     "resolved"};

constexpr std::uint64_t kUnlimited = 16;  // what a world has room to count

struct Options {
    std::uint8_t faults = 1;
    std::optional<std::uint8_t> one_key_faults = 3;
    std::uint64_t max_states = 250'000;
};

std::optional<Options> read_options(const std::vector<std::string_view>& words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--thorough") {
            options.one_key_faults.reset();
            options.max_states = 6'000'000;
            continue;
        }
        if (i + 1 == words.size()) return std::nullopt;
        const std::string_view option = words[i];
        const std::string_view value = words[++i];
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
        if (option == "--max-states") {
            options.max_states = number;
        } else if (option == "--faults" && number < kUnlimited) {
            options.faults = static_cast<std::uint8_t>(number);
        } else if (option == "--one-key-faults" && number < kUnlimited) {
            options.one_key_faults = static_cast<std::uint8_t>(number);
        } else {
            return std::nullopt;
        }
    }
    return options;
}

void print(const Finding& finding) {
    fmt::print("    {}\n", finding.what);
    for (std::size_t i = 0; i < finding.steps.size(); ++i) {
        fmt::print("    {:>3}. {}\n", i + 1, finding.steps[i]);
    }
}

struct Totals {
    std::uint64_t states = 0;
    std::uint64_t transitions = 0;
    std::uint64_t violations = 0;
};

void run(std::string_view name, const Settings& settings, const Options& options, Totals& totals,
         Seen& seen) {
    const auto begin = std::chrono::steady_clock::now();
    const Explored explored = explore(settings, options.max_states, seen);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    fmt::print("{:<18} {:>9} {:>10} {:>6} {:>7} {:>6.1f} s{}\n", name, explored.states, explored.transitions,
               explored.depth, explored.stuck, took.count(), explored.complete ? "" : "  bounded");
    if (explored.finding) print(*explored.finding);
    std::fflush(stdout);
    totals.states += explored.states;
    totals.transitions += explored.transitions;
    if (explored.finding) ++totals.violations;
}

void add(std::string_view name, const Explored& explored, Totals& totals) {
    fmt::print("{:<18} {:>9} {:>10} {:>6}\n", name, explored.states, explored.transitions, explored.depth);
    if (explored.finding) print(*explored.finding);
    totals.states += explored.states;
    totals.transitions += explored.transitions;
    if (explored.finding) ++totals.violations;
}

/// The life of one key, and approvals.
void run_small_worlds(Totals& totals) {
    fmt::print("{:<18} {:>9} {:>10} {:>6}\n", "a key's life", "states", "moves", "depth");
    for (const EffectClass effect :
         {EffectClass::read, EffectClass::keyed, EffectClass::tx, EffectClass::unsafe}) {
        KeysSettings settings;
        settings.effect = effect;
        add(to_string(effect), explore_small<KeysWorld>(settings), totals);
    }
    fmt::print("{:<18} {:>9} {:>10} {:>6}\n", "approvals", "states", "moves", "depth");
    for (const std::uint32_t needed : {1u, 2u}) {
        ApprovalsSettings settings;
        settings.needed = needed;
        add(fmt::format("{} of 2 people", needed), explore_small<ApprovalsWorld>(settings), totals);
    }
}

/// Whether it is found that a rule of a small world is missed.
bool found_small(std::string_view name, const Explored& explored) {
    fmt::print("{}: {} after {} states\n", name, explored.finding ? "found" : "NOT FOUND", explored.states);
    if (explored.finding) print(*explored.finding);
    return explored.finding.has_value();
}

bool found_in_keys(std::string_view name, KeysSettings::Mutant mutant) {
    KeysSettings settings;
    settings.mutant = mutant;
    return found_small(name, explore_small<KeysWorld>(settings));
}

bool found_in_approvals(std::string_view name, ApprovalsSettings::Mutant mutant) {
    ApprovalsSettings settings;
    settings.mutant = mutant;
    return found_small(name, explore_small<ApprovalsWorld>(settings));
}

void print_head(std::string_view what) {
    fmt::print("{:<18} {:>9} {:>10} {:>6} {:>7} {:>8}\n", what, "states", "moves", "depth", "stuck", "time");
}

/// A control must be found; how, is printed.
bool found(std::string_view name, const Settings& settings, const Options& options) {
    Seen ignored;
    const Explored explored = explore(settings, options.max_states, ignored);
    const bool broke = explored.finding.has_value() && explored.stuck == 0;
    fmt::print("{}: {} after {} states\n", name, broke ? "found" : "NOT FOUND", explored.states);
    if (explored.finding) print(*explored.finding);
    return broke;
}

#ifdef CALLGATE_FAILPOINTS
bool found_without(base::Guard guard, std::string_view name, const Settings& settings,
                   const Options& options) {
    base::guards_off() = 1u << static_cast<unsigned>(guard);
    const bool broke = found(name, settings, options);
    base::guards_off() = 0;
    return broke;
}
#endif

}  // namespace

int main(int argc, char** argv) {
    const auto options = read_options({argv + 1, argv + argc});
    if (!options) {
        fmt::print(
            stderr,
            "usage: state_model [--faults 0..15] [--one-key-faults 0..15] [--max-states N] [--thorough]\n");
        return 2;
    }
    Totals totals;
    Seen seen;
    print_head("one key");
    for (const EffectClass effect : kEffectClasses) {
        Settings settings;
        settings.effects = {effect, effect};
        settings.keys = 1;
        if (effect != EffectClass::tx && effect != EffectClass::unsafe)
            settings.faults = options->one_key_faults;
        run(to_string(effect), settings, *options, totals, seen);
    }
    print_head("two keys");
    for (std::size_t a = 0; a < std::size(kEffectClasses); ++a) {
        for (std::size_t b = a; b < std::size(kEffectClasses); ++b) {
            Settings settings;
            settings.effects = {kEffectClasses[a], kEffectClasses[b]};
            settings.faults = options->faults;
            run(fmt::format("{} + {}", to_string(kEffectClasses[a]), to_string(kEffectClasses[b])), settings,
                *options, totals, seen);
        }
    }

    run_small_worlds(totals);

    Settings control;
    control.faults = 2;
    std::string controls;
    bool all_found = true;
    const auto note = [&](std::string_view name, bool was_found) {
        controls += fmt::format(" {}={}", name, was_found ? 1 : 0);
        all_found = all_found && was_found;
    };
#ifdef CALLGATE_FAILPOINTS
    note("fence_off_found", found_without(base::Guard::epoch_fence, "without the fence", control, *options));
    note("reexecute_found", found_without(base::Guard::never_resend_unsafe,
                                          "with a take-over that sends again", control, *options));
    base::guards_off() = 1u << static_cast<unsigned>(base::Guard::approval_compare_and_set);
    note("unguarded_approval_found",
         found_in_approvals("with approvals that stay new", ApprovalsSettings::Mutant::none));
    base::guards_off() = 0;
#else
    fmt::print(
        "This build has no switches for its guards (CALLGATE_FAILPOINTS): three controls are left out.\n");
#endif
    control.effects = {EffectClass::verify, EffectClass::verify};
    control.hasty_probe = true;
    note("hasty_probe_found", found("with a probe that does not wait", control, *options));
    using KeysMutant = KeysSettings::Mutant;
    using ApprovalsMutant = ApprovalsSettings::Mutant;
    note("ageless_found", found_in_keys("with calls that never grow old", KeysMutant::ageless));
    note("no_tombstone_found", found_in_keys("without tombstones", KeysMutant::no_tombstone));
    note("one_fingerprint_found", found_in_keys("with one fingerprint for all", KeysMutant::one_fingerprint));
    note("clockless_found",
         found_in_approvals("with approvals that never expire", ApprovalsMutant::clockless));
    note("any_call_found", found_in_approvals("with approvals for any call", ApprovalsMutant::any_call));
    note("nameless_found", found_in_approvals("with nobody who asked", ApprovalsMutant::nameless));

    bool all_seen = true;
    for (const std::string_view what : kMustOccur) {
        if (seen[what] > 0) continue;
        fmt::print("never occurred: {}\n", what);
        all_seen = false;
    }
    fmt::print("RESULT states={} transitions={} violations={}{}\n", totals.states, totals.transitions,
               totals.violations, controls);
    return totals.violations == 0 && all_found && all_seen ? 0 : 1;
}
