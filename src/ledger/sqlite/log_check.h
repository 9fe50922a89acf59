// Does the log beside a ledger's file belong to it?
//
// SQLite believes any log that is whole in itself, and writes its pages over the file's: a log of another
// ledger, or of another time of this one, would make a mixture of both. But the audit only grows, each of its
// events is chained to the one before, and the first transaction of each log writes down where the chain has
// come to, beside the chain's name (Tables::store_end). So the file is looked at without its log, and then
// with it: the log must be the file's own or the next, and the audit must go on where the file alone leaves
// off.
//
// A power cut while the log is moved into the file may leave any sectors of it, which the log then makes
// good. So nothing of the file alone counts that does not prove itself: an event must fit the one before it.
//
// Threads: one thread, before the ledger is in use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/error.h>

#include "base/sha256.h"
#include "ledger/sqlite/database.h"

namespace callgate::ledger {

/// Where the audit had come to when a log began; as a text, "<events> <hash in hex>".
struct LogMark {
    std::uint64_t events = 0;
    base::Sha256Digest hash{};  ///< of the last of them

    std::string text() const;
    static std::optional<LogMark> read(std::string_view text);
};

/// What the file says by itself.
struct FileAlone {
    std::string chain_id;
    std::uint64_t events = 0;
    base::Sha256Digest last{};  ///< the hash of the last of them
    std::optional<LogMark> mark;
};

/// Before any other connection is opened: the one used here drops their locks. Nothing where the file says
/// nothing yet, or cannot be believed because it is in the middle of being written.
std::optional<FileAlone> look_at_file_alone(const std::string& path, const char* vfs);

/// ledger_unavailable {reason: foreign_log}. Only reads.
Result<void> check_log(const FileAlone& alone, Database& with_log);
/// What came of reading the file with its log, though it could be read alone. If it is damaged only together,
/// they do not fit.
Result<void> blame_log(Result<void> read);

}  // namespace callgate::ledger
