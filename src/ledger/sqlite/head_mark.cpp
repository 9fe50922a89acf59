#include "ledger/sqlite/head_mark.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/failpoint.h"
#include "base/try.h"
#include "ledger/sqlite/columns.h"
#include "os/files.h"
#include "os/state_directory.h"
#include "os/system_error.h"

namespace callgate::ledger {

namespace {

constexpr std::string_view kMagic = "callgate-mark-1\n";
constexpr std::size_t kIdBytes = 64;
constexpr std::size_t kBody = 16 + kIdBytes + 8 + 8 + 32 + 8 + 8 + 32;
constexpr std::size_t kSlot = 512;         // bytes written at once: no sector is smaller
constexpr std::uint64_t kApart = 4'096;    // and none is larger
constexpr std::size_t kMaxAtFile = 1'024;  // bytes

using Slot = std::array<char, kSlot>;

class Out {
public:
    explicit Out(Slot& slot) : at_(slot.data()) {}
    void bytes(std::string_view bytes, std::size_t room) {
        std::memcpy(at_, bytes.data(), std::min(bytes.size(), room));
        at_ += room;
    }
    void number(std::uint64_t value) {
        for (int i = 0; i < 8; ++i) *at_++ = static_cast<char>(value >> (8 * i) & 0xFF);
    }

private:
    char* at_;
};

class In {
public:
    explicit In(const char* at) : at_(at) {}
    std::string_view bytes(std::size_t room) { return {std::exchange(at_, at_ + room), room}; }
    std::uint64_t number() {
        std::uint64_t value = 0;
        for (int i = 0; i < 8; ++i) value |= std::uint64_t{static_cast<unsigned char>(*at_++)} << (8 * i);
        return value;
    }

private:
    const char* at_;
};

void fill(Slot& slot, std::string_view chain_id, const MarkRecord& record) {
    slot.fill(0);
    Out out(slot);
    out.bytes(kMagic, kMagic.size());
    out.bytes(chain_id, kIdBytes);
    out.number(record.serial);
    out.number(record.end.events);
    out.bytes(bytes_of(record.end.hash), 32);
    out.number(record.place.device);
    out.number(record.place.inode);
    out.bytes(bytes_of(record.place.path), 32);
    out.bytes(bytes_of(base::sha256({slot.data(), kBody})), 32);
}

std::optional<MarkRecord> read_slot(const Slot& slot, std::string_view chain_id) {
    In in(slot.data());
    if (in.bytes(kMagic.size()) != kMagic) return std::nullopt;
    const std::string_view id = in.bytes(kIdBytes);
    if (id.substr(0, std::min(id.find('\0'), id.size())) != chain_id) return std::nullopt;
    MarkRecord record;
    record.serial = in.number();
    record.end.events = in.number();
    copy_bytes(in.bytes(32), record.end.hash);
    record.place.device = in.number();
    record.place.inode = in.number();
    copy_bytes(in.bytes(32), record.place.path);
    if (in.bytes(32) != bytes_of(base::sha256({slot.data(), kBody}))) return std::nullopt;
    return record;
}

tl::unexpected<Error> unwritable(const std::string& what, const Error& why) {
    return fail(ErrorCode::ledger_unavailable,
                fmt::format("The ledger's mark, which shows when an older ledger is put in its place, cannot "
                            "be written: {}. {} Make room and give this user the right to write there, or "
                            "name another directory (ledger_mark_dir).",
                            what, why.message),
                {{"reason", "mark_unwritable"}});
}

std::string file_of(const std::string& directory, std::string_view chain_id) {
    return fmt::format("{}/{}", directory, chain_id);
}

// Which ledger is at a place: found by the directory's name.
std::string at_file(const std::string& directory, const Place& place) {
    return fmt::format("{}/at-{}", directory, base::hex_encode(bytes_of(place.path).substr(0, 16)));
}

Result<void> check_private(os::FileOps& files, const std::string& directory) {
    CALLGATE_TRY_ASSIGN(const auto info, files.stat(directory));
    const bool ours = info.owner == ::geteuid() || info.owner == 0;
    if (info.kind == os::FileKind::directory && ours && (info.permissions & 0022) == 0) return {};
    return fail(ErrorCode::ledger_unavailable,
                fmt::format("'{}', where the ledger's mark is kept, is not a directory of this user that "
                            "others cannot write. Change that: chmod go-w. Or name another "
                            "(ledger_mark_dir).",
                            directory),
                {{"reason", "not_private"}, {"directory", directory}});
}

// Looked at before it is opened: opening a pipe would wait for who is at its other end.
Result<void> check_kind(os::FileOps& files, const std::string& file) {
    const auto info = files.stat(file);
    if (!info || info->kind == os::FileKind::regular) return {};  // opening it reports a missing one
    return fail(ErrorCode::ledger_unavailable,
                fmt::format("The ledger's mark '{}' is not a file. Move it away; the ledger is then called "
                            "moved, and `callgate ledger restore --moved` accepts it.",
                            file),
                {{"reason", "mark_not_a_file"}, {"file", file}});
}

}  // namespace

Result<Place> Place::of(os::FileOps& files, const std::string& directory) {
    CALLGATE_TRY_ASSIGN(const auto info, files.stat(directory));
    std::error_code fault;
    const auto whole = std::filesystem::weakly_canonical(directory, fault);
    return Place{info.device, info.inode, base::sha256(fault ? directory : whole.string())};
}

Result<std::string> HeadMark::directory_for(const std::string& given, const std::string& ledger_directory) {
    std::string named = given;
    if (named.empty()) {
        const std::string state = os::state_directory();
        if (state.empty()) {
            return fail(ErrorCode::config_error,
                        "It is not known where the ledger's mark is kept: this user has no home directory. "
                        "Name a directory outside the ledger's (ledger_mark_dir).",
                        {{"reason", "no_mark_dir"}});
        }
        named = state + "/callgate-marks";
    }
    std::error_code fault;
    const auto marks = std::filesystem::weakly_canonical(named, fault);
    const auto ledger = std::filesystem::weakly_canonical(ledger_directory, fault);
    if (fault) return fail(ErrorCode::config_error, fault.message(), {{"reason", "no_mark_dir"}});
    const auto [end, rest] = std::mismatch(ledger.begin(), ledger.end(), marks.begin(), marks.end());
    if (end == ledger.end()) {
        return fail(ErrorCode::config_error,
                    fmt::format("The mark must not be kept in the ledger's own directory '{}': who puts an "
                                "older one back puts the mark back, too. Name another (ledger_mark_dir).",
                                ledger_directory),
                    {{"reason", "mark_inside"}, {"directory", marks.string()}});
    }
    return marks.string();
}

Result<std::optional<MarkRecord>> HeadMark::look(os::FileOps& files, const std::string& directory,
                                                 std::string_view chain_id) {
    CALLGATE_TRY(check_kind(files, file_of(directory, chain_id)));
    const auto file = files.open(file_of(directory, chain_id), os::OpenMode::read);
    if (!file) {
        const int number = os::error_number(file.error());
        if (number == ENOENT || number == ENOTDIR) return std::nullopt;
        return tl::unexpected(file.error());
    }
    std::optional<MarkRecord> newest;
    for (const std::uint64_t at : {std::uint64_t{0}, kApart}) {
        Slot slot{};
        for (std::size_t done = 0; done < kSlot;) {
            CALLGATE_TRY_ASSIGN(const auto size, os::uninterrupted([&] {
                                    return files.pread(*file, std::span(slot).subspan(done), at + done);
                                }));
            if (size == 0) break;
            done += size;
        }
        const auto record = read_slot(slot, chain_id);
        if (record && (!newest || newest->serial < record->serial)) newest = record;
    }
    return newest;
}

Result<std::string> HeadMark::last_at(os::FileOps& files, const std::string& directory, const Place& place) {
    auto text = os::read_file(files, at_file(directory, place), kMaxAtFile);
    if (!text) {
        const auto* reason = text.error().details.if_contains("reason");
        if (reason != nullptr && *reason == "file_missing") return std::string();
        return text;
    }
    const std::string id = text->substr(0, text->find('\n'));
    return is_chain_id(id) ? id : std::string();
}

Result<HeadMark> HeadMark::open(os::FileOps& files, const std::string& directory, std::string chain_id,
                                const Place& place, const MarkRecord& last) {
    CALLGATE_TRY(check_kind(files, file_of(directory, chain_id)));
    auto file = files.open(file_of(directory, chain_id), os::OpenMode::create);
    if (!file) return unwritable(directory, file.error());
    return HeadMark(files, std::move(*file), std::move(chain_id), place, last.serial);
}

Result<HeadMark> HeadMark::make(os::FileOps& files, base::Rng& rng, const std::string& directory,
                                std::string chain_id, const Place& place, const MarkRecord& last,
                                const AuditEnd& end) {
    if (auto made = os::make_directories(files, directory); !made) return unwritable(directory, made.error());
    CALLGATE_TRY(check_private(files, directory));
    const std::string id = chain_id;
    CALLGATE_TRY_ASSIGN(auto mark, open(files, directory, std::move(chain_id), place, last));
    CALLGATE_TRY(mark.put_both(end));
    CALLGATE_TRY(mark.sync());
    // This syncs the directory, too.
    if (auto named = os::write_file_atomically(files, rng, at_file(directory, place), id + "\n"); !named)
        return unwritable(directory, named.error());
    return mark;
}

Result<void> HeadMark::put(const AuditEnd& end) {
    const auto write_slot = [&]() -> Result<void> {
        CALLGATE_FAILPOINT_RETURN("ledger.before_mark");
        Slot slot;
        fill(slot, chain_id_, MarkRecord{serial_ + 1, end, place_});
        CALLGATE_TRY(os::pwrite_all(*files_, file_, {slot.data(), slot.size()}, (serial_ + 1) % 2 * kApart));
        CALLGATE_FAILPOINT_RETURN("ledger.after_mark");
        return {};
    };
    if (auto done = write_slot(); !done) return unwritable(chain_id_, done.error());
    ++serial_;
    events_ = end.events;
    return {};
}

Result<void> HeadMark::put_both(const AuditEnd& end) {
    CALLGATE_TRY(put(end));
    return put(end);
}

Result<void> HeadMark::write(const AuditEnd& end) {
    if (events_ == end.events) return {};
    return put(end);
}

Result<void> HeadMark::sync() {
    if (auto synced = files_->fdatasync(file_); !synced) return unwritable(chain_id_, synced.error());
    return {};
}

}  // namespace callgate::ledger
