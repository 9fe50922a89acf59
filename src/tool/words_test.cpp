#include "tool/words.h"

#include <gtest/gtest.h>

#include <callgate/registry.h>

namespace callgate {
namespace {

TEST(Words, AutonomyLevelsAreWrittenAndReadBack) {
    for (const Autonomy level : {Autonomy::a0, Autonomy::a1, Autonomy::a2, Autonomy::a3, Autonomy::a4})
        EXPECT_EQ(autonomy_from_string(to_string(level)), level);
    EXPECT_EQ(to_string(Autonomy::a0), "A0");
    EXPECT_EQ(to_string(Autonomy::a4), "A4");
}

TEST(Words, EffectClassesAreWrittenAndReadBack) {
    for (const EffectClass effect : kEffectClasses)
        EXPECT_EQ(effect_class_from_string(to_string(effect)), effect);
    EXPECT_EQ(to_string(EffectClass::read), "read");
    EXPECT_EQ(to_string(EffectClass::keyed), "keyed");
    EXPECT_EQ(to_string(EffectClass::verify), "verify");
    EXPECT_EQ(to_string(EffectClass::tx), "tx");
    EXPECT_EQ(to_string(EffectClass::unsafe), "unsafe");
}

TEST(Words, RisksAreWrittenAndReadBack) {
    for (const Risk risk : {Risk::low, Risk::medium, Risk::high, Risk::critical})
        EXPECT_EQ(risk_from_string(to_string(risk)), risk);
    EXPECT_EQ(to_string(Risk::critical), "critical");
}

TEST(Words, UnknownWordsAreNotGuessed) {
    EXPECT_EQ(autonomy_from_string("A9"), std::nullopt);
    EXPECT_EQ(autonomy_from_string(""), std::nullopt);
    EXPECT_EQ(effect_class_from_string("Read"), std::nullopt);
    EXPECT_EQ(risk_from_string("severe"), std::nullopt);
}

TEST(Words, ProvidersKindsAndHealthHaveNames) {
    EXPECT_EQ(to_string(ProviderType::native), "native");
    EXPECT_EQ(to_string(ProviderType::mcp), "mcp");
    EXPECT_EQ(to_string(ToolKind::adapter), "adapter");
    EXPECT_EQ(to_string(HealthStatus::unavailable), "unavailable");
}

TEST(Words, AValueOutsideTheListIsCalledInvalid) {
    EXPECT_EQ(to_string(static_cast<Risk>(200)), "invalid");
}

}  // namespace
}  // namespace callgate
