#include "pipeline/io_thread.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/thread_role.h"

namespace callgate::pipeline {

struct IoThread::Own {
    boost::asio::io_context io{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard{io.get_executor()};
    std::thread thread;
    std::atomic<std::thread::id> id{};
};

IoThread::IoThread() : own_(std::make_shared<Own>()) {
    own_->thread = std::thread([own = own_] {
        const base::OurThread ours;
        own->id.store(std::this_thread::get_id());
        own->io.run();
    });
}

IoThread::IoThread(boost::asio::any_io_executor lent) : lent_(std::move(lent)) {}

IoThread::~IoThread() {
    stop();
}

boost::asio::any_io_executor IoThread::executor() {
    return own_ ? boost::asio::any_io_executor(own_->io.get_executor()) : lent_;
}

bool IoThread::on_this_thread() const noexcept {
    return own_ && own_->id.load() == std::this_thread::get_id();
}

bool IoThread::on_lent_thread() const noexcept {
    if (own_) return false;
    using InContext = boost::asio::io_context::executor_type;
    using InPool = boost::asio::thread_pool::executor_type;
    if (const auto* context = lent_.target<InContext>()) return context->running_in_this_thread();
    if (const auto* pool = lent_.target<InPool>()) return pool->running_in_this_thread();
    if (const auto* strand = lent_.target<boost::asio::strand<InContext>>())
        return strand->get_inner_executor().running_in_this_thread();
    if (const auto* strand = lent_.target<boost::asio::strand<InPool>>())
        return strand->get_inner_executor().running_in_this_thread();
    return false;
}

std::size_t IoThread::lent_threads() const noexcept {
    const auto* const pool = lent_.target<boost::asio::thread_pool::executor_type>();
    return pool != nullptr ? boost::asio::query(*pool, boost::asio::execution::occupancy) : 1;
}

bool IoThread::run_one() {
    return own_ && own_->io.run_one() > 0;
}

void IoThread::stop() {
    if (!own_ || !own_->thread.joinable()) return;
    own_->guard.reset();
    own_->io.stop();
    if (own_->thread.get_id() == std::this_thread::get_id()) {
        own_->thread.detach();
    } else {
        own_->thread.join();
    }
}

}  // namespace callgate::pipeline
