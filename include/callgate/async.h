// Coroutines: calls that are awaited, and tools that are coroutines. The one public header that shows
// Boost.Asio.
//
//     cg::Outcome r = co_await runtime.async_call("add", cg::Args{...});
//     runtime.tools().add(cg::async_tool("fetch", "Fetch a page", [](std::string url) ->
//     asio::awaitable<std::string> {…},
//                                        cg::param("url")));
//
// Coroutine tools run on the runtime's own io context, one thread, or on one that the host lends
// (use_executor). A call is awaited on the executor of who awaits it.
//
// Threads: as Runtime.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <callgate/runtime.h>
#include <callgate/typed.h>

namespace callgate {

/// Where coroutine tools run.
class IoHost {
public:
    virtual ~IoHost() = default;
    virtual boost::asio::any_io_executor executor() = 0;
};

namespace typed {

template <class T>
struct Awaited;
template <class T, class Executor>
struct Awaited<boost::asio::awaitable<T, Executor>> {
    using Type = T;
};

/// A coroutine as a tool's body.
template <class Coroutine, class R>
class AsyncBody final : public ToolBody {
public:
    explicit AsyncBody(std::shared_ptr<Coroutine> coroutine) : coroutine_(std::move(coroutine)) {}

    RunMode mode() const noexcept override { return RunMode::async; }
    void start(std::shared_ptr<Attempt> attempt) override {
        const boost::asio::any_io_executor executor = attempt->io().executor();
        boost::asio::co_spawn(executor, drive(coroutine_, std::move(attempt)), boost::asio::detached);
    }

private:
    static boost::asio::awaitable<void> drive(std::shared_ptr<Coroutine> coroutine,
                                              std::shared_ptr<Attempt> attempt) {
        ToolReturn answer;
        try {
            typename Coroutine::Slots slots;
            Fault fault;
            if (!coroutine->fill(attempt->arguments(), slots, fault)) {
                answer = tl::unexpected(fault.failure());
            } else if constexpr (std::is_void_v<R>) {
                co_await coroutine->call(slots, attempt->context());
            } else {
                answer = to_return(co_await coroutine->call(slots, attempt->context()));
            }
        } catch (...) {
            answer = tl::unexpected(failure_from_exception());
        }
        attempt->finish(std::move(answer));
    }

    std::shared_ptr<Coroutine> coroutine_;
};

}  // namespace typed

/// A tool from a callable that returns boost::asio::awaitable<T>; otherwise as tool() in typed.h.
template <class F, std::same_as<Param>... P>
Tool async_tool(std::string_view name, std::string_view description, F&& callable, P... params) {
    using Callable = std::decay_t<F>;
    using Function = typename decltype(typed::signature_of<Callable>())::Type;
    using Coroutine = typed::Body<Callable, Function, sizeof...(P)>;
    using Returned = typename typed::Awaited<typename typed::ReturnOf<Function>::Type>::Type;
    std::vector<Param> list;
    list.reserve(sizeof...(P));
    (list.push_back(std::move(params)), ...);
    auto coroutine = std::make_shared<Coroutine>(name, std::forward<F>(callable), std::move(list));
    ToolDefinition definition{std::string(name), std::string(description), coroutine->schema()};
    definition.output_schema = typed::output_schema<Returned()>();
    return Tool(std::move(definition),
                std::make_shared<typed::AsyncBody<Coroutine, Returned>>(std::move(coroutine)));
}

/// The executor of the runtime's coroutine tools.
boost::asio::any_io_executor executor_of(Runtime& runtime);
/// Coroutine tools run here from now on; the host runs it, and must do so for as long as the runtime lives.
void use_executor(Runtime& runtime, boost::asio::any_io_executor executor);

template <class Token>
auto Runtime::async_call(CallRequest request, Context context, Token&& token) {
    return boost::asio::async_initiate<Token, void(Outcome)>(
        [this](auto handler, CallRequest what, Context who) {
            auto executor = boost::asio::get_associated_executor(handler, executor_of(*this));
            what.arguments.own();
            // The completion function is copied by std::function, and a handler cannot be.
            auto kept = std::make_shared<decltype(handler)>(std::move(handler));
            start(std::move(what), std::move(who), [kept, executor](Outcome outcome) {
                boost::asio::dispatch(executor, [kept, outcome = std::move(outcome)]() mutable {
                    std::move (*kept)(std::move(outcome));
                });
            });
        },
        token, std::move(request), std::move(context));
}

template <class... Ignored>
auto Runtime::async_call(std::string tool, Args arguments, Context context) {
    CallRequest request(std::move(tool), std::move(arguments));
    return async_call(std::move(request), std::move(context), boost::asio::use_awaitable);
}

}  // namespace callgate
