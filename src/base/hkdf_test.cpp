#include "base/hkdf.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/hmac.h>
#include <rapidcheck/gtest.h>

#include "base/encoding.h"

namespace callgate::base {
namespace {

std::string counting(unsigned char from, unsigned char count) {
    std::string out;
    for (unsigned i = 0; i < count; ++i) out.push_back(static_cast<char>(from + i));
    return out;
}

std::string hkdf_hex(std::string_view key, std::string_view salt, std::string_view info, std::size_t size) {
    std::vector<std::uint8_t> out(size);
    hkdf_sha256(key, salt, info, out);
    return hex_encode({reinterpret_cast<const char*>(out.data()), out.size()});
}

TEST(Hmac, MatchesTheExamplesOfRfc4231) {
    EXPECT_EQ(to_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(to_hex(hmac_sha256(std::string(131, '\xaa'),
                                 "Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, TakesAnEmptyKeyAndAnEmptyText) {
    EXPECT_EQ(to_hex(hmac_sha256("", "")),
              "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(Hkdf, MatchesTheExamplesOfRfc5869) {
    EXPECT_EQ(hkdf_hex(std::string(22, '\x0b'), counting(0, 13), counting(0xf0, 10), 42),
              "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
    EXPECT_EQ(hkdf_hex(counting(0, 80), counting(0x60, 80), counting(0xb0, 80), 82),
              "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e59"
              "0e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
    EXPECT_EQ(hkdf_hex(std::string(22, '\x0b'), "", "", 42),
              "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(Hkdf, GivesUpTo255Digests) {
    EXPECT_EQ(hkdf_hex("key", "", "", 255 * 32).size(), 2u * 255 * 32);
    EXPECT_THROW(hkdf_hex("key", "", "", 255 * 32 + 1), std::length_error);
    EXPECT_EQ(hkdf_hex("key", "", "", 0), "");
}

RC_GTEST_PROP(Hkdf, AShorterKeyIsTheBeginningOfALongerOne,
              (const std::string& key, const std::string& salt, const std::string& info)) {
    const auto size = *rc::gen::inRange<std::size_t>(0, 200);
    RC_ASSERT(hkdf_hex(key, salt, info, 200).substr(0, 2 * size) == hkdf_hex(key, salt, info, size));
}

TEST(Hkdf, SaltAndInfoTellKeysApart) {
    const std::string plain = hkdf_hex("key", "salt", "info", 32);
    EXPECT_NE(plain, hkdf_hex("key", "salt2", "info", 32));
    EXPECT_NE(plain, hkdf_hex("key", "salt", "info2", 32));
    EXPECT_NE(plain, hkdf_hex("key2", "salt", "info", 32));
}

TEST(Hmac, UnderOneKeyIsTheSameForEveryText) {
    for (const std::string& key : {std::string(), std::string("key"), std::string(200, 'k')}) {
        HmacSha256 keyed(key);
        for (const std::string& text :
             {std::string("a"), std::string(), std::string(1'000, 'x'), std::string("a")})
            EXPECT_EQ(keyed.of(text), hmac_sha256(key, text));
        EXPECT_EQ(keyed.of({"a", "", "bc"}), hmac_sha256(key, "abc"));
    }
}

// The key's own length is where the ways part: filled up, as it is, or its digest.
RC_GTEST_PROP(Hmac, IsTheCryptoLibrarysOwn, (const std::string& text)) {
    const auto length = *rc::gen::elementOf(std::vector<int>{1, 31, 63, 64, 65, 200});
    const std::string key(static_cast<std::size_t>(length), *rc::gen::arbitrary<char>());
    Sha256Digest theirs{};
    unsigned int size = 0;
    RC_ASSERT(HMAC(EVP_sha256(), key.data(), length, reinterpret_cast<const unsigned char*>(text.data()),
                   text.size(), theirs.data(), &size) != nullptr);
    RC_ASSERT(hmac_sha256(key, text) == theirs);
}

}  // namespace
}  // namespace callgate::base
