// In which order work runs at a server's home.
#include "mcp/home.h"

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "net/loop.h"

namespace callgate::mcp {
namespace {

class AtHome : public testing::Test {
protected:
    /// Runs it on the loop's thread, and waits until everything that it brought has run.
    void run(std::function<void()> first) {
        loop.executor()(std::move(first));
        std::promise<void> all;
        loop.executor()([&] { home->post([&] { all.set_value(); }); });
        all.get_future().wait();
    }
    std::function<void()> say(std::string word) {
        return [this, word = std::move(word)] { said += word; };
    }

    net::Loop loop;
    std::shared_ptr<Home> home = std::make_shared<Home>(loop.thread());
    std::string said;  // on the loop's thread, and read after run()
};

TEST_F(AtHome, WorkOfATurnRunsAsItEndsAndNotBefore) {
    run([&] {
        loop.executor()(say("loop "));
        const Home::Turn turn(*home);
        home->post(say("end "));
        said += "turn ";
    });
    EXPECT_EQ(said, "turn end loop ");
}

TEST_F(AtHome, WorkBringsMoreWorkOfTheSameTurn) {
    run([&] {
        loop.executor()(say("loop "));
        const Home::Turn turn(*home);
        home->post([&] {
            home->post(say("third "));
            said += "first ";
        });
        home->post(say("second "));
    });
    EXPECT_EQ(said, "first second third loop ");
}

TEST_F(AtHome, ATurnInsideATurnEndsWithIt) {
    run([&] {
        const Home::Turn outer(*home);
        {
            const Home::Turn inner(*home);
            home->post(say("work "));
        }
        said += "outer ";
    });
    EXPECT_EQ(said, "outer work ");
}

TEST_F(AtHome, WorkOfATurnDoesNotOvertakeWhatWasGivenBefore) {
    run([&] {
        home->post(say("before "));
        const Home::Turn turn(*home);
        home->post(say("in the turn "));
    });
    EXPECT_EQ(said, "before in the turn ");
}

TEST_F(AtHome, WorkIsDroppedOnceTheLoopHasGone) {
    const auto held = std::make_shared<int>(0);
    Executor executor;
    {
        net::Loop gone;
        executor = std::make_shared<Home>(gone.thread())->executor();
    }
    executor([held] {});
    EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace callgate::mcp
