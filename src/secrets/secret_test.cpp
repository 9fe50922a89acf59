#include <callgate/secrets.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace {

// The block under watch, and whether it was all zero when it was given back.
const void* g_watched = nullptr;
std::size_t g_watched_bytes = 0;
bool g_freed = false;
bool g_wiped = false;

void give_back(void* memory) noexcept {
    if (memory != nullptr && memory == g_watched) {
        const auto* const bytes = static_cast<const unsigned char*>(memory);
        g_freed = true;
        g_wiped = std::all_of(bytes, bytes + g_watched_bytes, [](unsigned char b) { return b == 0; });
        g_watched = nullptr;
    }
    std::free(memory);
}

void watch(std::string_view value) {
    g_watched = value.data();
    g_watched_bytes = value.size();
    g_freed = false;
    g_wiped = false;
}

}  // namespace

void* operator new(std::size_t bytes) {
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    give_back(memory);
}

namespace callgate {
namespace {

constexpr std::string_view kValue = "correct horse battery staple";

template <class T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };
template <class T>
concept Listable = requires(const T& store) { store.begin(); } || requires(const T& store) {
    store.list();
} || requires(const T& store) { store.keys(); } || requires(const T& store) { store.size(); };

static_assert(!std::is_copy_constructible_v<Secret> && !std::is_copy_assignable_v<Secret>);
static_assert(std::is_nothrow_move_constructible_v<Secret> && std::is_nothrow_move_assignable_v<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string> &&
              !std::is_convertible_v<Secret, std::string_view>);
static_assert(!std::is_convertible_v<std::string_view, Secret>);
static_assert(!Printable<Secret>);
static_assert(!Listable<SecretsStore> && !Listable<MemorySecrets>);

TEST(Secret, IsWipedWhenItGoes) {
    {
        const Secret secret(kValue);
        EXPECT_EQ(secret.expose(), kValue);
        EXPECT_EQ(secret.size(), kValue.size());
        watch(secret.expose());
    }
    EXPECT_TRUE(g_freed);
    EXPECT_TRUE(g_wiped);
}

TEST(Secret, IsWipedWhenAnotherTakesItsPlace) {
    Secret secret(kValue);
    watch(secret.expose());
    secret = Secret("another value altogether");
    EXPECT_TRUE(g_freed);
    EXPECT_TRUE(g_wiped);
    EXPECT_EQ(secret.expose(), "another value altogether");
}

TEST(Secret, MovesWithoutLeavingACopy) {
    Secret first(kValue);
    const char* const where = first.expose().data();
    const Secret second = std::move(first);
    EXPECT_EQ(second.expose().data(), where);
    EXPECT_EQ(first.expose(), "");  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(first.size(), 0u);
}

TEST(WithSecret, GivesTheValueForTheLengthOfOneCallAndWipesIt) {
    MemorySecrets secrets;
    ASSERT_TRUE(secrets.set("github", "token", kValue));
    std::string seen;
    ASSERT_TRUE(secrets.with_secret("github", "token", [&](const Secret& secret) {
        seen = secret.expose();
        watch(secret.expose());
    }));
    EXPECT_EQ(seen, kValue);
    EXPECT_TRUE(g_freed);
    EXPECT_TRUE(g_wiped);
}

TEST(WithSecret, WhatTheFunctionThrowsPassesAfterTheWipe) {
    MemorySecrets secrets;
    ASSERT_TRUE(secrets.set("github", "token", kValue));
    EXPECT_THROW((void)secrets.with_secret("github", "token",
                                           [&](const Secret& secret) {
                                               watch(secret.expose());
                                               throw std::runtime_error("boom");
                                           }),
                 std::runtime_error);
    EXPECT_TRUE(g_freed);
    EXPECT_TRUE(g_wiped);
}

}  // namespace
}  // namespace callgate
