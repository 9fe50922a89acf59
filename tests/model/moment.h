// What every world of calls assumes: when it is, and who is gone.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "ledger/state_machine.h"

namespace callgate::model {

inline constexpr base::WallTime kNow{std::chrono::sys_days{std::chrono::January / 2 / 2026}};
/// What the newest epoch and attempt count as; any number that leaves room below.
inline constexpr std::uint32_t kNewest = 100;
inline constexpr ledger::OwnerId kGoneOwner = 99;

}  // namespace callgate::model
