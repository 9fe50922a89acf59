// For tests and benches: many callers with keys at once over a durable ledger, in a process that has few
// descriptors.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <callgate/callgate.h>

namespace callgate::pipeline {

/// While it lives, this process may open `more` descriptors than it has.
class FewDescriptors {
public:
    explicit FewDescriptors(std::size_t more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit now = before_;
        now.rlim_cur = highest() + 1 + more;
        set_ = ::setrlimit(RLIMIT_NOFILE, &now) == 0;
    }
    ~FewDescriptors() {
        if (set_) ::setrlimit(RLIMIT_NOFILE, &before_);
    }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

private:
    static std::size_t highest() {
        std::size_t found = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
            found = std::max<std::size_t>(found, std::stoul(entry.path().filename().string()));
        return found;
    }
    rlimit before_{};
    bool set_ = false;
};

/// How many of `callers` threads were refused, each making `rounds` calls of `tool` with keys of its own, all
/// beginning together.
inline std::size_t refused_of_many(Runtime& runtime, const std::string& tool, std::size_t callers,
                                   std::size_t rounds) {
    std::atomic<std::size_t> refused{0};
    std::atomic<std::size_t> here{0};
    std::vector<std::thread> threads;
    threads.reserve(callers);
    for (std::size_t caller = 0; caller < callers; ++caller) {
        threads.emplace_back([&, caller] {
            ++here;
            here.notify_all();
            for (std::size_t seen = here.load(); seen < callers; seen = here.load()) here.wait(seen);
            for (std::size_t round = 0; round < rounds; ++round) {
                Context context;
                context.idempotency_key = std::to_string(caller) + "/" + std::to_string(round);
                context.timeout = std::chrono::minutes(10);
                if (!runtime.call(tool, {}, std::move(context)).ok()) ++refused;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    return refused;
}

}  // namespace callgate::pipeline
