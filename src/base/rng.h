// Randomness as a seam: whatever needs random bytes is given an Rng, so that tests can repeat a run.
//
// Threads: every Rng may be used from any thread, except DrawnAhead, which belongs to one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/mutex.h"

namespace callgate::base {

class Rng {
public:
    virtual ~Rng() = default;
    virtual void fill(std::span<std::byte> out) = 0;

    std::uint64_t next_u64();
    /// Uniform in [0, bound), without modulo bias; 0 when bound is 0.
    std::uint64_t below(std::uint64_t bound);
};

/// The kernel's generator, fit for keys. Throws std::system_error where the kernel has none.
class SystemRng final : public Rng {
public:
    void fill(std::span<std::byte> out) override;
};

/// Draws several small numbers of bytes at once: asking the kernel costs more than what they are for. For the
/// length of one piece of work; neither kept nor taken along into a child.
class DrawnAhead final : public Rng {
public:
    explicit DrawnAhead(Rng& from) noexcept : from_(from) {}
    void fill(std::span<std::byte> out) override;

private:
    Rng& from_;
    std::array<std::byte, 48> bytes_;
    std::size_t left_ = 0;
};

/// The same seed gives the same bytes, on every machine. Never for anything that must be unguessable.
class SeededRng final : public Rng {
public:
    explicit SeededRng(std::uint64_t seed) noexcept : state_(seed) {}
    void fill(std::span<std::byte> out) override;

private:
    Mutex mutex_;
    std::uint64_t state_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::base
