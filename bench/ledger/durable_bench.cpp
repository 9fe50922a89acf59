// `make bench-ledger`: what durability costs, in one run on one disk.
//
//   - a lone caller's unsafe call beside two fdatasyncs of the same disk, taken in turns;
//   - 64 callers beside the same SQL run bare in batches of 64, and beside the lone caller;
//   - a read beside the same read on the in-memory ledger, in CPU time of the caller's thread, with 20,000
//     calls a second offered, and how many there are when nothing holds it back;
//   - how long a start takes that finds 10,000 calls in flight;
//   - how many audit events a second are verified;
//   - how many megabytes a million keyed calls take, before and after archiving (measured with 50,000 and
//     scaled), how long a backup takes of them while two callers write, and how many of 2,000 callers at once
//     are refused where there are 1,024 descriptors.
//
// Every figure is the median of rounds; noise is the spread between the quarters, in percent of the median.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>

#include <callgate/callgate.h>

#include "bare_sql.h"
#include "kept.h"
#include "ledger/audit/verify.h"
#include "ledger/blocking_waiter.h"
#include "ledger/sqlite/sqlite_ledger.h"

namespace {

namespace cg = callgate;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kCallers = 64;

double micros_since(Steady::time_point begin) {
    return std::chrono::duration<double, std::micro>(Steady::now() - begin).count();
}

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "durable_bench: %s\n", why.c_str());
    std::exit(1);
}

double quantile(std::vector<double> values, double at) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(at * static_cast<double>(values.size() - 1))];
}
double median(const std::vector<double>& values) {
    return quantile(values, 0.5);
}
double noise_of(const std::vector<double>& values) {
    const double middle = median(values);
    return middle == 0 ? 0 : 100 * (quantile(values, 0.75) - quantile(values, 0.25)) / middle;
}

std::unique_ptr<cg::Runtime> open_runtime(const std::string& directory) {
    cg::RuntimeOptions options;
    options.ledger_dir = directory;
    auto runtime = cg::Runtime::open(std::move(options));
    if (!runtime) give_up(runtime.error().message);
    return std::move(*runtime);
}

cg::Tool add_tool(std::string name, bool reads) {
    cg::Tool tool = cg::tool(
        std::move(name), "Add two numbers", [](std::int64_t a, std::int64_t b) { return a + b; },
        cg::param("a"), cg::param("b"));
    if (reads) tool.read_only();
    tool.run_inline();
    return tool;
}

void add_tools(cg::Runtime& runtime) {
    runtime.tools().add_or_throw(add_tool("add", false));
    runtime.tools().add_or_throw(add_tool("look", true));
}

void call(cg::Runtime& runtime, const char* tool) {
    const cg::Outcome outcome = runtime.call(tool, R"({"a":1,"b":2})");
    if (!outcome.ok()) give_up(outcome.error() != nullptr ? outcome.error()->message : "a call failed");
}

// One append of what a commit writes, and the sync.
class SyncedFile {
public:
    explicit SyncedFile(const std::string& path)
        : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        if (fd_ < 0) give_up("cannot make " + path);
    }
    ~SyncedFile() { ::close(fd_); }
    double append_and_sync() {
        static const std::string page(3 * 4120, 'x');
        const auto begin = Steady::now();
        if (::write(fd_, page.data(), page.size()) < 0 || ::fdatasync(fd_) != 0) give_up("the disk failed");
        return micros_since(begin);
    }

private:
    int fd_;
};

struct Lone {
    std::vector<double> call_us;
    std::vector<double> sync_us;
};

Lone measure_lone(cg::Runtime& runtime, const std::string& directory, int rounds) {
    Lone out;
    SyncedFile file(directory + "/sync.probe");
    for (int i = 0; i < 20; ++i) call(runtime, "add");
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < 20; ++i) out.sync_us.push_back(file.append_and_sync());
        for (int i = 0; i < 20; ++i) {
            const auto begin = Steady::now();
            call(runtime, "add");
            out.call_us.push_back(micros_since(begin));
        }
    }
    return out;
}

double calls_per_second(cg::Runtime& runtime, std::size_t callers, std::chrono::milliseconds time) {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> calls{0};
    std::vector<std::thread> threads;
    const auto begin = Steady::now();
    for (std::size_t i = 0; i < callers; ++i) {
        threads.emplace_back([&] {
            while (!stop.load(std::memory_order_relaxed)) {
                call(runtime, "add");
                calls.fetch_add(1, std::memory_order_relaxed);
            }
        });
    }
    std::this_thread::sleep_for(time);
    stop = true;
    for (auto& thread : threads) thread.join();
    return static_cast<double>(calls.load()) * 1e6 / micros_since(begin);
}

double bare_per_second(cg::bench::BareSql& bare, std::chrono::milliseconds time) {
    std::uint64_t calls = 0;
    const auto begin = Steady::now();
    while (Steady::now() - begin < time) {
        bare.batch(kCallers);
        calls += kCallers;
    }
    return static_cast<double>(calls) * 1e6 / micros_since(begin);
}

double thread_cpu_micros() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// 100 calls every five milliseconds: 20,000 a second.
double paced_read_micros(cg::Runtime& runtime, int slices) {
    constexpr int kPerSlice = 100;
    double cpu = 0;
    auto next = Steady::now();
    for (int slice = 0; slice < slices; ++slice) {
        std::this_thread::sleep_until(next);
        next += std::chrono::milliseconds(5);
        const double begin = thread_cpu_micros();
        for (int i = 0; i < kPerSlice; ++i) call(runtime, "look");
        cpu += thread_cpu_micros() - begin;
    }
    return cpu / (static_cast<double>(slices) * kPerSlice);
}

double saturated_reads_per_second(cg::Runtime& runtime, std::chrono::milliseconds time) {
    std::uint64_t calls = 0;
    const auto begin = Steady::now();
    while (Steady::now() - begin < time) {
        for (int i = 0; i < 50; ++i) call(runtime, "look");
        calls += 50;
    }
    return static_cast<double>(calls) * 1e6 / micros_since(begin);
}

// A process that dies with `count` calls sent and unanswered.
void leave_in_flight(const std::string& directory, std::size_t count) {
    const pid_t child = ::fork();
    if (child == 0) {
        cg::ledger::SqliteOptions options;
        options.directory = directory;
        auto ledger = cg::ledger::SqliteLedger::open(std::move(options));
        if (!ledger) give_up(ledger.error().message);
        const auto owner = *cg::ledger::register_owner(**ledger);
        struct Counting final : cg::ledger::Waiter {
            void wake() override { done.fetch_add(1); }
            std::atomic<std::size_t> done{0};
        } waiter;
        std::vector<cg::ledger::ClaimReply> replies(count);
        for (std::size_t i = 0; i < count; ++i) {
            cg::ledger::ClaimRequest request;
            request.row.key = {"", "local", "add", "key-" + std::to_string(i)};
            for (std::size_t b = 0; b < 8; ++b)
                request.row.call_id[15 - b] = static_cast<std::uint8_t>((i + 1) >> (8 * b));
            request.row.owner = owner;
            request.row.effect = i % 4 == 0 ? cg::EffectClass::keyed : cg::EffectClass::unsafe;
            request.row.action = "call";
            request.events.emplace_back();
            request.events.back().type = "tool_call.attempted";
            request.events.back().call_id = request.row.call_id;
            (void)(*ledger)->claim(std::move(request), replies[i], waiter);
        }
        while (waiter.done.load() < count) std::this_thread::yield();
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
}

struct Recovery {
    double milliseconds = 0;
    std::uint64_t found = 0;
};

Recovery measure_recovery(const std::string& directory) {
    leave_in_flight(directory, 10'000);
    const auto begin = Steady::now();
    cg::ledger::SqliteOptions options;
    options.directory = directory;
    auto ledger = cg::ledger::SqliteLedger::open(std::move(options));
    if (!ledger) give_up(ledger.error().message);
    return {micros_since(begin) / 1'000, (*ledger)->recovery().open_calls};
}

double verified_per_second(const std::string& directory, std::uint64_t& events) {
    cg::ledger::SqliteOptions options;
    options.directory = directory;
    auto ledger = cg::ledger::SqliteLedger::open(std::move(options));
    if (!ledger) give_up(ledger.error().message);
    auto reader = (*ledger)->read_audit();
    if (!reader) give_up(reader.error().message);
    const auto begin = Steady::now();
    auto report = cg::ledger::verify_audit(**reader, {});
    const double took = micros_since(begin);
    if (!report) give_up(report.error().message);
    if (report->fault) give_up("the audit does not verify: " + report->fault->sentence);
    events = report->events;
    return static_cast<double>(events) * 1e6 / took;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string root = argc > 1 ? argv[1] : "build/bench/ledger-bench";
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
    std::filesystem::permissions(root, std::filesystem::perms::owner_all);
    const std::string durable_dir = root + "/ledger";

    auto durable = open_runtime(durable_dir);
    add_tools(*durable);
    cg::Runtime memory;
    add_tools(memory);

    const Lone lone = measure_lone(*durable, root, rounds);
    const double unsafe_p50 = median(lone.call_us);
    const double sync_p50 = median(lone.sync_us);
    std::printf("one caller      unsafe call p50 %8.1f us  p99 %8.1f us\n", unsafe_p50,
                quantile(lone.call_us, 0.99));
    std::printf("the disk        fdatasync   p50 %8.1f us  p99 %8.1f us\n", sync_p50,
                quantile(lone.sync_us, 0.99));
    std::fflush(stdout);

    std::vector<double> grouped;
    std::vector<double> bared;
    std::vector<double> single;
    {
        cg::bench::BareSql bare(root);
        for (int round = 0; round < std::max(3, rounds / 3); ++round) {
            bared.push_back(bare_per_second(bare, std::chrono::milliseconds(1'000)));
            grouped.push_back(calls_per_second(*durable, kCallers, std::chrono::milliseconds(1'000)));
            single.push_back(calls_per_second(*durable, 1, std::chrono::milliseconds(500)));
        }
    }
    std::printf(
        "64 callers      %8.0f calls/s   bare SQL in batches of 64 %8.0f calls/s   one caller %8.0f "
        "calls/s\n",
        median(grouped), median(bared), median(single));
    std::fflush(stdout);

    std::vector<double> read_durable;
    std::vector<double> read_memory;
    for (int i = 0; i < 2'000; ++i) {
        call(*durable, "look");
        call(memory, "look");
    }
    for (int round = 0; round < rounds; ++round) {
        read_memory.push_back(paced_read_micros(memory, 40));
        read_durable.push_back(paced_read_micros(*durable, 40));
    }
    std::vector<double> saturated;
    for (int round = 0; round < 3; ++round)
        saturated.push_back(saturated_reads_per_second(*durable, std::chrono::milliseconds(1'000)));
    std::printf(
        "reads           durable %6.2f us  in memory %6.2f us of the caller's CPU at 20,000/s; flat out "
        "%8.0f calls/s\n",
        median(read_durable), median(read_memory), median(saturated));
    std::fflush(stdout);
    durable.reset();

    std::vector<double> recovered;
    std::uint64_t found = 0;
    for (int round = 0; round < 3; ++round) {
        const Recovery one = measure_recovery(root + "/recover" + std::to_string(round));
        recovered.push_back(one.milliseconds);
        found = one.found;
    }
    std::printf("start           %8.0f ms with %llu calls in flight\n", median(recovered),
                static_cast<unsigned long long>(found));

    std::vector<double> verified;
    std::uint64_t events = 0;
    for (int round = 0; round < 3; ++round) verified.push_back(verified_per_second(durable_dir, events));
    std::printf("audit verify    %8.0f events/s over %llu events\n", median(verified),
                static_cast<unsigned long long>(events));

    constexpr std::uint64_t kKeptCalls = 50'000;
    const cg::bench::Kept kept = cg::bench::measure_kept(root + "/kept", kKeptCalls);
    std::printf(
        "kept            %8.0f MB for a million calls, %.0f MB once archived (segments %.0f MB); backup "
        "under load %.2f s; measured with %llu calls\n",
        kept.mb_per_million, kept.mb_per_million_archived, kept.segment_mb_per_million, kept.backup_s,
        static_cast<unsigned long long>(kept.calls));
    const std::uint64_t refused = cg::bench::refused_of_2000_callers(root + "/many");
    std::printf("2,000 callers   %8llu of 10,000 calls refused with 1,024 descriptors\n",
                static_cast<unsigned long long>(refused));

    std::printf(
        "RESULT unsafe_p50_us=%.1f fsync_p50_us=%.1f unsafe_vs_two_syncs=%.2f "
        "group_commit_calls_per_s=%.0f bare_sql_calls_per_s=%.0f group_vs_bare=%.2f group_vs_one=%.1f "
        "read_call_us=%.2f read_vs_memory=%.2f read_saturated_per_s=%.0f recover_10k_ms=%.0f "
        "verify_events_per_s=%.0f backup_under_load_s=%.2f mb_per_million=%.0f mb_per_million_archived=%.0f "
        "peek_2000_callers_refused=%llu noise_pct=%.0f\n",
        unsafe_p50, sync_p50, unsafe_p50 / (2 * sync_p50), median(grouped), median(bared),
        median(grouped) / median(bared), median(grouped) / median(single), median(read_durable),
        median(read_durable) / median(read_memory), median(saturated), median(recovered), median(verified),
        kept.backup_s, kept.mb_per_million, kept.mb_per_million_archived,
        static_cast<unsigned long long>(refused), noise_of(grouped));
    std::filesystem::remove_all(root);
    return 0;
}
