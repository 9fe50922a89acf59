// The thread that everything of a server belongs to, except its transports' sockets: the first of its loop.
//
// Work given to it runs there in the order in which it is given, and never before post() returns. Work that
// comes up at home while a message is dealt with (Home::Turn), as the end of a quick call does, does not go
// through the loop: it runs as soon as the message is dealt with.
//
// Threads: post() and executor() from any thread; a Turn at home.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <callgate/calls.h>

#include "net/loop.h"

namespace callgate::mcp {

class Home final : public std::enable_shared_from_this<Home> {
public:
    explicit Home(std::shared_ptr<net::LoopThread> thread) : thread_(std::move(thread)) {}

    /// Dropped once the loop has gone.
    void post(std::function<void()> work);
    /// May be kept for longer than the server.
    Executor executor();

    /// While one lives, a message is dealt with.
    class Turn {
    public:
        explicit Turn(Home& home) : home_(home), outermost_(!std::exchange(home.in_turn_, true)) {}
        ~Turn() {
            if (outermost_) home_.end_turn();
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        Home& home_;
        const bool outermost_;
    };

private:
    void end_turn();

    const std::shared_ptr<net::LoopThread> thread_;
    std::atomic<std::size_t> in_loop_{0};  // what was given to the loop and has not begun
    // At home only:
    std::vector<std::function<void()>> of_turn_;
    bool in_turn_ = false;
};

}  // namespace callgate::mcp
