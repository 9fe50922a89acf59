// A call that serves a client, at moments that no client can hit for certain: driven on the home thread.
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/conversation.h"
#include "mcp/mcp_testing.h"
#include "mcp/server_core.h"
#include "net/loop.h"

namespace callgate::mcp {
namespace {

const Object kAsksForms{{"elicitation", Object{}}};

/// Keeps what goes to the client.
class KeptOutlet final : public Outlet {
public:
    void message(std::string text) override { messages.push_back(parsed(text)); }
    void respond(std::string text, int /*status*/) override { answers.push_back(parsed(text)); }
    void on_gone(std::function<void()> /*function*/) override {}
    void drop() override {}
    void acknowledge() override {}

    std::vector<Value> messages;
    std::vector<Value> answers;
};

class ConversationTest : public testing::Test {
protected:
    ConversationTest() {
        runtime.tools().add_or_throw(
            tool("write", "", [this] { return ++ran; }).risk(Risk::medium).effect(EffectClass::unsafe));
    }
    ~ConversationTest() override {
        if (!core->closed()) core->close();
    }
    static ServerOptions asking() {
        ServerOptions options;
        options.approve_by_client = true;
        options.context.autonomy = Autonomy::a1;
        return options;
    }
    void at_home(const std::function<void()>& work) {
        std::promise<void> done;
        core->at_home([&] {
            work();
            done.set_value();
        });
        done.get_future().wait();
    }
    /// What waits for the home thread has run, and the calls that it began have ended.
    void settle() {
        for (int i = 0; i < 3; ++i) {
            std::promise<void> looked;
            runtime.start_outcome(
                "none", {}, [&](const Result<CallStatus>&) { looked.set_value(); }, core->home());
            looked.get_future().wait();
        }
        core->close();
        EXPECT_EQ(runtime.drain(std::chrono::minutes(1)), 0u);
    }
    std::shared_ptr<Exchange> exchange(Object capabilities = kAsksForms) {
        auto made = std::make_shared<Exchange>();
        made->codec = &codec_2026_07_28();
        made->id = ++last_id;
        made->outlet = outlet;
        made->capabilities = std::make_shared<const Object>(std::move(capabilities));
        return made;
    }
    /// Of a call that needs an approval.
    std::shared_ptr<Conversation> conversation(const std::shared_ptr<Exchange>& of) {
        asked = runtime.call("write", {}, core->options().context);
        EXPECT_EQ(asked.state(), State::needs_approval);
        auto made = std::make_shared<Conversation>(
            core, of, "", [this](const std::shared_ptr<Exchange>& to, const Outcome& outcome) {
                core->respond(to, to->codec->call_result(outcome));
            });
        made->remember(core->options().context);
        made->began(asked.call_id());
        return made;
    }

    int ran = 0;
    std::int64_t last_id = 0;
    Outcome asked;
    Runtime runtime;
    net::Loop loop;
    std::shared_ptr<ServerCore> core = std::make_shared<ServerCore>(runtime, loop, asking());
    std::shared_ptr<KeptOutlet> outlet = std::make_shared<KeptOutlet>();
};

const Object kAllows{{"approval", Object{{"action", "accept"}, {"content", Object{{"allow", true}}}}}};

TEST_F(ConversationTest, WhatIsCalledOffWhileItsClientsYesIsRecordedDoesNotRun) {
    const auto first = exchange();
    const auto one = conversation(first);
    at_home([&] { one->done(asked); });
    ASSERT_EQ(outlet->answers.at(0).at("result").at("resultType"), "input_required");
    at_home([&] {
        const auto second = exchange();
        one->go_on(second, kAllows);
        one->call_off(second);
    });
    ASSERT_TRUE(runtime.approvals().wait(asked.approval_id()));
    settle();
    EXPECT_EQ(ran, 0);
}

TEST_F(ConversationTest, WhatIsCalledOffBeforeItIsATaskDoesNotRunOnceItIsApproved) {
    const auto first = exchange();
    const auto one = conversation(first);
    at_home([&] {
        one->may_be_task(true);
        one->call_off(first);
        one->done(asked);
    });
    std::promise<void> decided;
    runtime.approvals().when_decided(asked.approval_id(),
                                     [&](const Result<Approval>&) { decided.set_value(); });
    ASSERT_TRUE(runtime.approvals().approve(asked.approval_id(), "grace"));
    decided.get_future().wait();
    settle();
    EXPECT_EQ(ran, 0);
}

Progress progress_of(std::uint64_t sequence, std::optional<double> done = {}) {
    Progress progress;
    progress.sequence = sequence;
    progress.done = done;
    return progress;
}

std::vector<double> said(const KeptOutlet& outlet) {
    std::vector<double> all;
    for (const Value& message : outlet.messages) {
        all.push_back(message.at("params").at("progress").to_number<double>());
    }
    return all;
}

TEST_F(ConversationTest, ProgressGrowsWithinOneRequestAndBeginsAnewWithTheNext) {
    const auto first = exchange();
    first->progress_token = "a";
    const auto one = conversation(first);
    at_home([&] {
        std::uint64_t sequence = 0;
        for (const double done : {1.0, 3.0, 3.0, 2.0, 4.0}) one->progress(progress_of(++sequence, done));
        one->progress(progress_of(99));  // ours is not mixed with the tool's own
    });
    EXPECT_EQ(said(*outlet), (std::vector<double>{1, 3, 4}));
    outlet->messages.clear();
    at_home([&] {
        const auto second = exchange();
        second->progress_token = "b";
        one->go_on(second, {});
        one->progress(progress_of(100));
        one->progress(progress_of(101));
    });
    EXPECT_EQ(said(*outlet), (std::vector<double>{100, 101}));
    EXPECT_EQ(outlet->messages.at(0).at("params").at("progressToken"), "b");
}

TEST_F(ConversationTest, ATaskHasTheIdThatTheRecordKnowsItBy) {
    const std::string on_record = "01a1f527-3de0-7000-8d53-8dfef5a03b33";  // of the call that had its key
    const auto first = exchange({{"extensions", Object{{"io.modelcontextprotocol/tasks", Object{}}}}});
    const auto one = conversation(first);
    at_home([&] {
        one->may_be_task(true);
        one->on_record(on_record);
    });
    EXPECT_EQ(outlet->answers.at(0).at("result").at("taskId"), Value(core->tasks().id_of(on_record)));
    at_home([&] { EXPECT_EQ(core->tasks().find(on_record), one); });
}

}  // namespace
}  // namespace callgate::mcp
