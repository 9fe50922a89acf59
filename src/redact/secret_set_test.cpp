#include "redact/secret_set.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json/serialize.hpp>

namespace callgate::redact {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SecretSet, RefusesValuesSoShortThatTheyWouldShredOutput) {
    SecretSet set;
    const auto added = set.add("1234567");
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::invalid_arguments);
    EXPECT_THAT(added.error().message, HasSubstr("at least 8 bytes, this one has 7"));
    EXPECT_THAT(added.error().message + boost::json::serialize(added.error().details),
                Not(HasSubstr("1234567")));
    EXPECT_FALSE(set.add(""));
    EXPECT_EQ(set.size(), 0u);
    EXPECT_TRUE(set.add("12345678"));
    EXPECT_EQ(set.size(), 1u);
}

TEST(SecretSet, KeepsAValueOnce) {
    SecretSet set;
    EXPECT_TRUE(set.add("correct horse"));
    EXPECT_TRUE(set.add("correct horse"));
    EXPECT_EQ(set.size(), 1u);
}

TEST(SecretSet, IsBounded) {
    SecretSet set;
    EXPECT_EQ(set.add(std::string(SecretSet::kMaxBytes + 1, 'x')).error().details.at("reason").as_string(),
              "secret_too_long");
    for (std::size_t i = 0; i < SecretSet::kMaxTotalBytes / SecretSet::kMaxBytes; ++i) {
        EXPECT_TRUE(set.add(std::string(SecretSet::kMaxBytes, static_cast<char>('a' + i))));
    }
    EXPECT_EQ(set.add("one more secret").error().details.at("reason").as_string(), "too_many_secrets");
}

TEST(SecretSet, AnIndexStaysAsItWasWhenSecretsAreAdded) {
    SecretSet set;
    EXPECT_TRUE(set.index()->empty());
    ASSERT_TRUE(set.add("correct horse"));
    const auto before = set.index();
    EXPECT_EQ(before, set.index());
    ASSERT_TRUE(set.add("battery staple"));
    EXPECT_NE(before, set.index());
    EXPECT_FALSE(before->empty());
}

}  // namespace
}  // namespace callgate::redact
