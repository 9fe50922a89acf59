// The awaitable forms of what begins a call, and of a tool's question to its caller.
#include <callgate/async.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

namespace asio = boost::asio;

// Runs a coroutine to its end on an io context of the test's own.
template <class Coroutine>
void run_awaited(Coroutine coroutine) {
    asio::io_context io;
    asio::co_spawn(io, std::move(coroutine), asio::detached);
    io.run();
}

TEST(BegunAsync, PreviewsResumptionsAndBatchesAreAwaited) {
    Runtime runtime;
    runtime.tools().add_or_throw(
        tool("pay", "", [] { return "paid"; })
            .risk(Risk::high)
            .run_inline()
            .preview([](const Object&, CallContext&) { return Preview("would pay"); }));
    runtime.tools().add_or_throw(tool("look", "", [] { return "seen"; }).read_only());
    Context ada;
    ada.principal = "ada";
    const Outcome asked = runtime.call("pay", {}, ada);
    ASSERT_TRUE(runtime.approvals().approve(asked.approval_id(), "olga"));
    Outcome preview;
    Outcome resumed;
    std::vector<Outcome> batch;
    run_awaited([&]() -> asio::awaitable<void> {
        CallRequest pay("pay");
        preview = co_await async_preview(runtime, pay, ada);
        resumed = co_await async_resume(runtime, asked.call_id(), ada);
        std::vector<CallRequest> calls(3, CallRequest("look"));
        batch = co_await async_batch(runtime, calls);
    });
    ASSERT_TRUE(preview.preview());
    EXPECT_EQ(preview.preview()->summary, "would pay");
    EXPECT_EQ(resumed.text(), "paid");
    ASSERT_EQ(batch.size(), 3u);
    EXPECT_EQ(batch[2].text(), "seen");
}

class Answers7 final : public InputChannel {
public:
    InputAbilities abilities() const override { return {true, true, true, true}; }
    void ask(std::shared_ptr<PendingInput> question) override {
        EXPECT_TRUE(question->answer(InputAnswer::accept(Object{{"n", 7}})));
    }
};

asio::awaitable<std::string> ask_for_a_number(CallContext& context) {
    InputRequest request = InputRequest::form("A number?", Object{{"type", "object"}});
    const Result<InputAnswer> answer = co_await async_ask(context, request);
    co_return answer ? json::write(answer->content) : answer.error().message;
}

TEST(BegunAsync, ACoroutineAwaitsItsCallersAnswer) {
    Runtime runtime;
    runtime.tools().add_or_throw(async_tool("ask", "", ask_for_a_number).read_only());
    Context context;
    context.input = std::make_shared<Answers7>();
    EXPECT_EQ(runtime.call("ask", {}, context).text(), R"({"n":7})");
    EXPECT_EQ(runtime.call("ask").text(), "The caller cannot be asked for this (form).");
}

}  // namespace
}  // namespace callgate::pipeline
