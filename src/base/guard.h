// Guards: the rules that carry the promises, each with a name, so that a test can switch one off and must
// then fail.
//
// Compiled in only where CALLGATE_FAILPOINTS is defined; otherwise CALLGATE_GUARD(name) is the constant true
// and no product can run without its guards.
//
// Threads: switch guards only while nothing runs.
#pragma once

#include <cstdint>

namespace callgate::base {

enum class Guard : std::uint8_t {
    insert_first_claim,        ///< one conditional step decides who runs a key
    approval_compare_and_set,  ///< an approval is consumed only from `approved`, in the step that claims
    epoch_fence,               ///< a stale owner can neither dispatch nor settle
    record_before_effect,      ///< no effect without a record of the attempt
    one_terminal,              ///< a call ends once
    never_resend_unsafe,       ///< a take-over sends no call again that may not be sent twice
    enter_or_never,    ///< what is given up before its tool was entered never is, and has not happened
    late_no_frees_key  ///< a late word that nothing happened frees the key, as a timely one does
};
inline constexpr int kGuardCount = 8;

}  // namespace callgate::base

#ifdef CALLGATE_FAILPOINTS

#include <atomic>

namespace callgate::base {

inline std::atomic<std::uint32_t>& guards_off() {
    static std::atomic<std::uint32_t> off{0};
    return off;
}

}  // namespace callgate::base

#define CALLGATE_GUARD(name)                                           \
    ((::callgate::base::guards_off().load(std::memory_order_relaxed) & \
      (1u << static_cast<unsigned>(::callgate::base::Guard::name))) == 0)

#else

#define CALLGATE_GUARD(name) (static_cast<void>(::callgate::base::Guard::name), true)

#endif
