#include "base/limits.h"

#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace callgate::base {
namespace {

using testing::HasSubstr;

TEST(Limits, TheDefaultsAreTheDocumentedOnesAndValid) {
    const Limits limits;
    EXPECT_TRUE(limits.validate());
    EXPECT_EQ(limits.message_bytes, 4u * 1024 * 1024);
    EXPECT_EQ(limits.json_depth, 64u);
    EXPECT_EQ(limits.json_nodes, 100'000u);
    EXPECT_EQ(limits.model_view_bytes, 10'000u);
    EXPECT_EQ(limits.call_timeout(), std::chrono::seconds(30));
    EXPECT_EQ(limits.shutdown_grace(), std::chrono::seconds(5));
    EXPECT_EQ(limits.approval_ttl(), std::chrono::minutes(15));
}

TEST(Limits, EveryFieldCanBeSetByNameWithinItsRange) {
    std::set<std::string_view> names;
    for (const auto& spec : limit_specs()) {
        SCOPED_TRACE(spec.name);
        EXPECT_TRUE(names.insert(spec.name).second);
        Limits limits;
        const auto former = limits.*spec.field;
        EXPECT_GE(former, spec.min);
        EXPECT_LE(former, spec.max);
        EXPECT_TRUE(limits.set(spec.name, static_cast<std::int64_t>(spec.min)));
        EXPECT_EQ(limits.*spec.field, spec.min);
        EXPECT_TRUE(limits.set(spec.name, static_cast<std::int64_t>(spec.max)));
        EXPECT_FALSE(limits.set(spec.name, static_cast<std::int64_t>(spec.max) + 1));
        EXPECT_FALSE(limits.set(spec.name, static_cast<std::int64_t>(spec.min) - 1));
        EXPECT_FALSE(limits.set(spec.name, std::numeric_limits<std::int64_t>::min()));
        EXPECT_EQ(limits.*spec.field, spec.max);
    }
}

TEST(Limits, AValueOutOfRangeIsToldWithFieldValueAndRange) {
    Limits limits;
    const auto done = limits.set("message_bytes", 12);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::config_error);
    EXPECT_EQ(done.error().message,
              "limits.message_bytes = 12 is out of range: give a value from 1024 to 1073741824 (bytes).");
    EXPECT_EQ(done.error().details.at("limit").as_string(), "message_bytes");
}

TEST(Limits, AnUnknownNameIsToldWithTheKnownOnes) {
    Limits limits;
    const auto done = limits.set("mesage_bytes", 4096);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("'mesage_bytes'"));
    EXPECT_THAT(done.error().message, HasSubstr("message_bytes, json_depth"));
}

TEST(Limits, FieldsMustFitTogether) {
    Limits limits;
    limits.call_timeout_ms = 60'000;
    limits.call_timeout_max_ms = 30'000;
    const auto timeouts = limits.validate();
    ASSERT_FALSE(timeouts);
    EXPECT_THAT(timeouts.error().message,
                HasSubstr("call_timeout_ms = 60000 is above limits.call_timeout_max_ms"));

    limits = Limits();
    limits.result_bytes = 2'048;
    EXPECT_FALSE(limits.validate());

    limits = Limits();
    limits.json_depth = std::numeric_limits<std::uint64_t>::max();
    EXPECT_FALSE(limits.validate());
}

}  // namespace
}  // namespace callgate::base
