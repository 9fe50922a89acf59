// What the parts of this test share: how a hostile child is started, heard, and seen to end.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <poll.h>
#include <unistd.h>

#include "os/child.h"

namespace callgate::children {

constexpr int kPatience = 30'000;  // milliseconds; never reached unless something is wrong

inline std::string beside_this_program(const std::string& name) {
    std::string path(4096, '\0');
    const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
    path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return path.substr(0, path.rfind('/') + 1) + name;
}

inline os::ChildSpec hostile(const std::string& marker, const std::string& kind) {
    using namespace std::chrono_literals;
    static const std::string program = beside_this_program("hostile_child");
    static const os::Environment environment = os::child_environment(os::own_environment());
    os::ChildSpec spec({program, marker, kind});
    spec.environment = environment;
    spec.close_grace = 50ms;
    spec.term_grace = 50ms;
    return spec;
}

/// A line of its output, or as much of it as comes where that has no lines.
inline bool hear(os::Child& child, std::string& line) {
    for (;;) {
        pollfd wait{child.output.get(), POLLIN, 0};
        if (::poll(&wait, 1, kPatience) != 1) return false;
        char block[4096];
        const ssize_t got = ::read(child.output.get(), block, sizeof block);
        if (got <= 0) return false;
        line.append(block, static_cast<std::size_t>(got));
        if (line.ends_with('\n')) {
            line.pop_back();
            return true;
        }
        if (line.size() >= 4096) return true;
    }
}

/// How it ended; nothing if that is not seen.
inline std::optional<os::ChildState> gone(os::Child& child) {
    for (;;) {
        os::ChildState state = child.state();
        if (state.stage == os::ChildStage::gone) return state;
        pollfd wait{child.changed().get(), POLLIN, 0};
        if (::poll(&wait, 1, kPatience) != 1) return std::nullopt;
    }
}

}  // namespace callgate::children
