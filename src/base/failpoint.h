// Failpoints: named places where a test makes the program die or a seam fail.
//
// Compiled in only where CALLGATE_FAILPOINTS is defined; otherwise each form is a constant that the compiler
// removes. Names are string literals, unique, `folder.what`, so that grep finds the place.
//
//     CALLGATE_FAILPOINT("ledger.before_commit");          a place to die: acts on `kill`
//     CALLGATE_FAILPOINT_RETURN("ledger.claim");            in a function that returns Result<T>: dies, or
//                                                           returns the injected error
//     if (auto action = CALLGATE_FAILPOINT_ACTION("os.write")) { ... }
//                                                           the seam itself acts out what it gets
//
// Armed by a test through failpoints(), or before main's work by the environment variable CALLGATE_FAILPOINT,
// e.g. "ledger.before_commit=kill@3,os.write=enospc": the third commit dies, the first write finds the disk
// full.
//
// Threads: everything may be used from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/error.h>

#include "base/mutex.h"

namespace callgate::base {

enum class FailAction : std::uint8_t {
    kill,         ///< SIGKILL to this process; never seen by the place itself
    error,        ///< the seam fails
    enospc,       ///< the seam fails because the disk is full
    short_write,  ///< the seam does a part of its work
};

std::string_view to_string(FailAction action) noexcept;

class FailpointRegistry {
public:
    /// At the `on_hit`-th hit of `name` from now (1 is the next) the action fires, once, or at every hit from
    /// then on.
    void arm(std::string_view name, FailAction action, std::uint64_t on_hit = 1, bool repeat = false);
    void disarm(std::string_view name);
    void clear();

    /// "name=action", "name=action@N" (N-th hit), "name=action@N+" (N-th and later), comma-separated. On a
    /// config_error nothing is armed.
    Result<void> arm_from_text(std::string_view text);
    /// arm_from_text with the value of the environment variable, if it is set.
    Result<void> arm_from_environment(const char* variable = "CALLGATE_FAILPOINT");

    /// How often each place was passed since the start or clear(): what a kill test iterates over.
    std::map<std::string, std::uint64_t, std::less<>> hits() const;

    /// Called by the macros. Counts the hit and says what to do; kills the process for FailAction::kill.
    std::optional<FailAction> hit(std::string_view name);

    /// The plain statement form: an armed action other than `kill` is a mistake in the test and aborts.
    void pass(std::string_view name);

private:
    struct Armed {
        FailAction action;
        std::uint64_t on_hit;  // counted from the start, like hits_
        bool repeat;
    };

    mutable Mutex mutex_;
    std::map<std::string, Armed, std::less<>> armed_ CALLGATE_GUARDED_BY(mutex_);
    std::map<std::string, std::uint64_t, std::less<>> hits_ CALLGATE_GUARDED_BY(mutex_);
};

/// What a seam returns when it has to fail: ledger_unavailable for `enospc`, internal otherwise; details
/// {reason: "failpoint", failpoint, action}.
Error injected_error(std::string_view name, FailAction action);

/// A registry armed from the environment, never destroyed (places may be passed while the process ends).
/// Unusable text in the environment ends the process with code 2.
FailpointRegistry& make_process_failpoints();

}  // namespace callgate::base

#ifdef CALLGATE_FAILPOINTS

namespace callgate::base {

inline FailpointRegistry& failpoints() {
    static FailpointRegistry& registry = make_process_failpoints();
    return registry;
}

}  // namespace callgate::base

#define CALLGATE_FAILPOINT(name) ::callgate::base::failpoints().pass("" name)
#define CALLGATE_FAILPOINT_ACTION(name) ::callgate::base::failpoints().hit("" name)
#define CALLGATE_FAILPOINT_RETURN(name)                                                                  \
    do {                                                                                                 \
        if (const auto callgate_failpoint_action = ::callgate::base::failpoints().hit("" name)) {        \
            return ::tl::unexpected(::callgate::base::injected_error(name, *callgate_failpoint_action)); \
        }                                                                                                \
    } while (false)

#else

#define CALLGATE_FAILPOINT(name) static_cast<void>("" name)
#define CALLGATE_FAILPOINT_ACTION(name) \
    (static_cast<void>("" name), ::std::optional<::callgate::base::FailAction>())
#define CALLGATE_FAILPOINT_RETURN(name) static_cast<void>("" name)

#endif
