#include "secrets/secrets_format.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/encoding.h"
#include "secrets/secrets_testing.h"

namespace callgate::secrets {
namespace {

using base::ManualClock;
using base::SealKey;
using testing::HasSubstr;

const SealKey& key_a() {
    static const SealKey key = SealKey::from_bytes(std::string(32, 'a')).value();
    return key;
}
const SealKey& key_b() {
    static const SealKey key = SealKey::from_bytes(std::string(32, 'b')).value();
    return key;
}

SealedRecord record(std::string_view connector, std::string_view key, std::uint32_t version,
                    std::string_view value) {
    return seal_record(key_a(), connector, key, version, ManualClock::kStart, value);
}

SecretsImage three_records() {
    SecretsImage image;
    image.changes = 5;
    image.records.push_back(record("github", "token", 2, "the second value"));
    image.records.push_back(record("github", "token", 1, "the first value"));
    image.records.push_back(record("slack", "token", 1, "another value"));
    return image;
}

std::string written(const SecretsImage& image) {
    base::SeededRng rng(1);
    return write_image(key_a(), rng, image);
}

TEST(SecretsFormat, IsReadAsItWasWritten) {
    const auto image = read_image(key_a(), written(three_records()));
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(image->changes, 5u);
    std::set<std::string> seen;
    for (const SealedRecord& one : image->records) {
        const auto opened = open_record(key_a(), one);
        ASSERT_TRUE(opened);
        EXPECT_EQ(opened->set_at, ManualClock::kStart);
        seen.insert(opened->connector + "/" + opened->key + "/" + std::to_string(one.version) + "=" +
                    std::string(opened->value));
    }
    EXPECT_THAT(seen, testing::ElementsAre("github/token/1=the first value",
                                           "github/token/2=the second value", "slack/token/1=another value"));
}

// Written by another implementation (Python) from docs/formats/ alone.
TEST(SecretsFormat, IsWhatTheDocumentSays) {
    std::string key;
    for (char c = 0; c < 32; ++c) key.push_back(c);
    const SealKey counted = SealKey::from_bytes(key).value();
    const auto bytes = base::hex_decode(
        "63616c6c676174652d7365637265747300000001436da2de0c18b65050a4a3a6d07f5c0c332f8b1224083fd20000"
        "00000000000300000001ac80a3880c93300956f99009ff602ea8000000020000006901436da2de0c18b65038b4e6"
        "52e44da7f2370d9e260e2713654b88edf5ca372fac97f46f30904c60297556861f8bdefe49ff7e104b81d05987dd"
        "3ca2c5507ce97b5327fd3f873966516061b00b10cbbbe1997522d603a90747d0687a80e811b493bc34a24e92a3eb"
        "a901436da2de0c18b6502b902f8911e81818f8c99d5d5d9831956d362850383f93dda85c424d4d0d80aa64c0bf79"
        "493a6563fec263503460dbdec94a01adc5041ab9761966353f1474e1");
    const auto image = read_image(counted, *bytes);
    ASSERT_TRUE(image) << image.error().message;
    ASSERT_EQ(image->records.size(), 1u);
    EXPECT_EQ(image->changes, 3u);
    EXPECT_EQ(image->records.front().version, 2u);
    const auto opened = open_record(counted, image->records.front());
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->connector, "github");
    EXPECT_EQ(opened->key, "token");
    EXPECT_EQ(opened->value, "the value");
    EXPECT_EQ(opened->set_at.time_since_epoch(), std::chrono::microseconds(1'763'216'411'000'000));
}

TEST(SecretsFormat, RecordsAreInTheOrderOfTheirBytes) {
    SecretsImage image;
    for (int i = 0; i < 40; ++i) image.records.push_back(record("c", std::to_string(i), 1, "the value"));
    const auto again = read_image(key_a(), written(image));
    ASSERT_TRUE(again) << again.error().message;
    for (std::size_t i = 1; i < again->records.size(); ++i) {
        EXPECT_LT(
            base::hex_encode(
                std::string(again->records[i - 1].slot.begin(), again->records[i - 1].slot.end())),
            base::hex_encode(std::string(again->records[i].slot.begin(), again->records[i].slot.end())));
    }
}

RC_GTEST_PROP(SecretsFormat, KeepsAnyNamesAndValues,
              (const std::string& connector, const std::string& key, const std::string& value)) {
    const auto opened = open_record(key_a(), record(connector, key, 7, value));
    RC_ASSERT(opened);
    RC_ASSERT(opened->connector == connector);
    RC_ASSERT(opened->key == key);
    RC_ASSERT(opened->value == value);
}

TEST(SecretsFormat, ShowsNeitherNamesNorValues) {
    const std::string bytes = written(three_records());
    for (const auto* text : {"github", "slack", "token", "value"}) {
        EXPECT_EQ(bytes.find(text), bytes.npos) << text;
    }
}

TEST(SecretsFormat, TellsLengthsOnlyRoughly) {
    std::set<std::size_t> sizes;
    for (std::size_t size = 8; size < 38; ++size) {
        sizes.insert(record("github", "token", 1, std::string(size, 'v')).sealed.size());
    }
    EXPECT_EQ(sizes.size(), 1u);
}

TEST(SecretsFormat, ASlotIsForOneNameAndOneKey) {
    EXPECT_EQ(slot_of(key_a(), "github", "token"), slot_of(key_a(), "github", "token"));
    EXPECT_NE(slot_of(key_a(), "github", "token"), slot_of(key_b(), "github", "token"));
    EXPECT_NE(slot_of(key_a(), "ab", "c"), slot_of(key_a(), "a", "bc"));
}

TEST(SecretsFormat, AnEmptyFileOfOursIsUsable) {
    const auto image = read_image(key_a(), written({}));
    ASSERT_TRUE(image);
    EXPECT_TRUE(image->records.empty());
}

TEST(SecretsFormat, LooksOtherAfterEveryWrite) {
    base::SeededRng rng(1);
    const auto first = write_image(key_a(), rng, {}).substr(0, kHeadBytes);
    EXPECT_NE(first, write_image(key_a(), rng, {}).substr(0, kHeadBytes));
}

TEST(SecretsFormat, AWrongKeyIsNamed) {
    const auto image = read_image(key_b(), written(three_records()));
    EXPECT_EQ(reason_of(image), "wrong_key");
    EXPECT_THAT(image.error().message, HasSubstr(key_a().id()));
    EXPECT_THAT(image.error().message, HasSubstr(key_b().id()));
}

TEST(SecretsFormat, AForeignFileIsNotTakenForADamagedOne) {
    EXPECT_EQ(reason_of(read_image(key_a(), "")), "not_a_secrets_file");
    EXPECT_EQ(reason_of(read_image(key_a(), "SQLite format 3")), "not_a_secrets_file");
    EXPECT_EQ(reason_of(read_image(key_a(), std::string(1000, '\0'))), "not_a_secrets_file");
    EXPECT_EQ(reason_of(read_image(key_a(), "callgate-secret")), "not_a_secrets_file");
}

TEST(SecretsFormat, ANewerFormIsNamed) {
    std::string bytes = written(three_records());
    bytes[19] = 2;
    const auto image = read_image(key_a(), bytes);
    EXPECT_EQ(reason_of(image), "secrets_version");
    EXPECT_THAT(image.error().message, HasSubstr("form 2"));
}

TEST(SecretsFormat, AFileCutAnywhereIsRefused) {
    const std::string bytes = written(three_records());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto image = read_image(key_a(), std::string_view(bytes).substr(0, size));
        ASSERT_FALSE(image) << size;
        ASSERT_EQ(reason_of(image), size < 16 ? "not_a_secrets_file" : "secrets_damaged") << size;
    }
    EXPECT_EQ(reason_of(read_image(key_a(), bytes + '\0')), "secrets_damaged");
}

TEST(SecretsFormat, AnyFlippedBitIsNoticedBeforeARecordIsOpened) {
    const std::string bytes = written(three_records());
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        std::string changed = bytes;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        ASSERT_FALSE(read_image(key_a(), changed)) << bit;
    }
}

TEST(SecretsFormat, RecordsCannotBeTakenOutOrPutBack) {
    // Head and records, with the end of another write of the same file.
    const std::string old = written(three_records());
    SecretsImage fewer = three_records();
    fewer.records.pop_back();
    const std::string now = written(fewer);
    const std::size_t end = base::kSealOverhead + 32;
    for (const std::string& mixed : {old.substr(0, old.size() - end) + now.substr(now.size() - end),
                                     now.substr(0, kHeadBytes) + old.substr(kHeadBytes),
                                     now.substr(0, now.size() - end) + old.substr(old.size() - end)}) {
        EXPECT_EQ(reason_of(read_image(key_a(), mixed)), "secrets_damaged");
    }
}

// What somebody with the key, or a fault of ours, could write.
std::string sealed_file(std::uint32_t count, std::string_view body) {
    std::string head = written({}).substr(0, kHeadBytes - 4);
    for (int shift = 24; shift >= 0; shift -= 8) head.push_back(static_cast<char>(count >> shift & 0xff));
    const auto digest = base::sha256(body);
    return head + std::string(body) +
           base::seal(key_a(), "secrets-file", head, std::string(digest.begin(), digest.end()));
}

TEST(SecretsFormat, RecordsThatDoNotFitTheFileAreRefused) {
    const std::string bytes = written(three_records());
    const std::string body = bytes.substr(kHeadBytes, bytes.size() - kHeadBytes - base::kSealOverhead - 32);
    EXPECT_EQ(reason_of(read_image(key_a(), sealed_file(3, body))), "fine");
    EXPECT_EQ(reason_of(read_image(key_a(), sealed_file(2, body))), "secrets_damaged");
    EXPECT_EQ(reason_of(read_image(key_a(), sealed_file(4, body))), "secrets_damaged");
    EXPECT_EQ(reason_of(read_image(key_a(), sealed_file(0xffffffff, body))), "secrets_damaged");
    EXPECT_EQ(reason_of(read_image(key_a(), sealed_file(6, body + body))), "secrets_damaged");
    EXPECT_EQ(reason_of(read_image(key_a(), sealed_file(3, body.substr(0, body.size() - 1)))),
              "secrets_damaged");
}

TEST(SecretsFormat, ARecordOpensOnlyAsItself) {
    SealedRecord one = record("github", "token", 2, "the value");
    one.version = 3;
    EXPECT_EQ(reason_of(open_record(key_a(), one)), "secrets_damaged");
    one = record("github", "token", 2, "the value");
    one.slot = slot_of(key_a(), "slack", "token");
    EXPECT_EQ(reason_of(open_record(key_a(), one)), "secrets_damaged");
    EXPECT_EQ(reason_of(open_record(key_b(), record("github", "token", 2, "the value"))), "secrets_damaged");
}

TEST(SecretsFormat, ARecordWithAnotherInsideIsRefused) {
    const auto sealed_as = [](const std::string& plain) {
        SealedRecord out;
        out.slot = slot_of(key_a(), "c", "k");
        out.version = 1;
        out.sealed =
            base::seal(key_a(), "secret",
                       std::string(out.slot.begin(), out.slot.end()) + std::string("\0\0\0\1", 4), plain);
        return out;
    };
    const std::string time(8, '\0');
    const std::string good = std::string("\0\1c\0\1k", 6) + time + std::string("\0\0\0\5", 4) + "value";
    EXPECT_EQ(reason_of(open_record(key_a(), sealed_as(good + std::string(41, '\0')))), "fine");
    for (const std::string& bad :
         {std::string(), good.substr(0, good.size() - 1), good + "x", good + std::string(64, '\0'),
          std::string("\xff\xff"
                      "c\0\1k",
                      6) +
              time,
          std::string("\0\1d\0\1k", 6) + time + std::string("\0\0\0\5", 4) + "value"}) {
        EXPECT_EQ(reason_of(open_record(key_a(), sealed_as(bad))), "secrets_damaged")
            << base::hex_encode(bad);
    }
}

}  // namespace
}  // namespace callgate::secrets
