#include "ledger/audit/signing_key.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace callgate::ledger {
namespace {

// The example of the Go checksum database's notes, which others use to test their readers.
constexpr std::string_view kPeterVkey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

VerifyingKey::Bytes bytes_of(std::string_view hex) {
    const std::string raw = *base::hex_decode(hex);
    VerifyingKey::Bytes out{};
    std::copy(raw.begin(), raw.end(), out.begin());
    return out;
}

TEST(VerifyingKey, IsReadAndWrittenInTheFormOfSignedNotes) {
    const auto key = VerifyingKey::parse(kPeterVkey);
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(key->name(), "PeterNeumann");
    EXPECT_EQ(key->id(), 0xc74f20a3u);
    EXPECT_EQ(key->vkey(), kPeterVkey);
}

TEST(VerifyingKey, VerifiesTheVectorsOfRfc8032) {
    const VerifyingKey key("k", bytes_of("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"));
    Signature signature{};
    const std::string raw = *base::hex_decode(
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a");
    std::copy(raw.begin(), raw.end(), signature.begin());
    EXPECT_TRUE(key.verifies("\xaf\x82", signature));
    EXPECT_FALSE(key.verifies("\xaf\x83", signature));
    signature[0] ^= 1;
    EXPECT_FALSE(key.verifies("\xaf\x82", signature));
}

TEST(VerifyingKey, RefusesWhatIsNoKey) {
    for (const std::string& bad :
         {std::string(""), std::string("PeterNeumann"), std::string(kPeterVkey) + " ",
          std::string("peterNeumann") + std::string(kPeterVkey).substr(12),
          std::string("PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"),
          std::string("PeterNeumann+c74f20a3+AhpC2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"),
          std::string("PeterNeumann+c74f20a3+ARpc2Qc="),
          std::string("+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"),
          std::string("Peter Neumann") + std::string(kPeterVkey).substr(12)}) {
        const auto key = VerifyingKey::parse(bad);
        ASSERT_FALSE(key) << bad;
        EXPECT_EQ(key.error().details.at("reason"), "bad_key");
    }
}

TEST(SigningKey, SignsWhatItsPublicKeyVerifies) {
    base::SeededRng rng(3);
    const SigningKey key = SigningKey::generate("callgate/audit/a", rng);
    const Signature signature = key.sign("text");
    EXPECT_TRUE(key.verifying_key().verifies("text", signature));
    EXPECT_FALSE(key.verifying_key().verifies("text ", signature));
    EXPECT_FALSE(SigningKey::generate("callgate/audit/a", rng).verifying_key().verifies("text", signature));
}

TEST(SigningKey, IsReadBackFromItsPrivateText) {
    base::SeededRng rng(3);
    const SigningKey key = SigningKey::generate("callgate/audit/a", rng);
    const auto again = SigningKey::parse(key.private_text());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->verifying_key(), key.verifying_key());
    EXPECT_EQ(again->sign("x"), key.sign("x"));
}

TEST(SigningKey, NeverShowsABadKeyInItsError) {
    base::SeededRng rng(3);
    std::string text = SigningKey::generate("callgate/audit/a", rng).private_text();
    text[14] = 'C';  // of the name, so that the id is wrong
    const auto key = SigningKey::parse(text);
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().message.find(text.substr(text.size() - 20)), std::string::npos);
    EXPECT_FALSE(SigningKey::parse("PRIVATE+KEY+"));
    EXPECT_FALSE(SigningKey::parse(std::string(kPeterVkey)));
}

}  // namespace
}  // namespace callgate::ledger
