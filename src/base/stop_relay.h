// One stop signal for something that several others may call off.
//
// Threads: make it on one thread; the signals it follows may come from any. A signal that has come already is
// passed on at once.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <stop_token>

namespace callgate::base {

class StopRelay {
public:
    StopRelay() = default;
    StopRelay(const StopRelay&) = delete;
    StopRelay& operator=(const StopRelay&) = delete;

    /// Until this goes.
    void follow(const std::stop_token& signal) {
        if (signal.stop_possible()) links_.emplace_back(signal, [this] { source_.request_stop(); });
    }
    std::stop_token token() const { return source_.get_token(); }

private:
    std::stop_source source_;
    std::list<std::stop_callback<std::function<void()>>> links_;
};

}  // namespace callgate::base
