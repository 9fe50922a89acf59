// What a client of the stateless era carries from one request to the next (`requestState`): which call waits
// for its answers, and what was asked for. Sealed with a key of this process: it cannot be read, changed,
// used for something else, or used after its time or in another round.
//
// Threads: immutable; may be used from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <callgate/error.h>

#include "base/seal.h"

namespace callgate::mcp {

struct RequestState {
    std::string call_id;
    std::string digest;  ///< over who asked for what
    std::uint32_t round = 0;
};

class RequestStates {
public:
    explicit RequestStates(std::chrono::milliseconds good_for)
        : key_(base::SealKey::random()), good_for_(good_for) {}

    std::string seal(const RequestState& state) const;
    /// invalid_arguments {reason: bad_state | state_expired}.
    Result<RequestState> open(std::string_view text) const;

private:
    const base::SealKey key_;
    const std::chrono::milliseconds good_for_;
};

}  // namespace callgate::mcp
