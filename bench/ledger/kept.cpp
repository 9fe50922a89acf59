#include "kept.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include <callgate/callgate.h>

#include "base/rng.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "pipeline/core.h"
#include "pipeline/timers.h"

namespace callgate::bench {

namespace {

using Steady = std::chrono::steady_clock;

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "durable_bench: %s\n", why.c_str());
    std::exit(1);
}

/// A runtime over a ledger that can be asked directly, too, and whose outcomes expire at once.
struct Host {
    explicit Host(const std::string& directory) {
        ledger::SqliteOptions options;
        options.directory = directory;
        options.kept.key_ttl = std::chrono::seconds(1);
        auto opened = ledger::SqliteLedger::open(std::move(options));
        if (!opened) give_up(opened.error().message);
        ledger = std::move(*opened);
        pipeline::Parts parts;
        parts.clock = std::make_shared<base::SystemClock>();
        parts.rng = std::make_shared<base::SystemRng>();
        parts.timers = std::make_shared<pipeline::ThreadTimers>();
        parts.ledger = ledger;
        runtime =
            std::make_unique<Runtime>(std::make_shared<Runtime::Core>(RuntimeOptions(), std::move(parts)));
        Tool tool = callgate::tool(
            "add", "Add two numbers", [](std::int64_t a, std::int64_t b) { return a + b; }, param("a"),
            param("b"));
        tool.run_inline();
        runtime->tools().add_or_throw(std::move(tool));
    }
    ~Host() {
        const std::weak_ptr<ledger::SqliteLedger> closing = ledger;
        runtime.reset();
        ledger.reset();
        while (!closing.expired()) std::this_thread::yield();
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    bool call(std::uint64_t number) {
        Context context;
        context.principal = "agent";
        context.idempotency_key = "key-" + std::to_string(number);
        return runtime->call("add", R"({"a":1,"b":2})", context).ok();
    }

    std::shared_ptr<ledger::SqliteLedger> ledger;
    std::unique_ptr<Runtime> runtime;
};

double megabytes(const std::string& file) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(file, missing);
    return missing ? 0 : static_cast<double>(size) / 1e6;
}

double megabytes_of_ledger(const std::string& directory) {
    return megabytes(directory + "/ledger.db") + megabytes(directory + "/ledger.db-wal");
}

}  // namespace

Kept measure_kept(const std::string& directory, std::uint64_t calls) {
    constexpr std::size_t kCallers = 64;
    Kept kept;
    kept.calls = calls;
    const double million = 1e6 / static_cast<double>(calls);
    {
        Host host(directory);
        std::atomic<std::uint64_t> next{0};
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < kCallers; ++i) {
            threads.emplace_back([&] {
                for (std::uint64_t n = next.fetch_add(1); n < calls; n = next.fetch_add(1))
                    if (!host.call(n)) give_up("a call failed");
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    kept.mb_per_million = megabytes_of_ledger(directory) * million;
    {
        Host host(directory);
        std::atomic<bool> stop{false};
        std::atomic<std::uint64_t> next{calls};
        std::vector<std::thread> writers;
        for (int i = 0; i < 2; ++i) {
            writers.emplace_back([&] {
                while (!stop.load()) (void)host.call(next.fetch_add(1));
            });
        }
        const auto begin = Steady::now();
        const std::string copy = directory + ".copy.db";
        const auto copied = host.ledger->backup(copy, {});
        kept.backup_s = std::chrono::duration<double>(Steady::now() - begin).count();
        stop = true;
        for (std::thread& writer : writers) writer.join();
        if (!copied) give_up(copied.error().message);
        std::filesystem::remove(copy);

        std::this_thread::sleep_for(std::chrono::milliseconds(1'100));  // until the last outcome has expired
        const auto archived = host.ledger->archive_audit({}, {});
        if (!archived) give_up(archived.error().message);
        if (const auto gone = host.ledger->collect(); !gone) give_up(gone.error().message);
        kept.calls = next.load();
    }
    const double made = 1e6 / static_cast<double>(kept.calls);
    kept.mb_per_million_archived = megabytes_of_ledger(directory) * made;
    for (const auto& entry : std::filesystem::directory_iterator(directory + "/segments"))
        kept.segment_mb_per_million += megabytes(entry.path().string()) * made;
    return kept;
}

std::uint64_t refused_of_2000_callers(const std::string& directory) {
    constexpr std::uint64_t kThreads = 2'000;
    constexpr std::uint64_t kCalls = 5;
    int told[2];
    if (::pipe(told) != 0) give_up("no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit few{1'024, 1'024};
        ::setrlimit(RLIMIT_NOFILE, &few);
        std::atomic<std::uint64_t> refused{0};
        {
            Host host(directory);
            std::atomic<std::uint64_t> ready{0};
            std::vector<std::thread> threads;
            for (std::uint64_t t = 0; t < kThreads; ++t) {
                threads.emplace_back([&, t] {
                    ready.fetch_add(1);
                    while (ready.load() < kThreads) std::this_thread::yield();
                    for (std::uint64_t i = 0; i < kCalls; ++i)
                        if (!host.call(t * kCalls + i)) refused.fetch_add(1);
                });
            }
            for (std::thread& thread : threads) thread.join();
        }
        const std::uint64_t count = refused.load();
        const bool written = ::write(told[1], &count, sizeof count) == sizeof count;
        ::_exit(written ? 0 : 1);
    }
    ::close(told[1]);
    std::uint64_t count = ~std::uint64_t{0};
    if (::read(told[0], &count, sizeof count) != sizeof count) count = kThreads * kCalls;
    ::close(told[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return count;
}

}  // namespace callgate::bench
