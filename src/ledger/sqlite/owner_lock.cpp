#include "ledger/sqlite/owner_lock.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/mutex.h"
#include "base/shell_word.h"
#include "base/try.h"
#include "os/files.h"
#include "os/system_error.h"
#include "os/unix_socket.h"

namespace callgate::ledger {

namespace {

tl::unexpected<Error> lock_refused(std::string_view reason, const std::string& directory, std::string message,
                                   Object more = {}) {
    Object details{{"reason", reason}, {"directory", directory}};
    for (auto& [name, value] : more) details[name] = std::move(value);
    return fail(ErrorCode::ledger_unavailable, std::move(message), std::move(details));
}

tl::unexpected<Error> no_room(const std::string& directory, const Error& why) {
    return lock_refused(
        "disk_full", directory,
        fmt::format("The ledger cannot be opened, for there is no space left on the device. {} "
                    "Free some, then start again.",
                    why.message));
}

Result<void> make_directory(os::FileOps& files, const std::string& directory) {
    auto made = files.mkdir(directory);
    if (!made && os::error_number(made.error()) == EEXIST) return {};
    if (made) {
        // A power cut must not take the directory away with all that was answered.
        const auto parent = files.open(os::directory_of(directory), os::OpenMode::directory);
        if (!parent && os::error_number(parent.error()) == EACCES) return {};  // may not be read, only used
        made = parent ? files.fsync(*parent) : tl::unexpected(parent.error());
    }
    if (made) return {};
    if (os::is_disk_full(os::error_number(made.error()))) return no_room(directory, made.error());
    return lock_refused("no_directory", directory,
                        fmt::format("The ledger's directory cannot be made. {} Make it, or name another.",
                                    made.error().message));
}

std::string name_of(uid_t uid) {
    const std::string name = os::user_name(uid);
    return name.empty() ? fmt::format("the user {}", uid) : fmt::format("'{}' (user {})", name, uid);
}

// Who may rename what is in the parent can put another directory in the place of ours. Where everybody may
// make files, as in /tmp, the sticky bit keeps each from the others'.
Result<void> check_parent(os::FileOps& files, const std::string& directory) {
    constexpr mode_t kSticky = 01000;
    std::error_code unknown;
    const std::string real = std::filesystem::canonical(directory, unknown).string();
    const std::string parent = os::directory_of(unknown ? directory : real);
    CALLGATE_TRY_ASSIGN(const auto info, files.stat(parent));
    if (info.owner != ::geteuid() && info.owner != 0) {
        return lock_refused("not_private", directory,
                            fmt::format("The directory '{}', in which the ledger's '{}' "
                                        "is, belongs to {}, who "
                                        "could put another in its place. Name a "
                                        "directory in one of your own.",
                                        parent, directory, name_of(info.owner)),
                            {{"parent", parent}, {"owner", info.owner}});
    }
    if ((info.permissions & 0022) != 0 && (info.permissions & kSticky) == 0) {
        return lock_refused(
            "not_private", directory,
            fmt::format("Others may write to '{}' and so put another directory in the place of "
                        "the ledger's '{}'. Take that away: chmod go-w {}",
                        parent, directory, base::shell_quoted(parent)),
            {{"parent", parent}});
    }
    return {};
}

Result<void> check_directory(os::FileOps& files, const std::string& directory) {
    const auto info = files.stat(directory);
    if (!info || info->kind != os::FileKind::directory) {
        return lock_refused(
            "no_directory", directory,
            fmt::format("'{}' is not a directory that can be used for a ledger. Name another.", directory));
    }
    // Whoever owns it can put other files in the place of ours at any time.
    if (info->owner != ::geteuid() && info->owner != 0) {
        return lock_refused(
            "not_private", directory,
            fmt::format("The ledger's directory '{}' belongs to {}, and this process runs as {}. "
                        "Run it as that user, or name a directory of your own. To take this one "
                        "over with all that is in it: chown -R {} {}",
                        directory, name_of(info->owner), name_of(::geteuid()), ::geteuid(),
                        base::shell_quoted(directory)),
            {{"owner", info->owner}});
    }
    if ((info->permissions & 0022) != 0) {
        return lock_refused(
            "not_private", directory,
            fmt::format("Others may write to the ledger's directory '{}'. Take that away: chmod 700 {}",
                        directory, base::shell_quoted(directory)));
    }
    CALLGATE_TRY(check_parent(files, directory));
    struct ::statfs about{};
    if (::statfs(directory.c_str(), &about) == 0 &&
        is_network_filesystem(static_cast<std::uint64_t>(about.f_type))) {
        return lock_refused(
            "network_filesystem", directory,
            fmt::format("'{}' is on a network filesystem, where locks and syncs cannot be relied "
                        "on. Put the ledger on a local disk.",
                        directory));
    }
    return {};
}

std::string owner_of(os::FileOps& files, const os::Fd& lock) {
    char text[64];
    const auto read = files.pread(lock, text, 0);
    return read ? std::string(text, *read) : std::string();
}

tl::unexpected<Error> owned(const std::string& directory, const std::string& owner, bool by_us) {
    const std::string who = owner.empty() ? "" : " (" + owner + ")";
    return lock_refused(
        "ledger_owned", directory,
        by_us
            ? fmt::format("This process{} owns the ledger in '{}' already. Use that one, or close it first.",
                          who, directory)
            : fmt::format("Another process{} owns the ledger in '{}'. Ask it through its control socket, or "
                          "end it first.",
                          who, directory),
        {{"owner", owner}});
}

}  // namespace

struct OwnerLock::Entry {
    std::uint64_t device;
    std::uint64_t inode;
    pid_t process;  // a child has the table, but not what is in it
};

/// The locks that this process has.
struct OwnerLock::Entries {
    base::Mutex mutex;
    base::CondVar struck_out;
    std::vector<const Entry*> entries CALLGATE_GUARDED_BY(mutex);

    static Entries& of_this_process() {
        static Entries* const all = new Entries;  // never freed: threads may run until the process is gone
        return *all;
    }
    bool has(std::uint64_t device, std::uint64_t inode) const CALLGATE_REQUIRES(mutex) {
        return std::ranges::any_of(entries, [&](const Entry* entry) {
            return entry->device == device && entry->inode == inode && entry->process == ::getpid();
        });
    }
};

void OwnerLock::StrikeOut::operator()(Entry* entry) const {
    Entries& all = Entries::of_this_process();
    {
        const base::MutexLock lock(all.mutex);
        std::erase(all.entries, entry);
    }
    all.struck_out.notify_all();
    delete entry;
}

bool is_network_filesystem(std::uint64_t kind) noexcept {
    constexpr std::uint64_t kShared[] = {
        0x6969,      // NFS
        0x517B,      // SMB
        0xFF534D42,  // CIFS
        0xFE534D42,  // SMB2
        0x5346414F,  // AFS
        0x6B414653,  // kAFS
        0x00C36400,  // Ceph
        0x01021997,  // 9P
        0x73757245,  // Coda
        0x0BD00BD0,  // Lustre
        0x01161970,  // GFS2
        0x7461636F,  // OCFS2
        0x564C,      // NCP
        0x65735546,  // FUSE
    };
    return std::ranges::find(kShared, kind & 0xFFFFFFFF) != std::end(kShared);
}

Result<OwnerLock> OwnerLock::take(os::FileOps& files, const std::string& directory,
                                  std::chrono::milliseconds while_closing) {
    CALLGATE_FAILPOINT_RETURN("ledger.before_lock");
    CALLGATE_TRY(make_directory(files, directory));
    CALLGATE_TRY(check_directory(files, directory));
    // Looked at before it is opened, and after: a pipe or a device must not be waited for.
    const auto not_a_file = [&] {
        return lock_refused(
            "not_a_file", directory,
            fmt::format("'{}/ledger.lock' is no file but a pipe, a device or a directory. Take it "
                        "away.",
                        directory));
    };
    if (const auto there = files.stat(directory + "/ledger.lock");
        there && there->kind != os::FileKind::regular)
        return not_a_file();
    auto file = files.open(directory + "/ledger.lock", os::OpenMode::create);
    if (!file && os::error_number(file.error()) == ELOOP) {
        // It is emptied below: whoever put the link there must not choose which file that is.
        return lock_refused(
            "symbolic_link", directory,
            fmt::format("'{}/ledger.lock' is a symbolic link, which is not followed. Take it away.",
                        directory));
    }
    if (!file && os::is_disk_full(os::error_number(file.error()))) return no_room(directory, file.error());
    if (!file) {
        return lock_refused(
            "not_writable", directory,
            fmt::format("The ledger's directory cannot be written. {}", file.error().message));
    }
    CALLGATE_TRY_ASSIGN(const auto info, files.stat(*file));
    if (info.kind != os::FileKind::regular) return not_a_file();
    EntryPtr entry;
    {
        Entries& all = Entries::of_this_process();
        const auto until = std::chrono::steady_clock::now() + while_closing;
        base::MutexLock lock(all.mutex);
        for (;;) {
            CALLGATE_TRY_ASSIGN(auto locked, files.try_lock(*file, os::LockKind::exclusive));
            if (locked) break;
            // The thread that ended the last call of a runtime may still be closing that runtime's ledger.
            const bool by_us = all.has(info.device, info.inode);
            if (!by_us || all.struck_out.wait_until(lock, until) == std::cv_status::timeout)
                return owned(directory, owner_of(files, *file), by_us);
        }
        entry.reset(new Entry{info.device, info.inode, ::getpid()});
        all.entries.push_back(entry.get());
    }
    OwnerLock taken(std::move(entry), std::move(*file));
    // Only for people: who holds the lock is known to the kernel.
    if (files.truncate(taken.fd_, 0))
        (void)os::pwrite_all(files, taken.fd_, fmt::format("pid {}", ::getpid()), 0);
    CALLGATE_FAILPOINT_RETURN("ledger.after_lock");
    return taken;
}

}  // namespace callgate::ledger
