// A mark outside the ledger's directory: how far the audit had come when somebody was answered last. A ledger
// that is behind its mark has lost what it told, whoever put the older files there.
//
// The mark is written after a commit's sync and before anybody hears of it, without a sync of its own. So it
// is never ahead of what is on the disk; under kill -9 it is exact, and after a power cut it may be behind.
// Two places in its file are written in turn, each in a sector of its own and with a checksum: one that was
// torn is recognised, and the other counts. docs/formats/ledger.md has the layout.
//
// Threads: one at a time; the writer's once the ledger is open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/error.h>

#include "base/rng.h"
#include "base/sha256.h"
#include "ledger/audit/chain.h"
#include "os/fd.h"
#include "os/file_ops.h"

namespace callgate::ledger {

/// Where a ledger's directory is: what tells it from a copy.
struct Place {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    base::Sha256Digest path{};  ///< of its absolute path

    static Result<Place> of(os::FileOps& files, const std::string& directory);
    /// A device may have another number after each start of the machine, and a directory another name; not
    /// both at once.
    bool is(const Place& other) const noexcept {
        return inode == other.inode && (device == other.device || path == other.path);
    }
};

/// How far an audit has come.
struct AuditEnd {
    std::uint64_t events = 0;
    base::Sha256Digest hash{};  ///< of the last of them
};

struct MarkRecord {
    std::uint64_t serial = 0;  ///< one more with each write: the larger one counts
    AuditEnd end;
    Place place;
};

class HeadMark {
public:
    /// "" for the usual directory: callgate-marks in the state directory of this user. config_error
    /// {reason: no_mark_dir | mark_inside} where there is none, or it is in the ledger's.
    static Result<std::string> directory_for(const std::string& given, const std::string& ledger_directory);

    /// What the mark of this ledger says; nothing where there is none, or neither place of it is whole.
    static Result<std::optional<MarkRecord>> look(os::FileOps& files, const std::string& directory,
                                                  std::string_view chain_id);

    /// The id of the ledger that was in this place last, as far as `directory` knows; "" if there was none.
    static Result<std::string> last_at(os::FileOps& files, const std::string& directory, const Place& place);

    /// To go on with it, after `last`. ledger_unavailable {reason: mark_unwritable}.
    static Result<HeadMark> open(os::FileOps& files, const std::string& directory, std::string chain_id,
                                 const Place& place, const MarkRecord& last);
    /// A new one, or one at another place or of another past: durable when it returns, and so is that this
    /// ledger is at this place.
    static Result<HeadMark> make(os::FileOps& files, base::Rng& rng, const std::string& directory,
                                 std::string chain_id, const Place& place, const MarkRecord& last,
                                 const AuditEnd& end);

    /// After a commit. One write; none where the audit has not grown. mark_unwritable.
    Result<void> write(const AuditEnd& end);
    /// As durable as the ledger itself.
    Result<void> sync();

private:
    HeadMark(os::FileOps& files, os::Fd file, std::string chain_id, const Place& place, std::uint64_t serial)
        : files_(&files),
          file_(std::move(file)),
          chain_id_(std::move(chain_id)),
          place_(place),
          serial_(serial) {}
    Result<void> put(const AuditEnd& end);
    Result<void> put_both(const AuditEnd& end);

    os::FileOps* files_;
    os::Fd file_;
    std::string chain_id_;
    Place place_;
    std::uint64_t serial_;
    std::uint64_t events_ = ~std::uint64_t{0};  // as it was written last
};

}  // namespace callgate::ledger
