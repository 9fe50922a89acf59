// A ledger on media that cannot be written, such as a mounted backup: looked at, and never owned or changed.
//
// Where the file has a log beside it, both are copied to a private directory first, for SQLite cannot read a
// log without writing beside it; the copy goes with this object. Nobody may own the ledger meanwhile, which
// on such media nobody can.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <memory>
#include <string>

#include <callgate/error.h>
#include <callgate/json.h>

#include "base/seal.h"
#include "ledger/audit/reader.h"
#include "ledger/sqlite/database.h"
#include "os/file_ops.h"

namespace callgate::ledger {

class SqliteAuditReader;

/// Whether the file system that the directory is on is mounted read-only.
bool is_read_only(const std::string& directory) noexcept;

class MediaLedger {
public:
    /// As SqliteLedger::open, where it applies; {reason: older_schema} where only a ledger that may be
    /// written could be brought up to date.
    static Result<std::unique_ptr<MediaLedger>> open(os::FileOps& files, const std::string& directory);
    ~MediaLedger();
    MediaLedger(const MediaLedger&) = delete;
    MediaLedger& operator=(const MediaLedger&) = delete;

    AuditReader& audit() noexcept;
    /// As SqliteLedger::check, and {"read_only": true}.
    Result<Object> check();

private:
    MediaLedger(base::SealKey key, std::string directory);
    Result<Database> connect() const;

    base::SealKey key_;
    std::string directory_;
    std::string copy_;  // a directory of ours; "": none
    std::unique_ptr<SqliteAuditReader> reader_;
};

}  // namespace callgate::ledger
