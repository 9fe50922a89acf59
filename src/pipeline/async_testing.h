// For tests of coroutine tools: something to wait for.
#pragma once

#include <chrono>

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

}  // namespace callgate::pipeline
