#include "os/restart_delay.h"

#include <algorithm>

namespace callgate::os {
namespace {

constexpr std::uint32_t kMostDoublings = 30;

}  // namespace

std::chrono::milliseconds restart_delay(const RestartLimits& limits, std::uint32_t failures,
                                        std::uint64_t drawn) noexcept {
    if (failures == 0 || limits.first.count() <= 0) return std::chrono::milliseconds(0);
    std::chrono::milliseconds delay = std::min(limits.first, limits.longest);
    for (std::uint32_t i = 1; i < std::min(failures, kMostDoublings) && delay < limits.longest; ++i)
        delay = delay > limits.longest / 2 ? limits.longest : delay * 2;
    const auto drawn_of = static_cast<std::uint64_t>(delay.count() / 4 + 1);
    return delay - std::chrono::milliseconds(drawn % drawn_of);
}

RestartDelay::RestartDelay(const base::Clock& clock, base::Rng& rng, RestartLimits limits)
    : clock_(clock),
      rng_(rng),
      limits_(limits),
      started_(clock.monotonic_now()),
      not_before_(clock.monotonic_now()) {}

void RestartDelay::started() {
    started_ = clock_.monotonic_now();
}

base::MonotonicTime RestartDelay::ended() {
    const base::MonotonicTime now = clock_.monotonic_now();
    failures_ = now - started_ >= limits_.well ? 0 : std::min(failures_, ~std::uint32_t{1}) + 1;
    not_before_ = base::later(now, restart_delay(limits_, failures_, rng_.next_u64()));
    return not_before_;
}

}  // namespace callgate::os
