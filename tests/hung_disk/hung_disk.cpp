// The disk stops under many callers and two operators, and goes on.
//
//     hung_disk [--hang-ms 20000] [--callers 64] [--hung-after-ms 2000]
//
// Every caller makes one operation after the other, each with a key, and believes what it is answered: where
// the outcome is not known it asks again with the same key, and it takes a new key only where that is called
// safe. Each operation's effect is counted by the tool itself. The operators look at the ledger all the time.
// At the end the ledger is opened again, and what it has is held against what was answered.
//
//     RESULT late_answers_ms_p99=… ping_ms=… refused_clean=… double=0 lost=0 rss_growth_mb=…
//
// late_answers: by how much an answer came after its deadline; ping: the longest that an operator waited;
// refused_clean: calls refused at once with ledger_unavailable {reason: disk_hung}; double: operations whose
// effect happened more than once; lost: those told as done without an effect, or without a trace in the
// ledger. The program fails if double or lost is not 0, or if nobody was refused.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <callgate/callgate.h>

#include "base/clock.h"
#include "base/must.h"
#include "base/rng.h"
#include "ledger/control/client.h"
#include "ledger/control/server.h"
#include "ledger/control/service.h"
#include "ledger/sqlite/faulty_vfs.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/scratch_dir.h"
#include "pipeline/core.h"
#include "pipeline/timers.h"

namespace {

using namespace callgate;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

struct Settings {
    std::chrono::milliseconds hang{20'000};
    std::chrono::milliseconds hung_after{2'000};
    std::size_t callers = 64;
};

constexpr std::chrono::milliseconds kDeadline{400};

/// An end that all threads wait for.
class Curtain {
public:
    void fall() {
        const std::lock_guard lock(mutex_);
        down_ = true;
        changed_.notify_all();
    }
    /// Whether it is down after `time`.
    bool after(std::chrono::milliseconds time) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, time, [this] { return down_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool down_ = false;
};

double resident_mb() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmRSS:", 0) == 0) return std::strtod(line.c_str() + 6, nullptr) / 1024;
    }
    return 0;
}

double milliseconds(Steady::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

std::string reason_of(const Outcome& outcome) {
    if (outcome.error() == nullptr) return "";
    const auto* reason = outcome.error()->details.if_contains("reason");
    return reason != nullptr && reason->is_string() ? std::string(reason->get_string()) : std::string();
}

class Trial {
public:
    explicit Trial(Settings settings) : settings_(settings) {
        ledger::SqliteOptions options;
        options.directory = scratch_.file("ledger");
        options.vfs = vfs_.name();
        options.clock = clock_;
        options.writer.hung_after = settings_.hung_after;
        ledger_ = must(ledger::SqliteLedger::open(std::move(options)));
        service_ =
            std::make_unique<ledger::ControlService>(*ledger_, *ledger_, *clock_, [](const AuditEvent&) {});
        ledger::ControlOptions control;
        control.directory = scratch_.file("ledger");
        server_ = must(ledger::ControlServer::start(*service_, *clock_, std::move(control)));
        pipeline::Parts parts;
        parts.clock = clock_;
        parts.rng = std::make_shared<base::SystemRng>();
        parts.timers = std::make_shared<pipeline::ThreadTimers>();
        parts.ledger = ledger_;
        runtime_ =
            std::make_unique<Runtime>(std::make_shared<Runtime::Core>(RuntimeOptions(), std::move(parts)));
        auto pay = schema_tool(ToolDefinition("pay", "", Object{{"type", "object"}}),
                               [this](const Object& arguments, CallContext&) -> ToolReturn {
                                   const std::lock_guard lock(mutex_);
                                   ++effects_[std::string(arguments.at("operation").as_string())];
                                   return ToolResult(Value("paid"));
                               })
                       .run_inline();
        must_add(pay);
    }

    int run() {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < settings_.callers; ++i) threads.emplace_back([this, i] { call(i); });
        for (int i = 0; i < 2; ++i) threads.emplace_back([this] { operate(); });
        (void)end_.after(500ms);
        const double before = resident_mb();
        vfs_.stop();
        hanging_ = true;
        (void)end_.after(settings_.hang);
        const double growth = std::max(0.0, resident_mb() - before);
        vfs_.go_on();
        hanging_ = false;
        (void)end_.after(500ms);
        end_.fall();
        for (std::thread& thread : threads) thread.join();
        return judge(growth);
    }

private:
    void must_add(const Tool& tool) {
        if (!runtime_->tools().add(tool)) throw std::runtime_error("the tool was not added");
    }

    // One operation after the other. Each ends when it is known to be done, or known not to be.
    void call(std::size_t caller) {
        for (int number = 0; !end_.after(0ms); ++number) {
            const std::string operation = fmt::format("{}/{}", caller, number);
            int keys = 0;
            for (;;) {
                Context context;
                context.idempotency_key = fmt::format("{}#{}.key", operation, keys);
                context.timeout = kDeadline;
                const bool hung = hanging_;
                const auto began = Steady::now();
                const Outcome outcome = runtime_->call("pay", {{"operation", operation}}, context);
                note(outcome, Steady::now() - began - kDeadline, hung, operation);
                if (outcome.ok()) break;
                if (outcome.safe_new_key()) ++keys;
                // A caller that is refused does not come back at once; after the end it goes on until it
                // knows.
                (void)pause_.after(10ms);
            }
        }
    }

    void note(const Outcome& outcome, Steady::duration late, bool hung, const std::string& operation) {
        const std::lock_guard lock(mutex_);
        if (outcome.ok()) done_.push_back(operation);
        if (reason_of(outcome) == "disk_hung") ++refused_clean_;
        if (hung) late_.push_back(std::max(0.0, milliseconds(late)));
    }

    void operate() {
        auto client = ledger::ControlClient::connect(scratch_.file("ledger"));
        if (!client) throw std::runtime_error(client.error().message);
        while (!end_.after(20ms)) {
            for (const char* verb : {"ledger.stats", "approvals.list", "calls.list"}) {
                const bool hung = hanging_;
                const auto began = Steady::now();
                const auto answer = client->ask({{"verb", verb}});
                const double took = milliseconds(Steady::now() - began);
                const std::lock_guard lock(mutex_);
                if (!answer) ++unanswered_;
                if (hung) ping_ = std::max(ping_, took);
            }
        }
    }

    int judge(double growth) {
        runtime_.reset();
        server_.reset();
        service_.reset();
        ledger_.reset();
        ledger::SqliteOptions options;
        options.directory = scratch_.file("ledger");
        auto reopened = must(ledger::SqliteLedger::open(std::move(options)));
        std::map<std::string, bool> on_record;
        for (const ledger::CallRow& row : must(reopened->list({}))) {
            if (row.state == ledger::CallState::succeeded)
                on_record[row.key.key.substr(0, row.key.key.find('#'))] = true;
        }
        std::size_t doubled = 0;
        for (const auto& [operation, times] : effects_) doubled += times > 1 ? 1u : 0u;
        std::size_t lost = unanswered_;
        for (const std::string& operation : done_)
            lost += effects_.contains(operation) && on_record.contains(operation) ? 0u : 1u;
        std::ranges::sort(late_);
        const double p99 = late_.empty() ? 0 : late_[(late_.size() - 1) * 99 / 100];
        fmt::print("{} operations done, {} calls answered while the disk hung\n", done_.size(), late_.size());
        fmt::print(
            "RESULT late_answers_ms_p99={:.1f} ping_ms={:.1f} refused_clean={} double={} lost={} "
            "rss_growth_mb={:.1f}\n",
            p99, ping_, refused_clean_, doubled, lost, growth);
        return doubled == 0 && lost == 0 && refused_clean_ > 0 && !late_.empty() ? 0 : 1;
    }

    const Settings settings_;
    os::ScratchDir scratch_{os::quick_directory()};
    ledger::FaultyVfs vfs_;
    std::shared_ptr<base::Clock> clock_ = std::make_shared<base::SystemClock>();
    std::shared_ptr<ledger::SqliteLedger> ledger_;
    std::unique_ptr<ledger::ControlService> service_;
    std::unique_ptr<ledger::ControlServer> server_;
    std::unique_ptr<Runtime> runtime_;
    Curtain end_;
    Curtain pause_;  // never falls
    std::atomic<bool> hanging_{false};

    std::mutex mutex_;
    std::map<std::string, int> effects_;
    std::vector<std::string> done_;
    std::vector<double> late_;
    double ping_ = 0;
    std::size_t refused_clean_ = 0;
    std::size_t unanswered_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i + 1 < argc; i += 2) {
        const long value = std::strtol(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--hang-ms") == 0) settings.hang = std::chrono::milliseconds(value);
        if (std::strcmp(argv[i], "--hung-after-ms") == 0)
            settings.hung_after = std::chrono::milliseconds(value);
        if (std::strcmp(argv[i], "--callers") == 0) settings.callers = static_cast<std::size_t>(value);
    }
    return Trial(settings).run();
}
