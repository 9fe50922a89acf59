#include "worker.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/guard.h"
#include "base/ids.h"
#include "base/rng.h"

namespace callgate::fault {

namespace {

constexpr std::size_t kThreads = 8;
constexpr std::uint64_t kWindow = 20;  // keys that are called at a time

[[noreturn]] void give_up(Board& board, const std::string& why) {
    board.report(why);
    std::_Exit(3);
}

/// What a tool does this time.
enum class Fate : std::uint8_t { succeeds, refuses, fails, loses_answer, loses_request };

class Worker {
public:
    Worker(const Orders& orders, Board& board, const Channels& channels)
        : orders_(orders), board_(board), channels_(channels), rng_(orders.seed) {}

    void run() {
        open();
        for (const EffectClass effect : kEffectClasses) {
            if (auto added = runtime_->tools().add(make_tool(effect)); !added)
                give_up(board_, added.error().message);
        }
        recover(*runtime_);
        const std::uint64_t one = 1;
        (void)!::write(channels_.ready.get(), &one, sizeof one);
        last_key_ = board_.cursor.load() + kWindow;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < kThreads; ++i) {
            threads.emplace_back([this, i] {
                if (orders_.drains) {
                    for (std::uint64_t key = i; key < last_key_; key += kThreads) call(key);
                } else {
                    base::SeededRng rng(orders_.seed * kThreads + i);
                    while (orders_.calls == 0 || made_.fetch_add(1) < orders_.calls) call(pick(rng));
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        runtime_.reset();
    }

private:
    void open() {
        RuntimeOptions options;
        options.ledger_dir = orders_.directory;
        options.pool_threads = kThreads;
        for (;;) {
            auto opened = Runtime::open(options);
            if (opened) {
                runtime_ = std::move(*opened);
                break;
            }
            const Error& error = opened.error();
            const Value* reason = error.details.if_contains("reason");
            const bool owned = reason != nullptr && *reason == "ledger_owned";
            if (!orders_.waits || !owned || error.code != ErrorCode::ledger_unavailable)
                give_up(board_, fmt::format("The ledger could not be opened: {}", error.message));
            board_.refusals.fetch_add(1);
            std::uint64_t ignored = 0;
            (void)!::read(channels_.freed.get(), &ignored, sizeof ignored);
        }
        const pid_t before = board_.owner.exchange(::getpid());
        if (before != 0 && !ends(before)) board_.two_owners.fetch_add(1);
    }

    /// Whether the process is dead, or is so in a moment: its lock goes before the last of it does.
    static bool ends(pid_t process) {
        for (int i = 0; i < 2'000; ++i) {
            std::ifstream status(fmt::format("/proc/{}/stat", process));
            std::string text;
            if (!std::getline(status, text)) return true;
            const char state = text[text.rfind(')') + 2];
            if (state == 'Z' || state == 'X') return true;
            ::poll(nullptr, 0, 1);
        }
        return false;
    }

    /// What the last owner left in doubt, if the library can settle that by itself.
    template <class Host>
    static void recover(Host& host) {
        if constexpr (requires { host.reconcile(); }) (void)host.reconcile();
    }

    Tool make_tool(EffectClass effect) {
        Tool tool =
            schema_tool(ToolDefinition(std::string(to_string(effect)), "One effect under a key.",
                                       Object{{"type", "object"},
                                              {"properties", Object{{"key", Object{{"type", "integer"}}}}},
                                              {"required", Array{"key"}}}),
                        [this](const Object& arguments, CallContext& context) {
                            auto& running = board_.in_body[orders_.place];
                            running.fetch_add(1);
                            ToolReturn answer = act(arguments.at("key").to_number<std::uint64_t>(), context);
                            running.fetch_sub(1);
                            return answer;
                        });
        tool.effect(effect);
        tool.contract.breaker.failures = 0;
        if (effect == EffectClass::read || effect == EffectClass::tx) tool.run_inline();
        if (effect == EffectClass::keyed || effect == EffectClass::read) {
            RetryPolicy retries(2);
            retries.base_delay = std::chrono::milliseconds(0);
            tool.retries(retries);
        }
        if (effect == EffectClass::verify) {
            tool.probe([this](std::string_view call_id, const Object& arguments, CallContext&) {
                return probe(call_id, arguments.at("key").to_number<std::uint64_t>());
            });
        }
        return tool;
    }

    Fate fate(EffectClass effect) {
        if (orders_.drains) return Fate::succeeds;
        switch (rng_.below(40)) {
            case 0: return Fate::refuses;
            // The other side of a keyed tool remembers its answers; a refusal for good would be one.
            case 1: return effect == EffectClass::keyed ? Fate::succeeds : Fate::fails;
            case 2: return Fate::loses_answer;
            case 3: return Fate::loses_request;
            default: return Fate::succeeds;
        }
    }

    ToolReturn act(std::uint64_t key, CallContext& context) {
        const EffectClass effect = class_of(key);
        const Fate what = fate(effect);
        CALLGATE_FAILPOINT("fault.before_effect");
        if (effect != EffectClass::read && (what == Fate::succeeds || what == Fate::loses_answer)) {
            Record record;
            record.kind = Record::Kind::effect;
            record.key = key;
            record.call_id = base::parse_uuid(context.call_id())->bytes;
            record.attempt = context.attempt();
            tell(record);
        }
        CALLGATE_FAILPOINT("fault.after_effect");
        switch (what) {
            case Fate::succeeds: return ToolResult(Value(key));
            case Fate::refuses: return tl::unexpected(ToolFailure::not_applied("Not now."));
            case Fate::fails: return tl::unexpected(ToolFailure::answered("No."));
            case Fate::loses_answer:
            case Fate::loses_request: break;
        }
        return tl::unexpected(ToolFailure::lost("The line went dead."));
    }

    Reconciliation probe(std::string_view call_id, std::uint64_t key) {
        Question question;
        question.key = key;
        question.call_id = base::parse_uuid(call_id)->bytes;
        const std::lock_guard lock(asking_);
        return ask(channels_, question) != 0 ? Reconciliation(Reconciliation::Verdict::applied)
                                             : Reconciliation(Reconciliation::Verdict::not_applied);
    }

    void tell(const Record& record) {
        if (::write(channels_.effects_out.get(), &record, sizeof record) != sizeof record)
            give_up(board_, "The oracle does not listen.");
    }

    std::uint64_t pick(base::Rng& rng) {
        if (rng.below(3) == 0) return board_.cursor.fetch_add(1);
        return board_.cursor.load() + rng.below(kWindow);
    }

    void call(std::uint64_t key) {
        Context context;
        context.idempotency_key = name_of(key);
        const Outcome outcome = runtime_->call(to_string(class_of(key)), {{"key", key}}, std::move(context));
        board_.told[static_cast<std::size_t>(outcome.state())].fetch_add(1);
        check(outcome, key);
        Record record;
        record.kind = Record::Kind::told;
        record.state = static_cast<std::uint32_t>(outcome.state());
        record.key = key;
        record.succeeded = outcome.ok() ? 1 : 0;
        record.dispatched = outcome.data().dispatched ? 1 : 0;
        tell(record);
    }

    /// Nothing here gives a reason for any other way to end.
    void check(const Outcome& outcome, std::uint64_t key) {
        switch (outcome.state()) {
            case State::succeeded:
            case State::replayed:
            case State::unknown: return;
            case State::failed:
                if (outcome.error()->code == ErrorCode::tool_error ||
                    outcome.error()->code == ErrorCode::transport ||
                    outcome.error()->code == ErrorCode::unavailable) {
                    return;
                }
                break;
            default: break;
        }
        give_up(board_, fmt::format("{} ended as {}: {}", name_of(key), to_string(outcome.state()),
                                    outcome.error() != nullptr ? outcome.error()->message : ""));
    }

    const Orders& orders_;
    Board& board_;
    const Channels& channels_;
    base::SeededRng rng_;
    std::unique_ptr<Runtime> runtime_;
    std::mutex asking_;
    std::atomic<std::uint64_t> made_{0};
    std::uint64_t last_key_ = 0;
};

}  // namespace

void run_worker(const Orders& orders, Board& board, const Channels& channels) {
#ifdef CALLGATE_FAILPOINTS
    if (orders.resends) base::guards_off() = 1u << static_cast<unsigned>(base::Guard::never_resend_unsafe);
    if (const auto armed = base::failpoints().arm_from_text(orders.failpoint); !armed)
        give_up(board, armed.error().message);
#endif
    Worker(orders, board, channels).run();
#ifdef CALLGATE_FAILPOINTS
    std::string census;
    for (const auto& [name, hits] : base::failpoints().hits()) census += fmt::format("{} {}\n", name, hits);
    Board::copy(census, board.census);
#endif
    std::_Exit(0);
}

}  // namespace callgate::fault
