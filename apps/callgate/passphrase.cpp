#include "passphrase.h"

#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "error_report.h"
#include "interrupt.h"
#include "os/fd.h"
#include "quiet_terminal.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kLongest = 1'023;

}  // namespace

Result<base::LockedBytes> ask_passphrase(std::string_view prompt) {
    const os::Fd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (terminal.get() < 0) {
        return unusable("no_terminal",
                        "The passphrase is typed at a terminal, and this program has none. Run it at one.");
    }
    const Interrupt interrupt;
    const QuietTerminal quiet(terminal.get());
    if (!quiet.works()) return unusable("no_terminal", "The terminal would show what is typed.");
    if (::write(terminal.get(), prompt.data(), prompt.size()) < 0)
        return unusable("no_terminal", "The terminal cannot be written to.");
    base::LockedBytes typed(kLongest + 2);
    std::size_t size = 0;
    while (size < typed.size()) {
        pollfd wait{terminal.get(), POLLIN, 0};
        const int ready = ::poll(&wait, 1, kLookMs);
        if (interrupt.requested()) return unusable("called_off", "Called off; nothing was changed.");
        if (ready <= 0) continue;
        const auto room = typed.bytes().subspan(size);
        const ssize_t got = ::read(terminal.get(), room.data(), room.size());
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) break;
        size += static_cast<std::size_t>(got);
        if (typed.view()[size - 1] == '\n') break;
    }
    typed.shrink(size);
    while (!typed.empty() && (typed.view().back() == '\n' || typed.view().back() == '\r'))
        typed.shrink(typed.size() - 1);
    if (typed.empty()) return unusable("no_value", "No passphrase was typed; nothing was changed.");
    if (typed.size() > kLongest) return unusable("value_too_long", "The passphrase is too long.");
    return typed;
}

}  // namespace callgate::cli
