// The calls of a runtime that wait for something: those that can be listed, called off, and found by their
// id.
//
// A call that never waits is not among them: it is over before anybody could ask. Spread over buckets by the
// random end of the id, so that calls on many threads do not meet at one lock.
//
// Threads: may be used from any thread. What is returned may have ended meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <callgate/calls.h>
#include <callgate/outcome.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/call_spec.h"

namespace callgate::pipeline {

class Call;

/// How a call looks from outside while it is run: copies, for others than the thread that runs it.
struct SeenAs {
    std::string tool;
    std::string action;
    SharedContext context;
};

/// Whether its tool has an open question to its caller.
enum class Asks : std::uint8_t { no, yes };

/// A call's place among those that wait. Belongs to the call; written under its bucket's lock.
struct WaitingPlace {
    std::weak_ptr<Call> call;
    CallId id{};
    CallId parent{};
    base::WallTime started{};
    SeenAs seen;
    Asks asks = Asks::no;
    WaitingPlace* next = nullptr;
    WaitingPlace* previous = nullptr;
};

class WaitingCalls {
public:
    /// `place` stays where it is until it is removed.
    void add(WaitingPlace& place);
    void remove(WaitingPlace& place);
    /// It turned out to be another call than it seemed: one that is resumed.
    void change(WaitingPlace& place, SeenAs seen);
    void change(WaitingPlace& place, Asks asks);

    /// Null: none with this id waits.
    std::shared_ptr<Call> find(const CallId& id) const;
    /// The same, of this caller's calls only.
    std::shared_ptr<Call> find(const CallId& id, const Context& caller) const;
    /// Nothing: none waits, or it is not this caller's.
    std::optional<Asks> asks(const CallId& id, const Context& caller) const;
    std::vector<std::shared_ptr<Call>> all() const;
    std::vector<RunningCall> list() const;

private:
    struct Bucket {
        mutable base::Mutex mutex;
        WaitingPlace* first CALLGATE_GUARDED_BY(mutex) = nullptr;
    };
    template <class Use>
    auto look_at(const CallId& id, const Use& use) const;
    Bucket& bucket_of(const CallId& id) noexcept { return buckets_[id.back() % kBuckets]; }
    const Bucket& bucket_of(const CallId& id) const noexcept { return buckets_[id.back() % kBuckets]; }

    static constexpr std::size_t kBuckets = 64;
    std::array<Bucket, kBuckets> buckets_;
};

}  // namespace callgate::pipeline
