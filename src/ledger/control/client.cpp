#include "ledger/control/client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/try.h"
#include "os/system_error.h"
#include "os/unix_socket.h"

namespace callgate::ledger {
namespace {

tl::unexpected<Error> unreachable(std::string message, std::string_view reason,
                                  const std::string& directory) {
    return fail(ErrorCode::ledger_unavailable, std::move(message),
                {{"reason", reason}, {"directory", directory}});
}

tl::unexpected<Error> lost() {
    return fail(ErrorCode::transport,
                "The process that owns the ledger closed the connection before it answered.",
                {{"reason", "connection_lost"}});
}

// A Unix socket that is closed with something unread resets the other end: the request was not all read.
tl::unexpected<Error> not_taken() {
    return fail(ErrorCode::transport,
                "The process that owns the ledger went away before it took the request.",
                {{"reason", kNotTaken}});
}

tl::unexpected<Error> called_off() {
    return fail(ErrorCode::cancelled, "Called off before it was done.", {{"reason", "called_off"}});
}

// Whoever waits is asked this often whether they still do.
constexpr std::chrono::milliseconds kTick{200};

std::uint64_t count_in(const Value* value) {
    if (value == nullptr) return 0;
    if (value->is_uint64()) return value->get_uint64();
    return value->is_int64() && value->get_int64() > 0 ? static_cast<std::uint64_t>(value->get_int64()) : 0;
}

}  // namespace

Result<ControlClient> ControlClient::connect(const std::string& directory) {
    auto fd = os::connect_unix(directory + '/' + kControlSocket);
    if (!fd) {
        const int number = os::error_number(fd.error());
        if (number == ENOENT || number == ECONNREFUSED || number == EAGAIN)
            return unreachable(
                fmt::format("Nobody serves the control socket of the ledger in {}.", directory),
                "nobody_serves", directory);
        if (number == EACCES || number == EPERM)
            return unreachable(
                fmt::format("The ledger in {} belongs to another user. Ask as that user, or as root.",
                            directory),
                "not_allowed", directory);
        return unreachable(fd.error().message, "control_socket", directory);
    }
    const auto peer = os::peer_of(*fd);
    struct ::stat there = {};
    const bool known = peer && (peer->uid == 0 || peer->uid == ::geteuid() ||
                                (::stat(directory.c_str(), &there) == 0 && peer->uid == there.st_uid));
    if (!known)
        return unreachable(
            fmt::format("The control socket in {} is served by a user whose ledger it is not.", directory),
            "foreign_owner", directory);
    return ControlClient(std::move(*fd), peer->pid);
}

Result<Value> ControlClient::ask(Object request, const Meanwhile& meanwhile,
                                 std::chrono::milliseconds patience) {
    if (!fd_) return lost();
    request["v"] = kControlVersion;
    // A peer that was refused finds the reason waiting, and may find that it cannot write any more.
    const auto written = write(framed(request), patience);
    if (!written && written.error().code == ErrorCode::timed_out) return tl::unexpected(written.error());
    Counts counts;
    for (;;) {
        auto message = read(patience, [&] { return tell(counts, meanwhile); });
        if (!message) {
            fd_.reset();
            if (!written) return not_taken();
            return tl::unexpected(std::move(message.error()));
        }
        if (auto answer = take(std::move(*message), counts, meanwhile)) return *std::move(answer);
    }
}

bool ControlClient::tell(const Counts& counts, const Meanwhile& meanwhile) {
    return !meanwhile.progress || meanwhile.progress(counts.done, counts.total);
}

std::optional<Result<Value>> ControlClient::take(Object message, Counts& counts, const Meanwhile& meanwhile) {
    bool go_on = true;
    if (const Value* progress = message.if_contains("progress")) {
        if (progress->is_object()) {
            counts.done = count_in(progress->get_object().if_contains("done"));
            counts.total = count_in(progress->get_object().if_contains("total"));
            go_on = tell(counts, meanwhile);
        }
    } else if (const auto piece = text_in(message)) {
        if (meanwhile.text) go_on = meanwhile.text(*piece);
    } else {
        return answer_in(std::move(message));
    }
    if (go_on) return std::nullopt;
    fd_.reset();
    return called_off();
}

Result<void> ControlClient::wait_for(short events, std::chrono::milliseconds patience,
                                     const std::function<bool()>& still_wanted) {
    pollfd wait{fd_.get(), events, 0};
    for (std::chrono::milliseconds waited{0};; waited += kTick) {
        const auto slice = patience.count() == 0 ? kTick : std::min(kTick, patience - waited);
        const int ready = ::poll(&wait, 1, static_cast<int>(slice.count()));
        if (ready > 0) return {};
        if (ready < 0 && errno != EINTR) return lost();
        if (!still_wanted()) return called_off();
        if (patience.count() != 0 && waited + kTick >= patience)
            return fail(ErrorCode::timed_out,
                        fmt::format("The process that owns the ledger (pid {}) did not answer within {} s.",
                                    owner_, patience.count() / 1000),
                        {{"reason", "no_answer"}, {"pid", owner_}});
    }
}

Result<void> ControlClient::write(std::string_view bytes, std::chrono::milliseconds patience) {
    while (!bytes.empty()) {
        const ssize_t taken = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (taken >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(taken));
        } else if (errno == EAGAIN) {
            CALLGATE_TRY(wait_for(POLLOUT, patience, [] { return true; }));
        } else if (errno != EINTR) {
            return lost();
        }
    }
    return {};
}

Result<Object> ControlClient::read(std::chrono::milliseconds patience,
                                   const std::function<bool()>& still_wanted) {
    for (;;) {
        auto next = in_.next();
        if (!next) {
            next.error().code = ErrorCode::transport;
            return tl::unexpected(std::move(next.error()));
        }
        if (*next) return std::move(**next);
        CALLGATE_TRY(wait_for(POLLIN, patience, still_wanted));
        std::array<char, 64u << 10> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read
        const ssize_t got = ::read(fd_.get(), block.data(), block.size());
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got < 0 && errno == ECONNRESET) return not_taken();
        if (got <= 0) return lost();
        in_.add({block.data(), static_cast<std::size_t>(got)});
    }
}

}  // namespace callgate::ledger
