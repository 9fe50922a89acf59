// SQLite in our terms: a connection, prepared statements, and its failures as Errors.
//
// Every failure is ledger_unavailable with details {reason, sqlite, operation}; the reason tells what can be
// done: disk_full, sync_failed (what was written last may or may not be there), read_only, locked, damaged,
// not_a_database, symbolic_link, io_error, conflict (a constraint), too_large, sqlite.
//
// Threads: a connection and its statements belong to one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include <callgate/error.h>

namespace callgate::ledger {

/// Whether nothing more may be tried with this connection: what is on the disk is not known any more.
bool is_sync_failure(const Error& error) noexcept;
/// Whether it may be tried again when there is room.
bool is_disk_full(const Error& error) noexcept;
/// Whether it is about what one statement wanted, and says nothing about the disk.
bool is_own_fault(const Error& error) noexcept;

class Statement {
public:
    Statement() = default;
    ~Statement();
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&& other) noexcept;
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    /// Parameters from 1; what they refer to must live until the next reset(). Faults of ours abort; the
    /// next step() reports a value that is too large.
    Statement& bind(int index, std::int64_t value);
    Statement& bind(int index, std::string_view text);
    Statement& bind_blob(int index, std::string_view bytes);
    Statement& bind_blob(int index, std::span<const std::uint8_t> bytes) {
        return bind_blob(index, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    Statement& bind_null(int index);

    /// True: there is a row to look at. False: it is done, and reset.
    Result<bool> step();
    /// For what gives no rows. How many rows it changed.
    Result<std::int64_t> run();
    void reset() noexcept;

    bool is_null(int column) const noexcept;
    std::int64_t integer(int column) const noexcept;
    /// Valid until the next step or reset.
    std::string_view text(int column) const noexcept;
    std::string_view blob(int column) const noexcept;

    explicit operator bool() const noexcept { return raw_ != nullptr; }
    sqlite3_stmt* raw() const noexcept { return raw_; }

private:
    friend class Database;
    explicit Statement(sqlite3_stmt* raw) noexcept : raw_(raw) {}
    void bound(int code);

    sqlite3_stmt* raw_ = nullptr;
    bool too_large_ = false;  // something that was bound
};

enum class Access : std::uint8_t { read_write, read_only };

class Database {
public:
    Database() = default;
    ~Database();
    Database(Database&& other) noexcept;
    Database& operator=(Database&& other) noexcept;
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Made if it is missing and `access` allows it. `vfs`: the name of another file layer, for tests.
    static Result<Database> open(const std::string& path, Access access, const char* vfs = nullptr);
    /// To look at what is in the file itself, as if there were no log beside it. Takes no locks, and when it
    /// is closed, this process has none on the file any more.
    static Result<Database> open_alone(const std::string& path, const char* vfs = nullptr);
    /// What is larger, by itself or as a row, is refused: too_large.
    void limit_records(std::size_t bytes);

    Result<Statement> prepare(std::string_view sql);
    /// One or more statements; rows they give are not looked at.
    Result<void> execute(const char* sql);
    /// The first column of the first row.
    Result<std::int64_t> integer_of(std::string_view sql);
    Result<std::string> text_of(std::string_view sql);

    bool in_transaction() const noexcept;
    std::int64_t last_insert_id() const noexcept;
    sqlite3* raw() const noexcept { return raw_; }

private:
    explicit Database(sqlite3* raw) noexcept : raw_(raw) {}
    static Result<Database> open(const char* name, int flags, const char* vfs);

    sqlite3* raw_ = nullptr;
};

/// What SQLite says went wrong, as an Error.
Error sqlite_error(sqlite3* connection, int code, std::string_view operation);

}  // namespace callgate::ledger
