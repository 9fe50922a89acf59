// Coroutine tools, and calls that are awaited, several at once.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <callgate/async.h>
#include <callgate/callgate.h>

namespace asio = boost::asio;
namespace cg = callgate;

namespace {

asio::awaitable<std::string> fetch(std::string page) {
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    co_return "<" + page + ">";
}

// A tool that calls another one: it keeps the principal, the scopes and the deadline of its own caller.
asio::awaitable<std::string> fetch_twice(std::string page, cg::CallContext& context) {
    cg::Args arguments = {{"page", page}};
    const cg::Outcome first = co_await cg::async_call(context, "fetch", arguments);
    const cg::Outcome second = co_await cg::async_call(context, "fetch", arguments);
    co_return first.text() + second.text();
}

asio::awaitable<void> talk(cg::Runtime& runtime, std::string tool, std::string page, std::string& answer) {
    // g++ 12 miscompiles braces inside an expression with co_await, so arguments get a name first.
    cg::Args arguments = {{"page", page}};
    const cg::Outcome outcome = co_await runtime.async_call(tool, arguments);
    answer = std::string(to_string(outcome.state())) + ": " +
             (outcome.ok() ? outcome.text() : outcome.error()->message);
}

}  // namespace

int main() {
    cg::Runtime runtime;
    runtime.tools().add_or_throw(cg::async_tool("fetch", "Fetch a page", fetch, cg::param("page"))
                                     .risk(cg::Risk::low)
                                     .effect(cg::EffectClass::read));
    runtime.tools().add_or_throw(
        cg::async_tool("fetch_twice", "Fetch a page twice", fetch_twice, cg::param("page"))
            .risk(cg::Risk::low)
            .effect(cg::EffectClass::read));

    asio::io_context io;
    std::vector<std::string> answers(3);
    asio::co_spawn(io, talk(runtime, "fetch", "one", answers[0]), asio::detached);
    asio::co_spawn(io, talk(runtime, "fetch_twice", "two", answers[1]), asio::detached);
    asio::co_spawn(io, talk(runtime, "fecth", "three", answers[2]), asio::detached);
    io.run();
    for (const std::string& answer : answers) std::cout << answer << '\n';
    return answers[1] == "succeeded: <two><two>" ? 0 : 1;
}
