// What callgate-launch and who starts it say to each other (docs/formats/launch.md).
//
//     callgate-launch 1 OWNER CLOSE_MS TERM_MS -- COMMAND ARGUMENTS…
//
// Descriptors 0, 1 and 2 are the command's; 3 is one end of a pair of sockets that keep messages apart. Over
// it the launcher sends a LaunchReport at a time; its end is the launcher's. The end of the other side means:
// end it. Nothing is ever sent from there, since a socket that is closed unread loses what was sent the other
// way.
//
// Threads: constants and a plain value.
#pragma once

#include <cstdint>

namespace callgate::os {

inline constexpr char kLaunchVersion[] = "1";
inline constexpr int kLaunchChannel = 3;

enum class LaunchEvent : std::int32_t {
    started = 1,  ///< `value` is its pid
    refused,      ///< the system did not start it: `value` is the errno
    exited,       ///< with the code `value`, or by the signal `signal`
};

struct LaunchReport {
    LaunchEvent event = LaunchEvent::started;
    std::int32_t value = 0;
    std::int32_t signal = 0;
};

}  // namespace callgate::os
