// When a child that has ended may be started again.
//
// At once after one that lived well; then after a time that doubles with each that soon ended, to a limit, so
// that a command that cannot work costs next to nothing and one that works again is back within the limit.
// Delays differ by a part that is drawn, so that many that ended together do not start together.
//
// Threads: RestartDelay belongs to one thread; restart_delay() is a pure function.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "base/rng.h"

namespace callgate::os {

struct RestartLimits {
    std::chrono::milliseconds first{500};  ///< after the first that soon ended
    std::chrono::milliseconds longest{30'000};
    std::chrono::milliseconds well{60'000};  ///< who lived as long is forgiven all before

    RestartLimits() = default;
};

/// After so many in a row that soon ended: 0 for none, else between three quarters and all of
/// first × 2^(failures − 1), at most `longest`. `drawn` decides where between.
std::chrono::milliseconds restart_delay(const RestartLimits& limits, std::uint32_t failures,
                                        std::uint64_t drawn) noexcept;

class RestartDelay {
public:
    /// Both must outlive this.
    RestartDelay(const base::Clock& clock, base::Rng& rng, RestartLimits limits = {});

    /// It is being started.
    void started();
    /// It could not be started, or has ended without being asked to; when it may be started again.
    base::MonotonicTime ended();
    /// Not before; the past where there is nothing to wait for.
    base::MonotonicTime not_before() const noexcept { return not_before_; }
    std::uint32_t failures() const noexcept { return failures_; }

private:
    const base::Clock& clock_;
    base::Rng& rng_;
    const RestartLimits limits_;
    std::uint32_t failures_ = 0;
    base::MonotonicTime started_;
    base::MonotonicTime not_before_;
};

}  // namespace callgate::os
