#include "base/sha256.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::base {
namespace {

TEST(Sha256, MatchesTheStandardsExamples) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IsReadyForTheNextTextAfterADigest) {
    Sha256 hash;
    const auto first = hash.update("abc").finish();
    EXPECT_EQ(hash.update("abc").finish(), first);
    EXPECT_NE(hash.finish(), first);
}

TEST(Sha256, ACopyGoesOnFromWhereItWasMade) {
    Sha256 first;
    first.update("ab");
    Sha256 second = first;
    EXPECT_EQ(first.update("c").finish(), sha256("abc"));
    EXPECT_EQ(second.update("d").finish(), sha256("abd"));
}

RC_GTEST_PROP(Sha256, PiecesGiveTheSameDigestAsTheWhole, (const std::vector<std::string>& pieces)) {
    Sha256 hash;
    std::string whole;
    for (const auto& piece : pieces) {
        hash.update(piece);
        whole += piece;
    }
    RC_ASSERT(hash.finish() == sha256(whole));
}

}  // namespace
}  // namespace callgate::base
