// A terminal that does not show what is typed, for as long as this lives.
//
// Ctrl-Z does nothing meanwhile: a shell that continues the program would bring the echo back, and what is
// typed next would be seen.
//
// Threads: one at a time in a process.
#pragma once

#include <csignal>

#include <termios.h>

namespace callgate::cli {

class QuietTerminal {
public:
    explicit QuietTerminal(int terminal);
    ~QuietTerminal();
    QuietTerminal(const QuietTerminal&) = delete;
    QuietTerminal& operator=(const QuietTerminal&) = delete;

    /// False: it shows what is typed, so nothing may be asked.
    bool works() const noexcept { return changed_; }

private:
    int terminal_;
    termios before_{};
    struct sigaction stop_before_{};
    bool changed_ = false;
};

}  // namespace callgate::cli
