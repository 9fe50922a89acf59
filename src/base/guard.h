// Guards: the rules that carry the promises, each with a name, so that a test can switch one off and must
// then fail.
//
// Compiled in only where CALLGATE_FAILPOINTS is defined; otherwise CALLGATE_GUARD(name) is the constant true
// and no product can run without its guards.
//
// Threads: switch guards only while nothing runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace callgate::base {

// clang-format off
#define CALLGATE_GUARDS(guard)                                                                          \
    guard(insert_first_claim)       /* one conditional step decides who runs a key */                   \
    guard(approval_compare_and_set) /* an approval is consumed only from `approved`, as it claims */    \
    guard(epoch_fence)              /* a stale owner can neither dispatch nor settle */                 \
    guard(record_before_effect)     /* no effect without a record of the attempt */                     \
    guard(one_terminal)             /* a call ends once */                                              \
    guard(never_resend_unsafe)      /* a take-over sends no call again that may not be sent twice */    \
    guard(enter_or_never)           /* what is given up before its tool was entered never is */         \
    guard(late_no_frees_key)        /* a late word that nothing happened frees the key */               \
    guard(schema_check)             /* arguments that the schema refuses reach no body */               \
    guard(a0_previews)              /* at A0 nothing is executed */                                     \
    guard(limit_concurrent)         /* at most so many calls of a tool at once */                       \
    guard(limit_rate)               /* at most so many calls in a window */                             \
    guard(one_at_a_resource)        /* calls on the same resource take turns */                         \
    guard(parent_deadline)          /* a nested call ends by its parent's deadline */                   \
    guard(nesting_limit)            /* calls inside calls inside calls have an end */                   \
    guard(scopes_checked)           /* a tool runs only with the scopes it asks for */                  \
    guard(key_is_the_request)       /* a key is good for one request alone */                           \
    guard(callbacks_elsewhere)      /* foreign code never runs on threads that others depend on */      \
    guard(callbacks_in_order)       /* what a host is notified of comes in order, for each call */      \
    guard(callback_faults_counted)  /* what a callback throws is counted, and goes no further */        \
    guard(queued_is_no_fault)       /* what never began is not held against its tool */                 \
    guard(queue_bounded)            /* what waits for a thread is bounded */                            \
    guard(stale_not_joined)         /* an approval that would not be honoured is not joined */          \
    guard(rule_by_content)          /* a rule without a name is known by its content */                 \
    guard(slot_cancels)             /* a call that is awaited is called off by its slot */              \
    guard(nested_whichever_way)     /* a call that a body makes is nested, whichever way it is made */  \
    guard(digest_connector)         /* an approval is bound to the connector */                         \
    guard(digest_config_ref)        /* an approval is bound to the configuration */                     \
    guard(finite_results)           /* NaN is no success */                                             \
    guard(hooks_once)               /* what was approved runs as it was approved */                     \
    guard(batch_suffix)             /* a batch of one has the key of a batch */                         \
    guard(suffix_reserved)          /* no caller uses the keys of a batch */                            \
    guard(longest_is_no_limit)      /* the longest time limit is none */                                \
    guard(one_local_principal)      /* an empty principal is one principal */                           \
    guard(mute_exceptions)          /* an exception may have nothing to say */                          \
    guard(thrown_errors_kept)       /* an Error that is thrown keeps its code */                        \
    guard(finite_arguments)         /* no body is given NaN */                                          \
    guard(approvals_capped)         /* a principal has a share of the open approvals */                 \
    guard(places_are_waited_for)    /* where a limit queues, a call waits for its place */              \
    guard(defaults_filled_in)       /* a native tool sees the defaults of its schema */
// clang-format on

enum class Guard : std::uint8_t {
#define CALLGATE_GUARD_NAME(name) name,
    CALLGATE_GUARDS(CALLGATE_GUARD_NAME)
#undef CALLGATE_GUARD_NAME
};

inline constexpr std::string_view kGuardNames[] = {
#define CALLGATE_GUARD_NAME(name) #name,
    CALLGATE_GUARDS(CALLGATE_GUARD_NAME)
#undef CALLGATE_GUARD_NAME
};
inline constexpr std::size_t kGuardCount = std::size(kGuardNames);
static_assert(kGuardCount <= 64);

}  // namespace callgate::base

#ifdef CALLGATE_FAILPOINTS

#include <atomic>

namespace callgate::base {

inline std::atomic<std::uint64_t>& guards_off() {
    static std::atomic<std::uint64_t> off{0};
    return off;
}

}  // namespace callgate::base

#define CALLGATE_GUARD(name)                                           \
    ((::callgate::base::guards_off().load(std::memory_order_relaxed) & \
      (std::uint64_t{1} << static_cast<unsigned>(::callgate::base::Guard::name))) == 0)

#else

#define CALLGATE_GUARD(name) (static_cast<void>(::callgate::base::Guard::name), true)

#endif
