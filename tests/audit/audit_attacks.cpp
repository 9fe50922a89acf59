// audit_attacks [--trials N] [--seed S] [--sample N --out DIR] [--only CLASS] [--events N]
//
// Every trial makes a log, attacks it, and verifies what came of it with and without the witness; the
// untouched log is verified, too. An attack has to be found, where nothing in the log itself shows it at
// least with the witness; an untouched log must never raise an alarm. Then a long log is verified against the
// clock. With --out the first N trials of each class are written down for another verifier, with what this
// one said. The last line is one JSON object with the counts; run.py turns it into the RESULT. Exit code 1 if
// anything is wrong.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <time.h>

#include <callgate/json.h>
#include <fmt/format.h>

#include "attacks.h"
#include "audit_log.h"
#include "ledger/audit/export.h"

namespace callgate::audit {
namespace {

using ledger::AuditVerdict;

struct Options {
    std::uint64_t trials = 1'000;
    std::uint64_t seed = 1;
    std::uint64_t sample = 0;
    std::uint64_t events = 0;
    std::string out;
    std::string only;
};

struct Counts {
    std::uint64_t trials = 0;
    std::uint64_t detected = 0;
    std::uint64_t needed_witness = 0;
    std::uint64_t false_alarms = 0;
    std::uint64_t surprises = 0;  ///< needed a witness where it should not, or the other way round
};

class Sample {
public:
    Sample(std::string directory, std::uint64_t trials) : directory_(std::move(directory)), trials_(trials) {
        if (!directory_.empty()) expected_.open(directory_ + "/expected.jsonl");
    }

    void add(const std::string& name, std::uint64_t trial, const AuditLog& log, const std::string& text,
             bool with_witness, const ledger::VerifyReport& report) {
        if (directory_.empty() || trial >= trials_) return;
        const std::string path = directory_ + "/" + name;
        std::ofstream(path + ".audit.jsonl", std::ios::binary) << text;
        std::ofstream(path + ".keys") << log.pinned() << "\n";
        if (with_witness) {
            std::ofstream witness(path + ".witness.jsonl", std::ios::binary);
            for (const std::string& note : log.witnessed) witness << ledger::checkpoint_line(note);
        }
        Object line{{"log", name}};
        for (const auto& member : report.to_json()) line.emplace(member.key(), member.value());
        expected_ << json::write(line) << "\n";
    }

private:
    std::string directory_;
    std::uint64_t trials_;
    std::ofstream expected_;
};

Counts run_class(const Attack& attack, std::uint64_t number, const Options& options, Sample& sample) {
    Counts counts;
    for (std::uint64_t trial = 0; trial < options.trials; ++trial) {
        base::SeededRng rng(options.seed * 1'000'000'007 + number * 10'000'019 + trial);
        const AuditLog log = make_log(rng, false);
        const std::string untouched = log.text();
        const Attacked attacked = attack.run(log, rng);
        const auto alone = verify(log, attacked.text, false);
        const auto witnessed = verify(log, attacked.text, true);
        ++counts.trials;
        const bool found = witnessed.verdict() == AuditVerdict::broken;
        const bool found_alone = alone.verdict() == AuditVerdict::broken;
        if (found) ++counts.detected;
        if (attacked.needs_witness) ++counts.needed_witness;
        const bool honest =
            attacked.needs_witness
                ? alone.verdict() == AuditVerdict::unwitnessed &&
                      alone.summary().find("Without a witness it cannot be found") != std::string::npos
                : found_alone;
        if (!honest) ++counts.surprises;
        if (!found || !honest)
            fmt::print("  {} trial {} seed {}: found {}, without a witness {}, expected to need one: {}\n",
                       attack.name, trial, options.seed, witnessed.summary(), alone.summary(),
                       attacked.needs_witness);

        const AuditLog whole = make_log(rng, true);
        const std::string text = whole.text();
        const auto good = verify(whole, text, true);
        const auto good_alone = verify(whole, text, false);
        if (good.verdict() != AuditVerdict::intact || good_alone.verdict() != AuditVerdict::unwitnessed ||
            good.events != whole.size()) {
            ++counts.false_alarms;
            fmt::print("  {} trial {} seed {}: false alarm: {} / {}\n", attack.name, trial, options.seed,
                       good.summary(), good_alone.summary());
        }
        if (attacked.text == untouched)
            fmt::print("  {} trial {}: the attack changed nothing\n", attack.name, trial);

        const std::string name = fmt::format("{}-{:05}", attack.name, trial);
        sample.add(name + "-witnessed", trial, log, attacked.text, true, witnessed);
        sample.add(name + "-alone", trial, log, attacked.text, false, alone);
        sample.add(name + "-whole", trial, whole, text, trial % 2 == 0, trial % 2 == 0 ? good : good_alone);
    }
    return counts;
}

/// Of this thread: what a core has to do does not depend on who else uses it.
double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Events of about 400 bytes, with the checkpoints that a log of such a length has, read as an export.
std::uint64_t verify_rate(std::uint64_t events) {
    base::SeededRng rng(7);
    const std::string chain = "node-1";
    const std::vector<ledger::SigningKey> keys{
        ledger::SigningKey::generate(ledger::audit_origin(chain), rng)};
    const std::string vkey = keys[0].verifying_key().vkey();
    ledger::AuditChain log(chain, "0192f0c1-7b1e-7000-8000-0123456789ab", ledger::empty_head(chain), rng);
    std::string text = ledger::header_line(chain);
    std::uint64_t bytes = 0;
    AuditFacts facts;
    facts.type = "audit.opened";
    for (std::uint64_t i = 0; i < events; ++i) {
        const bool first = i == 0;
        const auto drafted = log.draft(facts, {}, first ? ledger::KeyNames{vkey, {}} : ledger::KeyNames{});
        const auto event = log.append(drafted.text, facts.at, std::chrono::microseconds(i * 50));
        bytes += event.bytes.size();
        text += ledger::event_line(event.bytes, event.hash, drafted.payloads);
        if (i % 1'000 == 999)
            text += ledger::checkpoint_line(
                ledger::sign_checkpoint({ledger::audit_origin(chain), i + 1, log.root()}, keys));
        facts.type = i % 2 == 0 ? "tool_call.attempted" : "tool_call.succeeded";
        facts.outcome = i % 2 == 0 ? "info" : "success";
        facts.stage = i % 2 == 0 ? "claim" : "settle";
        facts.at =
            std::chrono::system_clock::time_point(std::chrono::microseconds(1'790'000'000'000'000 + i * 50));
        facts.attempt = 1;
        facts.latency = std::chrono::nanoseconds(i % 2 == 0 ? 0 : 1'234'567);
        for (std::size_t b = 0; b < 8; ++b) facts.call_id[b] = static_cast<std::uint8_t>((i / 2) >> (8 * b));
        facts.call_id[15] = 1;
        facts.tenant = "acme";
        facts.principal = "agent-7@example.org";
        facts.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
        facts.run_id = "run-20261115-0001";
        facts.tool = "mail/send";
        facts.action = "call";
        facts.connector_id = "smtp";
    }
    ledger::VerifyOptions options;
    options.pinned.push_back(keys[0].verifying_key());
    ledger::ExportVerifier verifier(options);
    const double before = cpu_seconds();
    verifier.feed(text);
    const auto report = verifier.finish();
    const double took = cpu_seconds() - before;
    fmt::print("verified {} events of {} bytes each with {} checkpoints in {:.2f} s of processor time: {}\n",
               report.events, bytes / events, report.checkpoints, took, to_string(report.verdict()));
    return report.verdict() == AuditVerdict::unwitnessed
               ? static_cast<std::uint64_t>(static_cast<double>(events) / took)
               : 0;
}

int run(const Options& options) {
    fmt::print("seed {}\n", options.seed);
    Sample sample(options.out, options.sample);
    Counts all;
    std::uint64_t number = 0;
    for (const Attack& attack : attacks()) {
        ++number;
        if (!options.only.empty() && attack.name != options.only) continue;
        const Counts counts = run_class(attack, number, options, sample);
        fmt::print("{:24} trials {:6}  detected {:6}  of them only with a witness {:6}  false alarms {}\n",
                   attack.name, counts.trials, counts.detected, counts.needed_witness, counts.false_alarms);
        std::fflush(stdout);
        all.trials += counts.trials;
        all.detected += counts.detected;
        all.needed_witness += counts.needed_witness;
        all.false_alarms += counts.false_alarms;
        all.surprises += counts.surprises;
    }
    const std::uint64_t rate = options.events == 0 ? 0 : verify_rate(options.events);
    const bool good = all.detected == all.trials && all.false_alarms == 0 && all.surprises == 0 &&
                      (options.events == 0 || rate > 0);
    fmt::print("{}\n", json::write(Object{{"attacks", options.only.empty() ? number : 1},
                                          {"trials", all.trials},
                                          {"detected", all.detected},
                                          {"undetectable_without_witness", all.needed_witness},
                                          {"surprises", all.surprises},
                                          {"false_alarms", all.false_alarms},
                                          {"verify_events_per_s", rate}}));
    return good ? 0 : 1;
}

}  // namespace
}  // namespace callgate::audit

int main(int argc, char** argv) {
    callgate::audit::Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const char* const value = argv[i + 1];
        const auto number = [&] { return static_cast<std::uint64_t>(std::strtoull(value, nullptr, 10)); };
        if (name == "--trials")
            options.trials = number();
        else if (name == "--seed")
            options.seed = number();
        else if (name == "--sample")
            options.sample = number();
        else if (name == "--events")
            options.events = number();
        else if (name == "--out")
            options.out = value;
        else if (name == "--only")
            options.only = value;
        else {
            fmt::print(stderr, "audit_attacks: unknown option {}\n", name);
            return 2;
        }
    }
    return callgate::audit::run(options);
}
