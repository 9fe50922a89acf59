#include "base/seal.h"

#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/encoding.h"

namespace callgate::base {
namespace {

using testing::HasSubstr;

template <class T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };

static_assert(!std::is_copy_constructible_v<SealKey> && !std::is_copy_assignable_v<SealKey>);
static_assert(std::is_nothrow_move_constructible_v<SealKey>);
static_assert(!Printable<SealKey>);

SealKey key_of(char fill) {
    return SealKey::from_bytes(std::string(32, fill)).value();
}

// Bytes 00 to 1f.
SealKey counted_key() {
    std::string bytes;
    for (char c = 0; c < 32; ++c) bytes.push_back(c);
    return SealKey::from_bytes(bytes).value();
}

template <class T>
std::string reason_of(const Result<T>& result) {
    if (result) return "opened";
    EXPECT_EQ(result.error().code, ErrorCode::config_error);
    return std::string(result.error().details.at("reason").as_string());
}

TEST(SealKey, Has32Bytes) {
    for (const std::size_t size : {0u, 16u, 31u, 33u, 64u}) {
        const auto refused = SealKey::from_bytes(std::string(size, 'k'));
        EXPECT_EQ(reason_of(refused), "key_size") << size;
        EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(size)));
    }
    EXPECT_TRUE(SealKey::from_bytes(std::string(32, 'k')));
}

TEST(SealKey, HasAnIdThatTellsKeysApart) {
    EXPECT_EQ(counted_key().id(), "436da2de0c18b650");
    EXPECT_NE(key_of('a').id(), key_of('b').id());
    EXPECT_EQ(key_of('a').id(), key_of('a').id());
}

TEST(SealKey, IsAnotherOneEveryTimeWhenRandom) {
    std::set<std::string> ids;
    for (int i = 0; i < 100; ++i) ids.insert(SealKey::random().id());
    EXPECT_EQ(ids.size(), 100u);
}

// The expected bytes come from another implementation (Node's crypto module).
TEST(Seal, OpensWhatAnotherImplementationSealed) {
    const auto sealed = hex_decode(
        "01436da2de0c18b650a0a1a2a3a4a5a6a7a8a9aaabacadaeaf3b670e7e3bffdcb1e816056f4bf95318fd9522551c"
        "cbd29a7e6f45dd1656");
    EXPECT_EQ(unseal(counted_key(), "test", "record-1", *sealed).value(), "attack at dawn");
    const auto nothing =
        hex_decode("01436da2de0c18b650a0a1a2a3a4a5a6a7a8a9aaabacadaeaf6a710181fe9e1ba7dd13220c97d13256");
    EXPECT_EQ(unseal(counted_key(), "", "", *nothing).value(), "");
}

RC_GTEST_PROP(Seal, GivesBackWhatWasSealed,
              (const std::string& purpose, const std::string& record, const std::string& plain)) {
    const SealKey key = key_of('k');
    const std::string sealed = seal(key, purpose, record, plain);
    RC_ASSERT(sealed.size() == plain.size() + kSealOverhead);
    RC_ASSERT(unseal(key, purpose, record, sealed).value() == plain);
    RC_ASSERT(unseal_locked(key, purpose, record, sealed).value().view() == plain);
}

TEST(Seal, TakesLargeTexts) {
    std::string plain(5u << 20, 'x');
    plain.back() = 'y';
    const SealKey key = key_of('k');
    EXPECT_EQ(unseal(key, "p", "r", seal(key, "p", "r", plain)).value(), plain);
}

TEST(Seal, NeverLooksTheSameTwice) {
    const SealKey key = key_of('k');
    const std::string plain(64, 'p');
    std::set<std::string> seen;
    for (int i = 0; i < 100; ++i) seen.insert(seal(key, "p", "r", plain).substr(9));
    EXPECT_EQ(seen.size(), 100u);
}

TEST(Seal, ShowsNothingOfWhatIsSealed) {
    const std::string sealed = seal(key_of('k'), "purpose!", "record!!", "plain text");
    for (const auto* text : {"purpose", "record", "plain"}) EXPECT_EQ(sealed.find(text), sealed.npos);
}

TEST(Seal, AnyFlippedBitIsRefused) {
    const SealKey key = key_of('k');
    const std::string sealed = seal(key, "p", "r", "some text that matters");
    std::set<std::string> reasons;
    for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
        std::string changed = sealed;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        const auto opened = unseal(key, "p", "r", changed);
        ASSERT_FALSE(opened) << bit;
        ASSERT_FALSE(unseal_locked(key, "p", "r", changed)) << bit;
        reasons.insert(reason_of(opened));
    }
    EXPECT_THAT(reasons, testing::ElementsAre("sealed_damaged", "sealed_version", "wrong_key"));
}

TEST(Seal, AnyOtherLengthIsRefused) {
    const SealKey key = key_of('k');
    const std::string sealed = seal(key, "p", "r", "some text");
    for (std::size_t size = 0; size < sealed.size(); ++size) {
        EXPECT_EQ(reason_of(unseal(key, "p", "r", std::string_view(sealed).substr(0, size))),
                  "sealed_damaged")
            << size;
    }
    EXPECT_EQ(reason_of(unseal(key, "p", "r", sealed + '\0')), "sealed_damaged");
}

TEST(Seal, IsBoundToItsPurposeAndItsRecord) {
    const SealKey key = key_of('k');
    const std::string sealed = seal(key, "ab", "cd", "text");
    EXPECT_EQ(reason_of(unseal(key, "ab", "ce", sealed)), "sealed_damaged");
    EXPECT_EQ(reason_of(unseal(key, "aa", "cd", sealed)), "sealed_damaged");
    EXPECT_EQ(reason_of(unseal(key, "abc", "d", sealed)), "sealed_damaged");
    EXPECT_EQ(reason_of(unseal(key, "a", "bcd", sealed)), "sealed_damaged");
    EXPECT_EQ(reason_of(unseal(key, "ab", "", sealed)), "sealed_damaged");
}

RC_GTEST_PROP(Seal, OpensUnderNoOtherPurposeOrRecord,
              (const std::string& purpose, const std::string& record, const std::string& other_purpose,
               const std::string& other_record)) {
    RC_PRE(purpose != other_purpose || record != other_record);
    const SealKey key = key_of('k');
    RC_ASSERT(!unseal(key, other_purpose, other_record, seal(key, purpose, record, "text")));
}

TEST(Seal, AWrongKeyIsNamedAndNothingIsTried) {
    const auto opened = unseal(key_of('b'), "p", "r", seal(key_of('a'), "p", "r", "text"));
    EXPECT_EQ(reason_of(opened), "wrong_key");
    EXPECT_EQ(opened.error().details.at("sealed_under"), boost::json::value(key_of('a').id()));
    EXPECT_THAT(opened.error().message, HasSubstr(key_of('a').id()));
    EXPECT_THAT(opened.error().message, HasSubstr(key_of('b').id()));
}

TEST(Seal, AKeyThatOnlyClaimsToBeTheRightOneOpensNothing) {
    std::string sealed = seal(key_of('a'), "p", "r", "text");
    sealed.replace(1, 8, seal(key_of('b'), "p", "r", "text").substr(1, 8));
    EXPECT_EQ(reason_of(unseal(key_of('b'), "p", "r", sealed)), "sealed_damaged");
}

TEST(Seal, ANewerFormIsNamed) {
    const SealKey key = key_of('k');
    std::string sealed = seal(key, "p", "r", "text");
    sealed[0] = 2;
    const auto opened = unseal(key, "p", "r", sealed);
    EXPECT_EQ(reason_of(opened), "sealed_version");
    EXPECT_THAT(opened.error().message, HasSubstr("form 2"));
}

TEST(KeyedHash, DependsOnKeyPurposeAndText) {
    EXPECT_EQ(to_hex(keyed_hash(counted_key(), "names", "github")),
              "d05fcac68fa02a76dea14b5ea97080481973550205661fcf7bf20e13b879da8f");
    const auto plain = keyed_hash(key_of('k'), "p", "t");
    EXPECT_EQ(plain, keyed_hash(key_of('k'), "p", "t"));
    EXPECT_NE(plain, keyed_hash(key_of('l'), "p", "t"));
    EXPECT_NE(plain, keyed_hash(key_of('k'), "q", "t"));
    EXPECT_NE(plain, keyed_hash(key_of('k'), "p", "u"));
}

}  // namespace
}  // namespace callgate::base
