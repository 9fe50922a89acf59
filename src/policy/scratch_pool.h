// Memory for schema checks, lent out: a rule's schema is checked without heap use once the pool is warm.
//
// Threads: may be used from any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include <callgate/schema.h>

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
            const std::scoped_lock lock(mutex_);
            if (!idle_.empty()) {
                schema::Scratch scratch = std::move(idle_.back());
                idle_.pop_back();
                return scratch;
            }
        }
        return {};
    }

    void give(schema::Scratch scratch) {
        const std::scoped_lock lock(mutex_);
        if (idle_.size() < kKept) idle_.push_back(std::move(scratch));
    }

    std::mutex mutex_;
    std::vector<schema::Scratch> idle_;
};

}  // namespace callgate::policy
