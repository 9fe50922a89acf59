// Counters, and the one list from which each stage's are made.
//
// A stage lists its counters once, in its header; the list expands into the struct that the stage counts in
// and into the names under which RuntimeStats exports them ("gate.denied"). counters_test.cpp fails for a
// counter that no call can raise.
//
//   #define CALLGATE_GATE_COUNTERS(X) X(denied) X(previewed)
//   CALLGATE_STAGE_COUNTERS(GateCounters, CALLGATE_GATE_COUNTERS);
//
// Threads: may be used from any thread; reading several is not a snapshot.
#pragma once

#include <atomic>
#include <cstdint>

namespace callgate::pipeline {

/// How often something happened.
class Counter {
public:
    void add(std::uint64_t by = 1) noexcept { value_.fetch_add(by, std::memory_order_relaxed); }
    std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }
    /// In one order with what else is ordered: who counts and then looks is seen by who sets and then reads.
    void add_ordered() noexcept { value_.fetch_add(1); }
    std::uint64_t get_ordered() const noexcept { return value_.load(); }

private:
    std::atomic<std::uint64_t> value_{0};
};

#define CALLGATE_COUNTER_MEMBER(name) ::callgate::pipeline::Counter name;
#define CALLGATE_COUNTER_VISIT(name) visit(#name, name);
/// `each` calls visit(name, counter) for all of them, in the order of the list.
#define CALLGATE_STAGE_COUNTERS(Struct, LIST) \
    struct Struct {                           \
        LIST(CALLGATE_COUNTER_MEMBER)         \
        template <class Visit>                \
        void each(const Visit& visit) const { \
            LIST(CALLGATE_COUNTER_VISIT)      \
        }                                     \
    }

}  // namespace callgate::pipeline
