// Where one coroutine body runs: the executor of the runtime's coroutine tools, with a mark on the thread for
// as long as this body's code runs there (inside.h). Every resumption of a coroutine goes through its
// executor.
//
// Threads: may be used from any thread.
#pragma once

#include <memory>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include "pipeline/attempt.h"
#include "pipeline/inside.h"

namespace callgate::pipeline {

class BodyExecutor {
public:
    using Inner = boost::asio::any_io_executor;

    BodyExecutor(Inner inner, std::weak_ptr<AttemptState> body, bool lent) noexcept
        : inner_(std::move(inner)), body_(std::move(body)), lent_(lent) {}

    boost::asio::execution_context& query(boost::asio::execution::context_t) const {
        return boost::asio::query(inner_, boost::asio::execution::context);
    }
    /// Asked by strands: what is posted from inside one must not run at once.
    boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t what) const {
        return boost::asio::query(inner_, what);
    }
    BodyExecutor require(boost::asio::execution::blocking_t::never_t what) const {
        return {boost::asio::require(inner_, what), body_, lent_};
    }
    BodyExecutor prefer(boost::asio::execution::blocking_t::possibly_t what) const {
        return preferring(what);
    }
    BodyExecutor prefer(boost::asio::execution::outstanding_work_t::tracked_t what) const {
        return preferring(what);
    }
    BodyExecutor prefer(boost::asio::execution::outstanding_work_t::untracked_t what) const {
        return preferring(what);
    }
    BodyExecutor prefer(boost::asio::execution::relationship_t::fork_t what) const {
        return preferring(what);
    }
    BodyExecutor prefer(boost::asio::execution::relationship_t::continuation_t what) const {
        return preferring(what);
    }

    template <class Function>
    void execute(Function&& function) const {
        inner_.execute([body = body_, lent = lent_,
                        run = std::decay_t<Function>(std::forward<Function>(function))]() mutable {
            const auto alive = body.lock();
            const Inside mark(alive ? &alive->run_context() : nullptr, lent);
            std::move(run)();
        });
    }

    friend bool operator==(const BodyExecutor& a, const BodyExecutor& b) noexcept {
        return a.inner_ == b.inner_ && !a.body_.owner_before(b.body_) && !b.body_.owner_before(a.body_);
    }
    friend bool operator!=(const BodyExecutor& a, const BodyExecutor& b) noexcept { return !(a == b); }

private:
    template <class Property>
    BodyExecutor preferring(Property what) const {
        return {boost::asio::prefer(inner_, what), body_, lent_};
    }

    Inner inner_;
    std::weak_ptr<AttemptState> body_;
    bool lent_;
};

}  // namespace callgate::pipeline
