// What is kept of the events of a session, and for whom.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "mcp/session.h"

namespace callgate::mcp {
namespace {

/// A reply that only remembers what was written.
class Written final : public net::HttpReply {
public:
    void send(net::HttpResponse /*response*/) override {}
    void begin(int /*status*/, net::HttpHeaders /*headers*/, std::string /*idle_text*/) override {}
    void write(std::string bytes) override { text += bytes; }
    void end() override { ended = true; }
    void abandon() override {}
    void on_gone(std::function<void()> /*function*/) override {}
    std::size_t waiting_bytes() const noexcept override { return 0; }
    Executor executor() const override { return {}; }

    std::string text;
    bool ended = false;
};

ServerLimits limits(std::size_t events, std::size_t bytes) {
    ServerLimits made;
    made.kept_events = events;
    made.kept_event_bytes = bytes;
    return made;
}

std::string resumed(EventStream& stream, std::uint64_t after) {
    const auto reply = std::make_shared<Written>();
    stream.resume(after, reply, nullptr);
    return reply->text;
}

TEST(EventStreams, AreResumedAfterAnEventThatWasSeen) {
    Session session("s", limits(10, 1'000));
    const auto stream = session.new_stream();
    stream->add("one");
    stream->add("two");
    EXPECT_TRUE(stream->can_resume(1));
    EXPECT_EQ(resumed(*stream, 1), "id: 1-2\ndata: two\n\n");
    EXPECT_TRUE(stream->can_resume(2));
    EXPECT_FALSE(stream->can_resume(3)) << "there was no such event";
}

TEST(EventStreams, OfASessionKeepSoMuchTogether) {
    Session session("s", limits(4, 1'000));
    const auto first = session.new_stream();
    const auto second = session.new_stream();
    for (int i = 0; i < 3; ++i) first->add("a");
    for (int i = 0; i < 3; ++i) second->add("b");
    EXPECT_FALSE(first->can_resume(0));
    EXPECT_FALSE(first->can_resume(1)) << "the second event has gone";
    EXPECT_TRUE(first->can_resume(2));
    EXPECT_TRUE(second->can_resume(0));
}

TEST(EventStreams, KeepTheNewestHoweverLargeItIs) {
    Session session("s", limits(10, 8));
    const auto stream = session.new_stream();
    stream->add("progress");
    stream->add("an answer that is longer than all that may be kept");
    stream->finish();
    EXPECT_FALSE(stream->can_resume(0));
    ASSERT_TRUE(stream->can_resume(1));
    EXPECT_EQ(resumed(*stream, 1), "id: 1-2\ndata: an answer that is longer than all that may be kept\n\n");
}

TEST(EventStreams, LeaveNothingInTheLogWhenTheyGo) {
    const auto log = std::make_shared<EventLog>(10, 1'000);
    {
        const auto stream = std::make_shared<EventStream>(1, log);
        stream->add("a");
        EXPECT_EQ(log->events().size(), 1u);
    }
    EXPECT_TRUE(log->events().empty());
}

TEST(EventStreams, ForgetTheConnectionThatIsLostAndNoOther) {
    Session session("s", limits(10, 1'000));
    const auto stream = session.new_stream();
    const auto first = std::make_shared<Written>();
    const auto second = std::make_shared<Written>();
    stream->attach(first);
    stream->attach(second);
    EXPECT_TRUE(first->ended);
    stream->lost(first.get());
    EXPECT_TRUE(stream->attached());
    stream->lost(second.get());
    EXPECT_FALSE(stream->attached());
}

}  // namespace
}  // namespace callgate::mcp
