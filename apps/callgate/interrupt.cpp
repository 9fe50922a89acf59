#include "interrupt.h"

#include <array>
#include <cerrno>
#include <cstdint>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/interruptible_wait.h"

namespace callgate::cli {

Interrupt::Interrupt(By by) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    struct sigaction hangs_up = {};  // who begins us with nohup wants us to stay
    if (by == By::terminals_end_too && ::sigaction(SIGHUP, nullptr, &hangs_up) == 0 &&
        hangs_up.sa_handler != SIG_IGN)
        sigaddset(&signals_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    arrived_ = os::Fd(::signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
    over_ = os::Fd(::eventfd(0, EFD_CLOEXEC));
    // Without the means to watch, the signals do what they always do.
    if (!arrived_ || !over_) {
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        return;
    }
    watcher_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
    if (!watcher_.joinable()) return;
    const std::uint64_t one = 1;
    static_cast<void>(::write(over_.get(), &one, sizeof one));
    watcher_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Interrupt::wait_for(std::chrono::milliseconds time) const {
    return !base::wait_unless_stopped(token(), time);
}

void Interrupt::watch() {
    std::array<pollfd, 2> waits{{{over_.get(), POLLIN, 0}, {arrived_.get(), POLLIN, 0}}};
    for (;;) {
        // After the first signal only the end is waited for, and this thread takes signals the usual way.
        if (::poll(waits.data(), requested() ? 1 : 2, -1) < 0) {
            if (errno == EINTR) continue;
            return;
        }
        if (waits[0].revents != 0) return;
        signalfd_siginfo signal{};
        if (::read(arrived_.get(), &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) continue;
        sigset_t ends = signals_;
        sigdelset(&ends, SIGHUP);  // a terminal that goes may say so twice
        pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
        requested_.request_stop();
    }
}

}  // namespace callgate::cli
