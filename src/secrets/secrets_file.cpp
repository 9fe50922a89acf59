#include "secrets/secrets_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/failpoint.h"
#include "base/try.h"
#include "os/file_lock.h"
#include "os/files.h"
#include "os/system_error.h"
#include "secrets/rules.h"

namespace callgate::secrets {
namespace {

using base::SealKey;

constexpr std::chrono::seconds kTurn{10};

// The record of the highest version; null if the slot is empty.
const SealedRecord* current(const std::vector<SealedRecord>& records, const Slot& slot) {
    const SealedRecord* found = nullptr;
    for (const SealedRecord& record : records) {
        if (record.slot == slot && (found == nullptr || record.version > found->version)) found = &record;
    }
    return found;
}

std::size_t count_secrets(const std::vector<SealedRecord>& records) {
    std::set<Slot> slots;
    for (const SealedRecord& record : records) slots.insert(record.slot);
    return slots.size();
}

}  // namespace

SecretsFile::SecretsFile(os::FileOps& files, base::Rng& rng, const base::Clock& clock, std::string path,
                         SealKey key)
    : files_(files),
      rng_(rng),
      clock_(clock),
      path_(std::move(path)),
      key_(std::make_shared<const SealKey>(std::move(key))) {}

Error SecretsFile::about(Error error) const {
    error.message = fmt::format("{}: {}", path_, error.message);
    error.details["path"] = path_;
    return error;
}

Error SecretsFile::missing(std::string_view connector, std::string_view key) const {
    return no_such_secret(connector, key, fmt::format("add it to {} with `callgate secrets set`", path_));
}

Result<SecretsFile::Snapshot> SecretsFile::read() const {
    auto bytes = os::read_file(files_, path_, kMaxFileBytes);
    if (!bytes) {
        if (bytes.error().details.at("reason") == "file_missing") return Snapshot();
        return tl::unexpected(std::move(bytes.error()));
    }
    auto image = read_image(*key_, *bytes);
    if (!image) return tl::unexpected(about(std::move(image.error())));
    return Snapshot{bytes->substr(0, kHeadBytes), std::move(*image)};
}

// Every write makes another head, so an unchanged head is an unchanged file.
bool SecretsFile::is_current(const Snapshot& snapshot) const {
    const auto fd = files_.open(path_, os::OpenMode::read);
    if (!fd) return snapshot.head.empty() && os::error_number(fd.error()) == ENOENT;
    std::array<char, kHeadBytes> head;
    const auto got = files_.pread(*fd, head, 0);
    return got && std::string_view(head.data(), *got) == snapshot.head;
}

Result<std::shared_ptr<const SecretsFile::Snapshot>> SecretsFile::look() const {
    if (seen_ && is_current(*seen_)) return seen_;
    seen_.reset();
    CALLGATE_TRY_ASSIGN(auto snapshot, read());
    seen_ = std::make_shared<const Snapshot>(std::move(snapshot));
    return seen_;
}

Result<void> SecretsFile::probe() const {
    const base::MutexLock lock(mutex_);
    return look().map([](const auto&) {});
}

Result<FoundSecret> SecretsFile::open(std::string_view connector, std::string_view key) const {
    CALLGATE_TRY(check_name(connector, key));
    base::MutexLock lock(mutex_);
    CALLGATE_TRY_ASSIGN(const auto snapshot, look());
    const auto sealing_key = key_;
    lock.unlock();
    const Slot slot = slot_of(*sealing_key, connector, key);
    const Records& records = snapshot->image.records;
    const SealedRecord* const record = current(records, slot);
    if (record == nullptr) return tl::unexpected(missing(connector, key));
    auto opened = open_record(*sealing_key, *record);
    if (!opened) return tl::unexpected(about(std::move(opened.error())));
    FoundSecret out;
    out.info.version = record->version;
    out.info.set_at = opened->set_at;
    out.record = std::move(*opened);
    for (const SealedRecord& other : records) {
        if (other.slot == slot && other.version < record->version) out.info.previous = other.version;
    }
    return out;
}

template <class Change>
Result<void> SecretsFile::change(Change change) {
    const base::MutexLock lock(mutex_);
    CALLGATE_TRY_ASSIGN(const auto turn, os::FileLock::take(files_, path_, kTurn));
    CALLGATE_TRY_ASSIGN(auto snapshot, read());
    std::shared_ptr<const SealKey> key = key_;
    CALLGATE_TRY(change(snapshot.image.records, key));
    ++snapshot.image.changes;
    const std::string bytes = write_image(*key, rng_, snapshot.image);
    if (bytes.size() > kMaxFileBytes)
        return fail(ErrorCode::invalid_arguments,
                    fmt::format("{} would grow larger than {} bytes.", path_, kMaxFileBytes),
                    {{"reason", "file_too_large"}, {"path", path_}, {"max", kMaxFileBytes}});
    CALLGATE_FAILPOINT_RETURN("secrets.before_file_write");
    auto written = os::write_file_atomically(files_, rng_, path_, bytes);
    // It may be in place although it is not certain to survive a power cut.
    if (written || is_current(Snapshot{bytes.substr(0, kHeadBytes), {}})) key_ = std::move(key);
    seen_.reset();
    if (!written) return written;
    CALLGATE_FAILPOINT_RETURN("secrets.after_file_write");
    return {};
}

Result<std::uint32_t> SecretsFile::add(std::string_view connector, std::string_view key,
                                       std::string_view value, Before before) {
    CALLGATE_TRY(check_name(connector, key));
    CALLGATE_TRY(check_value(connector, key, value));
    std::uint32_t version = 1;
    CALLGATE_TRY(change([&](Records& records, const auto& sealing_key) -> Result<void> {
        const Slot slot = slot_of(*sealing_key, connector, key);
        if (const SealedRecord* const last = current(records, slot)) {
            if (last->version == std::numeric_limits<std::uint32_t>::max())
                return fail(ErrorCode::invalid_arguments, "The secret has no versions left; remove it first.",
                            {{"reason", "too_many_versions"}});
            version = last->version + 1;
        } else if (before == Before::keep) {
            return tl::unexpected(missing(connector, key));
        } else if (count_secrets(records) >= kMaxSecrets) {
            return tl::unexpected(too_many_secrets());
        }
        std::erase_if(records, [&](const SealedRecord& record) {
            return record.slot == slot && (before == Before::drop || record.version + 1 != version);
        });
        records.push_back(seal_record(*sealing_key, connector, key, version, clock_.wall_now(), value));
        return {};
    }));
    return version;
}

Result<std::uint32_t> SecretsFile::set(std::string_view connector, std::string_view key,
                                       std::string_view value) {
    return add(connector, key, value, Before::drop);
}

Result<std::uint32_t> SecretsFile::rotate(std::string_view connector, std::string_view key,
                                          std::string_view value) {
    return add(connector, key, value, Before::keep);
}

Result<void> SecretsFile::remove(std::string_view connector, std::string_view key,
                                 std::optional<std::uint32_t> version) {
    CALLGATE_TRY(check_name(connector, key));
    return change([&](Records& records, const auto& sealing_key) -> Result<void> {
        const Slot slot = slot_of(*sealing_key, connector, key);
        if (current(records, slot) == nullptr) return tl::unexpected(missing(connector, key));
        const std::size_t removed = std::erase_if(records, [&](const SealedRecord& record) {
            return record.slot == slot && (!version || record.version == *version);
        });
        if (removed != 0) return {};
        return fail(
            ErrorCode::config_error,
            fmt::format("The secret '{}' of connector '{}' has no version {}.", key, connector, *version),
            {{"reason", "no_such_version"}, {"connector", connector}, {"key", key}});
    });
}

Result<std::optional<SecretInfo>> SecretsFile::check(std::string_view connector, std::string_view key) const {
    const auto opened = open(connector, key);
    if (!opened) {
        if (is_no_such_secret(opened.error())) return std::nullopt;
        return tl::unexpected(opened.error());
    }
    return opened->info;
}

Result<SecretsFileInfo> SecretsFile::check() const {
    const base::MutexLock lock(mutex_);
    CALLGATE_TRY_ASSIGN(const auto snapshot, look());
    const Records& records = snapshot->image.records;
    for (const SealedRecord& record : records) {
        if (auto opened = open_record(*key_, record); !opened)
            return tl::unexpected(about(std::move(opened.error())));
    }
    SecretsFileInfo out;
    out.exists = !snapshot->head.empty();
    out.secrets = count_secrets(records);
    out.records = records.size();
    out.key_id = key_->id();
    return out;
}

Result<void> SecretsFile::rotate_key(SealKey to) {
    const auto next = std::make_shared<const SealKey>(std::move(to));
    return change([&](Records& records, std::shared_ptr<const SealKey>& sealing_key) -> Result<void> {
        for (SealedRecord& record : records) {
            auto opened = open_record(*sealing_key, record);
            if (!opened) return tl::unexpected(about(std::move(opened.error())));
            record = seal_record(*next, opened->connector, opened->key, record.version, opened->set_at,
                                 opened->value);
        }
        sealing_key = next;
        return {};
    });
}

}  // namespace callgate::secrets
