#include <callgate/secret_stores.h>

#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/scratch_dir.h"
#include "secrets/secrets_testing.h"

namespace callgate {
namespace {

using testing::HasSubstr;
using testing::Not;

static_assert(!Listable<EncryptedFileSecrets> && !Listable<EnvironmentSecrets> && !Listable<ExecSecrets> &&
              !Listable<SecretsChain>);

std::string reason_of(const SecretsStore& store, std::string_view connector, std::string_view key) {
    return reason_of(store.with_secret(connector, key, [](const Secret&) {}));
}

TEST(EncryptedFileSecrets, OutliveTheProcess) {
    const os::ScratchDir dir;
    const auto key = KeySource::file(dir.file("key"));
    ASSERT_TRUE(make_key_file(key.name));
    ASSERT_TRUE(make_key_file(key.name)) << "one that is there stays";
    {
        const auto store = EncryptedFileSecrets::open(dir.file("secrets"), key);
        ASSERT_TRUE(store);
        EXPECT_EQ((*store)->set("github", "token", "first value"), 1u);
        EXPECT_EQ((*store)->rotate("github", "token", "second value"), 2u);
        EXPECT_TRUE((*store)->put("github", "refresh", "a token we got"));
    }
    const auto store = EncryptedFileSecrets::open(dir.file("secrets"), key);
    ASSERT_TRUE(store);
    EXPECT_EQ(value_of(**store, "github", "token"), "second value");
    EXPECT_EQ(value_of(**store, "github", "refresh"), "a token we got");
    EXPECT_EQ((*store)->check("github", "token").value()->previous, 1u);
    EXPECT_EQ((*store)->check()->secrets, 2u);
    EXPECT_TRUE((*store)->remove("github", "token", 2));
    EXPECT_EQ(value_of(**store, "github", "token"), "first value");
    EXPECT_TRUE((*store)->remove("github", "token"));
    EXPECT_EQ(reason_of(**store, "github", "token"), "no_such_secret");
}

TEST(EncryptedFileSecrets, ChangeTheirKey) {
    const os::ScratchDir dir;
    const auto old_key = KeySource::file(dir.file("old"));
    const auto new_key = KeySource::file(dir.file("new"));
    ASSERT_TRUE(make_key_file(old_key.name));
    ASSERT_TRUE(make_key_file(new_key.name));
    const auto store = EncryptedFileSecrets::open(dir.file("secrets"), old_key);
    ASSERT_TRUE((*store)->set("github", "token", "the value"));
    EXPECT_EQ(reason_of((*store)->rotate_key(KeySource::file(dir.file("none")))), "key_missing");
    EXPECT_EQ(reason_of((*store)->rotate_key(old_key)), "same_key");
    ASSERT_TRUE((*store)->rotate_key(new_key));
    EXPECT_EQ(value_of(**store, "github", "token"), "the value");
    EXPECT_EQ(reason_of((*store)->rotate_key(new_key)), "same_key");
    EXPECT_EQ(reason_of(EncryptedFileSecrets::open(dir.file("secrets"), old_key)), "wrong_key");
    EXPECT_TRUE(EncryptedFileSecrets::open(dir.file("secrets"), new_key));
}

TEST(EncryptedFileSecrets, AreNotOpenedWithoutAKey) {
    const os::ScratchDir dir;
    EXPECT_EQ(reason_of(EncryptedFileSecrets::open(dir.file("secrets"), KeySource::file(dir.file("key")))),
              "key_missing");
}

TEST(EnvironmentSecrets, HaveADocumentedVariable) {
    const auto variable = &EnvironmentSecrets::variable;
    EXPECT_EQ(variable("github", "token"), "CALLGATE_SECRET_GITHUB__TOKEN");
    EXPECT_EQ(variable("google-drive", "client_secret"), "CALLGATE_SECRET_GOOGLE_DRIVE__CLIENT_SECRET");
    EXPECT_EQ(variable("api.example.org", "key2"), "CALLGATE_SECRET_API_EXAMPLE_ORG__KEY2");
    for (const auto* name : {"", "-a", "a-", "a--b", "a-_b", "A", "ä", "a b", "a=b"}) {
        EXPECT_EQ(variable(name, "token"), std::nullopt) << name;
        EXPECT_EQ(variable("github", name), std::nullopt) << name;
    }
}

TEST(EnvironmentSecrets, AreTakenOutOfTheEnvironment) {
    ::setenv("CALLGATE_SECRET_GITHUB__TOKEN", "value-of-github", 1);
    ::setenv("CALLGATE_SECRET_A_B__C", "value-of-a-b", 1);
    ::setenv("CALLGATE_SECRET_GITHUB__SHORT", "short", 1);
    ::setenv("CALLGATE_OTHER", "stays", 1);
    const char* const where = std::getenv("CALLGATE_SECRET_GITHUB__TOKEN");
    EnvironmentSecrets secrets;
    EXPECT_EQ(value_of(secrets, "github", "token"), "value-of-github");
    EXPECT_EQ(value_of(secrets, "github", "token"), "value-of-github");
    EXPECT_EQ(value_of(secrets, "a-b", "c"), "value-of-a-b");
    EXPECT_EQ(value_of(secrets, "a", "b-c"), "none");
    EXPECT_EQ(std::getenv("CALLGATE_SECRET_GITHUB__TOKEN"), nullptr);
    EXPECT_EQ(std::string_view(where, 15), std::string(15, '\0'));
    EXPECT_STREQ(std::getenv("CALLGATE_OTHER"), "stays");
    ::unsetenv("CALLGATE_OTHER");
    EXPECT_EQ(reason_of(secrets, "github", "short"), "secret_too_short");
    EXPECT_EQ(reason_of(secrets, "github", "none"), "no_such_secret");
    EXPECT_EQ(reason_of(secrets, "GitHub", "token"), "no_such_secret");
    const auto missing = secrets.with_secret("github", "none", [](const Secret&) {});
    EXPECT_THAT(missing.error().message, HasSubstr("set CALLGATE_SECRET_GITHUB__NONE"));
    EXPECT_EQ(reason_of(secrets.put("github", "token", "another value")), "read_only_store");
}

TEST(ExecSecrets, AskAProgram) {
    // Gives back what it was asked.
    const auto store = ExecSecrets::make(ExecSecretsOptions({"/bin/cat"}));
    ASSERT_TRUE(store);
    EXPECT_EQ(value_of(**store, "github", "token"), R"({"connector":"github","key":"token"})");
    EXPECT_EQ(reason_of((*store)->put("github", "token", "another value")), "read_only_store");
    (*store)->revoke("github", "token");
    (*store)->revoke_all();
    EXPECT_EQ(reason_of(ExecSecrets::make(ExecSecretsOptions())), "bad_helper");
}

class Chain : public testing::Test {
protected:
    std::shared_ptr<MemorySecrets> first = std::make_shared<MemorySecrets>();
    std::shared_ptr<MemorySecrets> second = std::make_shared<MemorySecrets>();
};

TEST_F(Chain, TheFirstStoreThatHasItGivesIt) {
    const SecretsChain chain({first, nullptr, second});
    ASSERT_TRUE(second->set("c", "k", "value of the second"));
    EXPECT_EQ(value_of(chain, "c", "k"), "value of the second");
    ASSERT_TRUE(first->set("c", "k", "value of the first"));
    EXPECT_EQ(value_of(chain, "c", "k"), "value of the first");
    EXPECT_EQ(reason_of(chain, "c", "none"), "no_such_secret");
    EXPECT_EQ(reason_of(SecretsChain({}), "c", "k"), "no_such_secret");
}

TEST_F(Chain, AStoreThatFailsIsNotPassedOver) {
    const std::shared_ptr<SecretsStore> broken =
        std::move(ExecSecrets::make(ExecSecretsOptions({"/bin/false"})).value());
    ASSERT_TRUE(second->set("c", "k", "value of the second"));
    EXPECT_EQ(reason_of(SecretsChain({broken, second}), "c", "k"), "helper_failed");
    EXPECT_EQ(value_of(SecretsChain({second, broken}), "c", "k"), "value of the second");
}

TEST_F(Chain, WhatTheRuntimeObtainedGoesToTheFirstThatKeepsValues) {
    const auto environment = std::make_shared<EnvironmentSecrets>();
    SecretsChain chain({environment, first, second});
    ASSERT_TRUE(chain.put("c", "k", "a token we got"));
    EXPECT_EQ(value_of(*first, "c", "k"), "a token we got");
    EXPECT_EQ(value_of(*second, "c", "k"), "none");
    EXPECT_EQ(reason_of(chain.put("c", "k", "short")), "secret_too_short");
    EXPECT_EQ(reason_of(SecretsChain({environment}).put("c", "k", "a token we got")), "read_only_store");
}

TEST(HardenProcessDeathTest, LeavesNoCoreDumpAndNoWayIn) {
    EXPECT_EXIT(
        {
            const bool done = harden_process().has_value();
            rlimit core{};
            ::getrlimit(RLIMIT_CORE, &core);
            std::_Exit(done && core.rlim_max == 0 && ::prctl(PR_GET_DUMPABLE) == 0 ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace callgate
