#include "base/failpoint.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace callgate::base {
namespace {

std::optional<FailAction> action_from_string(std::string_view text) {
    for (const auto action :
         {FailAction::kill, FailAction::error, FailAction::enospc, FailAction::short_write}) {
        if (to_string(action) == text) {
            return action;
        }
    }
    return std::nullopt;
}

/// One part of the text: what to arm.
struct Arming {
    std::string_view name;
    FailAction action = FailAction::error;
    std::uint64_t on_hit = 1;
    bool repeat = false;
};

std::optional<Arming> parse_arming(std::string_view text) {
    Arming arming;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        return std::nullopt;
    }
    arming.name = text.substr(0, equals);
    auto rest = text.substr(equals + 1);
    if (const auto at = rest.find('@'); at != std::string_view::npos) {
        auto count = rest.substr(at + 1);
        rest = rest.substr(0, at);
        if (count.ends_with('+')) {
            arming.repeat = true;
            count.remove_suffix(1);
        }
        const auto [end, problem] = std::from_chars(count.data(), count.data() + count.size(), arming.on_hit);
        if (problem != std::errc() || end != count.data() + count.size() || arming.on_hit == 0) {
            return std::nullopt;
        }
    }
    const auto action = action_from_string(rest);
    if (!action) {
        return std::nullopt;
    }
    arming.action = *action;
    return arming;
}

}  // namespace

std::string_view to_string(FailAction action) noexcept {
    switch (action) {
        case FailAction::kill: return "kill";
        case FailAction::error: return "error";
        case FailAction::enospc: return "enospc";
        case FailAction::short_write: return "short_write";
    }
    return "error";
}

void FailpointRegistry::arm(std::string_view name, FailAction action, std::uint64_t on_hit, bool repeat) {
    const MutexLock lock(mutex_);
    const auto passed = hits_.find(name);
    const std::uint64_t before = passed == hits_.end() ? 0 : passed->second;
    armed_.insert_or_assign(std::string(name), Armed{action, before + on_hit, repeat});
}

void FailpointRegistry::disarm(std::string_view name) {
    const MutexLock lock(mutex_);
    if (const auto found = armed_.find(name); found != armed_.end()) {
        armed_.erase(found);
    }
}

void FailpointRegistry::clear() {
    const MutexLock lock(mutex_);
    armed_.clear();
    hits_.clear();
}

Result<void> FailpointRegistry::arm_from_text(std::string_view text) {
    std::vector<Arming> armings;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto part = text.substr(0, comma);
        const auto arming = parse_arming(part);
        if (!arming) {
            return fail(
                ErrorCode::config_error,
                fmt::format("'{}' arms no failpoint: write name=action, name=action@N or name=action@N+ with "
                            "action one of kill, error, enospc, short_write.",
                            part),
                {{"reason", "bad_failpoint"}});
        }
        armings.push_back(*arming);
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    for (const auto& arming : armings) {
        arm(arming.name, arming.action, arming.on_hit, arming.repeat);
    }
    return {};
}

Result<void> FailpointRegistry::arm_from_environment(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? Result<void>() : arm_from_text(text);
}

std::map<std::string, std::uint64_t, std::less<>> FailpointRegistry::hits() const {
    const MutexLock lock(mutex_);
    return hits_;
}

std::optional<FailAction> FailpointRegistry::hit(std::string_view name) {
    std::optional<FailAction> action;
    {
        const MutexLock lock(mutex_);
        auto counter = hits_.find(name);
        if (counter == hits_.end()) {
            counter = hits_.emplace(std::string(name), 0).first;
        }
        const auto count = ++counter->second;
        const auto found = armed_.find(name);
        if (found == armed_.end()) {
            return std::nullopt;
        }
        const auto& armed = found->second;
        if (count == armed.on_hit || (armed.repeat && count > armed.on_hit)) {
            action = armed.action;
        }
    }
    if (action == FailAction::kill) {
        ::kill(::getpid(), SIGKILL);
        for (;;) {
            ::pause();  // the signal is on its way; nothing more may happen here
        }
    }
    return action;
}

void FailpointRegistry::pass(std::string_view name) {
    if (const auto action = hit(name)) {
        fmt::print(stderr, "failpoint {} can only be armed with kill, not with {}\n", name,
                   to_string(*action));
        std::abort();
    }
}

Error injected_error(std::string_view name, FailAction action) {
    const bool full = action == FailAction::enospc;
    return Error(full ? ErrorCode::ledger_unavailable : ErrorCode::internal,
                 fmt::format("Failpoint {} made this fail ({}).", name,
                             full ? "No space left on device" : to_string(action)),
                 {{"reason", "failpoint"}, {"failpoint", name}, {"action", to_string(action)}});
}

FailpointRegistry& make_process_failpoints() {
    auto* registry = new FailpointRegistry;
    if (const auto armed = registry->arm_from_environment(); !armed) {
        fmt::print(stderr, "{}\n", armed.error().message);
        std::_Exit(2);
    }
    return *registry;
}

}  // namespace callgate::base
