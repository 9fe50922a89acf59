#include "base/interruptible_wait.h"

#include "base/mutex.h"

namespace callgate::base {

bool wait_unless_stopped(const std::stop_token& stop, std::chrono::milliseconds time) {
    Mutex mutex;
    CondVar stopped;
    const std::stop_callback wake(stop, [&] {
        const MutexLock lock(mutex);  // not between the waiter's look and its sleep
        stopped.notify_all();
    });
    MutexLock lock(mutex);
    stopped.wait_for(lock, time, [&] { return stop.stop_requested(); });
    return !stop.stop_requested();
}

}  // namespace callgate::base
