// Which promises are judged. One that is not kept yet is not looked at, and what would break it is not done.
#pragma once

namespace callgate::hosts {

inline constexpr bool kNeverBegan = true;      ///< what never began has not happened
inline constexpr bool kForeignApart = true;    ///< no foreign code on our threads; a `done` may throw
inline constexpr bool kLateNoFrees = true;     ///< a late word that nothing happened frees the key
inline constexpr bool kStaleApprovals = true;  ///< a stale approval never blocks; rules are known by content
inline constexpr bool kBlockingForms =
    false;  ///< slots cancel; a body's calls are nested whichever way they are made
inline constexpr bool kDigest =
    false;  ///< an approval is bound to configuration and connector; NaN is refused
inline constexpr bool kWords =
    false;  ///< hooks once, batch keys, no limit, one local principal, what is thrown

}  // namespace callgate::hosts
