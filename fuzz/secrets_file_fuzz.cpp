// Any bytes as a secrets file, as records whose end is sealed rightly, or as the inside of a record: refused
// with a reason, or read and written again without a change.
//
// The first byte says which; the key is 00 01 … 1f. Without the second and third way nothing behind the seals
// would ever be reached.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/rng.h"
#include "base/seal.h"
#include "base/sha256.h"
#include "require.h"
#include "secrets/rules.h"
#include "secrets/secrets_format.h"

using namespace callgate;
using namespace callgate::secrets;

namespace {

const base::SealKey& the_key() {
    static const base::SealKey key = [] {
        std::string bytes;
        for (char c = 0; c < 32; ++c) bytes.push_back(c);
        return base::SealKey::from_bytes(bytes).value();
    }();
    return key;
}

void require_reason(const Error& error) {
    require(error.code == ErrorCode::config_error, "a refusal has the code config_error");
    const auto* const reason = error.details.if_contains("reason");
    require(reason != nullptr && (*reason == "not_a_secrets_file" || *reason == "secrets_version" ||
                                  *reason == "wrong_key" || *reason == "secrets_damaged"),
            "a refusal names its reason");
}

void try_record(const SealedRecord& record) {
    const auto opened = open_record(the_key(), record);
    if (!opened) return require_reason(opened.error());
    const auto again = open_record(the_key(), seal_record(the_key(), opened->connector, opened->key,
                                                          record.version, opened->set_at, opened->value));
    require(again && again->connector == opened->connector && again->key == opened->key &&
                again->set_at == opened->set_at && again->value == opened->value,
            "a record is the same after it was sealed anew");
}

void try_file(std::string_view bytes) {
    const auto image = read_image(the_key(), bytes);
    if (!image) return require_reason(image.error());
    for (const SealedRecord& record : image->records) try_record(record);
    base::SeededRng rng(1);
    const auto again = read_image(the_key(), write_image(the_key(), rng, *image));
    require(again && again->changes == image->changes && again->records.size() == image->records.size(),
            "a file is the same after it was written again");
    for (std::size_t i = 0; i < image->records.size(); ++i) {
        require(again->records[i].slot == image->records[i].slot &&
                    again->records[i].version == image->records[i].version &&
                    again->records[i].sealed == image->records[i].sealed,
                "a record is the same after the file was written again");
    }
}

// Number of records, records; head and end are made here.
void try_records(std::string_view bytes) {
    if (bytes.size() < 4) return;
    base::SeededRng rng(1);
    std::string file = write_image(the_key(), rng, {}).substr(0, kHeadBytes - 4);
    file += bytes.substr(0, 4);
    const std::string head = file;
    const std::string_view records = bytes.substr(4);
    const auto digest = base::sha256(records);
    file += records;
    file += base::seal(the_key(), "secrets-file", head, std::string(digest.begin(), digest.end()));
    try_file(file);
}

void try_inside(std::string_view plain) {
    SealedRecord record;
    record.slot = slot_of(the_key(), "github", "token");
    record.version = 1;
    record.sealed =
        base::seal(the_key(), "secret",
                   std::string(record.slot.begin(), record.slot.end()) + std::string("\0\0\0\1", 4), plain);
    try_record(record);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0]) {
        case 'f': try_file(rest); break;
        case 'r': try_records(rest); break;
        case 'i': try_inside(rest); break;
        default: break;
    }
    return 0;
}
