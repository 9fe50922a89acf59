// What a host does with Asio, without Asio: its own thread for coroutines, and calls that are awaited.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include <callgate/callgate.h>

#include "host.h"

namespace callgate::hosts {

/// A thread of the host's own. The destructor waits until nothing is left to do on it.
class HostIo {
public:
    HostIo();
    ~HostIo();
    boost::asio::any_io_executor executor();

private:
    class Work;
    std::unique_ptr<Work> work_;
};

/// Awaits a call on the host's thread. What is returned calls it off, by its Asio slot.
std::function<void()> await_call(Host& host, Runtime& runtime, CallRequest request, Context context,
                                 std::function<void(Outcome)> done);

}  // namespace callgate::hosts
