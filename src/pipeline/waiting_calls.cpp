#include "pipeline/waiting_calls.h"

#include <utility>

#include "base/ids.h"

namespace callgate::pipeline {
namespace {

bool is_of(const WaitingPlace* place, const Context& caller) {
    if (place == nullptr) return false;
    const Context& owner = *place->seen.context;
    return owner.tenant == caller.tenant && owner.principal == caller.principal;
}

}  // namespace

void WaitingCalls::add(WaitingPlace& place) {
    Bucket& bucket = bucket_of(place.id);
    const base::MutexLock lock(bucket.mutex);
    place.next = bucket.first;
    if (bucket.first != nullptr) bucket.first->previous = &place;
    bucket.first = &place;
}

void WaitingCalls::remove(WaitingPlace& place) {
    Bucket& bucket = bucket_of(place.id);
    const base::MutexLock lock(bucket.mutex);
    WaitingPlace* const next = std::exchange(place.next, nullptr);
    WaitingPlace* const previous = std::exchange(place.previous, nullptr);
    if (next != nullptr) next->previous = previous;
    (previous != nullptr ? previous->next : bucket.first) = next;
}

void WaitingCalls::change(WaitingPlace& place, SeenAs seen) {
    const base::MutexLock lock(bucket_of(place.id).mutex);
    std::swap(place.seen, seen);
}

void WaitingCalls::change(WaitingPlace& place, Asks asks) {
    const base::MutexLock lock(bucket_of(place.id).mutex);
    place.asks = asks;
}

// What `use` makes of the place with this id, or of null.
template <class Use>
auto WaitingCalls::look_at(const CallId& id, const Use& use) const {
    const Bucket& bucket = bucket_of(id);
    const base::MutexLock lock(bucket.mutex);
    const WaitingPlace* place = bucket.first;
    while (place != nullptr && place->id != id) place = place->next;
    return use(place);
}

std::shared_ptr<Call> WaitingCalls::find(const CallId& id) const {
    return look_at(id, [](const WaitingPlace* place) {
        return place != nullptr ? place->call.lock() : std::shared_ptr<Call>();
    });
}

std::shared_ptr<Call> WaitingCalls::find(const CallId& id, const Context& caller) const {
    return look_at(id, [&](const WaitingPlace* place) {
        return is_of(place, caller) ? place->call.lock() : std::shared_ptr<Call>();
    });
}

std::optional<Asks> WaitingCalls::asks(const CallId& id, const Context& caller) const {
    return look_at(id, [&](const WaitingPlace* place) {
        return is_of(place, caller) ? std::optional(place->asks) : std::nullopt;
    });
}

std::vector<std::shared_ptr<Call>> WaitingCalls::all() const {
    std::vector<std::shared_ptr<Call>> calls;
    for (const Bucket& bucket : buckets_) {
        const base::MutexLock lock(bucket.mutex);
        for (const WaitingPlace* place = bucket.first; place != nullptr; place = place->next) {
            if (auto alive = place->call.lock()) calls.push_back(std::move(alive));
        }
    }
    return calls;
}

std::vector<RunningCall> WaitingCalls::list() const {
    std::vector<RunningCall> list;
    for (const Bucket& bucket : buckets_) {
        const base::MutexLock lock(bucket.mutex);
        for (const WaitingPlace* place = bucket.first; place != nullptr; place = place->next) {
            RunningCall& call = list.emplace_back();
            call.call_id = base::Uuid{place->id}.to_string();
            if (place->parent != CallId{}) call.parent_call_id = base::Uuid{place->parent}.to_string();
            call.tool = place->seen.tool;
            call.action = place->seen.action;
            call.tenant = place->seen.context->tenant;
            call.principal = place->seen.context->principal;
            call.session_id = place->seen.context->session_id;
            call.suspended = place->asks == Asks::yes;
            call.started = place->started;
        }
    }
    return list;
}

}  // namespace callgate::pipeline
