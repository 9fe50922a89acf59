// Many calls that wait at once, on few threads: in flight in async tools, and suspended because their tools
// have asked their callers. What each takes in memory, how many threads there are meanwhile, and that every
// one of them comes to its end. Usage: waiting_bench [CALLS]
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <malloc.h>

#include <callgate/callgate.h>

namespace {

namespace cg = callgate;
using Clock = std::chrono::steady_clock;

/// A line of /proc/self/status, as a number.
long status(std::string_view name) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name)) return std::strtol(line.c_str() + name.size() + 1, nullptr, 10);
    }
    return -1;
}

/// Waits until the test lets it answer; asks its caller first, where it can.
class WaitingBody final : public cg::ToolBody {
public:
    cg::RunMode mode() const noexcept override { return cg::RunMode::async; }
    void start(std::shared_ptr<cg::Attempt> attempt) override {
        cg::CallContext& context = attempt->context();
        if (context.can_ask(cg::InputRequest::Kind::roots)) {
            context.ask(cg::InputRequest::roots(), [attempt](const cg::Result<cg::InputAnswer>& answer) {
                attempt->finish(cg::ToolResult(cg::Value(answer.has_value())));
            });
            return;
        }
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(attempt));
    }
    void answer_all() {
        std::vector<std::shared_ptr<cg::Attempt>> all;
        {
            const std::lock_guard lock(mutex_);
            all.swap(waiting_);
        }
        for (const auto& attempt : all) attempt->finish(cg::ToolResult(cg::Value(true)));
    }

private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<cg::Attempt>> waiting_;
};

class Inbox final : public cg::InputChannel {
public:
    cg::InputAbilities abilities() const override { return {true, true, true, true}; }
    void ask(std::shared_ptr<cg::PendingInput> question) override {
        const std::lock_guard lock(mutex_);
        open_.push_back(std::move(question));
    }
    void answer_all() {
        std::vector<std::shared_ptr<cg::PendingInput>> all;
        {
            const std::lock_guard lock(mutex_);
            all.swap(open_);
        }
        for (const auto& question : all) (void)question->answer(cg::InputAnswer::decline());
    }

private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<cg::PendingInput>> open_;
};

struct Measured {
    double kb_per_call = 0;
    long threads = 0;
    double start_us = 0;
    double end_us = 0;
    std::size_t succeeded = 0;
};

Measured measure(std::size_t calls, const std::shared_ptr<Inbox>& inbox) {
    cg::RuntimeOptions options;
    options.max_suspended_calls = calls;
    options.log_calls = false;
    cg::Runtime runtime(options);
    const auto body = std::make_shared<WaitingBody>();
    runtime.tools().add_or_throw(
        cg::Tool(cg::ToolDefinition("wait", "Waits", cg::Object{{"type", "object"}}), body)
            .risk(cg::Risk::low));
    std::mutex mutex;
    std::size_t succeeded = 0;
    cg::Context context;
    context.timeout = std::chrono::hours(1);
    context.input = inbox;
    malloc_trim(0);
    const long before = status("VmRSS:");
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < calls; ++i) {
        runtime.start(cg::CallRequest("wait"), context, [&](const cg::Outcome& outcome) {
            const std::lock_guard lock(mutex);
            succeeded += outcome.ok() ? 1u : 0u;
        });
    }
    const auto all_began = Clock::now();
    Measured measured;
    measured.kb_per_call = static_cast<double>(status("VmRSS:") - before) / static_cast<double>(calls);
    measured.threads = status("Threads:");
    const auto per_call = [&](Clock::duration time) {
        return std::chrono::duration<double, std::micro>(time).count() / static_cast<double>(calls);
    };
    measured.start_us = per_call(all_began - begin);
    const auto answers = Clock::now();
    inbox ? inbox->answer_all() : body->answer_all();
    if (const std::size_t left = runtime.drain(std::chrono::minutes(5)); left != 0)
        std::fprintf(stderr, "waiting_bench: %zu calls did not end\n", left);
    measured.end_us = per_call(Clock::now() - answers);
    for (;;) {
        const std::lock_guard lock(mutex);
        if (succeeded == calls || runtime.stats().abandoned_now != 0) break;
    }
    measured.succeeded = succeeded;
    return measured;
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t calls = 10'000;
    if (argc > 1) {
        const std::string_view text(argv[1]);
        const auto read = std::from_chars(text.data(), text.data() + text.size(), calls);
        if (read.ec != std::errc() || read.ptr != text.data() + text.size() || calls == 0) {
            std::fprintf(stderr, "usage: waiting_bench [CALLS]\n");
            return 2;
        }
    }
    const Measured in_flight = measure(calls, nullptr);
    const Measured suspended = measure(calls, std::make_shared<Inbox>());
    std::printf("%-10s %8s %10s %8s %10s %8s\n", "", "calls", "KB a call", "threads", "start µs", "end µs");
    for (const auto& [name, one] : {std::pair("in flight", in_flight), std::pair("suspended", suspended)})
        std::printf("%-10s %8zu %10.2f %8ld %9.2f %8.2f\n", name, calls, one.kb_per_call, one.threads,
                    one.start_us, one.end_us);
    std::printf(
        "RESULT in_flight=%zu/%zu suspended=%zu/%zu threads=%ld kb_per_call=%.2f kb_per_suspended=%.2f\n",
        in_flight.succeeded, calls, suspended.succeeded, calls,
        std::max(in_flight.threads, suspended.threads), in_flight.kb_per_call, suspended.kb_per_call);
    return in_flight.succeeded == calls && suspended.succeeded == calls ? 0 : 1;
}
