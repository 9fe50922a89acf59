// The parts of the core that know Asio; apart, because it is slow to compile.
#include <atomic>

#include <boost/asio/post.hpp>

#include "pipeline/body_executor.h"
#include "pipeline/call.h"
#include "pipeline/core.h"
#include "pipeline/io_thread.h"

namespace callgate {

IoHost& Runtime::Core::io() {
    const base::MutexLock lock(io_mutex_);
    if (!io_) {
        io_ = std::make_shared<pipeline::IoThread>();
        if (io_stopped_) io_->stop();
    }
    return *io_;
}

void Runtime::Core::set_io(std::shared_ptr<pipeline::IoThread> io) {
    const base::MutexLock lock(io_mutex_);
    has_lent_io_.store(io->lent(), std::memory_order_relaxed);
    io_ = std::move(io);
}

namespace {

class BodyHost final : public IoHost {
public:
    BodyHost(Runtime::Core& core, std::weak_ptr<pipeline::AttemptState> body)
        : core_(core.weak_from_this()), body_(std::move(body)) {}
    boost::asio::any_io_executor executor() override {
        const auto core = core_.lock();
        if (!core) return {};
        return pipeline::BodyExecutor(core->io().executor(), body_, core->has_lent_io());
    }

private:
    std::weak_ptr<Runtime::Core> core_;
    std::weak_ptr<pipeline::AttemptState> body_;
};

}  // namespace

std::shared_ptr<IoHost> Runtime::Core::io_for(std::weak_ptr<pipeline::AttemptState> body) {
    return std::make_shared<BodyHost>(*this, std::move(body));
}

bool Runtime::Core::block_lent_thread(bool& counted) noexcept {
    std::shared_ptr<pipeline::IoThread> io;
    {
        const base::MutexLock lock(io_mutex_);
        io = io_;
    }
    counted = io && io->lent() && (pipeline::inside::lent || io->on_lent_thread());
    return counted && lent_blocked_.fetch_add(1) + 1 >= io->lent_threads();
}

bool Runtime::Core::wait_on_io_thread(pipeline::Call& call) {
    // Other work may be nested in this; the call does not have to wait for its end: others run its stages.
    return work_on_io_thread([&] { return call.over() && !call.notices_pending(); });
}

bool Runtime::Core::work_on_io_thread(const std::function<bool()>& over) {
    std::shared_ptr<pipeline::IoThread> io;
    {
        const base::MutexLock lock(io_mutex_);
        io = io_;
    }
    if (!io || !io->on_this_thread()) return false;
    // Either the end is seen here, or the thread that ends it sees that it is waited for.
    io_waits_.fetch_add(1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const pipeline::Inside no_body(nullptr);
    bool ended = over();
    while (!ended && io->run_one()) ended = over();
    io_waits_.fetch_sub(1);
    return ended;
}

void Runtime::Core::wake_io() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (io_waits_.load() == 0) return;
    const base::MutexLock lock(io_mutex_);
    if (io_) boost::asio::post(io_->executor(), [] {});
}

void Runtime::Core::stop_io() {
    // A coroutine that has not ended waits in it and holds the core: both go here.
    std::shared_ptr<pipeline::IoThread> io;
    {
        const base::MutexLock lock(io_mutex_);
        io_stopped_ = true;
        io = io_;
        if (io && io->lent()) io_.reset();  // the host's, for as long as the runtime lives and no longer
    }
    if (io) io->stop();
}

namespace typed {

void CancelLink::watch(std::stop_token token) {
    watched_.emplace(std::move(token), [weak = weak_from_this()] {
        if (const auto link = weak.lock()) link->emit();
    });
}

void CancelLink::emit() {
    boost::asio::post(strand_, [link = shared_from_this()] {
        link->emitted_ = true;
        link->signal_.emit(boost::asio::cancellation_type::terminal);
    });
}

ToolFailure CancelLink::failure() const {
    if (!emitted_) return failure_from_exception();
    return {Error(ErrorCode::cancelled, "The coroutine was called off."), Applied::maybe};
}

}  // namespace typed

boost::asio::any_io_executor executor_of(Runtime& runtime) {
    return runtime.core()->io().executor();
}

void use_executor(Runtime& runtime, boost::asio::any_io_executor executor) {
    runtime.core()->set_io(std::make_shared<pipeline::IoThread>(std::move(executor)));
}

}  // namespace callgate
