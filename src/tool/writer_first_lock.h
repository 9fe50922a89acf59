// A lock for data that is read all the time and changed rarely: many readers or one writer, and a writer that
// waits goes before readers that come later. (std::shared_mutex lets readers pass, so that steady readers can
// keep a writer out.)
//
// Nothing that runs under the read lock may take it again.
//
// Threads: made for them. Works with std::shared_lock and std::unique_lock.
#pragma once

#include <pthread.h>

namespace callgate {

class WriterFirstLock {
public:
    WriterFirstLock() noexcept {
        pthread_rwlockattr_t kind;
        pthread_rwlockattr_init(&kind);
        pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        pthread_rwlock_init(&lock_, &kind);
        pthread_rwlockattr_destroy(&kind);
    }
    ~WriterFirstLock() { pthread_rwlock_destroy(&lock_); }
    WriterFirstLock(const WriterFirstLock&) = delete;
    WriterFirstLock& operator=(const WriterFirstLock&) = delete;

    void lock() noexcept { pthread_rwlock_wrlock(&lock_); }
    void unlock() noexcept { pthread_rwlock_unlock(&lock_); }
    void lock_shared() noexcept { pthread_rwlock_rdlock(&lock_); }
    void unlock_shared() noexcept { pthread_rwlock_unlock(&lock_); }

private:
    pthread_rwlock_t lock_;
};

}  // namespace callgate
