// Our side of bench-call: reads "MODE MILLISECONDS" lines, answers each with "CALLS NANOSECONDS".
//
//   floor    parse, validate, call, serialise, and nothing else
//   inline   the same through all ten stages: memory ledger, redaction, an observer that takes every event
//   batch    as inline, in batches of 100
//   pooled   as inline, with the tool on the pool: two thread hops
//   silent   as inline, with nobody watching
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include <callgate/callgate.h>

#include "floor.h"

namespace {

namespace cg = callgate;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kArguments = R"({"a":1,"b":2})";
constexpr std::string_view kExpected = R"({"content":[{"type":"text","text":"3"}]})";
constexpr std::size_t kBatch = 100;

// Takes every event that an observer gets.
class Counting final : public cg::Observer {
public:
    void on_audit(const cg::AuditEvent& event) override { seen += event.tool.size(); }
    void on_telemetry(const cg::TelemetryEvent& event) override { seen += event.tool.size(); }
    void on_log(cg::LogLevel, std::string_view line) override { seen += line.size(); }
    std::size_t seen = 0;
};

cg::Tool add_tool(bool inlined) {
    cg::Tool tool = cg::tool(
                        "add", "Add two numbers", [](std::int64_t a, std::int64_t b) { return a + b; },
                        cg::param("a"), cg::param("b"))
                        .read_only();
    if (inlined) tool.run_inline();
    return tool;
}

void check(std::string_view text) {
    if (text == kExpected) return;
    std::fprintf(stderr, "call_bench: unexpected result %.*s\n", static_cast<int>(text.size()), text.data());
    std::exit(1);
}

struct Runtimes {
    cg::Runtime watched;
    cg::Runtime silent;
    cg::Runtime pooled;
    std::shared_ptr<Counting> counting = std::make_shared<Counting>();

    Runtimes() {
        watched.observe(counting);
        pooled.observe(std::make_shared<Counting>());
        watched.tools().add_or_throw(add_tool(true));
        silent.tools().add_or_throw(add_tool(true));
        pooled.tools().add_or_throw(add_tool(false));
    }
};

/// While it lives, this thread stays on the processor it is on: what is measured is a call, not where the
/// system moves it meanwhile. Threads that are made then stay there as well, so not where there are any.
class OnOneProcessor {
public:
    OnOneProcessor() {
        known_ = ::sched_getaffinity(0, sizeof(before_), &before_) == 0;
        cpu_set_t here;
        CPU_ZERO(&here);
        CPU_SET(static_cast<unsigned>(::sched_getcpu()), &here);
        if (known_) (void)::sched_setaffinity(0, sizeof(here), &here);
    }
    ~OnOneProcessor() {
        if (known_) (void)::sched_setaffinity(0, sizeof(before_), &before_);
    }
    OnOneProcessor(const OnOneProcessor&) = delete;
    OnOneProcessor& operator=(const OnOneProcessor&) = delete;

private:
    cpu_set_t before_;
    bool known_ = false;
};

template <class Once>
void measure(std::chrono::milliseconds duration, std::size_t calls_at_once, Once once) {
    std::uint64_t calls = 0;
    const auto begin = Clock::now();
    auto now = begin;
    while (now - begin < duration) {
        for (int i = 0; i < 20; ++i) once();
        calls += 20 * calls_at_once;
        now = Clock::now();
    }
    std::printf("%llu %lld\n", static_cast<unsigned long long>(calls),
                static_cast<long long>(std::chrono::nanoseconds(now - begin).count()));
    std::fflush(stdout);
}

void one_call(cg::Runtime& runtime) {
    check(cg::views::mcp(runtime.call("add", kArguments)));
}

void one_batch(cg::Runtime& runtime) {
    std::vector<cg::CallRequest> calls;
    calls.reserve(kBatch);
    for (std::size_t i = 0; i < kBatch; ++i) calls.emplace_back("add", kArguments);
    for (const cg::Outcome& outcome : runtime.call_batch(std::move(calls))) check(cg::views::mcp(outcome));
}

}  // namespace

int main() {
    cg::bench::Floor floor;
    Runtimes runtimes;
    std::string mode;
    long long milliseconds = 0;
    while (std::cin >> mode >> milliseconds) {
        const std::chrono::milliseconds duration(milliseconds);
        std::optional<OnOneProcessor> pinned;
        if (mode != "pooled" && mode != "batch") pinned.emplace();
        if (mode == "floor") {
            measure(duration, 1, [&] { check(floor.call(kArguments)); });
        } else if (mode == "inline") {
            measure(duration, 1, [&] { one_call(runtimes.watched); });
        } else if (mode == "silent") {
            measure(duration, 1, [&] { one_call(runtimes.silent); });
        } else if (mode == "batch") {
            measure(duration, kBatch, [&] { one_batch(runtimes.watched); });
        } else if (mode == "pooled") {
            measure(duration, 1, [&] { one_call(runtimes.pooled); });
        } else {
            std::fprintf(stderr, "call_bench: there is no mode '%s'\n", mode.c_str());
            return 2;
        }
    }
}
