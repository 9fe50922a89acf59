// Which body's code a thread is running, so that calls it makes count as made from inside, whichever way they
// are made.
//
// Set while a body runs: on the pool, inline, while an async body starts, and whenever a coroutine body goes
// on. Cleared where other code runs on the same thread meanwhile: the stages of a call, and what the io
// thread does while a call on it blocks.
//
// Threads: each thread has its own.
#pragma once

namespace callgate::pipeline {

class RunContext;

namespace inside {
inline constinit thread_local RunContext* body = nullptr;
inline constinit thread_local bool lent = false;  // its thread belongs to an executor that the host lent
}  // namespace inside

class Inside {
public:
    /// Null: none.
    explicit Inside(RunContext* body, bool on_lent_thread = false) noexcept
        : body_(inside::body), lent_(inside::lent) {
        inside::body = body;
        inside::lent = on_lent_thread;
    }
    ~Inside() {
        inside::body = body_;
        inside::lent = lent_;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

private:
    RunContext* body_;
    bool lent_;
};

}  // namespace callgate::pipeline
