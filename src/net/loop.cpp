#include "net/loop.h"

#include <algorithm>
#include <csignal>

#include "base/thread_role.h"

namespace callgate::net {

LoopThread::LoopThread() : guard_(boost::asio::make_work_guard(context_)) {}

LoopThread::~LoopThread() = default;

void LoopThread::start() {
    thread_ = std::thread([this] {
        const base::OurThread ours;
        const base::ServesSockets serves;
        id_ = std::this_thread::get_id();
        // A peer that has gone is an error of the write, whatever the host does about the signal.
        sigset_t pipe;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        (void)pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
        context_.run();
    });
}

void LoopThread::stop() {
    const base::MutexLock lock(mutex_);
    ended_ = true;
    context_.stop();
}

// What waits in the context, or for a socket, may hold this thread, and this thread holds both: it is
// destroyed here, or each would keep the other for ever.
void LoopThread::join() {
    thread_.join();
    id_ = std::thread::id();
    sockets_ = nullptr;
    context_.shutdown();
}

Loop::Loop(std::size_t threads) {
    for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i) {
        threads_.push_back(std::make_shared<LoopThread>());
        threads_.back()->start();
    }
}

Loop::~Loop() {
    for (const auto& thread : threads_) thread->stop();
    for (const auto& thread : threads_) thread->join();
}

const std::shared_ptr<LoopThread>& Loop::thread(std::size_t index) const noexcept {
    return threads_[index % threads_.size()];
}

Executor Loop::executor(std::size_t index) {
    return [to = thread(index)](std::function<void()> work) { to->post(std::move(work)); };
}

bool Loop::here() const noexcept {
    return std::ranges::any_of(threads_, [](const auto& thread) { return thread->here(); });
}

}  // namespace callgate::net
