#include "secrets/exec_helper.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include <callgate/json.h>

#include "base/thread_role.h"
#include "base/try.h"
#include "base/utf8.h"
#include "os/system_error.h"
#include "redact/secret_set.h"
#include "secrets/rules.h"

namespace callgate::secrets {
namespace {

using base::LockedBytes;
using redact::SecretSet;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kMaxAnswers = 1'000;
constexpr int kNoSuchSecret = 3;

std::chrono::milliseconds left_until(Steady::time_point until) {
    return std::max(std::chrono::milliseconds(0),
                    std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now()));
}

enum class End : std::uint8_t { closed, timed_out, too_long, failed };

// Until the helper closes its output, the buffer is full or the time is up.
End receive(const os::Fd& output, Steady::time_point until, LockedBytes& buffer) {
    std::size_t size = 0;
    for (;;) {
        const auto left = left_until(until);
        if (left.count() == 0) return End::timed_out;
        pollfd wait{output.get(), POLLIN, 0};
        const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
        if (ready < 0 && errno != EINTR) return End::failed;
        if (ready <= 0) continue;
        const auto room = buffer.bytes().subspan(size);
        if (room.empty()) return End::too_long;
        const ssize_t got = ::read(output.get(), room.data(), room.size());
        if (got < 0 && errno != EINTR && errno != EAGAIN) return End::failed;
        if (got == 0) {
            buffer.shrink(size);
            return End::closed;
        }
        if (got > 0) size += static_cast<std::size_t>(got);
    }
}

void drop_line_end(LockedBytes& value) {
    const std::string_view text = value.view();
    value.shrink(text.size() - (text.ends_with("\r\n") ? 2 : text.ends_with('\n') ? 1 : 0));
}

}  // namespace

Result<void> check(const ExecSecretsOptions& options) {
    using namespace std::chrono_literals;
    std::string_view problem;
    if (options.command.empty() || options.command.front().empty()) {
        problem = "names no command";
    } else if (options.timeout < 1ms || options.timeout > 5min) {
        problem = "has a timeout that is not in 1 to 300,000 milliseconds";
    } else if (options.keep < 0ms || options.keep > 60s) {
        problem = "keeps answers for a time that is not in 0 to 60,000 milliseconds";
    } else {
        return {};
    }
    return fail(ErrorCode::config_error, fmt::format("The secrets helper {}.", problem),
                {{"reason", "bad_helper"}});
}

ExecHelper::ExecHelper(os::ProcessLauncher& launcher, const base::Clock& clock, ExecSecretsOptions options)
    : launcher_(launcher), clock_(clock), options_(std::move(options)) {}

Result<LockedBytes> ExecHelper::ask(std::string_view connector, std::string_view key) {
    CALLGATE_TRY(check_name(connector, key));
    if (!base::is_valid_utf8(connector) || !base::is_valid_utf8(key))
        return tl::unexpected(no_such_secret("?", "?", "its name is not valid UTF-8"));
    const Name name(connector, key);
    std::uint64_t revocations = 0;
    {
        const base::MutexLock lock(mutex_);
        forget_old();
        if (const auto known = answers_.find(name); known != answers_.end())
            return LockedBytes(known->second.value.view());
        revocations = revocations_;
    }
    CALLGATE_TRY_ASSIGN(auto value, run(name));
    const base::MutexLock lock(mutex_);
    if (options_.keep.count() > 0 && revocations == revocations_ && answers_.size() < kMaxAnswers)
        answers_.insert_or_assign(name,
                                  Answer{LockedBytes(value.view()), clock_.monotonic_now() + options_.keep});
    return value;
}

Result<LockedBytes> ExecHelper::run(const Name& name) {
    CALLGATE_MAY_BLOCK("asking a secret's helper");
    const auto until = Steady::now() + options_.timeout;
    const std::string& connector = name.first;
    const std::string& key = name.second;
    const auto failed = [&](std::string_view reason, std::string_view what, Object details = {}) {
        details["reason"] = reason;
        details["connector"] = connector;
        details["key"] = key;
        details["helper"] = options_.command.front();
        return fail(ErrorCode::config_error,
                    fmt::format("The secrets helper {}, asked for '{}' of connector '{}', {}.",
                                options_.command.front(), key, connector, what),
                    std::move(details));
    };
    os::ProcessSpec spec(options_.command);
    spec.errors = os::Stdio::null;
    auto process = launcher_.launch(spec);
    if (!process) {
        Error error = std::move(process.error());
        error.code = ErrorCode::config_error;
        error.message = fmt::format("The secrets helper cannot be started. {}", error.message);
        return tl::unexpected(std::move(error));
    }
    // Far smaller than a pipe, so this never waits.
    (*process)->give_input(json::write(Object{{"connector", connector}, {"key", key}}) + "\n");

    // Room for a line end and for one byte too many.
    LockedBytes value(SecretSet::kMaxBytes + 3);
    const End end = receive((*process)->output, until, value);
    if (end == End::too_long)
        return failed("helper_output", fmt::format("gave more than {} bytes", SecretSet::kMaxBytes));
    if (end == End::failed)
        return failed("helper_failed", "could not be read from: " + os::errno_text(errno));
    std::optional<os::ExitStatus> status;
    if (end == End::closed) {
        CALLGATE_TRY_ASSIGN(status, (*process)->wait(left_until(until)));
    }
    if (!status)
        return failed("helper_timeout", fmt::format("did not end within {} ms", options_.timeout.count()));
    if (*status == os::ExitStatus{kNoSuchSecret, 0})
        return tl::unexpected(no_such_secret(
            connector, key, fmt::format("the helper {} does not know it", options_.command.front())));
    if (!status->ok())
        return failed("helper_failed", fmt::format("ended with {}", status->to_string()),
                      {{"exit", status->to_string()}});
    drop_line_end(value);
    if (value.size() < SecretSet::kMinBytes || value.size() > SecretSet::kMaxBytes)
        return failed("helper_output", fmt::format("gave {} bytes, and a secret has {} to {}", value.size(),
                                                   SecretSet::kMinBytes, SecretSet::kMaxBytes));
    return value;
}

void ExecHelper::forget_old() {
    const auto now = clock_.monotonic_now();
    std::erase_if(answers_, [&](const auto& entry) { return entry.second.until <= now; });
}

void ExecHelper::revoke(std::string_view connector, std::string_view key) {
    const base::MutexLock lock(mutex_);
    ++revocations_;
    answers_.erase(Name(connector, key));
}

void ExecHelper::revoke_all() {
    const base::MutexLock lock(mutex_);
    ++revocations_;
    answers_.clear();
}

}  // namespace callgate::secrets
