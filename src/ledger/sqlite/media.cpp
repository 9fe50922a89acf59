#include "ledger/sqlite/media.h"

#include <sys/statvfs.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "ledger/sqlite/audit_table.h"
#include "ledger/sqlite/schema.h"
#include "secrets/key_source.h"

namespace callgate::ledger {

namespace {

tl::unexpected<Error> refused(std::string_view reason, std::string message) {
    return fail(ErrorCode::ledger_unavailable, std::move(message), {{"reason", reason}});
}

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

MediaLedger::MediaLedger(base::SealKey key) : key_(std::move(key)) {}

MediaLedger::~MediaLedger() {
    reader_.reset();
    std::error_code ignored;
    if (!copy_.empty()) std::filesystem::remove_all(copy_, ignored);
}

Result<std::unique_ptr<MediaLedger>> MediaLedger::open(os::FileOps& files, const std::string& directory) {
    auto key = secrets::load_key(files, KeySource::file(directory + "/ledger.key"));
    if (!key) return tl::unexpected(std::move(key.error()));
    std::unique_ptr<MediaLedger> media(new MediaLedger(std::move(*key)));
    const std::string path = directory + "/ledger.db";
    const auto log = files.stat(path + "-wal");
    const bool has_log = log && log->size != 0;
    if (has_log) {
        auto made = make_directory();
        if (!made) return tl::unexpected(std::move(made.error()));
        media->copy_ = std::move(*made);
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
    auto database = has_log ? Database::open(media->copy_ + "/ledger.db", Access::read_write)
                            : Database::open_alone(path, nullptr);
    if (!database) return tl::unexpected(std::move(database.error()));
    if (auto fit = check_identity(*database); !fit) return tl::unexpected(std::move(fit.error()));
    const auto version = database->integer_of("PRAGMA user_version");
    if (!version) return tl::unexpected(version.error());
    if (*version < ledger_migrations().back().version)
        return refused(
            "older_schema",
            fmt::format("The ledger in '{}' is of version {}, and where it cannot be written it is "
                        "not brought up to date. Copy it elsewhere, and open it there.",
                        directory, *version));
    auto reader = SqliteAuditReader::make(std::move(*database), media->key_);
    if (!reader) return tl::unexpected(std::move(reader.error()));
    media->reader_ = std::move(*reader);
    return media;
}

AuditReader& MediaLedger::audit() noexcept {
    return *reader_;
}

Result<Object> MediaLedger::check() {
    auto rows = reader_->database().prepare("PRAGMA integrity_check(100)");
    if (!rows) return tl::unexpected(std::move(rows.error()));
    Array problems;
    for (;;) {
        auto row = rows->step();
        if (!row) return tl::unexpected(std::move(row.error()));
        if (!*row) break;
        if (rows->text(0) != "ok") problems.emplace_back(rows->text(0));
    }
    const bool ok = problems.empty();
    return Object{{"ok", ok}, {"problems", std::move(problems)}, {"read_only", true}};
}

}  // namespace callgate::ledger
