#include <callgate/secrets.h>

#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "base/locked_bytes.h"
#include "base/memory_scan.h"
#include "secrets/secrets_testing.h"

namespace callgate {
namespace {

using base::copies_in_memory;

// The complement of the value, which itself must stand in memory only where it is meant to.
std::string hidden() {
    return base::complement("correct horse") + base::complement(" battery") + base::complement(" staple");
}

base::LockedBytes revealed() {
    const std::string masked = hidden();
    base::LockedBytes out(masked.size());
    for (std::size_t i = 0; i < masked.size(); ++i) out.bytes()[i] = static_cast<char>(~masked[i]);
    return out;
}

bool is_the_value(std::string_view value) {
    return base::complement(value) == hidden();
}

template <class T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };

static_assert(!std::is_copy_constructible_v<Secret> && !std::is_copy_assignable_v<Secret>);
static_assert(std::is_nothrow_move_constructible_v<Secret> && std::is_nothrow_move_assignable_v<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string> &&
              !std::is_convertible_v<Secret, std::string_view>);
static_assert(!std::is_convertible_v<std::string_view, Secret>);
static_assert(!Printable<Secret>);
static_assert(!Listable<SecretsStore> && !Listable<MemorySecrets>);

TEST(Secret, IsWipedWhenItGoes) {
    {
        const Secret secret(revealed().view());
        EXPECT_TRUE(is_the_value(secret.expose()));
        EXPECT_EQ(secret.size(), hidden().size());
        EXPECT_EQ(copies_in_memory(hidden()), 1u);
    }
    EXPECT_EQ(copies_in_memory(hidden()), 0u);
}

TEST(Secret, IsWipedWhenAnotherTakesItsPlace) {
    Secret secret(revealed().view());
    EXPECT_EQ(copies_in_memory(hidden()), 1u);
    secret = Secret("another value altogether");
    EXPECT_EQ(copies_in_memory(hidden()), 0u);
    EXPECT_EQ(secret.expose(), "another value altogether");
}

TEST(Secret, MovesWithoutLeavingACopy) {
    Secret first(revealed().view());
    const char* const where = first.expose().data();
    const Secret second = std::move(first);
    EXPECT_EQ(second.expose().data(), where);
    EXPECT_EQ(first.expose(), "");  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(first.size(), 0u);
    EXPECT_EQ(copies_in_memory(hidden()), 1u);
}

TEST(WithSecret, GivesTheValueForTheLengthOfOneCallAndWipesIt) {
    MemorySecrets secrets;
    ASSERT_TRUE(secrets.set("github", "token", revealed().view()));
    EXPECT_EQ(copies_in_memory(hidden()), 1u);
    bool seen = false;
    ASSERT_TRUE(secrets.with_secret("github", "token", [&](const Secret& secret) {
        seen = is_the_value(secret.expose());
        EXPECT_EQ(copies_in_memory(hidden()), 2u);
    }));
    EXPECT_TRUE(seen);
    EXPECT_EQ(copies_in_memory(hidden()), 1u);
}

TEST(WithSecret, WhatTheFunctionThrowsPassesAfterTheWipe) {
    MemorySecrets secrets;
    ASSERT_TRUE(secrets.set("github", "token", revealed().view()));
    EXPECT_THROW(
        (void)secrets.with_secret("github", "token", [](const Secret&) { throw std::runtime_error("boom"); }),
        std::runtime_error);
    EXPECT_EQ(copies_in_memory(hidden()), 1u);
}

TEST(MemorySecrets, LeaveNothingBehindInMemory) {
    MemorySecrets secrets;
    ASSERT_TRUE(secrets.set("github", "token", revealed().view()));
    secrets.remove("github", "token");
    EXPECT_EQ(copies_in_memory(hidden()), 0u);
}

}  // namespace
}  // namespace callgate
