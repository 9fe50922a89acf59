// A call as the ledger knows it: one row per key, or per call where there is no key.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/outcome.h>
#include <callgate/result.h>
#include <callgate/tool.h>

#include "base/clock.h"
#include "base/sha256.h"

namespace callgate::ledger {

/// claimed → dispatched → succeeded | failed | unknown; reconciling while a probe asks; unknown → succeeded |
/// not_applied when it is resolved; cancelled only from claimed. Everything but the first two and reconciling
/// is an end.
enum class CallState : std::uint8_t {
    claimed,
    dispatched,
    reconciling,
    succeeded,
    failed,
    unknown,
    cancelled,
    not_applied
};
std::string_view to_string(CallState state) noexcept;
bool is_end(CallState state) noexcept;

/// Whose key. Two principals, or two tools, never share one. An empty `key` is a call without one.
struct KeyScope {
    std::string tenant;
    std::string principal;
    std::string tool;
    std::string key;

    friend auto operator<=>(const KeyScope&, const KeyScope&) = default;
    friend bool operator==(const KeyScope&, const KeyScope&) = default;
};

/// What a finished call left behind for replays. Secrets are masked already.
struct StoredOutcome {
    bool succeeded = false;
    State state = State::failed;  ///< as the first caller got it
    std::optional<Error> error;
    ToolResult result;
    std::uint32_t attempts = 0;
    std::string approval_id;
    CallId call_id{};
};

/// Which running program owns a call. A dead owner's calls may be taken over.
using OwnerId = std::uint64_t;

struct CallRow {
    KeyScope key;
    CallId call_id{};
    base::Sha256Digest fingerprint{};  ///< all zero where no digest was computed (no key, no approval)
    EffectClass effect = EffectClass::unsafe;
    CallState state = CallState::claimed;
    std::uint32_t epoch = 1;
    OwnerId owner = 0;
    std::uint32_t attempt = 0;  ///< dispatches so far
    /// An attempt before the current one may have had its effect (only where the effect class lets a call be
    /// sent again). Then no later failure proves that nothing happened, and the key must not become free.
    bool maybe_applied = false;
    base::Sha256Digest definition_hash{};
    std::uint64_t policy_rev = 0;
    std::string approval_id;
    std::string action;
    std::shared_ptr<const Value> arguments;        ///< what a probe needs
    std::shared_ptr<const StoredOutcome> outcome;  ///< of an end
    base::WallTime created_at{};
    base::WallTime lived_at{};  ///< created_at by the clock that keys live by (ledger_time.h)
    base::WallTime ended_at{};
    base::WallTime expires_at{};  ///< of an end, then a tombstone remains; unknown ones never expire
    CallId runs_as{};             ///< the call that took it over and goes on with it; zeros: nobody did
};

/// Whose id the events about it carry now.
inline const CallId& runner_of(const CallRow& row) noexcept {
    return row.runs_as == CallId() ? row.call_id : row.runs_as;
}

}  // namespace callgate::ledger
