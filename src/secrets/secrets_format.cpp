#include "secrets/secrets_format.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "redact/secret_set.h"
#include "secrets/rules.h"

namespace callgate::secrets {
namespace {

using base::LockedBytes;
using base::SealKey;

constexpr std::string_view kMagic = "callgate-secrets";
constexpr std::uint32_t kForm = 1;
constexpr std::size_t kPadding = 64;
constexpr std::size_t kEndBytes = base::kSealOverhead + 32;

constexpr std::string_view kRecordPurpose = "secret";
constexpr std::string_view kFilePurpose = "secrets-file";
constexpr std::string_view kSlotPurpose = "secret-slot";

void put_number(std::string& out, std::uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
        out.push_back(static_cast<char>(value >> shift & 0xff));
    }
}

/// Takes fields off the front; after one that is not there, nothing more is.
class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    std::string_view take(std::size_t size) {
        if (size > rest_.size()) {
            failed_ = true;
            rest_ = {};
            return {};
        }
        const std::string_view out = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return out;
    }
    std::uint64_t number(std::size_t bytes) {
        std::uint64_t out = 0;
        for (const char c : take(bytes)) out = out << 8 | static_cast<unsigned char>(c);
        return out;
    }
    std::string_view rest() const { return rest_; }
    bool failed() const { return failed_; }

private:
    std::string_view rest_;
    bool failed_ = false;
};

tl::unexpected<Error> unusable(std::string_view reason, std::string message,
                               boost::json::object details = {}) {
    details["reason"] = reason;
    return fail(ErrorCode::config_error, std::move(message), std::move(details));
}

tl::unexpected<Error> damaged(std::string_view what) {
    return unusable("secrets_damaged",
                    fmt::format("It was changed or cut short since it was written: {}. Restore it from a "
                                "backup.",
                                what));
}

std::string record_name(const Slot& slot, std::uint32_t version) {
    std::string out(slot.begin(), slot.end());
    put_number(out, version, 4);
    return out;
}

std::string digest_of(std::string_view bytes) {
    const auto digest = base::sha256(bytes);
    return std::string(digest.begin(), digest.end());
}

auto place(const SealedRecord& record) {
    return std::tie(record.slot, record.version);
}

}  // namespace

Slot slot_of(const SealKey& key, std::string_view connector, std::string_view name) {
    std::string text;
    put_number(text, connector.size(), 2);
    text.append(connector).append(name);
    const auto digest = base::keyed_hash(key, kSlotPurpose, text);
    Slot out;
    std::copy_n(digest.begin(), out.size(), out.begin());
    return out;
}

SealedRecord seal_record(const SealKey& key, std::string_view connector, std::string_view name,
                         std::uint32_t version, base::WallTime set_at, std::string_view value) {
    std::string head;
    put_number(head, connector.size(), 2);
    head.append(connector);
    put_number(head, name.size(), 2);
    head.append(name);
    put_number(head, static_cast<std::uint64_t>(set_at.time_since_epoch().count()), 8);
    put_number(head, value.size(), 4);
    // Zeros up to a multiple of 64: the file tells only roughly how long a value is.
    const std::size_t used = head.size() + value.size();
    LockedBytes plain((used + kPadding - 1) / kPadding * kPadding);
    std::ranges::copy(head, plain.bytes().begin());
    std::ranges::copy(value, plain.bytes().subspan(head.size()).begin());

    SealedRecord out;
    out.slot = slot_of(key, connector, name);
    out.version = version;
    out.sealed = base::seal(key, kRecordPurpose, record_name(out.slot, version), plain.view());
    return out;
}

Result<OpenRecord> open_record(const SealKey& key, const SealedRecord& record) {
    auto plain =
        base::unseal_locked(key, kRecordPurpose, record_name(record.slot, record.version), record.sealed);
    if (!plain) return damaged("a record does not open");
    OpenRecord out;
    out.memory = std::move(*plain);
    Reader reader(out.memory.view());
    out.connector = reader.take(reader.number(2));
    out.key = reader.take(reader.number(2));
    out.set_at = base::WallTime(
        std::chrono::microseconds(static_cast<std::chrono::microseconds::rep>(reader.number(8))));
    out.value = reader.take(reader.number(4));
    const bool padded = reader.rest().size() < kPadding &&
                        std::ranges::all_of(reader.rest(), [](char c) { return c == '\0'; });
    if (reader.failed() || !padded || slot_of(key, out.connector, out.key) != record.slot)
        return damaged("a record is not what it should be");
    return out;
}

std::string write_image(const SealKey& key, base::Rng& rng, const SecretsImage& image) {
    std::vector<const SealedRecord*> records;
    records.reserve(image.records.size());
    for (const SealedRecord& record : image.records) records.push_back(&record);
    std::ranges::sort(records, {}, [](const SealedRecord* record) { return place(*record); });

    std::string out(kMagic);
    put_number(out, kForm, 4);
    out += base::hex_decode(key.id()).value();
    std::array<std::byte, 16> fresh;
    rng.fill(fresh);
    for (const std::byte byte : fresh) out.push_back(static_cast<char>(byte));
    put_number(out, image.changes, 8);
    put_number(out, records.size(), 4);
    const std::string head = out;
    for (const SealedRecord* record : records) {
        out.append(record->slot.begin(), record->slot.end());
        put_number(out, record->version, 4);
        put_number(out, record->sealed.size(), 4);
        out.append(record->sealed);
    }
    const std::string digest = digest_of(std::string_view(out).substr(head.size()));
    return out + base::seal(key, kFilePurpose, head, digest);
}

Result<SecretsImage> read_image(const SealKey& key, std::string_view bytes) {
    Reader reader(bytes);
    if (reader.take(kMagic.size()) != kMagic)
        return unusable("not_a_secrets_file",
                        bytes.empty() ? "It is no secrets file: it is empty. Remove it, or give another path."
                                      : "It is no secrets file of callgate. Give another path.");
    const std::uint64_t form = reader.number(4);
    if (reader.failed()) return damaged("it ends in its head");
    if (form != kForm)
        return unusable("secrets_version",
                        fmt::format("It has the form {}, and this version of callgate knows form {}. Use the "
                                    "version that wrote it.",
                                    form, kForm));
    const std::string sealed_under = base::hex_encode(reader.take(8));
    if (!reader.failed() && sealed_under != key.id())
        return unusable("wrong_key",
                        fmt::format("It is sealed with the key {}, but the key given is {}. Give the key it "
                                    "is sealed with.",
                                    sealed_under, key.id()),
                        {{"sealed_under", sealed_under}, {"key", key.id()}});
    reader.take(16);
    SecretsImage image;
    image.changes = reader.number(8);
    const std::uint64_t count = reader.number(4);
    if (reader.failed() || reader.rest().size() < kEndBytes) return damaged("it ends in its head");

    const std::string_view body = reader.rest().substr(0, reader.rest().size() - kEndBytes);
    const auto digest =
        base::unseal(key, kFilePurpose, bytes.substr(0, kHeadBytes), reader.rest().substr(body.size()));
    if (!digest) return damaged("its end does not open");
    if (*digest != digest_of(body)) return damaged("its records are not those that were written");

    // What follows cannot fail for a file that was written by us.
    Reader records(body);
    if (count > 2 * kMaxSecrets) return damaged("it has too many records");
    for (std::uint64_t i = 0; i < count; ++i) {
        SealedRecord record;
        const std::string_view slot = records.take(record.slot.size());
        record.version = static_cast<std::uint32_t>(records.number(4));
        record.sealed = records.take(records.number(4));
        if (records.failed()) return damaged("it has fewer records than it says");
        std::ranges::transform(slot, record.slot.begin(),
                               [](char c) { return static_cast<std::uint8_t>(c); });
        if (!image.records.empty() && !(place(image.records.back()) < place(record)))
            return damaged("its records are out of order");
        image.records.push_back(std::move(record));
    }
    if (!records.rest().empty()) return damaged("it has more records than it says");
    return image;
}

}  // namespace callgate::secrets
