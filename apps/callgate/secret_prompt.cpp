#include "secret_prompt.h"

#include <cerrno>
#include <ostream>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/try.h"
#include "error_report.h"
#include "interrupt.h"
#include "os/system_error.h"
#include "quiet_terminal.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kTerminalLine = 4'095;  // the kernel drops what a person types beyond it

tl::unexpected<Error> unreadable() {
    return unusable("file_unreadable",
                    fmt::format("Standard input cannot be read: {}.", os::errno_text(errno)));
}

void drop_line_end(base::LockedBytes& value) {
    const std::string_view text = value.view();
    value.shrink(text.size() - (text.ends_with("\r\n") ? 2 : text.ends_with('\n') ? 1 : 0));
}

// Into `value` until the end of input, or for a person until the end of the line; false when called off.
Result<bool> fill(base::LockedBytes& value, bool one_line, const Interrupt* interrupt) {
    std::size_t size = 0;
    while (size < value.size()) {
        pollfd wait{STDIN_FILENO, POLLIN, 0};
        const int ready = ::poll(&wait, 1, interrupt == nullptr ? -1 : kLookMs);
        if (interrupt != nullptr && interrupt->requested()) return false;
        if (ready < 0 && errno != EINTR) return unreadable();
        if (ready <= 0) continue;
        const auto room = value.bytes().subspan(size);
        const ssize_t got = ::read(STDIN_FILENO, room.data(), room.size());
        if (got < 0 && errno != EINTR && errno != EAGAIN) return unreadable();
        if (got == 0) break;
        if (got > 0) size += static_cast<std::size_t>(got);
        if (got > 0 && one_line && room[static_cast<std::size_t>(got) - 1] == '\n') break;
    }
    value.shrink(size);
    return true;
}

Result<base::LockedBytes> ask(const std::string& prompt, const Console& console) {
    const Interrupt interrupt;
    const QuietTerminal quiet(STDIN_FILENO);
    if (!quiet.works())
        return unusable("file_unreadable",
                        "The terminal shows what is typed. Send the value through a pipe.");
    console.err << prompt << std::flush;
    base::LockedBytes value(kTerminalLine + 1);
    CALLGATE_TRY_ASSIGN(const auto filled, fill(value, true, &interrupt));
    if (!filled) {
        console.err << '\n';
        return unusable("called_off", "Called off; nothing was changed.");
    }
    drop_line_end(value);
    if (value.size() >= kTerminalLine)
        return unusable("value_too_long",
                        fmt::format("A line on a terminal holds fewer than {} bytes. Send a longer value "
                                    "through a pipe.",
                                    kTerminalLine));
    return value;
}

}  // namespace

Result<base::LockedBytes> read_secret(const std::string& prompt, std::size_t max_bytes,
                                      const Console& console) {
    base::LockedBytes value;
    if (console.person != nullptr) {
        CALLGATE_TRY_ASSIGN(value, ask(prompt, console));
    } else {
        value = base::LockedBytes(max_bytes + 3);  // a line end, and one byte to see that there is more
        CALLGATE_TRY(fill(value, false, nullptr));
        drop_line_end(value);
    }
    if (value.empty())
        return unusable("no_value", "No value was given. Send it to standard input, or type it when asked.");
    if (value.size() > max_bytes)
        return unusable("value_too_long", fmt::format("The value is longer than {} bytes.", max_bytes));
    return value;
}

}  // namespace callgate::cli
