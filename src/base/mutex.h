// Mutexes whose owners the compiler knows: clang checks, for every member marked CALLGATE_GUARDED_BY, that
// its mutex is held wherever it is touched (-Wthread-safety, in `make clang`). g++ sees ordinary mutexes.
//
//   class Counter {
//   public:
//       void add() { const base::MutexLock lock(mutex_); ++count_; }
//   private:
//       void reset_locked() CALLGATE_REQUIRES(mutex_) { count_ = 0; }
//       base::Mutex mutex_;
//       int count_ CALLGATE_GUARDED_BY(mutex_) = 0;
//   };
//
// A condition is waited for in a loop, or with a predicate that says what it needs:
//
//   changed_.wait(lock, [this]() CALLGATE_REQUIRES(mutex_) { return closed_; });
//
// Threads: as the standard's types of the same names.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <pthread.h>

#if defined(__clang__)
#define CALLGATE_THREAD_ANNOTATION(...) __attribute__((__VA_ARGS__))
#else
#define CALLGATE_THREAD_ANNOTATION(...)
#endif

#define CALLGATE_CAPABILITY(name) CALLGATE_THREAD_ANNOTATION(capability(name))
#define CALLGATE_SCOPED_CAPABILITY CALLGATE_THREAD_ANNOTATION(scoped_lockable)
/// A member that is touched only while the mutex is held.
#define CALLGATE_GUARDED_BY(...) CALLGATE_THREAD_ANNOTATION(guarded_by(__VA_ARGS__))
/// The caller holds the mutex.
#define CALLGATE_REQUIRES(...) CALLGATE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
/// The caller holds it, at least as a reader.
#define CALLGATE_REQUIRES_SHARED(...) CALLGATE_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define CALLGATE_ACQUIRE(...) CALLGATE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define CALLGATE_ACQUIRE_SHARED(...) CALLGATE_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define CALLGATE_RELEASE(...) CALLGATE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define CALLGATE_RELEASE_SHARED(...) CALLGATE_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define CALLGATE_RELEASE_GENERIC(...) CALLGATE_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))
/// What the analysis cannot follow; the reason stands beside it.
#define CALLGATE_NO_THREAD_SAFETY_ANALYSIS CALLGATE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace callgate::base {

class CALLGATE_CAPABILITY("mutex") Mutex {
public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    void lock() CALLGATE_ACQUIRE() { mutex_.lock(); }
    void unlock() CALLGATE_RELEASE() { mutex_.unlock(); }
    /// Where the analysis cannot see that it is held: from here on it believes so.
    void assert_held() const CALLGATE_THREAD_ANNOTATION(assert_capability(this)) {}

    std::mutex& native() noexcept { return mutex_; }

private:
    std::mutex mutex_;
};

/// Holds a Mutex while it lives, except between unlock() and lock().
class CALLGATE_SCOPED_CAPABILITY MutexLock {
public:
    explicit MutexLock(Mutex& mutex) CALLGATE_ACQUIRE(mutex) : lock_(mutex.native()) {}
    ~MutexLock() CALLGATE_RELEASE() = default;
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

    void lock() CALLGATE_ACQUIRE() { lock_.lock(); }
    void unlock() CALLGATE_RELEASE() { lock_.unlock(); }

    std::unique_lock<std::mutex>& native() noexcept { return lock_; }

private:
    std::unique_lock<std::mutex> lock_;
};

/// A condition variable for MutexLock. The lock is held again when a wait returns.
class CondVar {
public:
    void notify_one() noexcept { condition_.notify_one(); }
    void notify_all() noexcept { condition_.notify_all(); }

    void wait(MutexLock& lock) { condition_.wait(lock.native()); }
    template <class Predicate>
    void wait(MutexLock& lock, Predicate done) CALLGATE_NO_THREAD_SAFETY_ANALYSIS {
        condition_.wait(lock.native(), std::move(done));
    }
    template <class Clock, class Duration>
    std::cv_status wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& until) {
        return condition_.wait_until(lock.native(), until);
    }
    template <class Clock, class Duration, class Predicate>
    bool wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& until,
                    Predicate done) CALLGATE_NO_THREAD_SAFETY_ANALYSIS {
        return condition_.wait_until(lock.native(), until, std::move(done));
    }
    template <class Rep, class Period>
    std::cv_status wait_for(MutexLock& lock, const std::chrono::duration<Rep, Period>& time) {
        return condition_.wait_for(lock.native(), time);
    }
    template <class Rep, class Period, class Predicate>
    bool wait_for(MutexLock& lock, const std::chrono::duration<Rep, Period>& time,
                  Predicate done) CALLGATE_NO_THREAD_SAFETY_ANALYSIS {
        return condition_.wait_for(lock.native(), time, std::move(done));
    }

private:
    std::condition_variable condition_;
};

/// Many readers or one writer, for data that is read all the time and changed rarely. A writer that waits
/// goes before readers that come later (std::shared_mutex lets readers pass, so that steady readers can keep
/// a writer out). So nothing that runs under the read lock may take it again.
class CALLGATE_CAPABILITY("shared_mutex") SharedMutex {
public:
    SharedMutex() noexcept {
        pthread_rwlockattr_t kind;
        pthread_rwlockattr_init(&kind);
        pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        pthread_rwlock_init(&lock_, &kind);
        pthread_rwlockattr_destroy(&kind);
    }
    ~SharedMutex() { pthread_rwlock_destroy(&lock_); }
    SharedMutex(const SharedMutex&) = delete;
    SharedMutex& operator=(const SharedMutex&) = delete;

    void lock() noexcept CALLGATE_ACQUIRE() { pthread_rwlock_wrlock(&lock_); }
    void unlock() noexcept CALLGATE_RELEASE() { pthread_rwlock_unlock(&lock_); }
    void lock_shared() noexcept CALLGATE_ACQUIRE_SHARED() { pthread_rwlock_rdlock(&lock_); }
    void unlock_shared() noexcept CALLGATE_RELEASE_SHARED() { pthread_rwlock_unlock(&lock_); }

private:
    pthread_rwlock_t lock_;
};

/// One of many readers.
class CALLGATE_SCOPED_CAPABILITY ReaderLock {
public:
    explicit ReaderLock(SharedMutex& mutex) CALLGATE_ACQUIRE_SHARED(mutex) : mutex_(&mutex) {
        mutex_->lock_shared();
    }
    ~ReaderLock() CALLGATE_RELEASE_GENERIC() { mutex_->unlock_shared(); }
    ReaderLock(const ReaderLock&) = delete;
    ReaderLock& operator=(const ReaderLock&) = delete;

private:
    SharedMutex* mutex_;
};

/// The only writer.
class CALLGATE_SCOPED_CAPABILITY WriterLock {
public:
    explicit WriterLock(SharedMutex& mutex) CALLGATE_ACQUIRE(mutex) : mutex_(&mutex) { mutex_->lock(); }
    ~WriterLock() CALLGATE_RELEASE() { mutex_->unlock(); }
    WriterLock(const WriterLock&) = delete;
    WriterLock& operator=(const WriterLock&) = delete;

private:
    SharedMutex* mutex_;
};

}  // namespace callgate::base
