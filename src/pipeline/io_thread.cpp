#include "pipeline/io_thread.h"

#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "base/thread_role.h"

namespace callgate::pipeline {

// Every executor of it keeps it: what other threads hold of a coroutine (a notice, a stop request) may be
// released after the runtime is gone. Its end therefore destroys what waits in it and takes nothing more, or
// each would keep the other for ever.
struct IoThread::Own : boost::intrusive_ref_counter<IoThread::Own, boost::thread_safe_counter> {
    struct Context final : boost::asio::io_context {
        Context() : io_context(1) {}
        using execution_context::shutdown;
    };

    Context io;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard{io.get_executor()};
    std::thread thread;
    std::atomic<std::thread::id> id{};
    std::atomic<bool> left_alone{false};  // nobody joins the thread: it ends the context itself

    /// Once, and only when no thread runs it any more.
    void end() {
        ended_.store(true);
        for (auto busy = posting_.load(); busy != 0; busy = posting_.load()) posting_.wait(busy);
        quiet_.store(true);
        clear();
    }

    /// False: it has ended, and `post` was not called.
    template <class Post>
    bool unless_ended(Post post) {
        const Posting counted(posting_);
        if (ended_.load()) return false;
        post();
        return true;
    }

    /// Destroys what waits in it after its end: a strand that was made since may still have taken something.
    void clear() {
        if (!quiet_.load() || clears_.fetch_add(1) != 0) return;
        std::size_t seen = 0;
        do {
            seen = clears_.load();
            io.shutdown();  // may come back here, from what it destroys
        } while (clears_.fetch_sub(seen) != seen);
    }

private:
    struct Posting {
        explicit Posting(std::atomic<std::size_t>& counted) : count(counted) { count.fetch_add(1); }
        ~Posting() {
            if (count.fetch_sub(1) == 1) count.notify_all();
        }
        Posting(const Posting&) = delete;
        Posting& operator=(const Posting&) = delete;
        std::atomic<std::size_t>& count;
    };

    std::atomic<bool> ended_{false};
    std::atomic<bool> quiet_{false};  // ended, and nobody posts any more
    std::atomic<std::size_t> posting_{0};
    std::atomic<std::size_t> clears_{0};
};

// The context's own executor, which keeps it. Two pointers: an any_io_executor holds it without allocating.
template <class Inner>
class IoThread::Keeping {
public:
    Keeping(boost::intrusive_ptr<Own> own, Inner inner) noexcept
        : own_(std::move(own)), inner_(std::move(inner)) {}
    Keeping(const Keeping&) noexcept = default;
    Keeping(Keeping&&) noexcept = default;
    Keeping& operator=(const Keeping&) = delete;
    ~Keeping() = default;

    template <class Property>
    auto query(const Property& what) const
        -> decltype(boost::asio::query(std::declval<const Inner&>(), what)) {
        return boost::asio::query(inner_, what);
    }
    template <class Property>
    auto require(const Property& what) const
        -> Keeping<std::decay_t<decltype(boost::asio::require(std::declval<const Inner&>(), what))>> {
        return {own_, boost::asio::require(inner_, what)};
    }
    template <class Function>
    void execute(Function&& function) const {
        const auto own = own_;  // what it runs or destroys may be all that keeps this
        if (!own->unless_ended([&] { inner_.execute(std::forward<Function>(function)); })) own->clear();
    }

    friend bool operator==(const Keeping& a, const Keeping& b) noexcept { return a.inner_ == b.inner_; }
    friend bool operator!=(const Keeping& a, const Keeping& b) noexcept { return !(a == b); }

private:
    boost::intrusive_ptr<Own> own_;  // goes last: what is counted as work is counted in it
    Inner inner_;
};

IoThread::IoThread() : own_(new Own) {
    own_->thread = std::thread([own = own_] {
        const base::OurThread ours;
        own->id.store(std::this_thread::get_id());
        own->io.run();
        if (own->left_alone.load()) own->end();
    });
}

IoThread::IoThread(boost::asio::any_io_executor lent) : lent_(std::move(lent)) {}

IoThread::~IoThread() {
    stop();
}

boost::asio::any_io_executor IoThread::executor() {
    if (!own_) return lent_;
    using Keeps = Keeping<boost::asio::io_context::executor_type>;
    static_assert(sizeof(Keeps) == 2 * sizeof(void*));
    return Keeps(own_, own_->io.get_executor());
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
    if (!own_ || stopped_.exchange(true)) return;
    const bool here = own_->thread.get_id() == std::this_thread::get_id();
    own_->left_alone.store(here);
    own_->guard.reset();
    own_->io.stop();
    if (here) {
        own_->thread.detach();
    } else {
        own_->thread.join();
        own_->end();
    }
}

}  // namespace callgate::pipeline
