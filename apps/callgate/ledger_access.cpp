#include "ledger_access.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/try.h"
#include "ledger/control/client.h"
#include "ledger/control/control_user.h"
#include "ledger/control/server.h"
#include "ledger/control/service.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/state_directory.h"
#include "terminal.h"

namespace callgate::cli {

namespace {

constexpr std::chrono::milliseconds kFirstPause{10};
constexpr std::chrono::milliseconds kLongestPause{200};

std::string set_in_environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool has_reason(const Error& error, std::string_view reason) {
    const Value* found = error.details.if_contains("reason");
    return found != nullptr && found->is_string() && std::string_view(found->get_string()) == reason;
}

tl::unexpected<Error> silent_owner(const std::string& directory) {
    return fail(ErrorCode::ledger_unavailable,
                fmt::format("Another process owns the ledger in {} and serves no control socket. Try again "
                            "when it has ended.",
                            directory),
                {{"reason", "ledger_owned"}, {"directory", directory}});
}

// Its files are opened by nobody else, not even by root, who would leave files there that are root's.
tl::unexpected<Error> foreign(const std::string& directory, uid_t owner) {
    os::PeerCredentials whose;
    whose.uid = owner;
    return fail(
        ErrorCode::ledger_unavailable,
        fmt::format("No process owns the ledger in {} now, and its files belong to {}. Ask as that user.",
                    directory, ledger::control_user_of(whose, true).name),
        {{"reason", "not_allowed"}, {"directory", directory}});
}

}  // namespace

Result<uid_t> owner_of(const std::string& directory) {
    struct ::stat there = {};
    const bool seen = ::stat((directory + "/ledger.db").c_str(), &there) == 0;
    if (seen && there.st_size != 0) return there.st_uid;
    const int why = seen ? 0 : errno;
    struct ::stat around = {};
    if (why == EACCES && ::stat(directory.c_str(), &around) == 0 && around.st_uid == ::geteuid())
        return fail(
            ErrorCode::ledger_unavailable,
            fmt::format("The ledger's directory {} is yours, and its mode {:03o} does not let you enter "
                        "it. Change that: chmod 700 {}",
                        directory, around.st_mode & 07777u, shell_quoted(directory)),
            {{"reason", "not_allowed"}, {"directory", directory}});
    if (why == EACCES)
        return fail(
            ErrorCode::ledger_unavailable,
            fmt::format("The ledger in {} belongs to another user. Ask as that user, or as root.", directory),
            {{"reason", "not_allowed"}, {"directory", directory}});
    return fail(
        ErrorCode::config_error,
        fmt::format("There is no ledger in {}. Give its directory with --ledger DIR, or set CALLGATE_LEDGER.",
                    directory),
        {{"reason", "no_ledger"}, {"directory", directory}});
}

Result<std::string> ledger_directory(const std::string& given) {
    if (!given.empty()) return given;
    if (std::string set = set_in_environment("CALLGATE_LEDGER"); !set.empty()) return set;
    if (const std::string state = os::state_directory(); !state.empty()) return state + "/callgate";
    return fail(ErrorCode::config_error,
                "It is not known where the ledger is: this user has no home directory. Give --ledger DIR.",
                {{"reason", "no_home"}});
}

struct LedgerAccess::Parts {
    // The owner's side. In this order: what is made first goes last.
    base::SystemClock clock;
    std::shared_ptr<ledger::SqliteLedger> own;
    std::optional<ledger::ControlService> service;
    std::unique_ptr<ledger::ControlServer> server;
    // The other side.
    std::optional<ledger::ControlClient> client;
};

LedgerAccess::LedgerAccess(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LedgerAccess::LedgerAccess(LedgerAccess&&) noexcept = default;
LedgerAccess& LedgerAccess::operator=(LedgerAccess&&) noexcept = default;
LedgerAccess::~LedgerAccess() = default;

bool LedgerAccess::owns() const noexcept {
    return parts_->own != nullptr;
}

bool LedgerAccess::stop_serving() {
    if (!parts_->server) return false;
    parts_->server->stop();
    return parts_->server->requests() != 0;
}

Result<LedgerAccess> LedgerAccess::open(const std::string& directory, std::chrono::milliseconds patience) {
    CALLGATE_TRY_ASSIGN(auto found, owner_of(directory));
    auto parts = std::make_unique<Parts>();
    if (found != ::geteuid()) {
        auto client = ledger::ControlClient::connect(directory);
        if (!client)
            return has_reason(client.error(), "nobody_serves") ? foreign(directory, found)
                                                               : tl::unexpected(std::move(client.error()));
        parts->client.emplace(std::move(*client));
        return LedgerAccess(std::move(parts));
    }
    const base::MonotonicTime end = parts->clock.monotonic_now() + patience;
    // Between our two looks the owner may have come or gone, or may not serve yet: then both are tried again.
    for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
        ledger::SqliteOptions options;
        options.directory = directory;
        options.in_passing = true;
        options.while_closing = std::chrono::milliseconds(0);  // this one waits by itself
        auto own = ledger::SqliteLedger::open(std::move(options));
        if (own) {
            parts->own = std::move(*own);
            parts->service.emplace(*parts->own, *parts->own, parts->clock);
            ledger::ControlOptions served;
            served.directory = directory;
            // Without the socket the verb itself is still answered.
            if (auto server = ledger::ControlServer::start(*parts->service, parts->clock, std::move(served)))
                parts->server = std::move(*server);
            return LedgerAccess(std::move(parts));
        }
        if (!has_reason(own.error(), "ledger_owned")) return tl::unexpected(std::move(own.error()));
        auto client = ledger::ControlClient::connect(directory);
        if (client) {
            parts->client.emplace(std::move(*client));
            return LedgerAccess(std::move(parts));
        }
        if (!has_reason(client.error(), "nobody_serves")) return tl::unexpected(std::move(client.error()));
        if (parts->clock.monotonic_now() >= end) return silent_owner(directory);
        std::this_thread::sleep_for(pause);
    }
}

Result<Value> LedgerAccess::ask(const Object& request, const ledger::Meanwhile& meanwhile) {
    if (parts_->client) {
        using Takes = ledger::ControlService::Takes;
        const bool lengthy = ledger::ControlService::takes(request) == Takes::long_work;
        return parts_->client->ask(request, meanwhile, std::chrono::milliseconds(lengthy ? 0 : 60'000));
    }
    Object whole = request;
    whole["v"] = ledger::kControlVersion;
    return parts_->service->answer(whole, ledger::this_process(), meanwhile);
}

}  // namespace callgate::cli
