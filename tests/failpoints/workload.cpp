#include "workload.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include <callgate/callgate.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/ids.h"
#include "base/must.h"
#include "ledger/blocking_waiter.h"
#include "ledger/memory_ledger.h"
#include "ledger/sqlite/faulty_vfs.h"
#include "ledger/sqlite/restore.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/faulty_file_ops.h"
#include "os/fd.h"
#include "pipeline/core.h"
#include "pipeline/timers.h"
#include "secrets/key_source.h"
#include "secrets/secrets_file.h"
#include "tool/tool_entry.h"
#include "tool/words.h"

namespace callgate::failpoints {

namespace {

using ledger::SqliteLedger;

constexpr auto kLongest = std::chrono::seconds(30);  // for anything that must end by itself
constexpr auto kPatience =
    std::chrono::seconds(2);  // with a call that waits for one whose end was not recorded

/// The machine's time, moved on at once.
class MovedClock final : public base::Clock {
public:
    base::WallTime wall_now() const noexcept override { return real_.wall_now() + moved_; }
    base::MonotonicTime monotonic_now() const noexcept override { return real_.monotonic_now() + moved_; }
    void advance(std::chrono::hours by) noexcept { moved_ += by; }
    std::chrono::hours moved() const noexcept { return moved_; }

private:
    base::SystemClock real_;
    std::chrono::hours moved_{0};  // changed only while nobody else looks
};

/// By that clock.
class MovedTimers final : public pipeline::Timers {
public:
    explicit MovedTimers(std::shared_ptr<const MovedClock> clock) : clock_(std::move(clock)) {}
    pipeline::TimerId at(base::MonotonicTime when, std::function<void()> fire) override {
        return real_.at(when - clock_->moved(), std::move(fire));
    }
    void cancel(const pipeline::TimerId& timer) override { real_.cancel(timer); }

private:
    std::shared_ptr<const MovedClock> clock_;
    pipeline::ThreadTimers real_;
};

/// Whole lines, there as soon as they are written.
class Lines {
public:
    explicit Lines(const std::string& path)
        : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
    void add(std::string_view what, std::string_view about) const {
        const std::string line = fmt::format("{} {}\n", what, about);
        if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
    }

private:
    os::Fd file_;
};

Context as_agent(std::string key) {
    Context context;
    context.principal = "agent";
    context.idempotency_key = std::move(key);
    context.timeout = kPatience;
    return context;
}

class Workload {
public:
    explicit Workload(const Place& place)
        : place_(place), effects_(place.effects()), told_(place.told()), trouble_(place.trouble()) {}

    void run() {
        open();
        step([this] { bury_old_calls(); });
        step([this] { call_every_class(); });
        step([this] { lose_answers(); });
        step([this] { ask_people(); });
        step([this] { succeed_an_owner(); });
        step([this] { tend_the_ledger(); });
        step([this] { leave_calls_behind(*ledger_, "left"); });
        close();
        open();
        step([this] { (void)runtime_->reconcile(); });
        step([this] { call("unsafe", "later"); });
        close();
        restore_one();
        work_in_memory();
        keep_secrets();
    }

private:
    void open() {
        std::optional<Error> refused;
        for (int i = 0; i < 3; ++i) {  // what fails once must not stand in the way of the next start
            ledger::SqliteOptions options;
            options.directory = place_.ledger();
            options.clock = clock_;
            options.files = files_;
            options.vfs = vfs_.name();
            options.anchor_file = place_.anchor();
            options.writer.checkpoint_pages = 60;
            options.writer.retry_when_full = std::chrono::milliseconds(1);
            options.while_closing = kLongest;
            auto opened = SqliteLedger::open(std::move(options));
            if (opened) {
                ledger_ = std::move(*opened);
                begin(ledger_);
                return;
            }
            refused = std::move(opened.error());
        }
        trouble_.add("The ledger cannot be opened any more:", refused->message);
        std::_Exit(0);
    }

    void begin(std::shared_ptr<ledger::Ledger> ledger) {
        pipeline::Parts parts;
        parts.clock = clock_;
        parts.rng = std::make_shared<base::SystemRng>();
        parts.timers = std::make_shared<MovedTimers>(clock_);
        parts.ledger = std::move(ledger);
        runtime_ =
            std::make_unique<Runtime>(std::make_shared<Runtime::Core>(RuntimeOptions(), std::move(parts)));
        for (const EffectClass effect : kEffectClasses) {
            runtime_->tools().add_or_throw(make_tool(std::string(to_string(effect)), effect));
        }
        runtime_->tools().add_or_throw(make_tool("asks", EffectClass::unsafe).risk(Risk::high));
    }

    void close() {
        runtime_.reset();
        ledger_.reset();
    }

    [[noreturn]] void give_up(std::string_view why) {
        trouble_.add("Given up:", why);
        std::_Exit(0);
    }

    /// Whatever fails in it, the next one finds a ledger that works.
    void step(const std::function<void()>& work) {
        work();
        const auto until = std::chrono::steady_clock::now() + kLongest;
        while (const auto why = ledger_->ready_to_record()) {
            if (why->details.contains("stopped")) {
                close();
                open();
            }
            if (std::chrono::steady_clock::now() > until) give_up(why->message);
            std::this_thread::yield();
        }
    }

    Tool make_tool(std::string name, EffectClass effect) {
        const Object text{{"type", "string"}};
        Tool tool = schema_tool(
            ToolDefinition(std::move(name), "One effect under a key.",
                           Object{{"type", "object"},
                                  {"properties", Object{{"key", text}, {"fate", text}}},
                                  {"required", Array{"key", "fate"}}}),
            [this, effect](const Object& arguments, CallContext& context) -> ToolReturn {
                const std::string key(arguments.at("key").as_string());
                const std::string_view fate = arguments.at("fate").as_string();
                if (effect != EffectClass::read && fate != "unsent") effects_.add(key, context.call_id());
                if (fate == "unsent" || fate == "lost" || (fate == "retried" && context.attempt() == 1))
                    return tl::unexpected(ToolFailure::lost("The line went dead."));
                return ToolResult(Value(key));
            });
        tool.effect(effect).run_inline();
        tool.contract.breaker.failures = 0;
        if (effect == EffectClass::keyed) {
            RetryPolicy twice(2);
            twice.base_delay = std::chrono::milliseconds(0);
            tool.retries(twice);
        }
        if (effect == EffectClass::verify) {
            tool.probe([this](std::string_view call_id, const Object&, CallContext&) {
                return Reconciliation(happened(call_id) ? Reconciliation::Verdict::applied
                                                        : Reconciliation::Verdict::not_applied);
            });
        }
        return tool;
    }

    bool happened(std::string_view call_id) const {
        std::ifstream effects(place_.effects());
        for (std::string key, id; effects >> key >> id;) {
            if (id == call_id) return true;
        }
        return false;
    }

    Outcome call(std::string_view tool, const std::string& key, std::string_view fate = "succeeds") {
        Outcome outcome = runtime_->call(tool, {{"key", key}, {"fate", std::string(fate)}}, as_agent(key));
        if (outcome.ok()) told_.add("success", key);
        return outcome;
    }

    void bury_old_calls() {
        call("unsafe", "old-unsafe");
        call("read", "old-read");
        call("asks", "old-asks");
        clock_->advance(std::chrono::hours(26));
        (void)ledger_->collect();
    }

    void call_every_class() {
        for (const std::string_view tool : kEffectWords) {
            call(tool, std::string(tool) + "-1");
            call(tool, std::string(tool) + "-1");  // replayed
        }
        (void)runtime_->call("read", {{"key", "free"}, {"fate", "succeeds"}}, as_agent(""));
        (void)runtime_->call("unsafe", {{"key", "free"}, {"fate", "succeeds"}}, as_agent(""));
        (void)runtime_->call("nobody", {}, as_agent(""));
    }

    void lose_answers() {
        call("keyed", "keyed-2", "retried");
        call("verify", "verify-2", "lost");
        call("verify", "verify-3", "unsent");
        const Outcome unknown = call("unsafe", "unsafe-2", "lost");
        if (unknown.state() == State::unknown &&
            runtime_->resolve(unknown.call_id(), true, "alice", "It was seen to happen.")) {
            told_.add("resolved", unknown.call_id());
        }
    }

    void ask_people() {
        Approvals& people = runtime_->approvals();
        const auto tell = [this](std::string_view what, const Result<Approval>& answer) {
            if (answer) told_.add(what, answer->id);
        };
        const Outcome used = call("asks", "asks-1");
        tell("approved", people.approve(used.approval_id(), "alice"));
        if (const Outcome resumed = runtime_->resume(used.call_id(), as_agent("asks-1")); resumed.ok())
            told_.add("success", "asks-1");
        const Outcome denied = call("asks", "asks-2");
        tell("denied", people.deny(denied.approval_id(), "alice"));
        (void)runtime_->resume(denied.call_id(), as_agent("asks-2"));
        const Outcome revoked = call("asks", "asks-3");
        tell("revoked", people.revoke(revoked.approval_id(), "agent"));
        (void)runtime_->resume(revoked.call_id(), as_agent("asks-3"));
        tell("approved", people.approve(call("asks", "asks-4").approval_id(), "alice"));
    }

    /// Calls of an owner that ends while they run.
    void leave_calls_behind(ledger::Ledger& ledger, const std::string& name) {
        const ledger::OwnerId owner = must(ledger::register_owner(ledger));
        const auto leave = [&](EffectClass effect, std::string_view key, bool dispatch) {
            const auto entry = runtime_->tools().find(to_string(effect));
            ledger::ClaimRequest request;
            ledger::CallRow& row = request.row;
            row.key = {"", "agent", std::string(to_string(effect)), fmt::format("{}-{}", name, key)};
            row.call_id = ids_.next().bytes;
            row.effect = effect;
            row.owner = owner;
            row.definition_hash = entry->definition_hash();
            row.action = "call";
            row.arguments = std::make_shared<const Value>(Object{{"key", row.key.key}, {"fate", "succeeds"}});
            request.dispatch = dispatch;
            AuditEvent attempted;
            attempted.type = "tool_call.attempted";
            attempted.call_id = row.call_id;
            request.events.push_back(std::move(attempted));
            ledger::ClaimReply reply;
            ledger::BlockingWaiter waiter;
            waiter.wait(ledger.claim(std::move(request), reply, waiter));
        };
        leave(EffectClass::unsafe, "unsafe", true);
        leave(EffectClass::verify, "verify", true);
        leave(EffectClass::keyed, "keyed", true);
        leave(EffectClass::unsafe, "claimed", false);
        gone_ = owner;
    }

    void succeed_an_owner() {
        leave_calls_behind(*ledger_, "gone");
        ledger_->owner_gone(gone_);
        (void)runtime_->reconcile();
    }

    void tend_the_ledger() {
        (void)ledger_->checkpoint();
        if (ledger_->backup(place_.directory + "/backup", {})) told_.add("backup", "made");
        const auto calls = ledger_->page_of_calls({});
        if (calls && !calls->empty()) (void)ledger_->erase_payloads(calls->back().call_id, "alice");
        (void)ledger_->rotate_audit_key("alice");
        (void)ledger_->archive_audit({}, {});
    }

    /// Another ledger, of which an operator says that it was put back together with its mark.
    void restore_one() {
        const auto options = [this] {
            ledger::SqliteOptions made;
            made.directory = place_.directory + "/restored-one";
            made.clock = clock_;
            made.files = files_;
            made.vfs = vfs_.name();
            made.while_closing = kLongest;
            return made;
        };
        if (!SqliteLedger::open(options())) return;
        ledger::RestoreRequest order;
        order.anyway = true;
        order.by = "alice";
        (void)SqliteLedger::restore(options(), order);
    }

    /// The ledger in memory has failpoints, too; here nothing must survive, only nothing may happen twice.
    void work_in_memory() {
        const auto memory = std::make_shared<ledger::MemoryLedger>(*clock_);
        begin(memory);
        call("unsafe", "memory-unsafe");
        call("unsafe", "memory-unsafe");
        call("keyed", "memory-keyed", "retried");
        call("verify", "memory-verify", "lost");
        const Outcome asked = call("asks", "memory-asks");
        (void)runtime_->approvals().approve(asked.approval_id(), "alice");
        (void)runtime_->resume(asked.call_id(), as_agent("memory-asks"));
        (void)runtime_->call("read", {{"key", "free"}, {"fate", "succeeds"}}, as_agent(""));
        leave_calls_behind(*memory, "memory-gone");
        memory->owner_gone(gone_);
        (void)runtime_->reconcile();
        runtime_.reset();
    }

    void keep_secrets() {
        base::SystemRng rng;
        for (int i = 0; i < 2; ++i) {
            auto key = secrets::load_or_create_key(*files_, rng, place_.directory + "/secrets.key");
            if (!key) continue;
            secrets::SecretsFile file(*files_, rng, *clock_, place_.secrets(), std::move(*key));
            const auto set = file.set("mail", "token", "hush, a secret");
            if (set) told_.add("secret", std::to_string(*set));
        }
    }

    const Place& place_;
    const Lines effects_;
    const Lines told_;
    const Lines trouble_;
    std::shared_ptr<MovedClock> clock_ = std::make_shared<MovedClock>();
    os::RealFileOps real_files_;
    std::shared_ptr<os::FaultyFileOps> files_ = std::make_shared<os::FaultyFileOps>(real_files_);
    base::SystemRng rng_;
    base::IdGenerator ids_{*clock_, rng_};
    ledger::FaultyVfs vfs_;
    std::shared_ptr<SqliteLedger> ledger_;
    std::unique_ptr<Runtime> runtime_;
    ledger::OwnerId gone_ = 0;
};

}  // namespace

void run_workload(const Place& place) {
    Workload(place).run();
#ifdef CALLGATE_FAILPOINTS
    const Lines hits(place.hits());
    for (const auto& [name, number] : base::failpoints().hits()) hits.add(name, std::to_string(number));
#endif
    std::_Exit(0);
}

}  // namespace callgate::failpoints
