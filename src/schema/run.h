// The state of one validation: what is left of its budget, and the memory it borrows from a Scratch.
//
// Threads: one validation on one thread.
#pragma once

#include <cstdint>
#include <vector>

#include <callgate/schema.h>

#include "json/tape.h"

namespace callgate::schema {

/// Frames of evaluation, each a few hundred bytes of stack.
constexpr std::uint32_t kDeepestEvaluation = 1'024;

struct Scratch::State {
    struct Hashed {
        std::uint64_t hash;
        const void* node;
        std::uint32_t index;
    };

    json::Tape tape;
    std::vector<std::uint64_t> marks;  ///< a stack of bit sets: which members or items were evaluated
    std::vector<std::uint32_t> scope;  ///< the dynamic scope: resources entered, outermost first
    std::vector<Hashed> hashes;        ///< a stack, for uniqueItems
};

class Run {
public:
    Run(Scratch::State& borrowed, std::uint64_t steps) : memory(borrowed), steps_left_(steps) {
        memory.marks.clear();
        memory.scope.clear();
        memory.hashes.clear();
    }

    /// False when the budget does not cover `steps` more; from then on always.
    bool spend(std::uint64_t steps) noexcept {
        if (steps > steps_left_) [[unlikely]] {
            steps_left_ = 0;
            over_ = true;
            return false;
        }
        steps_left_ -= steps;
        return true;
    }

    bool enter() noexcept {
        if (depth_ == kDeepestEvaluation) [[unlikely]] {
            too_deep_ = true;
            stop();
            return false;
        }
        ++depth_;
        return true;
    }
    void leave() noexcept { --depth_; }

    void stop() noexcept {
        steps_left_ = 0;
        over_ = true;
    }
    bool over() const noexcept { return over_; }
    /// The run is over because it went too deep, not because it took too long.
    bool too_deep() const noexcept { return too_deep_; }

    Verdict verdict(bool valid) const noexcept {
        if (over_) return Verdict::over_budget;
        return valid ? Verdict::valid : Verdict::invalid;
    }

    Scratch::State& memory;

private:
    std::uint64_t steps_left_;
    std::uint32_t depth_ = 0;
    bool over_ = false;
    bool too_deep_ = false;
};

}  // namespace callgate::schema
