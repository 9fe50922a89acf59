// Episodes about keys, and about what a runtime takes and says.
#include <atomic>
#include <barrier>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "episodes.h"

namespace callgate::hosts {

using namespace std::chrono_literals;

namespace {

// An exception that has nothing to say.
struct Mute : std::exception {
    const char* what() const noexcept override { return nullptr; }
};

}  // namespace

void Episode::key_of_another_request() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(counting_tool(name("keyed"), crowd))) return;
    Context keyed = context();
    keyed.idempotency_key = name("key");
    if (interfered(runtime.call(name("keyed"), {{"n", 1}}, keyed))) return;
    const Outcome other = runtime.call(name("keyed"), {{"n", 2}}, keyed);
    if (interfered(other)) return;
    if (other.state() != State::key_conflict || crowd->entered != 1)
        broken("key_conflict", fmt::format("a key was taken for another request: {}, {} entries",
                                           to_string(other.state()), crowd->entered.load()));
}

void Episode::one_winner() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(slow_tool(host, name("pay"), crowd, 1))) return;
    Context keyed = context();
    keyed.idempotency_key = name("key");
    constexpr std::ptrdiff_t kThreads = 3;
    std::barrier together(kThreads);
    std::vector<std::thread> threads;
    for (std::ptrdiff_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            together.arrive_and_wait();
            runtime.call(name("pay"), {{"n", 1}}, keyed);
        });
    }
    for (std::thread& thread : threads) thread.join();
    if (crowd->entered > 1)
        broken("one_entry", fmt::format("{} of {} calls with one key ran", crowd->entered.load(), kThreads));
}

void Episode::batch_keys() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(counting_tool(name("batch"), crowd))) return;
    Context keyed = context();
    keyed.idempotency_key = name("key");
    const CallRequest one(name("batch"), Object{{"n", 1}});
    const CallRequest two(name("batch"), Object{{"n", 2}});
    for (const Outcome& outcome : runtime.call_batch({one}, keyed)) {
        if (interfered(outcome)) return;
    }
    for (const Outcome& outcome : runtime.call_batch({one, two}, keyed)) {
        if (interfered(outcome)) return;
    }
    if (crowd->entered != 2)
        broken("batch_keys",
               fmt::format("a batch of one and a batch of two that begins with the same call under one "
                           "key ran {} calls, not 2",
                           crowd->entered.load()));
}

void Episode::reserved_suffix() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(counting_tool(name("suffix"), crowd))) return;
    Context keyed = context();
    keyed.idempotency_key = name("key#0");
    runtime.call(name("suffix"), {}, keyed);
    if (crowd->entered > 0)
        broken("batch_keys", "a caller's own key ended as those of a batch do, and was taken");
}

void Episode::no_time_limit() {
    const auto crowd = std::make_shared<Crowd>();
    Tool tool =
        dice.chance(50) ? counting_tool(name("ever"), crowd) : slow_tool(host, name("ever"), crowd, 1);
    if (!add(std::move(tool))) return;
    Context unlimited = context();
    unlimited.timeout = std::chrono::milliseconds::max();
    const Outcome outcome = runtime.call(name("ever"), {}, unlimited);
    if (!host.board.is_closing() && outcome.state() == State::timed_out)
        broken("no_limit", "the longest time limit there is was over at once");
}

void Episode::empty_principal() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(counting_tool(name("nobody"), crowd).risk(dice.chance(50) ? Risk::low : Risk::high))) return;
    Context unnamed = context();
    unnamed.principal = "";
    unnamed.idempotency_key = name("key");
    Context local = unnamed;
    local.principal = "local";
    const Outcome asked = runtime.call(name("nobody"), {}, unnamed);
    if (interfered(asked)) return;
    if (asked.state() == State::needs_approval) {
        if (!runtime.approvals().approve(asked.approval_id(), "olga")) return;
        const Outcome resumed = runtime.resume(asked.call_id(), unnamed);
        if (interfered(resumed)) return;
        if (!resumed.ok())
            broken("local",
                   fmt::format("who asked without a name cannot resume: {}", to_string(resumed.state())));
    }
    runtime.call(name("nobody"), {}, local);
    if (crowd->entered > 1) broken("local", "an empty principal and 'local' have the same key twice");
}

void Episode::not_a_number() {
    const double bad =
        dice.chance(50) ? std::numeric_limits<double>::quiet_NaN() : -std::numeric_limits<double>::infinity();
    const auto crowd = std::make_shared<Crowd>();
    const bool out = dice.chance(50);
    if (!add(schema_tool(ToolDefinition(name("nan"), "Returns a number", anything()),
                         [crowd, bad](const Object&, CallContext&) -> ToolReturn {
                             crowd->enter();
                             crowd->leave();
                             return ToolResult(Value(Object{{"x", bad}}));
                         })
                 .run_inline()
                 .open_arguments()))
        return;
    const Outcome outcome = runtime.call(name("nan"), out ? Object{} : Object{{"x", bad}}, context());
    if (!out && crowd->entered > 0) broken("finite", "a body was given a number that is none");
    if (outcome.ok()) broken("finite", "a number that is none was called a success: " + outcome.text());
}

void Episode::thrown_things() {
    const bool mute = dice.chance(50);
    Tool tool = schema_tool(ToolDefinition(name("throws"), "Throws", anything()),
                            [mute](const Object&, CallContext&) -> ToolReturn {
                                if (mute) throw Mute();
                                throw Error(ErrorCode::quarantined, "thrown as it is");
                            });
    if (dice.chance(50)) tool.run_inline();
    if (!add(std::move(tool))) return;
    const Outcome outcome = runtime.call(name("throws"), {}, context());
    if (interfered(outcome) || outcome.error() == nullptr) return;
    if (!mute && outcome.error()->code != ErrorCode::quarantined)
        broken("thrown",
               fmt::format("an Error that was thrown is told as {}", to_string(outcome.error()->code)));
}

void Episode::defaults() {
    const Value schema =
        Object{{"type", "object"}, {"properties", {{"n", {{"type", "integer"}, {"default", 7}}}}}};
    const bool by_itself = dice.chance(50);
    const auto wrong = std::make_shared<std::atomic<bool>>(false);
    Tool tool = schema_tool(ToolDefinition(name("defaults"), "Looks at its arguments", schema),
                            [wrong, by_itself](const Object& arguments, CallContext&) -> ToolReturn {
                                const Value* const n = arguments.if_contains("n");
                                *wrong = n == nullptr || *n != Value(by_itself ? 7 : 8);
                                return ToolResult();
                            });
    if (dice.chance(50)) tool.run_inline();
    if (!add(std::move(tool))) return;
    runtime.call(name("defaults"), by_itself ? Object{} : Object{{"n", 8}}, context());
    if (*wrong) broken("defaults", "a tool was not given what its schema says of an absent argument");
}

}  // namespace callgate::hosts
