#include "net/http_shard.h"

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>

namespace callgate::net {
namespace {

// A descriptor that no further epoll may watch: it watches others, as deep as the system allows.
os::Fd unwatchable(std::vector<os::Fd>& others) {
    os::Fd last(::epoll_create1(EPOLL_CLOEXEC));
    for (;;) {
        os::Fd next(::epoll_create1(EPOLL_CLOEXEC));
        epoll_event event{};
        if (::epoll_ctl(next.get(), EPOLL_CTL_ADD, last.get(), &event) != 0) return last;
        others.push_back(std::exchange(last, std::move(next)));
    }
}

TEST(HttpShard, ASocketThatTheSystemCannotWatchIsClosedAndTheThreadGoesOn) {
    std::vector<os::Fd> others;
    os::Fd socket = unwatchable(others);
    const int number = socket.get();
    Loop loop;
    const auto state =
        std::make_shared<HttpServerState>(HttpServerOptions(), [](auto, auto) {}, true, "127.0.0.1", nullptr);
    const auto shard = std::make_shared<HttpShard>(state, loop.thread());
    state->connections.fetch_add(1);
    std::promise<void> taken;
    loop.thread()->post([&] {
        shard->take(std::move(socket), HttpPeer());
        taken.set_value();
    });
    taken.get_future().wait();
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);
    EXPECT_EQ(state->connections.load(), 0u);
    EXPECT_EQ(state->refused_connections.load(), 1u);
}

}  // namespace
}  // namespace callgate::net
