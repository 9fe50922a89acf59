#include "ledger/ledger_time.h"

#include <charconv>

#include <fmt/format.h>

namespace callgate::ledger {

namespace {

using std::chrono::microseconds;

constexpr std::chrono::seconds kNoJump{2};
constexpr int kSlew = 1'000;  // a clock that is being corrected gains or loses no more than one part in this

bool is_jump(microseconds by, microseconds meanwhile) noexcept {
    return std::chrono::abs(by) > kNoJump + std::chrono::abs(meanwhile) / kSlew;
}

template <class Number>
bool take(std::string_view& text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
    return true;
}

std::string span_of(microseconds by) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::abs(by)).count();
    if (seconds < 120) return fmt::format("{} s", seconds);
    if (seconds < 2 * 3600) return fmt::format("{} min", seconds / 60);
    if (seconds < 2 * 86'400) return fmt::format("{} h", seconds / 3600);
    return fmt::format("{} days", seconds / 86'400);
}

}  // namespace

std::string ClocksReached::text() const {
    return fmt::format("{} {} {} {}", wall.time_since_epoch().count(), uptime.time.count(), uptime.boot,
                       machine_began.time_since_epoch().count());
}

bool ClocksReached::read(std::string_view text) {
    std::int64_t at = 0, up = 0, began = 0;
    std::uint64_t boot = 0;
    if (!take(text, at) || !take(text, up) || !take(text, boot) || !take(text, began) || !text.empty())
        return false;
    wall = base::WallTime(microseconds(at));
    uptime = {boot, microseconds(up)};
    machine_began = base::WallTime(microseconds(began));
    return true;
}

std::string ClockJump::sentence() const {
    if (by < microseconds(0)) return fmt::format("The wall clock was set back by {}.", span_of(by));
    if (!machine_restarted) return fmt::format("The wall clock was set ahead by {}.", span_of(by));
    return fmt::format(
        "The machine was started again, and its clock is {} later than it was: it was off, or its clock was "
        "set. Keys are kept by the time that the ledger has lived through.",
        span_of(by));
}

LedgerTime::LedgerTime(const base::Clock& clock, const std::optional<ClocksReached>& last)
    : clock_(&clock),
      began_(clock.monotonic_now()),
      up_(clock.uptime()),
      base_(clock.wall_now()),
      machine_began_(base_) {
    if (!last) return;
    const base::WallTime wall = base_;
    const microseconds by_wall = wall - last->wall;
    if (last->uptime.boot == up_.boot && up_.time >= last->uptime.time) {
        const microseconds passed = up_.time - last->uptime.time;
        base_ = last->lived + passed;
        machine_began_ = last->machine_began;
        if (is_jump(by_wall - passed, passed)) jump_ = ClockJump{by_wall - passed, false};
    } else {
        base_ = last->lived + std::clamp<microseconds>(by_wall, microseconds(0), kLongestCredit);
        machine_began_ = base_;
        if (by_wall > kLongestCredit || by_wall < -kNoJump) jump_ = ClockJump{by_wall, true};
    }
    ahead_ = std::max<std::int64_t>((last->latest - base_).count(), 0);
}

ClocksReached LedgerTime::reached() const {
    ClocksReached now;
    now.lived = lived();
    now.latest = latest();
    now.wall = wall();
    now.uptime = clock_->uptime();
    now.machine_began = machine_began_;
    return now;
}

std::optional<ClockJump> ClockWatch::look() noexcept {
    seen_lived_ = time_->lived();
    seen_ahead_ = time_->wall() - seen_lived_;
    const microseconds by = seen_ahead_ - ahead_;
    if (!is_jump(by, seen_lived_ - lived_)) return std::nullopt;
    return ClockJump{by, false};
}

}  // namespace callgate::ledger
