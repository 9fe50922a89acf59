// The io context on which coroutine tools run: the runtime's own, on one thread, or one that the host lends.
//
// Guarantee: an executor of the runtime's own context may be held, used and released by any thread, also
// after the context was stopped and the runtime is gone.
//
// Threads: may be used from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <callgate/async.h>

namespace callgate::pipeline {

class IoThread final : public IoHost {
public:
    /// The runtime's own, which starts its thread.
    IoThread();
    /// The host's, which the host runs.
    explicit IoThread(boost::asio::any_io_executor lent);
    ~IoThread() override;

    boost::asio::any_io_executor executor() override;
    bool on_this_thread() const noexcept;
    /// On the io thread itself: does other work instead of blocking it. False: there is nothing to do that
    /// for (lent).
    bool run_one();
    bool lent() const noexcept { return own_ == nullptr; }
    /// Of the lent executor, as far as that is known.
    bool on_lent_thread() const noexcept;
    /// How many there are: of a thread pool; one, as far as is known, of anything else.
    std::size_t lent_threads() const noexcept;
    /// What waits in its own context is destroyed, and what is posted to it later is dropped.
    void stop();

private:
    struct Own;
    template <class Inner>
    class Keeping;
    boost::intrusive_ptr<Own> own_;  // its thread's and its executors' too
    std::atomic<bool> stopped_{false};
    boost::asio::any_io_executor lent_;
};

}  // namespace callgate::pipeline
