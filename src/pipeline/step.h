// What a stage returns, and where it goes on.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace callgate::pipeline {

class Call;

/// Go to the next stage, wait for go_on(), wait for the ledger's reply (and for nothing else), or the call is
/// over (settle is next).
enum class Step : std::uint8_t { next, pending, awaits_reply, end };

/// The phases of one stage: an enum of its own whose first member is where the stage begins, and whose `done`
/// is where it has nothing left to wait for.
template <class Phase>
concept StagePhases = std::is_enum_v<Phase> && std::same_as<std::underlying_type_t<Phase>, std::uint8_t> &&
                      requires { Phase::done; };

/// Where a stage that waits goes on. The call keeps one for all stages, and resets it before each.
class StagePhase {
public:
    template <StagePhases Phase>
    Phase as() const noexcept {
        return static_cast<Phase>(value_);
    }
    template <StagePhases Phase>
    StagePhase& operator=(Phase phase) noexcept {
        value_ = static_cast<std::uint8_t>(phase);
        return *this;
    }
    void reset() noexcept { value_ = 0; }

private:
    std::uint8_t value_ = 0;
};

/// Which reply of the ledger a call waits for; it may have to go on without it (leave.h).
enum class Awaited : std::uint8_t {
    look,        ///< nothing is changed by it
    other_call,  ///< whether there is another call with the key to wait for
    claim,
    dispatch,
    give_back,  ///< an attempt has ended, and another is to follow
    conclude,
    approval,
    end  ///< how the call ended goes on the record
};

}  // namespace callgate::pipeline
