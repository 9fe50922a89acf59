#include "net/socket_watch.h"

#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "net/loop.h"
#include "os/fd.h"

namespace callgate::net {
namespace {

// Both ends of a connection.
struct Pair {
    os::Fd ours;
    os::Fd peers;

    Pair() {
        int ends[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        ours = os::Fd(ends[0]);
        peers = os::Fd(ends[1]);
    }
    void arrive() const { EXPECT_EQ(::send(peers.get(), "x", 1, MSG_NOSIGNAL), 1); }
    void read() const {
        char byte = 0;
        EXPECT_EQ(::recv(ours.get(), &byte, 1, 0), 1);
    }
};

class Owner final : public SocketOwner {
public:
    explicit Owner(std::function<void(Readiness)> notified) : notified_(std::move(notified)) {}
    void ready(Readiness what) override { notified_(what); }

private:
    std::function<void(Readiness)> notified_;
};

// Runs it on the loop's thread, and waits for its end.
void run_there(Loop& loop, const std::function<void(SocketWatch&)>& what) {
    std::promise<void> done;
    ASSERT_TRUE(loop.thread()->post([&] {
        what(loop.thread()->sockets());
        done.set_value();
    }));
    done.get_future().wait();
}

TEST(SocketWatch, NotifiesWhoseSocketIsReadyAndNobodyElse) {
    const Pair one, other;
    std::promise<Readiness> came;
    SocketWatch::Place place = 0;
    // The first to go: the end of a pair is something to notify of.
    Loop loop;
    run_there(loop, [&](SocketWatch& sockets) {
        const auto owner = std::make_shared<Owner>([&](Readiness what) {
            one.read();
            came.set_value(what);
        });
        place = sockets.add(one.ours.get(), owner, {true, false});
        sockets.add(other.ours.get(), std::make_shared<Owner>([](Readiness) { ADD_FAILURE(); }),
                    {true, false});
    });
    one.arrive();
    EXPECT_EQ(came.get_future().get(), (Readiness{true, false, false}));
}

TEST(SocketWatch, SaysItAgainUntilItIsDealtWithOrNotWanted) {
    const Pair pair;
    int times = 0;
    std::promise<void> enough;
    SocketWatch::Place place = 0;
    Loop loop;
    run_there(loop, [&](SocketWatch& sockets) {
        place = sockets.add(pair.ours.get(), std::make_shared<Owner>([&](Readiness what) {
                                EXPECT_TRUE(what.read);
                                if (++times < 3) return;
                                loop.thread()->sockets().change(place, pair.ours.get(), {});
                                enough.set_value();
                            }),
                            {true, false});
    });
    pair.arrive();
    enough.get_future().wait();
    // Wanted again, what is still there is reported again.
    run_there(loop, [&](SocketWatch& sockets) {
        EXPECT_EQ(times, 3);
        enough = {};
        sockets.change(place, pair.ours.get(), {true, false});
    });
    enough.get_future().wait();
    EXPECT_EQ(times, 4);
}

TEST(SocketWatch, TellsOfRoomToWriteAndOfAPeerThatHasGone) {
    Loop loop;
    Pair pair;
    std::vector<Readiness> came;
    std::promise<void> both;
    SocketWatch::Place place = 0;
    run_there(loop, [&](SocketWatch& sockets) {
        place = sockets.add(pair.ours.get(), std::make_shared<Owner>([&](Readiness what) {
                                came.push_back(what);
                                loop.thread()->sockets().change(place, pair.ours.get(), {});
                                if (came.size() == 1) return pair.peers.reset();
                                loop.thread()->sockets().remove(place, pair.ours.get());
                                both.set_value();
                            }),
                            {false, true});
    });
    both.get_future().wait();
    ASSERT_EQ(came.size(), 2u);
    EXPECT_EQ(came[0], (Readiness{false, true, false}));
    EXPECT_EQ(came[1], (Readiness{true, true, true}));
}

// Both are ready at once; whoever is notified first removes the other, whose place is taken again.
TEST(SocketWatch, WhoIsRemovedIsNotNotifiedAnyMoreNorWhoTakesThePlace) {
    const Pair pairs[2];
    const Pair later;
    SocketWatch::Place places[2] = {};
    int notified = 0;
    std::promise<void> over;
    Loop loop;
    run_there(loop, [&](SocketWatch& sockets) {
        for (int i = 0; i < 2; ++i) {
            places[i] =
                sockets.add(pairs[i].ours.get(), std::make_shared<Owner>([&, i](Readiness) {
                                ++notified;
                                SocketWatch& there = loop.thread()->sockets();
                                pairs[i].read();
                                there.remove(places[1 - i], pairs[1 - i].ours.get());
                                EXPECT_EQ(there.add(later.ours.get(),
                                                    std::make_shared<Owner>([](Readiness) { ADD_FAILURE(); }),
                                                    {true, false}),
                                          places[1 - i]);
                                loop.thread()->post([&] { over.set_value(); });
                            }),
                            {true, false});
        }
        for (const Pair& pair : pairs) pair.arrive();
    });
    over.get_future().wait();
    EXPECT_EQ(notified, 1);
}

TEST(SocketWatch, KeepsAnOwnerUntilItIsRemovedAndTheTurnIsOver) {
    Loop loop;
    const Pair pair;
    std::weak_ptr<Owner> weak;
    run_there(loop, [&](SocketWatch& sockets) {
        auto owner = std::make_shared<Owner>([](Readiness) {});
        weak = owner;
        const auto place = sockets.add(pair.ours.get(), std::move(owner), {true, false});
        EXPECT_FALSE(weak.expired());
        sockets.remove(place, pair.ours.get());
        EXPECT_FALSE(weak.expired());
    });
    run_there(loop, [](SocketWatch&) {});
    run_there(loop, [&](SocketWatch&) { EXPECT_TRUE(weak.expired()); });
}

TEST(SocketWatch, TheEndOfTheLoopReleasesWhoIsWatched) {
    const Pair pair;
    std::weak_ptr<Owner> weak;
    auto loop = std::make_unique<Loop>();
    run_there(*loop, [&](SocketWatch& sockets) {
        // It holds the thread that holds it.
        auto owner = std::make_shared<Owner>([thread = loop->thread()](Readiness) {});
        weak = owner;
        sockets.add(pair.ours.get(), owner, {true, false});
    });
    loop.reset();
    EXPECT_TRUE(weak.expired());
}

TEST(SocketWatch, SaysWhereThereIsNoRoomForASocket) {
    Loop loop;
    run_there(loop, [](SocketWatch& sockets) {
        const auto owner = std::make_shared<Owner>([](Readiness) {});
        EXPECT_EQ(sockets.add(-1, owner, {true, false}), SocketWatch::kNowhere);
        EXPECT_EQ(owner.use_count(), 1);
        const Pair pair;
        EXPECT_NE(sockets.add(pair.ours.get(), owner, {true, false}), SocketWatch::kNowhere);
    });
}

}  // namespace
}  // namespace callgate::net
