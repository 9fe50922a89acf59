// Where a host's own code stands still: bodies, callbacks and observers wait here for the host's steps.
//
// A host's time is counted in steps. What stands here goes on after so many of them, or when it is called
// off, or when the gates are opened for good. What is to be done later is done by a thread of the host's own.
//
// Threads: may be used from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

namespace callgate::hosts {

class Gates {
public:
    /// `seats`: how many callbacks may stand still at once.
    explicit Gates(std::size_t seats);
    ~Gates();
    Gates(const Gates&) = delete;
    Gates& operator=(const Gates&) = delete;

    /// For bodies: returns after so many steps, or when `until` says so.
    void stand(std::uint64_t steps, const std::stop_token& until = {});
    /// For callbacks and observers: as above, if a seat is free. Returns at once otherwise.
    void sit(std::uint64_t steps);
    /// After so many steps, on the gates' own thread; at once when they are open.
    void later(std::uint64_t steps, std::function<void()> what);

    void step();
    /// From now on nothing stands still.
    void open();
    /// Waits until everything that was to be done later is done; only after open().
    void join();
    bool is_open() const;
    std::size_t standing() const;

private:
    void work();

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::uint64_t now_ = 0;
    bool open_ = false;
    bool stopping_ = false;
    std::size_t standing_ = 0;
    std::size_t seats_;
    std::multimap<std::uint64_t, std::function<void()>> later_;
    std::thread thread_;
};

}  // namespace callgate::hosts
