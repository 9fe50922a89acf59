// Randomness as a seam: whatever needs random bytes is given an Rng, so that tests can repeat a run.
//
// Threads: every Rng may be used from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

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

/// The same seed gives the same bytes, on every machine. Never for anything that must be unguessable.
class SeededRng final : public Rng {
public:
    explicit SeededRng(std::uint64_t seed) noexcept : state_(seed) {}
    void fill(std::span<std::byte> out) override;

private:
    std::mutex mutex_;
    std::uint64_t state_;
};

}  // namespace callgate::base
