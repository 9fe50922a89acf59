// Calls that nobody waits for: how their ends are reported, and what a host sees of those under way.
//
//     boost::asio::io_context loop;
//     cg::Completion report([](const cg::Outcome& ended) { std::cout << ended.text(); });
//     report.recorded = [](std::string_view call_id) { std::cout << call_id << " is on the record"; };
//     report.executor = [&loop](std::function<void()> work) { boost::asio::post(loop, std::move(work)); };
//     const std::string id = runtime.start({"send", {{"to", "ada"}}}, {}, report);
//     runtime.cancel(id);
//
// Threads: values. See Completion for where its functions run.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <callgate/outcome.h>

namespace callgate {

/// Takes work to be run later, on a thread of the host's; in the order in which it is given, if the host
/// wants to see it in that order. It must neither block nor run the work before it returns: it is called on
/// threads that calls need, and under no lock. What it throws is counted (RuntimeStats::observer_faults), and
/// the work is then run on one of the runtime's threads for such code; once, if the executor has kept it as
/// well.
using Executor = std::function<void(std::function<void()>)>;

/// Who is to be notified of how a call goes. Without an executor the functions run on the thread that starts
/// the call, while it is in there, or on one that exists for such code: they may block, throw and call the
/// runtime. With one they are given to it, in order, perhaps before start() has returned: an executor that
/// runs them on another thread may run them before the caller has the id. Where that matters, let the
/// executor's own thread start the call. What they throw is dropped and counted
/// (RuntimeStats::observer_faults).
struct Completion {
    std::function<void(Outcome)> done;
    /// The call is on the record under this id, before its tool begins: a program that ends now will find it
    /// there. Once, before `done`. Just before `done`: of a call that waits for a person, and of a read
    /// without a key, which leaves only the event of its end (in a durable ledger with the next commit, if
    /// RuntimeOptions::strict_audit does not ask for it before the answer). Never of a call that was refused,
    /// or whose key was answered from the record.
    std::function<void(std::string_view call_id)> recorded;
    Executor executor;

    Completion() = default;
    template <class Done>
        requires(!std::same_as<std::remove_cvref_t<Done>, Completion> &&
                 std::convertible_to<Done &&, std::function<void(Outcome)>>)
    Completion(Done&& when_done)  // NOLINT(google-explicit-constructor): a function alone is the usual case
        : done(std::forward<Done>(when_done)) {}
    Completion(std::function<void(Outcome)> when_done, Executor on)
        : done(std::move(when_done)), executor(std::move(on)) {}
};

/// A call under way, as a host may list it.
struct RunningCall {
    std::string call_id;
    std::string parent_call_id;  ///< of the call whose tool made it; "": a caller did
    std::string tool;            ///< "" while it is looked up what is to be resumed
    std::string action;
    std::string tenant;
    std::string principal;
    std::string session_id;
    bool suspended = false;  ///< its tool has asked its caller, and there is no answer yet
    std::chrono::system_clock::time_point started;

    RunningCall() = default;
};

/// What is known of a call by its id.
struct CallStatus {
    enum class Is : std::uint8_t {
        running,
        suspended,           ///< its tool has asked its caller (input.h)
        waits_for_approval,  ///< undecided, or approved and not resumed yet
        ended
    };
    Is is = Is::running;
    std::string call_id;      ///< of the call that runs, or ran: of a resumed one, that of the resumption
    std::string approval_id;  ///< of the approval that it waits for, or was resumed by; "": none
    bool approved = false;    ///< it waits only for somebody to resume it
    std::optional<Outcome>
        outcome;  ///< where it has ended: what its caller got, or what has become of it since

    CallStatus() = default;
};

}  // namespace callgate
