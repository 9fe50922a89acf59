#include "net/socket_watch.h"

#include <array>
#include <utility>

#include <sys/epoll.h>
#include <boost/asio/post.hpp>

#include "os/fd.h"

namespace callgate::net {
namespace {

// Looked up at once, and so often, before other work of the thread has its turn.
constexpr int kEvents = 64;
constexpr int kRounds = 4;
// After fewer than these nothing more is likely to have come meanwhile.
constexpr int kMany = 4;

std::uint32_t events_of(Readiness wanted) noexcept {
    return (wanted.read ? EPOLLIN : 0u) | (wanted.write ? EPOLLOUT : 0u);
}

Readiness readiness_of(std::uint32_t events) noexcept {
    const bool broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
    return {broken || (events & EPOLLIN) != 0, broken || (events & EPOLLOUT) != 0, broken};
}

}  // namespace

SocketWatch::Place SocketWatch::add(int socket, std::shared_ptr<SocketOwner> owner, Readiness watched_for) {
    if (!epoll_.is_open() && !open()) return kNowhere;
    if (free_.empty()) {
        free_.push_back(places_.size());
        places_.emplace_back();
    }
    const Place place = free_.back();
    epoll_event event{};
    event.events = events_of(watched_for);
    event.data.u64 = mark(place);
    if (::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, socket, &event) != 0) return kNowhere;
    free_.pop_back();
    places_[place].owner = std::move(owner);
    return place;
}

void SocketWatch::change(Place place, int socket, Readiness watched_for) {
    epoll_event event{};
    event.events = events_of(watched_for);
    event.data.u64 = mark(place);
    // It cannot fail: the socket is there, and there is room for it already.
    (void)::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_MOD, socket, &event);
}

void SocketWatch::remove(Place place, int socket) {
    (void)::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, socket, nullptr);
    Watched& watched = places_[place];
    ++watched.generation;
    boost::asio::post(epoll_.get_executor(), [released = std::exchange(watched.owner, nullptr)] {});
    free_.push_back(place);
}

bool SocketWatch::open() {
    os::Fd made(::epoll_create1(EPOLL_CLOEXEC));
    if (!made) return false;
    boost::system::error_code error;
    (void)epoll_.assign(made.get(), error);
    if (error) return false;
    made.release();
    wait();
    return true;
}

void SocketWatch::wait() {
    epoll_.async_wait(epoll_.wait_read, [this](const boost::system::error_code& error) {
        if (!error) look();
    });
}

void SocketWatch::look() {
    std::array<epoll_event, kEvents> events;
    for (int round = 0; round < kRounds; ++round) {
        const int count = ::epoll_wait(epoll_.native_handle(), events.data(), kEvents, 0);
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            const Place place = static_cast<std::uint32_t>(event.data.u64);
            if (mark(place) != event.data.u64) continue;  // it was removed in this round
            const auto owner = places_[place].owner;
            owner->ready(readiness_of(event.events));
        }
        if (count < kMany) break;
    }
    wait();
}

std::uint64_t SocketWatch::mark(Place place) const noexcept {
    return (static_cast<std::uint64_t>(places_[place].generation) << 32) | place;
}

}  // namespace callgate::net
