#include "ledger/sqlite/media.h"

#include <sys/statvfs.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "ledger/sqlite/audit_table.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/refused.h"
#include "ledger/sqlite/schema.h"
#include "ledger/sqlite/whole_check.h"
#include "secrets/key_source.h"

namespace callgate::ledger {

namespace {

/// A directory that is ours alone.
Result<std::string> make_directory() {
    std::error_code none;
    std::string path = std::filesystem::temp_directory_path(none).string() + "/callgate-XXXXXX";
    if (none || ::mkdtemp(path.data()) == nullptr)
        return refused("not_writable", "There is no directory for a copy of the ledger. Set TMPDIR.");
    return path;
}

}  // namespace

bool is_read_only(const std::string& directory) noexcept {
    struct ::statvfs about{};
    return ::statvfs(directory.c_str(), &about) == 0 && (about.f_flag & ST_RDONLY) != 0;
}

MediaLedger::MediaLedger(base::SealKey key, std::string directory)
    : key_(std::move(key)), directory_(std::move(directory)) {}

MediaLedger::~MediaLedger() {
    reader_.reset();
    std::error_code ignored;
    if (!copy_.empty()) std::filesystem::remove_all(copy_, ignored);
}

Result<std::unique_ptr<MediaLedger>> MediaLedger::open(os::FileOps& files, const std::string& directory) {
    CALLGATE_TRY_ASSIGN(auto key, secrets::load_key(files, KeySource::file(directory + "/ledger.key")));
    std::unique_ptr<MediaLedger> media(new MediaLedger(std::move(key), directory));
    const std::string path = directory + "/ledger.db";
    const auto log = files.stat(path + "-wal");
    const bool has_log = log && log->size != 0;
    if (has_log) {
        CALLGATE_TRY_ASSIGN(media->copy_, make_directory());
        for (const char* name : {"ledger.db", "ledger.db-wal"}) {
            std::error_code fault;
            std::filesystem::copy_file(directory + "/" + name, media->copy_ + "/" + name, fault);
            if (!fault)
                std::filesystem::permissions(
                    media->copy_ + "/" + name,
                    std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, fault);
            if (fault)
                return refused(fault == std::errc::no_space_on_device ? "disk_full" : "not_writable",
                               fmt::format("The ledger cannot be copied to {}: {}. Free some space, or set "
                                           "TMPDIR.",
                                           media->copy_, fault.message()));
        }
    }
    CALLGATE_TRY_ASSIGN(auto database, media->connect());
    CALLGATE_TRY(check_identity(database));
    CALLGATE_TRY_ASSIGN(const auto version, database.integer_of("PRAGMA user_version"));
    if (version < ledger_migrations().back().version)
        return refused("older_schema",
                       fmt::format("The ledger in '{}' is of version {}, and where it cannot be written it "
                                   "is not brought up to date. Copy it elsewhere, and open it there.",
                                   directory, version));
    CALLGATE_TRY_ASSIGN(media->reader_, SqliteAuditReader::make(std::move(database), media->key_));
    return media;
}

AuditReader& MediaLedger::audit() noexcept {
    return *reader_;
}

Result<Database> MediaLedger::connect() const {
    return copy_.empty() ? Database::open_alone(directory_ + "/ledger.db", nullptr)
                         : Database::open(copy_ + "/ledger.db", Access::read_write);
}

Result<Object> MediaLedger::check() {
    CALLGATE_TRY_ASSIGN(auto database, connect());
    Reader reader(std::move(database), key_);
    // As its last owner would reckon; what that one noted is checked, too.
    const auto noted = [&](std::string_view name) {
        return reader.database.integer_of(
            fmt::format("SELECT coalesce((SELECT value FROM meta WHERE name = '{}'), 0)", name));
    };
    CALLGATE_TRY_ASSIGN(const auto lived, noted("reached"));
    CALLGATE_TRY_ASSIGN(const auto latest, noted("latest"));
    CALLGATE_TRY_ASSIGN(const auto key_ttl, noted("key_ttl"));
    CALLGATE_TRY_ASSIGN(const auto approval_ttl, noted("approval_ttl"));
    const KeptSince since{time_of(lived) - std::chrono::seconds(key_ttl),
                          time_of(latest) - std::chrono::seconds(approval_ttl)};
    auto report = check_all(reader, key_, since, {});
    if (report) (*report)["read_only"] = true;
    return report;
}

}  // namespace callgate::ledger
