#include <algorithm>
#include <list>
#include <unordered_map>

#include "base/mutex.h"
#include "policy/memory.h"

namespace callgate::policy {

namespace {

constexpr std::size_t kMostRuns = 4'096;
constexpr std::size_t kMostCallsSeen = 32;

struct Seen {
    std::uint64_t call;
    std::uint64_t result;
    std::uint32_t count;  // since anything new happened
};

struct Run {
    std::string name;
    std::vector<Seen> seen;  // least recent first
};

}  // namespace

struct LoopDetector::State {
    mutable base::Mutex mutex;
    std::list<Run> runs CALLGATE_GUARDED_BY(mutex);  // least recent first
    std::unordered_map<std::string_view, std::list<Run>::iterator> by_name CALLGATE_GUARDED_BY(mutex);

    Run& touch(std::string_view name) CALLGATE_REQUIRES(mutex) {
        if (const auto found = by_name.find(name); found != by_name.end()) {
            runs.splice(runs.end(), runs, found->second);
            return runs.back();
        }
        if (runs.size() >= kMostRuns) {
            by_name.erase(runs.front().name);
            runs.pop_front();
        }
        runs.push_back({std::string(name), {}});
        by_name.emplace(runs.back().name, std::prev(runs.end()));
        return runs.back();
    }
};

LoopDetector::LoopDetector() : state_(std::make_unique<State>()) {}
LoopDetector::~LoopDetector() = default;

bool LoopDetector::looping(std::string_view run, std::uint64_t call_hash, std::uint32_t limit) const {
    if (limit == 0 || run.empty()) return false;
    const base::MutexLock lock(state_->mutex);
    const auto found = state_->by_name.find(run);
    if (found == state_->by_name.end()) return false;
    const std::vector<Seen>& seen = found->second->seen;
    const auto known = std::ranges::find(seen, call_hash, &Seen::call);
    return known != seen.end() && known->count >= limit;
}

void LoopDetector::ended(std::string_view run, std::uint64_t call_hash, std::uint64_t result_hash) {
    if (run.empty()) return;
    const base::MutexLock lock(state_->mutex);
    std::vector<Seen>& seen = state_->touch(run).seen;
    const auto known = std::ranges::find(seen, call_hash, &Seen::call);
    Seen now{call_hash, result_hash, 1};
    if (known != seen.end() && known->result == result_hash) {
        now.count = known->count == UINT32_MAX ? UINT32_MAX : known->count + 1;
    } else {
        for (Seen& one : seen) one.count = 0;
    }
    if (known != seen.end()) {
        seen.erase(known);
    } else if (seen.size() >= kMostCallsSeen) {
        seen.erase(seen.begin());
    }
    seen.push_back(now);
}

}  // namespace callgate::policy
