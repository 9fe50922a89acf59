#include "host.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/rng.h"
#include "ledger/deferred_ledger.h"
#include "ledger/memory_ledger.h"
#include "ledger/sqlite/sqlite_ledger.h"

#include "callers.h"
#include "coroutines.h"
#include "judge.h"
#include "tools.h"
#include "watchers.h"

namespace callgate::hosts {

using namespace std::chrono_literals;

namespace {

// The thread that moves the clock is the one on which the timers fire.
thread_local bool moves_the_clock = false;

}  // namespace

std::string KeyPlan::scope() const {
    return fmt::format("{}/{}/{}", principal, tool_kinds()[tool].name, key);
}

Host::Visit::Visit(Host& host) : host_(host), runtime_(nullptr) {
    const std::lock_guard lock(host_.visits_mutex_);
    if (host_.leaving_ || !host_.runtime_) return;
    ++host_.visits_;
    runtime_ = host_.runtime_.get();
}

Host::Visit::~Visit() {
    if (runtime_ != nullptr) --host_.visits_;
}

Host::Host(std::uint64_t the_seed, Settings settings)
    : seed(the_seed),
      gates(2 + the_seed % 3),
      settings_(std::move(settings)),
      dice_(the_seed),
      io_(std::make_unique<HostIo>()) {
    draw();
    open_ledger();
    runtime_ = make_runtime(options_);
}

Host::~Host() {
    {
        const std::lock_guard lock(watch_mutex_);
        watched_ = false;
    }
    watch_changed_.notify_all();
    if (watchdog_.joinable()) watchdog_.join();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
}

void Host::draw() {
    options_.pool_threads = 1 + dice_.below(3);
    options_.max_abandoned = dice_.of<std::size_t>({2, 16, 16});
    options_.max_queued_calls = dice_.of<std::size_t>({3, 10'000});
    options_.max_nesting = 3 + dice_.below(3);
    options_.batch_concurrency = dice_.of<std::size_t>({1, 2, 16});
    options_.default_timeout = 400ms;
    options_.shutdown_grace = std::chrono::milliseconds(dice_.of({0, 1, 20}));
    options_.audit_allowed = dice_.chance(20);
    store_ = static_cast<Store>(dice_.weighted({5, 3, settings_.scratch.empty() ? std::size_t{0} : 2}));
    shutdown_ = static_cast<Shutdown>(dice_.weighted({42, 23, 25, 10}));
    shutdown_step_ = 1 + dice_.below(60);
    callers_ = 2 + dice_.below(4);
    for (std::size_t i = 0; i < 5; ++i) {
        KeyPlan plan;
        plan.tool = dice_.below(tool_kinds().size());
        plan.key = fmt::format("k{}", i);
        plan.principal = dice_.of({"local", "ann"});
        plan.item = dice_.of({"a", "b"});
        keys.push_back(std::move(plan));
    }
    static constexpr std::string_view kStores[] = {"memory", "later", "disk"};
    static constexpr std::string_view kShutdowns[] = {"none", "close", "destroy", "drain"};
    options_text_ = fmt::format("callers {}, pool {} and {}, ledger {}, shutdown {} at step {}", callers_,
                                options_.pool_threads, options_.max_queued_calls,
                                kStores[static_cast<std::size_t>(store_)],
                                kShutdowns[static_cast<std::size_t>(shutdown_)], shutdown_step_);
}

void Host::open_ledger() {
    if (store_ != Store::disk) {
        ledger::MemoryLedger::Options kept;
        kept.open_approvals.per_principal = kOpenApprovals;
        if (!ledger_) ledger_ = std::make_shared<ledger::MemoryLedger>(*clock, kept);
        return;
    }
    directory_ = fmt::format("{}/host-{}", settings_.scratch, seed);
    ledger::SqliteOptions durable;
    durable.directory = directory_;
    durable.kept.open_approvals.per_principal = kOpenApprovals;
    durable.clock = clock;
    durable.rng = std::make_shared<base::SystemRng>();
    auto opened = ledger::SqliteLedger::open(std::move(durable));
    if (!opened) give_up(0, "harness", "the ledger could not be opened: " + opened.error().message);
    ledger_ = *opened;
    operations_ = std::move(*opened);
}

std::unique_ptr<Runtime> Host::make_runtime(RuntimeOptions options) {
    pipeline::Parts parts;
    parts.clock = clock;
    parts.rng = std::make_shared<base::SystemRng>();
    parts.timers = timers_;
    parts.operations = operations_;
    parts.ledger = store_ == Store::later ? std::make_shared<ledger::DeferredLedger>(ledger_) : ledger_;
    options.observers.push_back(std::make_shared<Watcher>(*this));
    auto core = std::make_shared<Runtime::Core>(std::move(options), std::move(parts));
    core_ = core;
    auto runtime = std::make_unique<Runtime>(std::move(core));
    for (const ToolKindOfHost& kind : tool_kinds()) {
        if (auto added = runtime->tools().add(make_tool(*this, kind)); !added)
            give_up(0, "harness", added.error().message);
    }
    return runtime;
}

boost::asio::any_io_executor Host::executor() {
    return io_->executor();
}

bool Host::foreign(Ticket about, std::string_view what) {
    if (moves_the_clock)
        board.violation(about, "foreign_code", fmt::format("{} runs on the timers' thread", what));
    return !moves_the_clock;
}

void Host::play() {
    watchdog_ = std::thread([this] { watch(); });
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < callers_; ++i) {
        threads.emplace_back([this, i] {
            Caller(*this, i).run();
            ++callers_done_;
        });
    }
    while (callers_done_ < callers_ || (shutdown_ != Shutdown::none && steps_ < shutdown_step_)) {
        step();
        if (steps_ > 50'000) give_up(0, "hang", "the callers do not come to an end\n" + board.open_ones());
    }
    gates.open();
    until("calls, bodies or callers",
          [&] { return callers_done_ == callers_ && board.open_calls() == 0 && board.open_bodies() == 0; });
    for (std::thread& thread : threads) thread.join();
    until("the end of the runtime", [&] { return closed_.load() && visits_ == 0; });
    if (closer_.joinable()) closer_.join();
    // Callbacks may have made calls while the others came home.
    until("what callbacks began", [&] { return board.open_calls() == 0 && board.open_bodies() == 0; });
    // The last callbacks may still be about to throw.
    if (runtime_ && shutdown_ == Shutdown::none)
        until("the count of what callbacks threw",
              [&] { return runtime_->stats().observer_faults == board.thrown(); });
    {
        const std::lock_guard lock(visits_mutex_);
        leaving_ = true;
    }
    until("visits", [&] { return visits_ == 0; });
    runtime_.reset();
    until("events", [&] { return board.all_heard() && board.open_calls() == 0; });
    gates.join();
    io_.reset();
    until("the core", [&] { return core_.expired(); });
    epilogue();
    judge(board);
    calls_ = board.heard().size();
}

void Host::step() {
    ++steps_;
    if (steps_ == shutdown_step_ && shutdown_ != Shutdown::none) begin_shutdown();
    gates.step();
    move_the_clock();
    wait_for_overdue();
    if (const auto core = core_.lock(); core && core->pool.counts().queued > options_.max_queued_calls)
        board.violation(0, "queue_bound",
                        fmt::format("{} calls are queued; at most {} may", core->pool.counts().queued,
                                    options_.max_queued_calls));
    board.wait_a_moment();
}

void Host::move_the_clock() {
    ++beats_;
    moves_the_clock = true;
    timers_->advance(kStep);
    moves_the_clock = false;
    ++beats_;
}

// The thread that moves the clock is held up by whatever runs on it: nobody else could say so.
void Host::watch() {
    std::unique_lock lock(watch_mutex_);
    std::uint64_t seen = beats_;
    auto since = std::chrono::steady_clock::now();
    while (watched_) {
        watch_changed_.wait_for(lock, settings_.patience / 4);
        const std::uint64_t now = beats_;
        if (now != seen || now % 2 == 0) since = std::chrono::steady_clock::now();
        seen = now;
        if (watched_ && std::chrono::steady_clock::now() - since > settings_.patience)
            give_up(0, "foreign_code", "something holds up the thread of the timers");
    }
}

// Either the runtime is closed while calls go on, or it goes while nobody is just calling it.
void Host::begin_shutdown() {
    board.closing();
    board.note(0, "the runtime is to end");
    closed_ = false;
    closer_ = std::thread([this] {
        if (shutdown_ == Shutdown::close) {
            runtime_->core()->close();
        } else {
            if (shutdown_ == Shutdown::drain) drain();
            std::unique_ptr<Runtime> going;
            {
                const std::lock_guard lock(visits_mutex_);
                leaving_ = true;
            }
            while (visits_ != 0) std::this_thread::yield();
            {
                const std::lock_guard lock(visits_mutex_);
                going = std::move(runtime_);
            }
            going.reset();
        }
        closed_ = true;
    });
}

// While the host's time goes on, every call under way comes to its end, and no other begins.
void Host::drain() {
    const std::size_t left = runtime_->drain(settings_.patience);
    if (left != 0) board.violation(0, "drain", fmt::format("{} calls did not end by their deadlines", left));
}

// A call may begin a little after its caller looked at the clock: time goes on, but nothing that stands still
// is released.
void Host::wait_for_overdue() {
    const auto since = std::chrono::steady_clock::now();
    while (const auto late = board.overdue(clock->monotonic_now())) {
        board.wait_a_moment();
        if (std::chrono::steady_clock::now() - since > settings_.patience)
            give_up(*late, "deadline",
                    fmt::format("t{} is over its time, and waits while {} strangers stand still", *late,
                                gates.standing()));
        if (std::chrono::steady_clock::now() - since < 5ms) continue;
        move_the_clock();
    }
}

void Host::until(const char* what, const std::function<bool()>& over) {
    const auto since = std::chrono::steady_clock::now();
    while (!over()) {
        move_the_clock();
        board.wait_a_moment();
        if (std::chrono::steady_clock::now() - since > settings_.patience)
            give_up(0, "hang", fmt::format("{} did not come to an end\n{}", what, board.open_ones()));
    }
}

// Everybody has come home: each key is tried once more by a new runtime over the same ledger.
void Host::epilogue() {
    if (store_ == Store::disk) {
        ledger_ = nullptr;
        operations_ = nullptr;
        open_ledger();
    }
    io_ = std::make_unique<HostIo>();
    RuntimeOptions calm;
    calm.default_timeout = 60s;
    Runtime& runtime = *(runtime_ = make_runtime(calm));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const KeyPlan& plan = keys[i];
        const Ticket ticket = outer_ticket(kEpilogue, i);
        Context context;
        context.trace_id = fmt::format("t{}", ticket);
        context.principal = plan.principal;
        context.idempotency_key = plan.key;
        board.begins(ticket, made_of(*this, ticket, tool_kinds()[plan.tool], context, false));
        std::atomic<bool> over{false};
        runtime.start(CallRequest(tool_kinds()[plan.tool].name, arguments_of(plan.item, 0)), context,
                      [&, ticket](const Outcome& outcome) {
                          board.ended(ticket, outcome);
                          over = true;
                      });
        until("a key that is tried again", [&] { return over.load(); });
        judge_key(board, plan, ticket, *board.calls().at(ticket).outcome);
    }
    runtime_.reset();
    io_.reset();
    until("the second core", [&] { return core_.expired(); });
    ledger_ = nullptr;
    operations_ = nullptr;
}

void Host::give_up(Ticket about, std::string_view rule, const std::string& what) {
    fmt::print("VIOLATION seed={} rule={}\n    {}\n    host: {}\n{}", seed, rule, what, options_text_,
               board.story_of(about));
    for (const Board::Violation& other : board.violations())
        fmt::print("    before: {} {}\n", other.rule, other.what);
    std::fflush(stdout);
    std::_Exit(1);  // its threads cannot be joined
}

}  // namespace callgate::hosts
