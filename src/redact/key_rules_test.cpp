#include "redact/key_rules.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::redact {
namespace {

TEST(KeyRules, NamesThatAnnounceASecret) {
    for (const auto* name : {"password",
                             "PASSWORD",
                             "Password",
                             "passwd",
                             "pwd",
                             "db_password",
                             "dbPassword",
                             "dbpassword",
                             "password2",
                             "passwords",
                             "passphrase",
                             "secret",
                             "secrets",
                             "secret_value",
                             "clientSecret",
                             "client_secret",
                             "clientsecret",
                             "api_secret",
                             "token",
                             "TOKEN",
                             "ToKeN",
                             "auth_token",
                             "authtoken",
                             "authToken",
                             "access_token",
                             "accesstoken",
                             "refresh-token",
                             "github.token",
                             "GITHUB_TOKEN",
                             "githubtoken",
                             "my token",
                             "auth",
                             "Auth",
                             "x_auth_header",
                             "authorization",
                             "Authorization",
                             "Proxy-Authorization",
                             "bearer",
                             "bearer_token",
                             "cookie",
                             "Set-Cookie",
                             "cookies",
                             "credential",
                             "credentials",
                             "user_credentials",
                             "api_key",
                             "Api_Key",
                             "apiKey",
                             "APIKey",
                             "apikey",
                             "apikeys",
                             "API-KEY",
                             "X-Api-Key",
                             "api.key",
                             "access_key",
                             "accessKeyId",
                             "private_key",
                             "privateKey",
                             "privatekey",
                             "private_key_pem",
                             "ssh_key",
                             "encryption_key",
                             "key",
                             "keys",
                             "signingKeys",
                             "key_2",
                             "jwt",
                             "headers[authorization]",
                             "passWord"}) {
        EXPECT_EQ(classify_key(name), KeyKind::sensitive) << name;
    }
}

TEST(KeyRules, NamesThatOnlyLookAlike) {
    for (const auto* name : {"",
                             "_",
                             "author",
                             "authors",
                             "Author",
                             "co_author",
                             "authority",
                             "authored_at",
                             "monkey",
                             "monkeys",
                             "keyboard",
                             "keyboard_layout",
                             "hotkey",
                             "key_name",
                             "keyName",
                             "keyword",
                             "tokenizer",
                             "tokenize",
                             "secretary",
                             "compass",
                             "passport",
                             "path",
                             "normal",
                             "url",
                             "username",
                             "idempotency_key",
                             "idempotencyKey",
                             "Idempotency-Key",
                             "public_key",
                             "primary_key",
                             "foreignKeys",
                             "sort_key",
                             "cache_key",
                             "max_tokens",
                             "maxTokens",
                             "max_output_tokens",
                             "total_tokens",
                             "cookiecutter",
                             "description",
                             "12345",
                             "\xc3\xa9t\xc3\xa9"}) {
        EXPECT_EQ(classify_key(name), KeyKind::plain) << name;
    }
}

TEST(KeyRules, NamesUnderWhichANumberIsAnAmount) {
    for (const auto* name : {"tokens", "budget_tokens", "thinkingTokens", "token_count", "tokenCount",
                             "password_count", "secret_size", "token_limit", "cookie_bytes", "token_ttl"}) {
        EXPECT_EQ(classify_key(name), KeyKind::quantity) << name;
    }
    EXPECT_EQ(classify_key("token"), KeyKind::sensitive);
    EXPECT_EQ(classify_key("count"), KeyKind::plain);
}

RC_GTEST_PROP(KeyRules, CaseAndSeparatorsDoNotMatter, (bool upper, std::uint8_t separator)) {
    const char separators[] = {'_', '-', '.', ' ', '/', ':'};
    std::string name = "service";
    name.push_back(separators[separator % sizeof separators]);
    name += "password";
    if (upper) {
        for (auto& c : name) {
            c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        }
    }
    RC_ASSERT(classify_key(name) == KeyKind::sensitive);
}

RC_GTEST_PROP(KeyRules, AnyBytesAreClassified, (const std::string& name)) {
    (void)classify_key(name);
    RC_ASSERT(classify_key(name + "_password") == KeyKind::sensitive);
}

RC_GTEST_PROP(KeyRulesProperty, TheQuickLookNeverOverlooksWhatTheRulesWouldFind, ()) {
    const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "auth", "Authorization", "bea", "rer", "cookie", "set", "cred", "ential", "jwt", "pass", "code",
        "Phrase", "wd", "word", "P", "pwd", "se", "cret", "to", "ken", "s", "api", "Key", "KEY", "private",
        "signing", "ssh", "public", "max", "count", "tokens", "_", "-", ".", " ", "2", "7", "path", "author",
        "x", "\xC3\xA9"));
    std::string name;
    for (const auto& part : parts) name += part;
    const KeyKind found = classify_key_in_full(name);
    RC_CLASSIFY(found != KeyKind::plain);
    RC_ASSERT(classify_key(name) == found);
}

}  // namespace
}  // namespace callgate::redact
