// What a host does with Asio; apart, because it is slow to compile.
#include "coroutines.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <callgate/async.h>

#include "tools.h"

namespace callgate::hosts {
namespace {

namespace asio = boost::asio;

// Waits for the host's steps, or until it is cancelled.
asio::awaitable<void> stand(Host& host, std::uint64_t steps) {
    const auto executor = co_await asio::this_coro::executor;
    const auto timer = std::make_shared<asio::steady_timer>(executor, asio::steady_timer::time_point::max());
    host.later(steps, [timer, executor] { asio::post(executor, [timer] { timer->cancel(); }); });
    boost::system::error_code ended;
    co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ended));
}

// A coroutine that is destroyed while it waits has ended, too.
struct Leaves {
    Host& host;
    std::size_t entry;
    bool applies;
    ~Leaves() { host.board.answers(entry, Ends::nothing, applies); }
};

asio::awaitable<ToolReturn> body(Host& host, const ToolKindOfHost& kind, std::string item, std::int64_t id,
                                 CallContext& context) {
    Object arguments{{"item", item}};
    if (id != 0) arguments["id"] = id;
    const Ticket ticket = ticket_of(arguments, context.caller());
    const BodyManner manner = body_manner(host.seed, ticket, context.attempt());
    const std::size_t entry = host.board.enter(ticket, kind.name, kind.effect, context);
    const Leaves leaves{host, entry, manner.applies};
    if (context.caller().autonomy == Autonomy::a0)
        host.board.violation(ticket, "a0", kind.name + " was entered at A0");
    if (manner.progress) context.progress("half way", 1, 2);
    // It may await, or block: the runtime's own thread does other work meanwhile.
    const Args inner = arguments_of("in", inner_ticket(ticket, context.attempt() * 16));
    if (manner.inside == Inside::async_call) {
        std::string name = tool_kinds()[ticket % tool_kinds().size()].name;
        (void)co_await async_call(context, std::move(name), inner);
    } else if (manner.inside == Inside::batch) {
        const Host::Visit runtime(host);
        if (runtime) {
            const std::vector<CallRequest> calls(1, CallRequest("c_read", inner));
            Context own;
            own.trace_id = context.caller().trace_id;
            own.timeout = std::chrono::milliseconds(100);
            (void)runtime->call_batch(calls, own);
        }
    } else {
        call_inside(host, ticket, context, manner.inside, manner.inside == Inside::context_call);
    }
    if (manner.stands > 0) co_await stand(host, manner.stands);
    co_return answer(host, entry, manner, true);
}

}  // namespace

class HostIo::Work {
public:
    asio::io_context io;
    asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(io);
    std::thread thread = std::thread([this] { io.run(); });
};

HostIo::HostIo() : work_(std::make_unique<Work>()) {}

HostIo::~HostIo() {
    work_->guard.reset();
    work_->thread.join();
}

asio::any_io_executor HostIo::executor() {
    return work_->io.get_executor();
}

Tool make_coroutine_tool(Host& host, const ToolKindOfHost& kind) {
    const auto run = [&host, &kind](std::string item, std::int64_t, std::int64_t id,
                                    CallContext& context) -> asio::awaitable<ToolReturn> {
        return body(host, kind, std::move(item), id, context);
    };
    return async_tool(kind.name, "A coroutine of a host", run, param("item").max_length(8),
                      param("n").default_to(0), param("id").default_to(0));
}

std::function<void()> await_call(Host& host, Runtime& runtime, CallRequest request, Context context,
                                 std::function<void(Outcome)> done) {
    const auto signal = std::make_shared<asio::cancellation_signal>();
    const auto executor = host.executor();
    runtime.async_call(
        std::move(request), std::move(context),
        asio::bind_executor(executor, asio::bind_cancellation_slot(
                                          signal->slot(), [signal, done = std::move(done)](Outcome outcome) {
                                              done(std::move(outcome));
                                          })));
    return [signal, executor] {
        asio::post(executor, [signal] { signal->emit(asio::cancellation_type::terminal); });
    };
}

}  // namespace callgate::hosts
