#include "person_line.h"

#include <iostream>

#include <poll.h>
#include <unistd.h>

namespace callgate::cli {

namespace {

constexpr int kLookMs = 100;  // how soon Ctrl-C is noticed

}  // namespace

std::optional<std::string> read_line(std::istream& from, const Interrupt& interrupt) {
    // A terminal is readable once a whole line is there.
    while (&from == &std::cin && from.rdbuf()->in_avail() <= 0) {
        if (interrupt.requested()) return std::nullopt;
        pollfd wait{STDIN_FILENO, POLLIN, 0};
        if (::poll(&wait, 1, kLookMs) > 0) break;
    }
    if (interrupt.requested()) return std::nullopt;
    std::string line;
    if (!std::getline(from, line)) return std::nullopt;
    return line;
}

}  // namespace callgate::cli
