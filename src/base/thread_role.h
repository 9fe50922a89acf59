// Whose thread this is. Timer, ledger, notifier, control, io and stage threads are ours: others depend on
// them, so foreign code (observers, `done`, progress functions, hooks) never runs there. Every other thread
// is a host's, where foreign code runs: the caller's own, or one of a pool that exists for it.
//
// Test builds abort where foreign code is about to run on a thread of ours (CALLGATE_FOREIGN_CODE), and where
// something is about to wait, or to take long, on a thread that serves sockets (CALLGATE_MAY_BLOCK).
//
// Threads: each thread has its own role.
#pragma once

#include <cstddef>

namespace callgate::base {

inline bool& is_our_thread() noexcept {
    thread_local bool ours = false;
    return ours;
}

inline bool on_our_thread() noexcept {
    return is_our_thread();
}

/// This thread is ours while it lives. The first thing that a thread of ours makes.
class OurThread {
public:
    OurThread() noexcept : before_(is_our_thread()) { is_our_thread() = true; }
    ~OurThread() { is_our_thread() = before_; }
    OurThread(const OurThread&) = delete;
    OurThread& operator=(const OurThread&) = delete;

private:
    bool before_;
};

/// Nobody depends on this thread while it lives: what it served has gone.
class FreedThread {
public:
    FreedThread() noexcept : before_(is_our_thread()) { is_our_thread() = false; }
    ~FreedThread() { is_our_thread() = before_; }
    FreedThread(const FreedThread&) = delete;
    FreedThread& operator=(const FreedThread&) = delete;

private:
    bool before_;
};

/// Says what was about to run where it must not, and aborts.
[[noreturn]] void foreign_code_on_our_thread(const char* what) noexcept;

inline bool& is_loop_thread() noexcept {
    thread_local bool loop = false;
    return loop;
}

/// This thread serves sockets: whatever waits here, or takes long, holds up every connection.
inline bool must_not_block() noexcept {
    return is_loop_thread();
}

/// How much JSON, or other data, may be judged or sealed there at once; more goes elsewhere.
inline constexpr std::size_t kMostOnALoop = 64u << 10;

/// This thread is one of a loop while this lives.
class ServesSockets {
public:
    ServesSockets() noexcept { is_loop_thread() = true; }
    ~ServesSockets() { is_loop_thread() = false; }
    ServesSockets(const ServesSockets&) = delete;
    ServesSockets& operator=(const ServesSockets&) = delete;
};

[[noreturn]] void blocks_a_loop(const char* what) noexcept;

}  // namespace callgate::base

#ifdef CALLGATE_FAILPOINTS
#define CALLGATE_FOREIGN_CODE(what)                                                         \
    (::callgate::base::on_our_thread() ? ::callgate::base::foreign_code_on_our_thread(what) \
                                       : static_cast<void>(0))
#define CALLGATE_MAY_BLOCK(what) \
    (::callgate::base::must_not_block() ? ::callgate::base::blocks_a_loop(what) : static_cast<void>(0))
#else
#define CALLGATE_FOREIGN_CODE(what) static_cast<void>(0)
#define CALLGATE_MAY_BLOCK(what) static_cast<void>(0)
#endif
