// Several calls at once, calls that may safely be sent twice, and calls that take too long.
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

#include <callgate/callgate.h>

namespace cg = callgate;
using namespace std::chrono_literals;

namespace {

void show(std::string_view what, const cg::Outcome& outcome) {
    std::cout << what << ": " << to_string(outcome.state()) << ": "
              << (outcome.ok() ? outcome.text() : outcome.error()->message) << '\n';
}

// A tool that takes as long as it is given, and stops when it is asked to, as every slow tool should.
cg::Result<std::string> watch(cg::CallContext& context) {
    context.progress("watching", 1, 2);
    context.progress("still watching", 2, 2);
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, context.cancel(), [] { return false; });
    return cg::fail(cg::ErrorCode::cancelled, "Stopped watching.");
}

}  // namespace

int main() {
    cg::Runtime runtime;
    int counter = 0;
    std::mutex counting;
    runtime.tools().add_or_throw(
        cg::tool("square", "", [](int n) { return n * n; }, cg::param("n")).read_only());
    runtime.tools().add_or_throw(cg::tool(
                                     "book", "Book a seat",
                                     [&](const std::string& seat) {
                                         const std::lock_guard lock(counting);
                                         return "seat " + seat + " is booking number " +
                                                std::to_string(++counter);
                                     },
                                     cg::param("seat"))
                                     .risk(cg::Risk::low)
                                     .effect(cg::EffectClass::unsafe));
    runtime.tools().add_or_throw(cg::tool("watch", "Watch until told to stop", watch).read_only());

    // In parallel, and answered in the order of the calls; one that is wrong does not touch the others.
    for (const cg::Outcome& outcome : runtime.call_batch({{"square", {{"n", 1}}},
                                                          {"square", {{"n", 2}}},
                                                          {"square", {{"n", 3}}},
                                                          {"square", {{"n", 4}}},
                                                          {"square", {{"n", "many"}}}}))
        show("batch", outcome);
    const auto nine = runtime.call("square", {{"n", 3}}).as<int>();  // a value, or an error that says why not

    // A key stands for one call: sent again, it is answered from the record, and the tool does not run again.
    cg::Context context;
    context.idempotency_key = "booking-7";
    show("first", runtime.call("book", {{"seat", "12A"}}, context));
    const cg::Outcome again = runtime.call("book", {{"seat", "12A"}}, context);
    show("again", again);
    show("same key, other seat", runtime.call("book", {{"seat", "14C"}}, context));

    // A deadline. The tool reads only, so nothing can have been changed.
    cg::Context hurried;
    hurried.timeout = 250ms;
    show("deadline", runtime.call("watch", {}, hurried));

    // Called off by the caller, here as soon as the tool says how far it is.
    std::stop_source stop;
    cg::Context patient;
    patient.cancel = stop.get_token();
    patient.on_progress = [&](const cg::Progress& progress) {
        std::cout << "progress: " << progress.message << ", " << *progress.done << " of " << *progress.total
                  << '\n';
        if (progress.done == progress.total) stop.request_stop();
    };
    const cg::Outcome stopped = runtime.call("watch", {}, patient);
    std::cout << "called off: " << to_string(stopped.state()) << '\n';
    return nine == 9 && again.replayed() && stopped.state() == cg::State::cancelled && counter == 1 ? 0 : 1;
}
