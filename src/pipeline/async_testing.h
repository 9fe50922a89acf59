// For tests of coroutine tools: something to wait for.
#pragma once

#include <chrono>
#include <future>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace callgate::pipeline {

/// Comes back by way of the executor, a moment later.
inline boost::asio::awaitable<void> nap() {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, std::chrono::milliseconds(1));
    co_await timer.async_wait(boost::asio::use_awaitable);
}

/// Waits for what never comes, until it is cancelled.
inline boost::asio::awaitable<void> forever() {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor,
                                    boost::asio::steady_timer::time_point::max());
    co_await timer.async_wait(boost::asio::use_awaitable);
}

/// What a coroutine tool of one call does that never ends by itself, and how far it has come. It must outlive
/// the call.
class StuckCoroutine {
public:
    auto body() {
        return [this]() -> boost::asio::awaitable<void> {
            entered_.set_value();
            try {
                co_await forever();
            } catch (...) {
                left_.set_value();
                throw;
            }
        };
    }
    void wait_until_entered() { entered_.get_future().wait(); }
    /// Gone, not just forgotten.
    void wait_until_left() { left_.get_future().wait(); }

private:
    std::promise<void> entered_;
    std::promise<void> left_;
};

}  // namespace callgate::pipeline
