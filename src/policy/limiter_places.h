// What the limiter counts, and who waits for a place.
//
// Whoever gives a place back passes it to the call that has waited longest: no later call gets in between,
// and no wake-up is lost.
//
// Threads: all of it under the limiter's lock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/guard.h"
#include "base/mutex.h"
#include "policy/memory.h"

namespace callgate::policy {

constexpr std::size_t kMostSubjects = 100'000;  // of each table
constexpr std::size_t kMostWaiting = 100'000;   // calls, in all queues together

// A token bucket as one number, the moment at which it will be full again.
struct Bucket {
    base::MonotonicTime full_at = base::MonotonicTime::min();
};

struct Waiting;

// One tool, principal or run, or a tool or principal within a run.
struct Subject {
    std::string name;  // for people
    std::uint32_t running = 0;
    Bucket by_contract;
    Bucket by_policy;
    std::uint64_t run_calls = 0;
    std::map<std::uint64_t, Waiting*> queue;  // those who wait for a place of it, in the order of asking
    std::uint32_t pins = 0;                   // tickets that refer to it
    const std::string* key = nullptr;
    std::list<Subject*>::iterator idle_place;  // only while pins is 0
};

// A place that a call needs, and past how many running ones it waits or is refused; 0 is no limit.
struct Need {
    Subject* subject;
    std::uint32_t waits_at = 0;
    std::uint32_t refused_at = 0;

    void limit(const UseLimits& by) {
        if (by.concurrent == 0 || !CALLGATE_GUARD(limit_concurrent)) return;
        std::uint32_t& at = by.queue ? waits_at : refused_at;
        at = at == 0 ? by.concurrent : std::min(at, by.concurrent);
    }
    bool refused() const noexcept { return refused_at != 0 && subject->running >= refused_at; }
    bool free() const noexcept { return !refused() && (waits_at == 0 || subject->running < waits_at); }
};

// A call that waits, in the queue of one of the subjects that have no place for it.
struct Waiting {
    std::uint64_t number = 0;
    std::vector<Need> needs;
    Subject* queued_at = nullptr;
    std::function<void()> ready;
    bool* granted = nullptr;
};

// Subjects by key. One that no ticket refers to may be forgotten, the one unused for the longest time first.
class Table {
public:
    /// Null when there are too many that cannot be forgotten.
    template <class Name>
    Subject* pin(std::string key, const Name& name) {
        if (const auto found = subjects_.find(key); found != subjects_.end()) {
            Subject& subject = found->second;
            if (subject.pins++ == 0) idle_.erase(subject.idle_place);
            return &subject;
        }
        if (subjects_.size() >= kMostSubjects) {
            if (idle_.empty()) return nullptr;
            const std::string oldest = *idle_.front()->key;
            idle_.pop_front();
            subjects_.erase(oldest);
        }
        const auto made = subjects_.try_emplace(std::move(key)).first;
        made->second.key = &made->first;
        made->second.name = name();
        made->second.pins = 1;
        return &made->second;
    }

    void unpin(Subject& subject) {
        if (--subject.pins == 0) subject.idle_place = idle_.insert(idle_.end(), &subject);
    }

private:
    std::unordered_map<std::string, Subject> subjects_;
    std::list<Subject*> idle_;
};

struct Limiter::State {
    base::Mutex mutex;
    /// Tools and principals.
    Table lasting CALLGATE_GUARDED_BY(mutex);
    /// Runs, and tools and principals within them: a flood of runs pushes out only runs.
    Table runs CALLGATE_GUARDED_BY(mutex);
    std::uint64_t asked CALLGATE_GUARDED_BY(mutex) = 0;
    std::size_t waiting CALLGATE_GUARDED_BY(mutex) = 0;

    // At the first of its subjects that has no place. False: all have.
    static bool queue(Waiting& one) {
        const auto full = std::ranges::find_if(one.needs, [](const Need& need) { return !need.free(); });
        if (full == one.needs.end()) return false;
        one.queued_at = full->subject;
        one.queued_at->queue.emplace(one.number, &one);
        return true;
    }

    void leave(Waiting& one) CALLGATE_REQUIRES(mutex) {
        if (one.queued_at == nullptr) return;
        one.queued_at->queue.erase(one.number);
        one.queued_at = nullptr;
        --waiting;
    }

    // A place of this subject is free: waiting calls get what is free, in the order of asking. A call that
    // lacks another subject's place waits there from now on.
    void pass_on(Subject& subject, std::vector<std::function<void()>>& ready) CALLGATE_REQUIRES(mutex) {
        while (!subject.queue.empty()) {
            Waiting& first = *subject.queue.begin()->second;
            const auto here = std::ranges::find(first.needs, &subject, &Need::subject);
            if (!here->free()) return;
            subject.queue.erase(subject.queue.begin());
            first.queued_at = nullptr;
            if (queue(first)) continue;
            --waiting;
            for (const Need& need : first.needs) ++need.subject->running;
            *first.granted = true;
            ready.push_back(std::move(first.ready));
        }
    }
};

}  // namespace callgate::policy
