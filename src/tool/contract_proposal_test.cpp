#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/definitions.h>

#include "tool/tool_testing.h"

namespace callgate {
namespace {

using testing::Contains;
using testing::HasSubstr;

ContractProposal proposal_of(std::string_view annotations) {
    ToolDefinition definition("t", "", json_of(R"({"type":"object"})"));
    definition.annotations = json_of(annotations).as_object();
    return propose_contract(definition);
}

std::string risk_and_effect(std::string_view annotations) {
    const Contract contract = proposal_of(annotations).contract;
    EXPECT_TRUE(contract.risk && contract.effect.declared());
    return std::string(to_string(*contract.risk)) + ' ' + std::string(to_string(contract.effect));
}

TEST(ContractProposal, ReadsRunAtOnceAndWritesAsk) {
    EXPECT_EQ(risk_and_effect(R"({"readOnlyHint":true})"), "low read");
    EXPECT_EQ(risk_and_effect(R"({"readOnlyHint":true,"openWorldHint":true})"), "low read");
    EXPECT_EQ(risk_and_effect(R"({"readOnlyHint":false})"), "high unsafe");
    EXPECT_EQ(risk_and_effect(R"({"destructiveHint":false,"openWorldHint":false})"), "medium unsafe");
    EXPECT_EQ(risk_and_effect(R"({"destructiveHint":false})"), "high unsafe");
    EXPECT_EQ(risk_and_effect(R"({"idempotentHint":true})"), "high keyed");
    EXPECT_EQ(risk_and_effect(R"({"idempotentHint":false})"), "high unsafe");
}

TEST(ContractProposal, AbsentHintsStandForMcpsDefaults) {
    EXPECT_EQ(risk_and_effect("{}"), "high unsafe");
    const auto reasons = proposal_of("{}").reasons;
    EXPECT_THAT(reasons, Contains(HasSubstr("destructiveHint is absent, which stands for true")));
    EXPECT_THAT(reasons, Contains(HasSubstr("idempotentHint is absent")));
}

TEST(ContractProposal, HintsThatContradictEachOtherAreNotBelieved) {
    EXPECT_EQ(risk_and_effect(R"({"readOnlyHint":true,"destructiveHint":true})"), "high unsafe");
    EXPECT_THAT(proposal_of(R"({"readOnlyHint":true,"destructiveHint":true})").reasons,
                Contains(HasSubstr("cannot be")));
}

TEST(ContractProposal, HintsThatAreNoneAreNotUsed) {
    EXPECT_EQ(risk_and_effect(R"({"readOnlyHint":"true"})"), "high unsafe");
    EXPECT_THAT(proposal_of(R"({"readOnlyHint":"true"})").reasons,
                Contains("readOnlyHint is a string, not true or false: it is not used."));
}

TEST(ContractProposal, SaysWhichHintsItUsed) {
    EXPECT_THAT(proposal_of(R"({"readOnlyHint":true})").reasons,
                testing::ElementsAre("readOnlyHint is true: effect read, risk low."));
    EXPECT_EQ(proposal_of("{}").contract.provider, ProviderType::mcp);
}

}  // namespace
}  // namespace callgate
