// Memory for schema checks, lent out: a rule's schema is checked without heap use once the pool is warm.
//
// Threads: may be used from any thread.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <callgate/schema.h>

#include "base/mutex.h"

namespace callgate::policy {

class ScratchPool {
public:
    schema::Verdict check(const schema::Schema& schema, const Value& instance) {
        schema::Scratch scratch = take();
        const schema::Verdict verdict = schema.check(instance, scratch);
        give(std::move(scratch));
        return verdict;
    }

private:
    static constexpr std::size_t kKept = 8;

    schema::Scratch take() {
        {
            const base::MutexLock lock(mutex_);
            if (!idle_.empty()) {
                schema::Scratch scratch = std::move(idle_.back());
                idle_.pop_back();
                return scratch;
            }
        }
        return {};
    }

    void give(schema::Scratch scratch) {
        const base::MutexLock lock(mutex_);
        if (idle_.size() < kKept) idle_.push_back(std::move(scratch));
    }

    base::Mutex mutex_;
    std::vector<schema::Scratch> idle_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::policy
