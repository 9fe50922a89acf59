// Explores who runs a call: the real transitions of run_state.h, made by a few threads in every order.
//
// A model of the threads around one call: its stages run on whichever thread has it, wait for a signal or for
// the ledger, and end. The caller waits for the end or does not; the ledger replies; others signal; the
// timers expire the call and leave a reply that does not come; the runtime closes. Each step of a thread is
// one transition, or one look or write that another thread could see. All orders are tried, and in each:
//
//   - at most one thread runs the call, and it ends once
//   - it does not touch a reply that the ledger still owes it, unless it has left that very wait
//   - whatever it waits for, it goes on: there is no state in which nobody can move and it has not ended
//   - each turn that the runtime expects is given once, and runs the call
//   - a reply that was left is looked after once, after the end
//
// The mutants at the end show that the exploration sees faults: each changes one transition a little.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "pipeline/run_state.h"

namespace callgate::pipeline {
namespace {

using run_word::Next;
using run_word::Word;

// The transitions under test.
struct Rules {
    Next (*rest)(Word) = run_word::rest;
    Next (*rest_until_reply)(Word, Turn) = run_word::rest_until_reply;
    Next (*alone_again)(Word) = run_word::alone_again;
    Next (*go_on)(Word, Turn) = run_word::go_on;
    Next (*reply)(Word) = run_word::reply;
    bool (*may_leave)(Word, Word) = run_word::may_leave;
    Next (*leave)(Word, Word) = run_word::leave;
    Next (*take_turn)(Word) = run_word::take_turn;
    Next (*wait)(Word) = run_word::wait;
    Word (*notice)(Word) = run_word::notice;
    Next (*end)(Word) = run_word::end;
};

enum class Role : std::uint8_t {
    caller,     ///< begins the call; waits for its end, or does not (Config::alone)
    signaller,  ///< has what the call waits for, and says go_on
    tool,       ///< the same, and may run the call itself (go_on_here)
    timers,     ///< the deadline, and the grace after it
    notifier,   ///< has a notice for the thread that waits
    closer,     ///< the runtime goes: no more turns
    pool        ///< a thread of core->turns
};

enum class Pc : std::uint8_t {
    start,
    // go_on
    go_on,
    expect_to_go_on,
    go_on_again,
    // the thread runs the call
    stage,
    rest,
    rest_until_reply,
    expect_to_rest,
    rest_again,
    after_rest,
    end,
    after_end,
    alone_again,
    // the thread waits for the end, or for the reply
    wait,
    fall_asleep,
    asleep,
    // the timers
    leave_soon,
    next_timer,
    expect_to_leave,
    leave,
    // a turn
    take_turn,
    done
};

struct Thread {
    Word seen = 0;
    Pc pc = Pc::start;
    Turn turn = Turn::unknown;
    std::uint8_t here = 0;       // it waits for the reply in the place of a turn
    std::uint8_t left_turn = 0;  // leave: the reply that is left is expected as a turn
};

constexpr std::size_t kThreads = 7;

// Everything that the threads can see, and what only the model knows. No padding: states are compared as
// bytes.
struct World {
    Word word = 0;
    std::array<Word, 2> timers{};  // the waits that are to be left, by their numbers
    std::array<Thread, kThreads> threads{};
    std::uint8_t armed = 0;
    std::uint8_t op = 0;       // where in its plan the call is
    std::uint8_t signals = 0;  // given by signallers and tools
    std::uint8_t used = 0;     // of those, that the call went on for
    std::uint8_t notices = 0;
    std::uint8_t expired = 0;
    std::uint8_t closed = 0;
    std::uint8_t expected = 0;  // turns
    std::uint8_t queued = 0;    // turns given and not begun
    std::uint8_t owes = 0;      // the ledger owes a reply
    std::uint8_t waits = 0;     // how often it has waited for one
    // What has been decided and is still to be done, by whichever thread decided it.
    std::uint8_t wakes = 0;
    std::uint8_t gives = 0;
    std::uint8_t looks = 0;
    // Known to the model alone.
    std::uint8_t runners = 0;
    std::uint8_t ended = 0;
    std::uint8_t left = 0;
    std::uint8_t left_turn = 0;
    std::uint8_t looked_after = 0;
    std::uint8_t leave_ok = 0;
    std::uint8_t news = 0;  // somebody has woken it since it last rested
    std::array<std::uint8_t, 3> unused{};
};
static_assert(std::has_unique_object_representations_v<World>);

struct WorldHash {
    std::size_t operator()(const World& world) const noexcept {
        return std::hash<std::string_view>()(
            std::string_view(reinterpret_cast<const char*>(&world), sizeof world));
    }
};
struct SameWorld {
    bool operator()(const World& a, const World& b) const noexcept {
        return std::memcmp(&a, &b, sizeof a) == 0;
    }
};

struct Config {
    std::string plan;    ///< what the call does before it ends: 'w' waits for a signal, 'l' for the ledger
    bool alone = false;  ///< nobody goes on with it who waits for its end
    std::vector<Role> others;
    bool watched = false;  ///< alone, and the caller waits for its end all the same (a thread of ours)
};

class Explorer {
public:
    Explorer(Config config, Rules rules) : config_(std::move(config)), rules_(rules) {
        roles_.push_back(Role::caller);
        for (const Role role : config_.others) roles_.push_back(role);
        if (config_.alone) roles_.insert(roles_.end(), {Role::pool, Role::pool});
        EXPECT_LE(roles_.size(), kThreads);
    }

    /// The first fault found, with the steps that lead to it; "" where there is none.
    std::string run() {
        World first;
        first.word = run_word::kRunning | (config_.alone ? run_word::kAlone : 0);
        first.runners = 1;
        first.threads[0].pc = Pc::stage;
        explore(first);
        return fault_;
    }
    std::size_t states() const noexcept { return seen_.size(); }

private:
    void explore(const World& world) {
        if (!fault_.empty() || !seen_.insert(world).second) return;
        bool moved = false;
        for (std::size_t i = 0; i < roles_.size(); ++i) {
            moved = try_step(world, static_cast<std::uint8_t>(i),
                             [this, i](World& w) { return step(w, w.threads[i], roles_[i]); }) ||
                    moved;
        }
        moved = try_step(world, kLedger, [this](World& w) { return reply(w); }) || moved;
        moved = try_step(world, kWake, [](World& w) { return wake(w); }) || moved;
        moved = try_step(world, kGive, [this](World& w) { return give(w); }) || moved;
        moved = try_step(world, kLookAfter, [this](World& w) { return look_after(w); }) || moved;
        if (!moved) check_end(world);
    }

    template <class Move>
    bool try_step(const World& world, std::uint8_t who, Move move) {
        if (!fault_.empty()) return true;
        World next = world;
        if (!move(next)) return false;
        path_.push_back(who);
        if (!broken_.empty()) {
            fail();
        } else {
            explore(next);
        }
        path_.pop_back();
        return true;
    }

    // Who makes a step: a thread, or whoever does what another has decided.
    enum Who : std::uint8_t { kLedger = kThreads, kWake, kGive, kLookAfter };
    std::string name_of(std::uint8_t who) const {
        constexpr std::array kNames{"caller", "signaller", "tool", "timers", "notifier", "closer", "pool"};
        constexpr std::array kOthers{"ledger", "wake", "give", "look after"};
        return who < kThreads ? kNames[static_cast<std::size_t>(roles_[who])] : kOthers[who - kThreads];
    }

    void fail() {
        fault_ = broken_ + " in plan '" + config_.plan + (config_.alone ? "', alone:" : "':");
        for (const std::uint8_t who : path_) fault_ += " " + name_of(who) + ";";
    }
    void require(bool holds, const char* what) {
        if (!holds && broken_.empty()) broken_ = what;
    }

    bool caller_waits() const noexcept { return !config_.alone || config_.watched; }

    // Nobody can move any more.
    void check_end(const World& world) {
        require(world.ended == 1, "a call that nobody goes on with");
        require(world.expected == 0, "a turn is expected that never comes");
        require(world.queued == 0 && world.gives == 0, "a turn that nobody takes");
        require(world.owes == 0, "a reply that never came");
        require(world.left == world.looked_after, "a reply that was left is not looked after once");
        require(world.threads[0].pc == Pc::done, "the caller waits for a call that is over");
        require(config_.alone || world.notices == 0, "a notice that is not delivered");
        if (!broken_.empty()) fail();
    }

    // What others do with what was decided.

    static bool wake(World& world) {
        if (world.wakes == 0) return false;
        --world.wakes;
        for (Thread& thread : world.threads) {
            if (thread.pc == Pc::asleep) thread.pc = Pc::wait;
        }
        return true;
    }
    bool give(World& world) {
        if (world.gives == 0) return false;
        --world.gives;
        require(world.ended == 0 && world.runners == 0, "a turn is given while somebody has the call");
        ++world.queued;
        require(world.queued <= world.expected, "a turn is given that nobody expects");
        return true;
    }
    bool look_after(World& world) {
        if (world.looks == 0) return false;
        --world.looks;
        require(world.ended == 1, "a reply is looked after before the call has ended");
        ++world.looked_after;
        require(world.looked_after <= world.left, "a reply is looked after once too often");
        if (world.left_turn != 0) came(world);
        return true;
    }
    bool reply(World& world) {
        if (world.owes == 0) return false;
        world.owes = 0;
        const Next next = rules_.reply(world.word);
        world.word = next.word;
        decide(world, next.then);
        return true;
    }

    static void decide(World& world, Then then) {
        if (then == Then::wake_waiter) ++world.wakes;
        if (then == Then::give_turn) ++world.gives;
        if (then == Then::look_after_reply) ++world.looks;
    }
    void came(World& world) {
        require(world.expected > 0, "a turn comes that nobody expects");
        --world.expected;
    }
    static Turn expect(World& world) {
        if (world.closed != 0) return Turn::none;
        ++world.expected;
        return Turn::expected;
    }
    void begin_to_run(World& world, Thread& thread, Then then) {
        require(world.runners == 0, "two threads run the call");
        require(world.ended == 0, "a call runs that has ended");
        ++world.runners;
        world.news = 0;
        if (then == Then::run_without_reply) {
            require(world.left == 0 && world.leave_ok != 0, "a reply is left that nobody may leave");
            world.left = 1;
            world.op = static_cast<std::uint8_t>(config_.plan.size());  // settle
        } else {
            require(world.owes == 0, "the call goes on without a reply that it waits for");
        }
        thread.pc = std::exchange(thread.here, std::uint8_t{0}) != 0 ? Pc::alone_again : Pc::stage;
    }
    void stop_running(World& world) {
        require(world.runners == 1, "a call that rests twice");
        --world.runners;
    }
    // The thread has rested the call, or ended it.
    void leave_call(Thread& thread, Role role) const {
        switch (role) {
            case Role::caller: thread.pc = caller_waits() ? Pc::wait : Pc::done; break;
            case Role::timers: thread.pc = Pc::leave_soon; break;
            case Role::pool: thread.pc = Pc::start; break;
            default: thread.pc = Pc::done; break;
        }
        thread.turn = Turn::unknown;
        thread.seen = 0;
    }

    // One step of one thread; false: it cannot move.
    bool step(World& world, Thread& thread, Role role) {
        switch (thread.pc) {
            case Pc::start: return start(world, thread, role);
            case Pc::go_on:
            case Pc::go_on_again: go_on(world, thread, role); return true;
            case Pc::expect_to_go_on:
                thread.turn = expect(world);
                thread.pc = Pc::go_on_again;
                return true;
            case Pc::stage: stage(world, thread); return true;
            case Pc::rest: rest(world, thread, role); return true;
            case Pc::rest_until_reply:
            case Pc::rest_again: rest_until_reply(world, thread, role); return true;
            case Pc::expect_to_rest:
                thread.turn = expect(world);
                thread.pc = Pc::rest_again;
                return true;
            case Pc::after_rest:
                arm(world);
                thread.pc = Pc::wait;
                if (thread.here == 0) leave_call(thread, role);
                return true;
            case Pc::alone_again:
                world.word = rules_.alone_again(world.word).word;
                thread.pc = Pc::stage;
                return true;
            case Pc::end: end(world, thread); return true;
            case Pc::after_end:
                ++world.wakes;
                leave_call(thread, role);
                return true;
            case Pc::wait: wait(world, thread); return true;
            case Pc::fall_asleep:
                thread.pc = world.word == thread.seen ? Pc::asleep : Pc::wait;
                thread.seen = 0;
                require(thread.pc != Pc::asleep || world.notices == 0, "a thread sleeps over its notices");
                return true;
            case Pc::asleep: return false;
            case Pc::leave_soon:
                arm(world);
                thread.pc = Pc::next_timer;
                return true;
            case Pc::next_timer: return next_timer(world, thread);
            case Pc::expect_to_leave:
                thread.left_turn = expect(world) == Turn::expected;
                thread.pc = Pc::leave;
                return true;
            case Pc::leave: leave(world, thread); return true;
            case Pc::take_turn: take_turn(world, thread); return true;
            case Pc::done: return false;
        }
        return false;
    }

    bool start(World& world, Thread& thread, Role role) {
        switch (role) {
            case Role::signaller:
            case Role::tool:
                ++world.signals;
                thread.turn = role == Role::tool ? Turn::none : Turn::unknown;
                thread.pc = Pc::go_on;
                return true;
            case Role::timers:
                world.expired = 1;
                thread.pc = Pc::go_on;
                return true;
            case Role::notifier:
                if (world.ended != 0) {
                    thread.pc = Pc::done;
                    return true;
                }
                ++world.notices;
                world.word = rules_.notice(world.word);
                ++world.wakes;
                thread.pc = Pc::done;
                return true;
            case Role::closer:
                if (world.expected != 0) return false;
                world.closed = 1;
                thread.pc = Pc::done;
                return true;
            case Role::pool:
                if (world.queued == 0) return false;
                --world.queued;
                came(world);
                thread.pc = Pc::take_turn;
                return true;
            case Role::caller: break;
        }
        return false;
    }

    void go_on(World& world, Thread& thread, Role role) {
        const Next next = rules_.go_on(world.word, thread.turn);
        if (next.word != world.word) world.news = 1;
        world.word = next.word;
        if (next.then == Then::expect_turn) {
            require(thread.pc == Pc::go_on, "a turn is looked for again and again");
            thread.pc = Pc::expect_to_go_on;
            return;
        }
        if (thread.turn == Turn::expected && next.then != Then::give_turn) came(world);
        decide(world, next.then);
        leave_call(thread, role);
        if (next.then != Then::run) return;
        require(config_.alone, "a thread runs a call that its caller waits for");
        begin_to_run(world, thread, next.then);
    }

    void stage(World& world, Thread& thread) {
        const char op = config_.plan.c_str()[world.op];
        if (op == 'w') {
            if (world.signals > world.used || world.expired != 0) {
                if (world.signals > world.used) ++world.used;
                ++world.op;
            } else {
                thread.pc = Pc::rest;
            }
        } else if (op == 'l') {
            world.owes = 1;
            world.leave_ok = 0;
            ++world.op;  // where it goes on with the reply
            thread.turn = Turn::unknown;
            thread.pc = Pc::rest_until_reply;
        } else {
            thread.pc = Pc::end;
        }
    }

    void rest(World& world, Thread& thread, Role role) {
        const Next next = rules_.rest(world.word);
        world.word = next.word;
        if (next.then == Then::run) {
            require(std::exchange(world.news, std::uint8_t{0}) != 0, "a call goes on that nobody has woken");
            thread.pc = Pc::stage;
            return;
        }
        stop_running(world);
        leave_call(thread, role);
    }

    void rest_until_reply(World& world, Thread& thread, Role) {
        const Next next = rules_.rest_until_reply(world.word, thread.turn);
        world.word = next.word;
        if (next.then == Then::expect_turn) {
            require(thread.pc == Pc::rest_until_reply, "a turn is looked for again and again");
            thread.pc = Pc::expect_to_rest;
            return;
        }
        world.news = 0;
        if (next.then == Then::run) {
            require(world.owes == 0, "the call goes on without a reply that it waits for");
            if (thread.turn == Turn::expected) came(world);
            thread.turn = Turn::unknown;
            thread.pc = Pc::stage;
            return;
        }
        stop_running(world);
        ++world.waits;
        thread.here = next.then == Then::wait_here;
        thread.turn = Turn::unknown;
        thread.pc = Pc::after_rest;
    }

    // leave_soon: what the deadline has passed for is left after the grace.
    void arm(World& world) {
        if (world.expired == 0) return;
        const Word number = run_word::wait_number(world.word);
        if (!rules_.may_leave(world.word, number) || world.armed == world.timers.size()) return;
        world.timers[world.armed++] = number;
    }
    bool next_timer(World& world, Thread& thread) {
        if (world.armed == 0) return false;
        thread.seen = world.timers[0];
        world.timers = {world.timers[1], 0};
        --world.armed;
        thread.pc = rules_.may_leave(world.word, thread.seen) ? Pc::expect_to_leave : Pc::next_timer;
        if (thread.pc == Pc::next_timer) thread.seen = 0;
        return true;
    }
    void leave(World& world, Thread& thread) {
        const Next next = rules_.leave(world.word, thread.seen);
        if (next.then == Then::nothing) {
            if (thread.left_turn != 0) came(world);
        } else {
            require(thread.seen == world.waits, "another wait is left than the one whose time was over");
            world.leave_ok = 1;
            world.left_turn = thread.left_turn;
        }
        world.word = next.word;
        decide(world, next.then);
        thread.seen = 0;
        thread.left_turn = 0;
        thread.pc = Pc::next_timer;
    }

    void take_turn(World& world, Thread& thread) {
        const Next next = rules_.take_turn(world.word);
        world.word = next.word;
        require(next.then == Then::run || next.then == Then::run_without_reply, "a turn without a call");
        begin_to_run(world, thread, next.then);
    }

    void wait(World& world, Thread& thread) {
        const Next next = rules_.wait(world.word);
        const Word before = std::exchange(world.word, next.word);
        switch (next.then) {
            case Then::end:
                world.notices = 0;  // what is still there is delivered before the caller gets the outcome
                thread.pc = Pc::done;
                break;
            case Then::deliver: world.notices = 0; break;
            case Then::sleep:
                thread.seen = before;
                thread.pc = Pc::fall_asleep;
                break;
            default: begin_to_run(world, thread, next.then); break;
        }
    }

    void end(World& world, Thread& thread) {
        const Next next = rules_.end(world.word);
        world.word = next.word;
        require(world.owes == 0 || world.left != 0, "a call ends that a reply is still written into");
        stop_running(world);
        ++world.ended;
        require(world.ended == 1, "a call ends twice");
        decide(world, next.then);
        thread.pc = Pc::after_end;
    }

    const Config config_;
    const Rules rules_;
    std::vector<Role> roles_;
    std::unordered_set<World, WorldHash, SameWorld> seen_;
    std::vector<std::uint8_t> path_;
    std::string broken_;
    std::string fault_;
};

// Every small world: what the call does, whether somebody waits for its end, and who else is there.
std::vector<Config> configs() {
    using enum Role;
    std::vector<Config> all;
    const auto add = [&](std::string_view plan, const std::vector<Role>& signals) {
        const auto with = [&](std::vector<Role> others) {
            others.insert(others.end(), signals.begin(), signals.end());
            return others;
        };
        all.push_back({std::string(plan), false, with({})});
        all.push_back({std::string(plan), false, with({timers, notifier})});
        all.push_back({std::string(plan), true, with({})});
        all.push_back({std::string(plan), true, with({timers}), true});
        if (signals.size() < 2) all.push_back({std::string(plan), true, with({timers, closer})});
    };
    add("l", {});
    add("ll", {});
    for (const auto* const plan : {"w", "wl", "lw", "lwl"}) {
        add(plan, {signaller});
        add(plan, {tool});
    }
    add("ww", {signaller, tool});
    return all;
}

std::string first_fault(const Rules& rules) {
    for (const Config& config : configs()) {
        Explorer explorer(config, rules);
        if (auto fault = explorer.run(); !fault.empty()) return fault;
    }
    return {};
}

TEST(RunState, everyOrderOfStepsEndsTheCallOnceAndLosesNothing) {
    std::size_t states = 0;
    for (const Config& config : configs()) {
        Explorer explorer(config, Rules());
        EXPECT_EQ(explorer.run(), "");
        states += explorer.states();
    }
    RecordProperty("states", static_cast<int>(states));
    EXPECT_GT(states, 10'000u);
}

using namespace run_word;  // NOLINT: what a mutant is made of

struct Mutant {
    const char* name;
    void (*apply)(Rules&);
};
constexpr Mutant kMutants[] = {
    {"rest forgets what woke it",
     [](Rules& r) { r.rest = [](Word now) { return Next{now & ~(kRunning | kWoken), Then::nothing}; }; }},
    {"rest leaves woken set",
     [](Rules& r) {
         r.rest = [](Word now) { return (now & kWoken) != 0 ? Next{now, Then::run} : run_word::rest(now); };
     }},
    {"rest_until_reply does not see an early reply",
     [](Rules& r) {
         r.rest_until_reply = [](Word now, Turn turn) {
             return run_word::rest_until_reply(now & ~kReplied, turn);
         };
     }},
    {"rest_until_reply leaves replied set",
     [](Rules& r) {
         r.rest_until_reply = [](Word now, Turn turn) {
             auto next = run_word::rest_until_reply(now, turn);
             if (next.then == Then::run) next.word |= kReplied;
             return next;
         };
     }},
    {"rest_until_reply rests when it was merely woken",
     [](Rules& r) {
         r.rest_until_reply = [](Word now, Turn turn) {
             if ((now & kWoken) != 0) return Next{now & ~kWoken, Then::run};
             return run_word::rest_until_reply(now, turn);
         };
     }},
    {"rest_until_reply expects no turn",
     [](Rules& r) {
         r.rest_until_reply = [](Word now, Turn) { return run_word::rest_until_reply(now, Turn::expected); };
     }},
    {"waits for a reply are not numbered",
     [](Rules& r) {
         r.rest_until_reply = [](Word now, Turn turn) {
             auto next = run_word::rest_until_reply(now, turn);
             if (next.word != now && next.then != Then::run) next.word -= kOneWait;
             return next;
         };
     }},
    {"a thread that waits here stays alone",
     [](Rules& r) {
         r.rest_until_reply = [](Word now, Turn turn) {
             auto next = run_word::rest_until_reply(now, turn);
             if (next.then == Then::wait_here) next.word |= kAlone;
             return next;
         };
     }},
    {"a thread that waited here is not alone again",
     [](Rules& r) { r.alone_again = [](Word now) { return Next{now, Then::run}; }; }},
    {"go_on is lost while the call runs",
     [](Rules& r) {
         r.go_on = [](Word now, Turn turn) {
             if ((now & kRunning) != 0) return Next{now, Then::nothing};
             return run_word::go_on(now, turn);
         };
     }},
    {"go_on moves a call that waits for a reply",
     [](Rules& r) {
         r.go_on = [](Word now, Turn turn) {
             if ((now & (kOver | kRunning | kReplied)) == 0 && (now & kAwaitsReply) != 0)
                 return run_word::go_on(now & ~kAwaitsReply, turn);
             return run_word::go_on(now, turn);
         };
     }},
    {"go_on gives a second turn",
     [](Rules& r) {
         r.go_on = [](Word now, Turn turn) {
             if ((now & (kRunning | kOver)) == 0 && (now & kDue) == kDue)
                 return run_word::go_on(now & ~kDue, turn);
             return run_word::go_on(now, turn);
         };
     }},
    {"go_on wakes nobody",
     [](Rules& r) {
         r.go_on = [](Word now, Turn turn) {
             auto next = run_word::go_on(now, turn);
             if (next.then == Then::wake_waiter) next.then = Then::nothing;
             return next;
         };
     }},
    {"go_on runs a call that somebody waits for",
     [](Rules& r) {
         r.go_on = [](Word now, Turn turn) {
             if ((now & (kOver | kWoken | kDue | kRunning)) == 0) return Next{now | kRunning, Then::run};
             return run_word::go_on(now, turn);
         };
     }},
    {"a reply wakes nobody",
     [](Rules& r) {
         r.reply = [](Word now) {
             auto next = run_word::reply(now);
             if (next.then == Then::wake_waiter) next.then = Then::nothing;
             return next;
         };
     }},
    {"an early reply gives a turn",
     [](Rules& r) {
         r.reply = [](Word now) {
             auto next = run_word::reply(now);
             if ((now & (kRunning | kLeft)) == kRunning) next.then = hand_over(now);
             return next;
         };
     }},
    {"a reply that was left is taken for a new one",
     [](Rules& r) { r.reply = [](Word now) { return run_word::reply(now & ~kLeft); }; }},
    {"a reply that was left is looked after at once",
     [](Rules& r) {
         r.reply = [](Word now) {
             auto next = run_word::reply(now);
             if ((now & kLeft) != 0) next.then = Then::look_after_reply;
             return next;
         };
     }},
    {"a call may leave while it is due",
     [](Rules& r) { r.leave = [](Word now, Word wait) { return run_word::leave(now & ~kReplied, wait); }; }},
    {"a call leaves whichever wait it is in",
     [](Rules& r) { r.leave = [](Word now, Word) { return run_word::leave(now, wait_number(now)); }; }},
    {"leaving wakes nobody",
     [](Rules& r) {
         r.leave = [](Word now, Word wait) { return Next{run_word::leave(now, wait).word, Then::nothing}; };
     }},
    {"leaving is forgotten by the turn",
     [](Rules& r) {
         r.take_turn = [](Word now) {
             auto next = run_word::take_turn(now);
             if (next.then == Then::run_without_reply) next.then = Then::run;
             return next;
         };
     }},
    {"a turn takes what nobody made due",
     [](Rules& r) { r.take_turn = [](Word now) { return run_word::take_turn(now & ~kReplied); }; }},
    {"who waits takes a call that is alone",
     [](Rules& r) { r.wait = [](Word now) { return run_word::wait(now & ~kAlone); }; }},
    {"who waits does not look whether it is over",
     [](Rules& r) {
         r.wait = [](Word now) { return (now & kOver) != 0 ? Next{now, Then::sleep} : run_word::wait(now); };
     }},
    {"who waits leaves the call due",
     [](Rules& r) {
         r.wait = [](Word now) {
             auto next = run_word::wait(now);
             if (next.then == Then::run) next.word |= kDue;
             return next;
         };
     }},
    {"who waits does not see notices",
     [](Rules& r) {
         r.wait = [](Word now) {
             auto next = run_word::wait(now);
             return next.then == Then::deliver ? Next{now, Then::sleep} : next;
         };
     }},
    {"the end forgets that a reply is back",
     [](Rules& r) { r.end = [](Word now) { return Next{run_word::end(now).word, Then::nothing}; }; }},
    {"the end forgets that a reply was left",
     [](Rules& r) { r.end = [](Word now) { return Next{kOver, run_word::end(now).then}; }; }},
};

TEST(RunState, everyMutantOfATransitionIsCaught) {
    for (const Mutant& mutant : kMutants) {
        Rules rules;
        mutant.apply(rules);
        EXPECT_NE(first_fault(rules), "") << "not caught: " << mutant.name;
    }
}

// The class applies the same transitions to its word.
TEST(RunState, aCallThatNobodyWaitsForGoesOnAsATurn) {
    RunState state;
    state.begin_alone();
    EXPECT_EQ(state.rest(), Then::nothing);
    EXPECT_EQ(state.go_on(Turn::unknown), Then::expect_turn);
    EXPECT_EQ(state.go_on(Turn::expected), Then::give_turn);
    EXPECT_EQ(state.go_on(Turn::unknown), Then::nothing) << "it is due already";
    EXPECT_EQ(state.take_turn(), Then::run);
    EXPECT_EQ(state.rest_until_reply(Turn::unknown), Then::expect_turn);
    EXPECT_EQ(state.rest_until_reply(Turn::expected), Then::nothing);
    EXPECT_EQ(state.reply(), Then::give_turn);
    EXPECT_EQ(state.take_turn(), Then::run);
    EXPECT_EQ(state.end(), Then::nothing);
    EXPECT_TRUE(state.over());
}

TEST(RunState, aCallThatLeftItsReplyHasItLookedAfterWhenItComes) {
    RunState state;
    EXPECT_EQ(state.rest_until_reply(Turn::unknown), Then::nothing);
    std::uint32_t number = 0;
    ASSERT_TRUE(state.awaits_reply(number));
    EXPECT_EQ(state.leave(number + 1), Then::nothing) << "another wait";
    EXPECT_EQ(state.leave(number), Then::wake_waiter);
    EXPECT_FALSE(state.may_leave(number)) << "once";
    EXPECT_EQ(state.wait(), Then::run_without_reply);
    EXPECT_TRUE(state.left());
    EXPECT_EQ(state.end(), Then::nothing);
    EXPECT_EQ(state.reply(), Then::look_after_reply);
}

TEST(RunState, aWaitingThreadDeliversWhatCameAndThenSeesTheEnd) {
    RunState state;
    state.notice();
    EXPECT_EQ(state.wait(), Then::deliver);
    state.end_unshared();
    EXPECT_EQ(state.wait(), Then::end);
}

}  // namespace
}  // namespace callgate::pipeline
