#include "person_line.h"

#include <iostream>

#include <poll.h>
#include <termios.h>
#include <unistd.h>

namespace callgate::cli {

void forget_typed_ahead(std::istream& from) {
    if (&from != &std::cin || ::isatty(STDIN_FILENO) == 0) return;
    // First what the terminal holds: the stream would count it, and wait for it.
    (void)::tcflush(STDIN_FILENO, TCIFLUSH);
    if (const auto held = from.rdbuf()->in_avail(); held > 0) from.ignore(held);
}

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
