// Time as a ledger that outlives its process can rely on it.
//
// Somebody may set the machine's clock, forwards or back, while we run or while we do not. What a key or a
// tombstone lives by must not follow: lived() is the time that the ledger has lived through. It passes with
// the machine's uptime, across stops, too, as long as the machine was not started again; after such a start
// the wall clock is believed for kLongestCredit and no further. What a person's agreement lives by is
// latest(): lived time or the wall clock, whichever comes first; it never goes back, so that an approval may
// end early and never lives longer.
//
// Threads: may be used from any thread; a ClockWatch belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace callgate::ledger {

/// What the clocks had come to when a run of the ledger was last heard of.
struct ClocksReached {
    base::WallTime lived{};
    base::WallTime latest{};
    base::WallTime wall{};
    base::Uptime uptime{};
    base::WallTime machine_began{};  ///< lived(), when the ledger was first opened since the machine began

    /// All except `lived` and `latest`, as the ledger's file keeps it.
    std::string text() const;
    /// False: it says nothing that can be read, and nothing is changed.
    bool read(std::string_view text);
};

/// Somebody has set the machine's clock, or it was off for longer than the ledger can know.
struct ClockJump {
    std::chrono::microseconds by{0};
    bool machine_restarted = false;

    std::string sentence() const;
};

class LedgerTime {
public:
    /// What is believed of the wall clock where the machine was started again between two runs.
    static constexpr std::chrono::hours kLongestCredit{1};

    /// `last`: of the run before, if there was one. `clock` must outlive this.
    explicit LedgerTime(const base::Clock& clock, const std::optional<ClocksReached>& last = std::nullopt);

    base::WallTime wall() const noexcept { return clock_->wall_now(); }
    std::chrono::microseconds since_start() const noexcept {
        return std::chrono::duration_cast<std::chrono::microseconds>(clock_->monotonic_now() - began_);
    }
    base::WallTime lived() const noexcept { return base_ + (clock_->uptime().time - up_.time); }
    base::WallTime latest() const noexcept {
        const base::WallTime now = lived();
        const std::int64_t ahead = (wall() - now).count();
        std::int64_t most = ahead_.load(std::memory_order_relaxed);
        while (ahead > most && !ahead_.compare_exchange_weak(most, ahead, std::memory_order_relaxed)) {
        }
        return now + std::chrono::microseconds(std::max(ahead, most));
    }

    /// Whether something that began at `lived_at` (at `wall_at`, by the wall clock) is `age` old. What was
    /// begun before the machine was last started is, too, if the wall clock as it is now says so: nobody
    /// knows how long the machine was off, and who says "not yet" may send something twice.
    bool may_be_older(base::WallTime lived_at, base::WallTime wall_at,
                      std::chrono::seconds age) const noexcept {
        if (lived_at + age <= lived()) return true;
        return lived_at < machine_began_ && wall_at + age <= wall();
    }

    /// What a start has found.
    const std::optional<ClockJump>& jump_at_start() const noexcept { return jump_; }
    ClocksReached reached() const;

private:
    const base::Clock* clock_;
    base::MonotonicTime began_;
    base::Uptime up_;
    base::WallTime base_;
    base::WallTime machine_began_;
    std::optional<ClockJump> jump_;
    mutable std::atomic<std::int64_t> ahead_{0};  // how far latest() is before lived(), in microseconds
};

/// Finds jumps of the wall clock while the ledger runs, each of them once.
class ClockWatch {
public:
    /// It must outlive this.
    explicit ClockWatch(const LedgerTime& time) noexcept : time_(&time) {
        (void)look();
        accept();
    }

    /// Since the last accept(). A clock that is only slowed or hurried a little does not jump.
    std::optional<ClockJump> look() noexcept;
    /// What look() has told is on the record.
    void accept() noexcept {
        lived_ = seen_lived_;
        ahead_ = seen_ahead_;
    }

private:
    const LedgerTime* time_;
    base::WallTime lived_{}, seen_lived_{};
    std::chrono::microseconds ahead_{0}, seen_ahead_{0};  // of the wall clock before lived time
};

}  // namespace callgate::ledger
