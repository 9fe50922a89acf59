// The tables of the ledger's file, and how an older file becomes a current one.
//
// Each version is one step, applied in one transaction with its number: a file is at one version or the next,
// never between. A file of a newer version, of another program, or of a format that is not SQLite's is
// refused and not touched. docs/formats/ledger.md describes the tables.
//
// Threads: one thread, with a connection of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <callgate/error.h>

#include "ledger/sqlite/database.h"

namespace callgate::ledger {

/// "CGLD": what SQLite keeps in the file's head for us.
inline constexpr std::int64_t kApplicationId = 0x43474C44;

/// From this version on a file has a tally (tally.h).
inline constexpr int kFirstTalliedVersion = 7;

struct Migration {
    int version;  ///< of the file after this step; dense from 1
    const char* sql;
};
std::span<const Migration> ledger_migrations();

/// Whether it is a ledger this program knows, or empty. Only reads. ledger_unavailable {reason: newer_schema
/// | foreign_database | …}.
Result<void> check_identity(Database& database, std::span<const Migration> migrations = ledger_migrations());

/// Brings the file to the last of `migrations`, if check_identity() finds nothing against it. `also` runs
/// in the transaction of each step, and gets its version.
Result<void> migrate(Database& database, std::span<const Migration> migrations = ledger_migrations(),
                     const std::function<Result<void>(int version)>& also = {});

}  // namespace callgate::ledger
