#include "disk.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "os/files.h"

namespace callgate::power_loss {

namespace fs = std::filesystem;

namespace {

void put(const std::string& path, const std::string& content) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << content;
    out.close();
    ::chmod(path.c_str(), 0600);
}

/// By what name a descriptor's file is known.
std::string path_of(const os::Fd& fd) {
    std::error_code fault;
    return fs::read_symlink("/proc/self/fd/" + std::to_string(fd.get()), fault).string();
}

}  // namespace

std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::error_code fault;
    const auto size = fs::file_size(path, fault);
    std::string content(fault ? 0 : size, '\0');
    in.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    return content;
}

Disk::File& Disk::file(const std::string& path) {
    const auto found = files_.find(path);
    if (found != files_.end()) return found->second;
    return files_.emplace(path, File{content_of(path), {}}).first->second;
}

void Disk::step() {
    if (life_ != 0 && --life_ == 0) cut();
}

void Disk::writes(const std::string& path, std::uint64_t offset, std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    step();
    file(path).pending.push_back({false, offset, std::string(bytes)});
}

void Disk::truncates(const std::string& path, std::uint64_t size) {
    const std::lock_guard lock(mutex_);
    step();
    file(path).pending.push_back({true, size, {}});
}

void Disk::created(const std::string& path) {
    const std::lock_guard lock(mutex_);
    files_[path] = {};
    entries_[os::directory_of(path)].push_back({Entry::Kind::created, path, "", false, ""});
}

void Disk::removed(const std::string& path, std::string before) {
    const std::lock_guard lock(mutex_);
    const auto known = files_.find(path);
    // What comes back is what was durable of it.
    if (known != files_.end()) before = known->second.durable;
    files_.erase(path);
    entries_[os::directory_of(path)].push_back({Entry::Kind::removed, path, "", false, std::move(before)});
}

void Disk::renamed(const std::string& from, const std::string& to, bool replaced, std::string before) {
    const std::lock_guard lock(mutex_);
    if (const auto known = files_.find(to); known != files_.end()) before = known->second.durable;
    files_[to] = std::move(file(from));
    files_.erase(from);
    entries_[os::directory_of(to)].push_back({Entry::Kind::renamed, from, to, replaced, std::move(before)});
}

void Disk::synced(const std::string& path) {
    const std::lock_guard lock(mutex_);
    step();
    if (!honest_) return;
    File& of = file(path);
    for (const Write& write : of.pending) {
        const std::size_t end = write.offset + write.bytes.size();
        if (write.truncates || of.durable.size() < end) of.durable.resize(end);
        if (!write.truncates) of.durable.replace(write.offset, write.bytes.size(), write.bytes);
    }
    of.pending.clear();
}

void Disk::synced_directory(const std::string& path) {
    const std::lock_guard lock(mutex_);
    step();
    if (honest_) entries_[path].clear();
}

void Disk::die() {
    const std::lock_guard lock(mutex_);
    cut();
}

// Each sector is as it was after some of the writes to it: a sector that reaches the disk has all that was
// written to it until then.
std::string Disk::survivor(const File& of, std::uint64_t sector) {
    const std::uint64_t mood = rng_.below(4);  // all is lost, nothing is, or each sector has its own fate
    const auto draw = [&]() -> std::size_t {
        if (mood == 0) return 0;
        if (mood == 1) return of.pending.size();
        switch (rng_.below(3)) {
            case 0: return 0;
            case 1: return of.pending.size();
            default: return rng_.below(of.pending.size() + 1);
        }
    };
    std::map<std::uint64_t, std::size_t> fates;
    const std::size_t fate_of_size = draw();
    std::string image = of.durable;
    for (std::size_t i = 0; i < of.pending.size(); ++i) {
        const Write& write = of.pending[i];
        if (write.truncates) {
            if (i < fate_of_size) image.resize(write.offset);
            continue;
        }
        for (std::uint64_t at = 0; at < write.bytes.size();) {
            const std::uint64_t place = write.offset + at;
            const std::uint64_t count = std::min(sector - place % sector, write.bytes.size() - at);
            auto fate = fates.find(place / sector);
            if (fate == fates.end()) fate = fates.emplace(place / sector, draw()).first;
            if (i < fate->second) {
                if (image.size() < place + count) image.resize(place + count);
                image.replace(place, count, write.bytes, at, count);
            }
            at += count;
        }
    }
    return image;
}

void Disk::undo(const Entry& entry) {
    std::error_code ignored;
    switch (entry.kind) {
        case Entry::Kind::created: fs::remove_all(entry.path, ignored); break;
        case Entry::Kind::removed: put(entry.path, entry.before); break;
        case Entry::Kind::renamed:
            fs::rename(entry.to, entry.path, ignored);
            if (entry.replaced) put(entry.to, entry.before);
            break;
    }
}

void Disk::cut() {
    const std::uint64_t sector = rng_.below(2) == 0 ? 512 : 4'096;
    for (const auto& [path, of] : files_) {
        if (!of.pending.empty() && fs::exists(path)) put(path, survivor(of, sector));
    }
    // A directory's changes reach the disk in their order; the last ones may not.
    for (auto& [directory, changes] : entries_) {
        const std::size_t kept = rng_.below(changes.size() + 1);
        while (changes.size() > kept) {
            undo(changes.back());
            changes.pop_back();
        }
    }
    on_death_();
}

Result<os::Fd> DiskFileOps::open(const std::string& path, os::OpenMode mode, mode_t permissions) {
    const bool there = fs::exists(path);
    auto fd = real_.open(path, mode, permissions);
    if (fd && !there) disk_.created(path);
    return fd;
}

Result<std::size_t> DiskFileOps::write(const os::Fd& fd, std::string_view bytes) {
    const auto at = ::lseek(fd.get(), 0, SEEK_CUR);
    disk_.writes(path_of(fd), static_cast<std::uint64_t>(std::max<off_t>(at, 0)), bytes);
    return real_.write(fd, bytes);
}

Result<std::size_t> DiskFileOps::pwrite(const os::Fd& fd, std::string_view bytes, std::uint64_t offset) {
    disk_.writes(path_of(fd), offset, bytes);
    return real_.pwrite(fd, bytes, offset);
}

Result<void> DiskFileOps::truncate(const os::Fd& fd, std::uint64_t size) {
    disk_.truncates(path_of(fd), size);
    return real_.truncate(fd, size);
}

Result<void> DiskFileOps::fsync(const os::Fd& fd) {
    const std::string path = path_of(fd);
    fs::is_directory(path) ? disk_.synced_directory(path) : disk_.synced(path);
    return {};
}

Result<void> DiskFileOps::rename(const std::string& from, const std::string& to) {
    const bool replaced = fs::exists(to);
    std::string before = replaced ? content_of(to) : "";
    auto done = real_.rename(from, to);
    if (done) disk_.renamed(from, to, replaced, std::move(before));
    return done;
}

Result<void> DiskFileOps::unlink(const std::string& path) {
    std::string before = content_of(path);
    auto done = real_.unlink(path);
    if (done) disk_.removed(path, std::move(before));
    return done;
}

Result<void> DiskFileOps::mkdir(const std::string& path, mode_t permissions) {
    auto done = real_.mkdir(path, permissions);
    if (done) disk_.created(path);
    return done;
}

}  // namespace callgate::power_loss
