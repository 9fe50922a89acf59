// The parts of the core that know Asio; apart, because it is slow to compile.
#include "pipeline/call.h"
#include "pipeline/core.h"
#include "pipeline/io_thread.h"

namespace callgate {

IoHost& Runtime::Core::io() {
    const std::lock_guard lock(io_mutex_);
    if (!io_) io_ = std::make_shared<pipeline::IoThread>();
    return *io_;
}

void Runtime::Core::set_io(std::shared_ptr<pipeline::IoThread> io) {
    const std::lock_guard lock(io_mutex_);
    io_ = std::move(io);
}

bool Runtime::Core::wait_on_io_thread(pipeline::Call& call) {
    std::shared_ptr<pipeline::IoThread> io;
    {
        const std::lock_guard lock(io_mutex_);
        io = io_;
    }
    if (!io || !io->on_this_thread()) return false;
    while (!call.over() && io->run_one()) {
    }
    return call.over();
}

void Runtime::Core::stop_io() {
    std::shared_ptr<pipeline::IoThread> io;
    {
        const std::lock_guard lock(io_mutex_);
        io = io_;
    }
    if (io) io->stop();
}

boost::asio::any_io_executor executor_of(Runtime& runtime) {
    return runtime.core()->io().executor();
}

void use_executor(Runtime& runtime, boost::asio::any_io_executor executor) {
    runtime.core()->set_io(std::make_shared<pipeline::IoThread>(std::move(executor)));
}

}  // namespace callgate
