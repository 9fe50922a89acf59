#include "ledger/sqlite/database.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "os/system_error.h"

namespace callgate::ledger {

namespace {

struct Explanation {
    std::string_view reason;
    std::string_view advice;
};

constexpr Explanation kFull{"disk_full",
                            "There is no space left on the device. Free some: service returns by itself."};

Explanation explain(int code, int system_error) {
    if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC) {
        return {"sync_failed",
                "The disk did not confirm what was written. Look after the disk, then start again: the "
                "ledger recovers by itself."};
    }
    if (code == SQLITE_CANTOPEN_SYMLINK) {
        return {"symbolic_link",
                "The ledger's file, or a directory on the way to it, is a symbolic link, which is not "
                "followed. Put the file itself there, or name the directory that the link leads to."};
    }
    // SQLite says so of its file; of its log's index, a user's share or a new file it only says that it
    // failed.
    const bool failed = (code & 0xFF) == SQLITE_IOERR || (code & 0xFF) == SQLITE_CANTOPEN;
    if (failed && os::is_disk_full(system_error)) return kFull;
    switch (code & 0xFF) {
        case SQLITE_FULL: return kFull;
        case SQLITE_READONLY:
            return {"read_only", "The ledger's file or directory may not be written. Change that."};
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {"locked",
                    "Another program has locked the ledger's file. Only Callgate may open it; end the other "
                    "program."};
        case SQLITE_CORRUPT:
            return {"damaged",
                    "The ledger's file is damaged. Keep it as it is, and restore a backup beside it."};
        case SQLITE_NOTADB:
            return {"not_a_database",
                    "The file is not a ledger. Move it away, or name another directory for the ledger."};
        case SQLITE_CANTOPEN:
            return {"cannot_open", "The ledger's file cannot be opened. Check its directory's permissions."};
        case SQLITE_IOERR: return {"io_error", "The disk failed. Look after it, then start again."};
        case SQLITE_TOOBIG:
            return {
                "too_large",
                "It is larger than the ledger keeps. Make results, arguments and approvals smaller, or raise "
                "the limit."};
        case SQLITE_CONSTRAINT: return {"conflict", "This is a fault of the program; please report it."};
        default: return {"sqlite", "This may be a fault of the program; please report it."};
    }
}

bool has_reason(const Error& error, std::string_view reason) noexcept {
    const auto* found = error.details.if_contains("reason");
    return found != nullptr && found->is_string() && std::string_view(found->get_string()) == reason;
}

// A statement of ours that SQLite cannot take is a fault that must not pass unnoticed.
void require(int code) {
    if (code != SQLITE_OK) std::abort();
}

}  // namespace

Error sqlite_error(sqlite3* connection, int code, std::string_view operation) {
    const int extended = connection != nullptr ? sqlite3_extended_errcode(connection) : code;
    const Explanation explanation = explain((extended & 0xFF) == (code & 0xFF) ? extended : code,
                                            connection != nullptr ? sqlite3_system_errno(connection) : 0);
    const char* words = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
    return Error(ErrorCode::ledger_unavailable,
                 fmt::format("The ledger could not {}: {}. {}", operation, words, explanation.advice),
                 {{"reason", explanation.reason}, {"sqlite", extended}, {"operation", operation}});
}

bool is_sync_failure(const Error& error) noexcept {
    return has_reason(error, "sync_failed");
}

bool is_disk_full(const Error& error) noexcept {
    return has_reason(error, "disk_full");
}

bool is_own_fault(const Error& error) noexcept {
    return has_reason(error, "conflict") || has_reason(error, "too_large");
}

Statement::~Statement() {
    sqlite3_finalize(raw_);
}

Statement::Statement(Statement&& other) noexcept
    : raw_(std::exchange(other.raw_, nullptr)), too_large_(other.too_large_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
    if (this != &other) {
        sqlite3_finalize(raw_);
        raw_ = std::exchange(other.raw_, nullptr);
        too_large_ = other.too_large_;
    }
    return *this;
}

void Statement::bound(int code) {
    if (code == SQLITE_TOOBIG) {
        too_large_ = true;
    } else {
        require(code);
    }
}

Statement& Statement::bind(int index, std::int64_t value) {
    require(sqlite3_bind_int64(raw_, index, value));
    return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
    // A null pointer would be NULL instead of the empty text.
    bound(sqlite3_bind_text64(raw_, index, text.data() == nullptr ? "" : text.data(), text.size(),
                              SQLITE_STATIC, SQLITE_UTF8));
    return *this;
}

Statement& Statement::bind_blob(int index, std::string_view bytes) {
    bound(sqlite3_bind_blob64(raw_, index, bytes.data() == nullptr ? "" : bytes.data(), bytes.size(),
                              SQLITE_STATIC));
    return *this;
}

Statement& Statement::bind_null(int index) {
    require(sqlite3_bind_null(raw_, index));
    return *this;
}

Result<bool> Statement::step() {
    const int code = too_large_ ? SQLITE_TOOBIG : sqlite3_step(raw_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) {
        reset();
        return false;
    }
    Error error = sqlite_error(sqlite3_db_handle(raw_), code, "read or write its file");
    reset();
    return tl::unexpected(std::move(error));
}

Result<std::int64_t> Statement::run() {
    sqlite3* connection = sqlite3_db_handle(raw_);
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto row, step());
        if (!row) return sqlite3_changes64(connection);
    }
}

void Statement::reset() noexcept {
    sqlite3_reset(raw_);
    too_large_ = false;
}

bool Statement::is_null(int column) const noexcept {
    return sqlite3_column_type(raw_, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const noexcept {
    return sqlite3_column_int64(raw_, column);
}

std::string_view Statement::text(int column) const noexcept {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(raw_, column));
    return bytes == nullptr
               ? std::string_view()
               : std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(raw_, column)));
}

std::string_view Statement::blob(int column) const noexcept {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(raw_, column));
    return bytes == nullptr
               ? std::string_view()
               : std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(raw_, column)));
}

Database::~Database() {
    sqlite3_close_v2(raw_);
}

Database::Database(Database&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}

Database& Database::operator=(Database&& other) noexcept {
    if (this != &other) {
        sqlite3_close_v2(raw_);
        raw_ = std::exchange(other.raw_, nullptr);
    }
    return *this;
}

Result<Database> Database::open(const char* name, int flags, const char* vfs) {
    sqlite3* raw = nullptr;
    // Each connection stays with one thread at a time, so SQLite need not lock it.
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW;
    const int code = sqlite3_open_v2(name, &raw, flags, vfs);
    Database opened(raw);
    if (code != SQLITE_OK) return tl::unexpected(sqlite_error(raw, code, "open its file"));
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    // The ledger has none: one that somebody added never runs (and `ledger check` finds it).
    sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    return opened;
}

Result<Database> Database::open(const std::string& path, Access access, const char* vfs) {
    return open(
        path.c_str(),
        access == Access::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);
}

Result<Database> Database::open_alone(const std::string& path, const char* vfs) {
    std::string name = "file:";
    for (const char c : path) {
        const bool special = c == '%' || c == '?' || c == '#';
        special ? name += fmt::format("%{:02x}", static_cast<unsigned char>(c)) : name += c;
    }
    name += "?immutable=1";
    return open(name.c_str(), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, vfs);
}

void Database::limit_records(std::size_t bytes) {
    constexpr std::size_t kMost = 1'000'000'000;  // SQLite's own
    sqlite3_limit(raw_, SQLITE_LIMIT_LENGTH, static_cast<int>(std::min(bytes, kMost)));
}

Result<Statement> Database::prepare(std::string_view sql) {
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(raw_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    if (code != SQLITE_OK) return tl::unexpected(sqlite_error(raw_, code, "read its tables"));
    return Statement(raw);
}

Result<void> Database::execute(const char* sql) {
    const int code = sqlite3_exec(raw_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return tl::unexpected(sqlite_error(raw_, code, "read or write its file"));
    return {};
}

Result<std::int64_t> Database::integer_of(std::string_view sql) {
    CALLGATE_TRY_ASSIGN(auto statement, prepare(sql));
    CALLGATE_TRY_ASSIGN(auto row, statement.step());
    return row ? statement.integer(0) : 0;
}

Result<std::string> Database::text_of(std::string_view sql) {
    CALLGATE_TRY_ASSIGN(auto statement, prepare(sql));
    CALLGATE_TRY_ASSIGN(auto row, statement.step());
    return row ? std::string(statement.text(0)) : std::string();
}

bool Database::in_transaction() const noexcept {
    return sqlite3_get_autocommit(raw_) == 0;
}

std::int64_t Database::last_insert_id() const noexcept {
    return sqlite3_last_insert_rowid(raw_);
}

}  // namespace callgate::ledger
