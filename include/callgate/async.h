// Coroutines: calls that are awaited, and tools that are coroutines. The one public header that shows
// Boost.Asio.
//
//     cg::Args arguments = {{"a", 5}, {"b", 3}};
//     cg::Outcome r = co_await runtime.async_call("add", arguments);
//     auto fetch = [](std::string url) -> asio::awaitable<std::string> { co_return "the text of " + url; };
//     runtime.tools().add_or_throw(
//         cg::async_tool("fetch", "Fetch a page", fetch, cg::param("url")).risk(cg::Risk::low).read_only());
//
// Coroutine tools run on the runtime's own io context, one thread, or on one that the host lends
// (use_executor); each on a strand of its own. Whoever awaits a call goes on on their own executor. When a
// call is called off or out of time, what its coroutine waits for is cancelled (Asio's terminal
// cancellation). Whoever awaits a call may call it off through Asio's cancellation slot, with any type of
// cancellation: the call is then cancelled as by its context's signal, and completes with its outcome.
//
// A coroutine tool awaits another tool with async_call(context, …), which keeps parent, scopes, deadline,
// depth, held resources and secrets as CallContext::call() does. One that blocks in a call instead keeps its
// thread. On the runtime's own thread that is allowed: it does other work meanwhile. A lent executor cannot
// be made to do so: there the call is refused (denied, {reason: would_block}), since it could wait for the
// very thread that waits for it.
//
// A person's decision is awaited with async_decision(runtime, approval_id).
//
// g++ 12 miscompiles braces inside an expression with co_await: give arguments a name first, or as text.
//
// Threads: as Runtime.
#pragma once

#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
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

/// Hands the call's cancel signal on to a coroutine under way. Belongs to the coroutine's strand, except
/// strand() and slot(), which are called before the coroutine starts.
class CancelLink : public std::enable_shared_from_this<CancelLink> {
public:
    explicit CancelLink(boost::asio::any_io_executor strand) : strand_(std::move(strand)) {}

    const boost::asio::any_io_executor& strand() const noexcept { return strand_; }
    boost::asio::cancellation_slot slot() noexcept { return signal_.slot(); }
    void watch(std::stop_token token);
    void over() { watched_.reset(); }
    /// What an exception means: one that we caused by cancelling says nothing about the effect.
    ToolFailure failure() const;

private:
    void emit();

    boost::asio::any_io_executor strand_;
    boost::asio::cancellation_signal signal_;
    bool emitted_ = false;
    std::optional<std::stop_callback<std::function<void()>>> watched_;
};

/// A coroutine as a tool's body.
template <class Coroutine, class R>
class AsyncBody final : public ToolBody {
public:
    explicit AsyncBody(std::shared_ptr<Coroutine> coroutine) : coroutine_(std::move(coroutine)) {}

    RunMode mode() const noexcept override { return RunMode::async; }
    bool enters_later() const noexcept override { return true; }
    void start(std::shared_ptr<Attempt> attempt) override {
        auto link = std::make_shared<CancelLink>(boost::asio::make_strand(attempt->io().executor()));
        boost::asio::co_spawn(
            link->strand(), drive(coroutine_, std::move(attempt), link),
            boost::asio::bind_cancellation_slot(link->slot(), [link](const std::exception_ptr&) {}));
    }

private:
    static boost::asio::awaitable<void> drive(std::shared_ptr<Coroutine> coroutine,
                                              std::shared_ptr<Attempt> attempt,
                                              std::shared_ptr<CancelLink> link) {
        if (!attempt->enter()) co_return;
        ToolReturn answer;
        link->watch(attempt->context().cancel());
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
            answer = tl::unexpected(link->failure());
        }
        link->over();
        // co_spawn awaits once more after this, and nobody would catch what that throws.
        co_await boost::asio::this_coro::throw_if_cancelled(false);
        attempt->finish(std::move(answer));
    }

    std::shared_ptr<Coroutine> coroutine_;
};

}  // namespace typed

/// A tool from a callable that returns boost::asio::awaitable<T>; otherwise as tool() in typed.h.
template <class F, std::same_as<Param>... P>
Tool async_tool(std::string_view name, std::string_view description, F&& callable, P... params) {
    using Function = typename decltype(typed::signature_of<std::decay_t<F>>())::Type;
    using Returned = typename typed::Awaited<typename typed::ReturnOf<Function>::Type>::Type;
    auto coroutine = typed::make_body(name, std::forward<F>(callable), std::move(params)...);
    using Coroutine = typename decltype(coroutine)::element_type;
    ToolDefinition definition{std::string(name), std::string(description), coroutine->schema()};
    definition.output_schema = typed::output_schema<Returned()>();
    return Tool(std::move(definition),
                std::make_shared<typed::AsyncBody<Coroutine, Returned>>(std::move(coroutine)));
}

/// The executor of the runtime's coroutine tools.
boost::asio::any_io_executor executor_of(Runtime& runtime);
/// Coroutine tools run here from now on; the host runs it, and must do so for as long as the runtime lives.
void use_executor(Runtime& runtime, boost::asio::any_io_executor executor);

namespace typed {

/// A handler as a completion function of start(), and the stop token that its cancellation slot works.
template <class Answer = Outcome, class Handler, class Executor>
std::pair<std::function<void(Answer)>, std::stop_token> completion_of(Handler handler,
                                                                      const Executor& executor) {
    auto slot = boost::asio::get_associated_cancellation_slot(handler);
    std::stop_token also;
    if (slot.is_connected()) {
        std::stop_source source;
        also = source.get_token();
        slot.assign([source](boost::asio::cancellation_type type) mutable {
            if (type != boost::asio::cancellation_type::none) source.request_stop();
        });
    }
    // The completion function is copied by std::function, and a handler cannot be.
    auto kept = std::make_shared<Handler>(std::move(handler));
    auto work = boost::asio::make_work_guard(executor);
    // Posted: a call may end before start() returns, and a handler never runs inside what starts it.
    auto done = [kept, work, slot](Answer answer) {
        boost::asio::post(work.get_executor(), [kept, slot, answer = std::move(answer)]() mutable {
            if (slot.is_connected()) slot.clear();
            std::move (*kept)(std::move(answer));
        });
    };
    return {std::move(done), std::move(also)};
}

}  // namespace typed

template <class Token, std::same_as<CallRequest> Request>
auto Runtime::async_call(Request request, Context context, Token&& token) {
    return boost::asio::async_initiate<Token, void(Outcome)>(
        [this](auto handler, CallRequest what, Context who) {
            const auto executor = boost::asio::get_associated_executor(handler, executor_of(*this));
            auto [done, also] = typed::completion_of(std::move(handler), executor);
            start(std::move(what), std::move(who), std::move(done), also);
        },
        token, std::move(request), std::move(context));
}

namespace typed {

/// Awaits what `begin(completion, also)` reports.
template <class Answer, class Token, class Begin>
auto await_report(Runtime& runtime, Begin begin, Token&& token) {
    return boost::asio::async_initiate<Token, void(Answer)>(
        [&runtime](auto handler, Begin start) {
            const auto executor = boost::asio::get_associated_executor(handler, executor_of(runtime));
            auto [done, also] = completion_of<Answer>(std::move(handler), executor);
            start(std::move(done), also);
        },
        token, std::move(begin));
}

}  // namespace typed

/// Runtime::preview(), resume() and call_batch(), awaited.
template <class Token = boost::asio::use_awaitable_t<>>
auto async_preview(Runtime& runtime, CallRequest request, Context context = {}, Token&& token = {}) {
    return typed::await_report<Outcome>(
        runtime,
        [&runtime, request = std::move(request), context = std::move(context)](auto done,
                                                                               const std::stop_token& also) {
            runtime.start_preview(request, context, std::move(done), also);
        },
        std::forward<Token>(token));
}
template <class Token = boost::asio::use_awaitable_t<>>
auto async_resume(Runtime& runtime, std::string call_id, Context context = {}, Token&& token = {}) {
    return typed::await_report<Outcome>(
        runtime,
        [&runtime, id = std::move(call_id), context = std::move(context)](auto done,
                                                                          const std::stop_token& also) {
            runtime.start_resume(id, context, std::move(done), also);
        },
        std::forward<Token>(token));
}
template <class Token = boost::asio::use_awaitable_t<>>
auto async_batch(Runtime& runtime, std::vector<CallRequest> calls, Context context = {}, Token&& token = {}) {
    return typed::await_report<std::vector<Outcome>>(
        runtime,
        [&runtime, calls = std::move(calls), context = std::move(context)](auto done,
                                                                           const std::stop_token& also) {
            runtime.start_batch(calls, context, std::move(done), {}, also);
        },
        std::forward<Token>(token));
}

/// CallContext::ask(), awaited: inside a coroutine tool. `context` is that of the running tool. It ends with
/// the call at the latest, and what awaits it cannot be called off alone.
template <class Token = boost::asio::use_awaitable_t<>>
auto async_ask(CallContext& context, InputRequest request, Token&& token = {}) {
    return boost::asio::async_initiate<Token, void(Result<InputAnswer>)>(
        [&context](auto handler, InputRequest what) {
            const auto executor = boost::asio::get_associated_executor(handler);
            auto [done, also] = typed::completion_of<Result<InputAnswer>>(std::move(handler), executor);
            context.ask(std::move(what), std::move(done));
        },
        token, std::move(request));
}

/// CallContext::call(), awaited: inside a coroutine tool. `context` is that of the running tool.
template <class Token>
auto async_call(CallContext& context, std::string tool, Args arguments, Token&& token) {
    return boost::asio::async_initiate<Token, void(Outcome)>(
        [&context](auto handler, const std::string& name, Args args) {
            const auto executor = boost::asio::get_associated_executor(handler);
            auto [done, also] = typed::completion_of(std::move(handler), executor);
            context.start(name, std::move(args), std::move(done), std::move(also));
        },
        token, std::move(tool), std::move(arguments));
}

inline auto async_call(CallContext& context, std::string tool, Args arguments = {}) {
    return async_call(context, std::move(tool), std::move(arguments), boost::asio::use_awaitable);
}

template <class... Ignored>
auto Runtime::async_call(std::string tool, Args arguments, Context context) {
    CallRequest request(std::move(tool), std::move(arguments));
    return async_call(std::move(request), std::move(context), boost::asio::use_awaitable);
}

/// Approvals::wait(), awaited on an executor of the host's. One that still waits when the runtime ends is
/// resumed there with runtime_closing. On the runtime's own executor (executor_of), which ends with it, that
/// may come too late: the coroutine is then destroyed without it, and one that is resumed must not use the
/// runtime. What awaits it may be cancelled as a
/// call may (cancelled {reason: called_off}).
///
///     cg::Result<cg::Approval> decided = co_await cg::async_decision(runtime, asked.approval_id());
template <class Token>
auto async_decision(Runtime& runtime, std::string approval_id,
                    std::optional<std::chrono::milliseconds> timeout, Token&& token) {
    return boost::asio::async_initiate<Token, void(Result<Approval>)>(
        [&runtime](auto handler, std::string id, std::optional<std::chrono::milliseconds> within) {
            const auto executor = boost::asio::get_associated_executor(handler, executor_of(runtime));
            auto [done, also] = typed::completion_of<Result<Approval>>(std::move(handler), executor);
            runtime.approvals().when_decided(std::move(id), std::move(done), within, std::move(also));
        },
        token, std::move(approval_id), timeout);
}

inline auto async_decision(Runtime& runtime, std::string approval_id,
                           std::optional<std::chrono::milliseconds> timeout = {}) {
    return async_decision(runtime, std::move(approval_id), timeout, boost::asio::use_awaitable);
}

}  // namespace callgate
