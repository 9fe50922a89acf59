#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/json.h>
#include <callgate/secrets.h>

#include "redact/secret_set.h"
#include "secrets/secrets_testing.h"

namespace callgate {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string all_of(const Error& error) {
    return error.message + json::write(error.details);
}

TEST(MemorySecrets, KeepsOneValuePerConnectorAndKey) {
    MemorySecrets secrets;
    ASSERT_TRUE(secrets.set("github", "token", "value-of-github"));
    ASSERT_TRUE(secrets.set("gitlab", "token", "value-of-gitlab"));
    ASSERT_TRUE(secrets.set("github", "other", "value-of-other"));
    EXPECT_EQ(value_of(secrets, "github", "token"), "value-of-github");
    EXPECT_EQ(value_of(secrets, "gitlab", "token"), "value-of-gitlab");
    EXPECT_EQ(value_of(secrets, "github", "other"), "value-of-other");
}

TEST(MemorySecrets, ConnectorAndKeyAreNotMixedUp) {
    MemorySecrets secrets;
    ASSERT_TRUE(secrets.set("a", "bc", "value-of-a-bc"));
    EXPECT_EQ(value_of(secrets, "ab", "c"), "none");
}

TEST(MemorySecrets, CanBeReplacedAndRemoved) {
    MemorySecrets secrets;
    ASSERT_TRUE(secrets.set("github", "token", "first value"));
    ASSERT_TRUE(secrets.set("github", "token", "second value"));
    EXPECT_EQ(value_of(secrets, "github", "token"), "second value");
    secrets.remove("github", "token");
    secrets.remove("github", "token");
    EXPECT_EQ(value_of(secrets, "github", "token"), "none");
}

TEST(MemorySecrets, AMissingSecretIsAMatterOfConfiguration) {
    MemorySecrets secrets;
    bool used = false;
    const auto missing = secrets.with_secret("github", "token", [&](const Secret&) { used = true; });
    ASSERT_FALSE(missing);
    EXPECT_FALSE(used);
    EXPECT_EQ(missing.error().code, ErrorCode::config_error);
    EXPECT_EQ(missing.error().details.at("reason"), boost::json::value("no_such_secret"));
    EXPECT_THAT(missing.error().message, HasSubstr("'token' for connector 'github'"));
}

TEST(MemorySecrets, ValuesThatCouldNotBeMaskedAreRefused) {
    MemorySecrets secrets;
    const auto refused = secrets.set("github", "token", "1234567");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().details.at("reason"), boost::json::value("secret_too_short"));
    EXPECT_THAT(all_of(refused.error()), Not(HasSubstr("1234567")));
    EXPECT_TRUE(secrets.set("github", "token", "12345678"));
    const std::string large(redact::SecretSet::kMaxBytes + 1, 'x');
    EXPECT_FALSE(secrets.set("github", "large", large));
    EXPECT_TRUE(secrets.set("github", "large", std::string_view(large).substr(1)));
}

TEST(MemorySecrets, WhatItKeepsCanAlsoBeMasked) {
    for (const std::size_t size : {redact::SecretSet::kMinBytes - 1, redact::SecretSet::kMinBytes,
                                   redact::SecretSet::kMaxBytes, redact::SecretSet::kMaxBytes + 1}) {
        MemorySecrets secrets;
        redact::SecretSet masked;
        const std::string value(size, 's');
        EXPECT_EQ(secrets.set("c", "k", value).has_value(), masked.add(value).has_value()) << size;
    }
}

TEST(MemorySecrets, NamesAreNotEmptyAndNotEndless) {
    MemorySecrets secrets;
    EXPECT_FALSE(secrets.set("", "token", "long enough"));
    EXPECT_FALSE(secrets.set("github", "", "long enough"));
    EXPECT_FALSE(secrets.set("github", std::string(256, 'k'), "long enough"));
}

TEST(MemorySecrets, ErrorsNeverContainTheValue) {
    MemorySecrets secrets;
    const std::string value = "SENTINEL-VALUE";
    std::string said;
    for (const auto& answer :
         {secrets.set("", "k", value), secrets.set("c", "", value), secrets.set("c", "k", value.substr(0, 7)),
          secrets.set("c", "k", value + std::string(redact::SecretSet::kMaxBytes, 'x'))}) {
        ASSERT_FALSE(answer);
        said += all_of(answer.error());
    }
    EXPECT_THAT(said, Not(HasSubstr("SENTIN")));
}

TEST(MemorySecrets, MayBeUsedFromManyThreads) {
    MemorySecrets secrets;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&secrets, i] {
            const std::string key = "key" + std::to_string(i % 2);
            for (int n = 0; n < 200; ++n) {
                (void)secrets.set("c", key, "value-of-" + key);
                const std::string seen = value_of(secrets, "c", key);
                EXPECT_TRUE(seen == "value-of-" + key || seen == "none");
                if (i < 2) secrets.remove("c", key);
            }
        });
    }
}

}  // namespace
}  // namespace callgate
