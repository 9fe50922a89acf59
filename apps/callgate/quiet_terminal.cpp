#include "quiet_terminal.h"

namespace callgate::cli {

QuietTerminal::QuietTerminal(int terminal) : terminal_(terminal) {
    struct sigaction ignored{};
    ignored.sa_handler = SIG_IGN;
    ::sigaction(SIGTSTP, &ignored, &stop_before_);
    if (::tcgetattr(terminal_, &before_) != 0) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    // What was typed before a Ctrl-Z is not lost with it.
    quiet.c_lflag |= ECHONL | NOFLSH;
    changed_ = ::tcsetattr(terminal_, TCSAFLUSH, &quiet) == 0;
}

QuietTerminal::~QuietTerminal() {
    if (changed_) ::tcsetattr(terminal_, TCSAFLUSH, &before_);
    ::sigaction(SIGTSTP, &stop_before_, nullptr);
}

}  // namespace callgate::cli
